/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on files, directories and mounts. */
#include "inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_flags(const char *mode)
{
	static const struct {
		const char *name;
		int flags;
	} modes[] = {
		{"r", O_RDONLY},
		{"w", O_WRONLY},
		{"rw", O_RDWR},
		{"a", O_WRONLY | O_APPEND},
		{"trunc", O_WRONLY | O_TRUNC},
		{"create", O_WRONLY | O_CREAT},
		{"excl", O_WRONLY | O_CREAT | O_EXCL},
		{"dir", O_RDONLY | O_DIRECTORY},
		{"path", O_PATH},
		{"nonblock", O_RDWR | O_NONBLOCK},
	};

	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, mode))
			return modes[i].flags;
	fprintf(stderr, "inside: no mode %s\n", mode);
	exit(99);
}

/* Opens, reads up to 4000 bytes where reading was asked for, writes nothing. */
static void do_open(int argc, char **argv)
{
	char text[4000];
	int flags = open_flags(argv[1]);
	int fd = open(argv[0], flags | O_CLOEXEC, 0644);
	long got = 0;

	(void)argc;
	if (fd >= 0 && flags == O_RDONLY) {
		got = read(fd, text, sizeof(text));
		say_text("open", got < 0 ? got : fd, text, got < 0 ? 0 : got);
	} else {
		say("open", fd);
	}
	if (fd >= 0)
		close(fd);
}

static void do_openat(int argc, char **argv)
{
	char text[4000];
	int fd = openat((int)number(argv[0]), argv[1], O_RDONLY | O_CLOEXEC);
	long got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	(void)argc;
	say_text("openat", got, text, got < 0 ? 0 : got);
	if (fd >= 0)
		close(fd);
}

static void do_openat2(int argc, char **argv)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = (uint64_t)number(argv[1])};
	long fd = syscall(SYS_openat2, AT_FDCWD, argv[0], &how, sizeof(how));

	(void)argc;
	say("openat2", fd);
	if (fd >= 0)
		close((int)fd);
}

static void do_write(int argc, char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)argc;
	say("write", fd < 0 ? -1 : write(fd, argv[1], strlen(argv[1])));
	if (fd >= 0)
		close(fd);
}

static void do_writefd(int argc, char **argv)
{
	(void)argc;
	say("writefd", write((int)number(argv[0]), argv[1], strlen(argv[1])));
}

#define PATHS_1(name_, call_)                                                                      \
	static void do_##name_(int argc, char **argv)                                              \
	{                                                                                          \
		(void)argc;                                                                        \
		say(#name_, call_);                                                                \
	}

PATHS_1(unlink, unlink(argv[0]))
PATHS_1(mkdir, mkdir(argv[0], 0755))
PATHS_1(rename, rename(argv[0], argv[1]))
PATHS_1(renameat2, syscall(SYS_renameat2, AT_FDCWD, argv[0], AT_FDCWD, argv[1], number(argv[2])))
PATHS_1(link, link(argv[0], argv[1]))
PATHS_1(symlink, symlink(argv[0], argv[1]))
PATHS_1(chmod, chmod(argv[0], (mode_t)number(argv[1])))
PATHS_1(chown, chown(argv[0], (uid_t)number(argv[1]), (gid_t)number(argv[2])))
PATHS_1(truncate, truncate(argv[0], number(argv[1])))
PATHS_1(utime, utimensat(AT_FDCWD, argv[0], NULL, 0))
PATHS_1(mkfifo, mkfifo(argv[0], 0644))
PATHS_1(chroot, chroot(argv[0]))
PATHS_1(chdir, chdir(argv[0]))
PATHS_1(setxattr, setxattr(argv[0], argv[1], argv[2], strlen(argv[2]), 0))
PATHS_1(pivot_root, syscall(SYS_pivot_root, argv[0], argv[1]))
PATHS_1(umount, umount2(argv[0], (int)number(argv[1])))
PATHS_1(mount, mount(argv[0], argv[1], argv[2], (unsigned long)number(argv[3]), NULL))

static void do_mknod(int argc, char **argv)
{
	mode_t type = argv[1][0] == 'b' ? S_IFBLK : S_IFCHR;
	dev_t dev = makedev((unsigned)number(argv[2]), (unsigned)number(argv[3]));

	(void)argc;
	say("mknod", mknod(argv[0], type | 0666, dev));
}

/* setuid bit for everybody: what a program would leave for the host to run. */
static void do_suid(int argc, char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	(void)argc;
	say("suid", fd < 0 ? -1 : fchmod(fd, 06755));
	if (fd >= 0)
		close(fd);
}

static void do_stat(int argc, char **argv)
{
	struct stat st = {0};
	char text[256];
	int got = lstat(argv[0], &st);
	int size = snprintf(text, sizeof(text), "%o %u %u %u:%u %llu", st.st_mode, st.st_uid,
			    st.st_gid, major(st.st_rdev), minor(st.st_rdev),
			    (unsigned long long)st.st_size);

	(void)argc;
	say_text("stat", got, text, got < 0 ? 0 : size);
}

static void do_statfs(int argc, char **argv)
{
	struct statfs fs = {0};
	char text[256];
	int got = statfs(argv[0], &fs);
	int size = snprintf(text, sizeof(text), "type=%lx flags=%lx bytes=%llu inodes=%llu",
			    (long)fs.f_type, (long)fs.f_flags,
			    (unsigned long long)fs.f_blocks * (unsigned long long)fs.f_bsize,
			    (unsigned long long)fs.f_files);

	(void)argc;
	say_text("statfs", got, text, got < 0 ? 0 : size);
}

static void do_readlink(int argc, char **argv)
{
	char text[4096];
	long got = readlink(argv[0], text, sizeof(text));

	(void)argc;
	say_text("readlink", got, text, got < 0 ? 0 : got);
}

static void do_getcwd(int argc, char **argv)
{
	char text[4096] = "";
	long got = syscall(SYS_getcwd, text, sizeof(text));

	(void)argc;
	(void)argv;
	say_text("getcwd", got, text, got < 0 ? 0 : (long)strlen(text));
}

/* Names in a directory, a "/" between them. */
static void do_list(int argc, char **argv)
{
	static char text[65536];
	size_t used = 0;
	DIR *dir = opendir(argv[0]);
	long count = dir ? 0 : -1;

	(void)argc;
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		int size = snprintf(text + used, sizeof(text) - used, "%s/", e->d_name);
		if (size < 0 || used + (size_t)size >= sizeof(text))
			break;
		used += (size_t)size;
		count++;
	}
	say_text("list", count, text, (long)used);
	if (dir)
		closedir(dir);
}

/* Every open descriptor and what it is, "N=target", a space between them; none are opened. */
static void do_fds(int argc, char **argv)
{
	static char text[65536];
	char path[64], target[256];
	size_t used = 0;
	long count = 0;

	(void)argc;
	(void)argv;
	for (int fd = 0; fd < 20000; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		long size = readlink(path, target, sizeof(target));
		int more = snprintf(text + used, sizeof(text) - used, "%s%d=%.*s", used ? " " : "",
				    fd, (int)(size < 0 ? 1 : size), size < 0 ? "?" : target);
		if (more < 0 || used + (size_t)more >= sizeof(text))
			break;
		used += (size_t)more;
		count++;
	}
	say_text("fds", count, text, (long)used);
}

/* The old way out of a chroot: a second chroot, then up as far as it goes, then read PATH. */
static void do_chroot_walk(int argc, char **argv)
{
	char text[4000];
	int got = mkdir("walk", 0755);
	long size = -1;

	(void)argc;
	if (got == 0 || errno == EEXIST)
		got = chroot("walk");
	if (got == 0)
		for (int i = 0; i < 64 && chdir("..") == 0; i++)
			;
	if (got == 0 && chroot(".") == 0) {
		int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

		size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	}
	say_text("chroot_walk", size, text, size < 0 ? 0 : size);
}

static void do_open_by_handle(int argc, char **argv)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
	int mount_id = 0;
	int got = name_to_handle_at(AT_FDCWD, argv[0], &h.handle, &mount_id, 0);
	int dir = open(argv[0], O_RDONLY | O_CLOEXEC);

	(void)argc;
	say("name_to_handle", got);
	if (got < 0)
		h.handle.handle_bytes = 8;
	got = open_by_handle_at(dir, &h.handle, O_RDONLY);
	say("open_by_handle", got);
}

static void do_flock(int argc, char **argv)
{
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

	(void)argc;
	say("flock", fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB));
}

static char raced[200];
static const char *race_names[2];
static volatile bool race_over;

static void *swap_names(void *unused)
{
	while (!race_over)
		for (int i = 0; i < 2; i++)
			memcpy(raced, race_names[i], strlen(race_names[i]) + 1);
	return unused;
}

/*
 * race GOOD BAD [TRIES]: a thread swaps the name while it is opened. The value is how often GOOD was
 * read, the text is what was read where it was not "fine", which GOOD holds. Ends when both were
 * read, or GOOD was and TRIES are over.
 */
static void do_race(int argc, char **argv)
{
	char text[200], other[200] = "";
	pthread_t thread;
	long good = 0, other_size = 0, enough = argc > 2 ? atol(argv[2]) : LONG_MAX;

	race_names[0] = argv[0];
	race_names[1] = argv[1];
	if (strlen(argv[0]) >= sizeof(raced) || strlen(argv[1]) >= sizeof(raced) ||
	    pthread_create(&thread, NULL, swap_names, NULL) != 0)
		exit(99);
	/* A name that was half swapped does not exist. One processor swaps only when this one waits. */
	for (long tries = 0; good < 200 || (other_size == 0 && tries < enough); tries++) {
		int fd = open(raced, O_RDONLY | O_CLOEXEC);
		long got = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (got == 4 && !memcmp(text, "fine", 4)) {
			good++;
		} else if (got > 0) {
			memcpy(other, text, (size_t)got);
			other_size = got;
		}
		if (fd >= 0)
			close(fd);
	}
	race_over = true;
	(void)pthread_join(thread, NULL);
	say_text("race", good, other, other_size);
}

static void do_fsopen(int argc, char **argv)
{
	(void)argc;
	say("fsopen", syscall(SYS_fsopen, argv[0], 0));
}

static void do_open_tree(int argc, char **argv)
{
	(void)argc;
	say("open_tree", syscall(SYS_open_tree, AT_FDCWD, argv[0], 1 /* OPEN_TREE_CLONE */));
}

static void do_mount_setattr(int argc, char **argv)
{
	struct {
		uint64_t set, clear, propagation, userns_fd;
	} attr = {.clear = 1 /* MOUNT_ATTR_RDONLY */};

	(void)argc;
	say("mount_setattr", syscall(442, AT_FDCWD, argv[0], 0, &attr, sizeof(attr)));
}

static void do_move_mount(int argc, char **argv)
{
	(void)argc;
	say("move_mount", syscall(SYS_move_mount, AT_FDCWD, argv[0], AT_FDCWD, argv[1], 0));
}

const struct verb verbs_files[] = {
	{"open", 2, 2, do_open},
	{"openat", 2, 2, do_openat},
	{"openat2", 2, 2, do_openat2},
	{"write", 2, 2, do_write},
	{"writefd", 2, 2, do_writefd},
	{"unlink", 1, 1, do_unlink},
	{"mkdir", 1, 1, do_mkdir},
	{"rename", 2, 2, do_rename},
	{"renameat2", 3, 3, do_renameat2},
	{"link", 2, 2, do_link},
	{"symlink", 2, 2, do_symlink},
	{"chmod", 2, 2, do_chmod},
	{"chown", 3, 3, do_chown},
	{"truncate", 2, 2, do_truncate},
	{"utime", 1, 1, do_utime},
	{"mkfifo", 1, 1, do_mkfifo},
	{"mknod", 4, 4, do_mknod},
	{"suid", 1, 1, do_suid},
	{"stat", 1, 1, do_stat},
	{"statfs", 1, 1, do_statfs},
	{"readlink", 1, 1, do_readlink},
	{"chroot", 1, 1, do_chroot},
	{"chdir", 1, 1, do_chdir},
	{"getcwd", 0, 0, do_getcwd},
	{"list", 1, 1, do_list},
	{"fds", 0, 0, do_fds},
	{"setxattr", 3, 3, do_setxattr},
	{"chroot_walk", 1, 1, do_chroot_walk},
	{"open_by_handle", 1, 1, do_open_by_handle},
	{"flock", 1, 1, do_flock},
	{"mount", 4, 4, do_mount},
	{"umount", 2, 2, do_umount},
	{"pivot_root", 2, 2, do_pivot_root},
	{"race", 2, 3, do_race},
	{"fsopen", 1, 1, do_fsopen},
	{"open_tree", 1, 1, do_open_tree},
	{"mount_setattr", 1, 1, do_mount_setattr},
	{"move_mount", 2, 2, do_move_mount},
	{0},
};
