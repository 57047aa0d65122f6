/* SPDX-License-Identifier: Apache-2.0 */
#include "files_world.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORDINARY_ID 54321

const char *world_small;
int world_gone = -1;
bool world_root;
const struct files_caps world_caps = {.bytes = 8 << 20, .entries = 1000};

static char root_path[32], small_path[48];
static int serial;

/* Of setting the world up; a test that cannot begin has failed. */
static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "test world: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_proc(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
}

/* Mounts need a mount namespace; for an ordinary user, a user namespace around it. */
static void enter_namespaces(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	must(unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) == 0, "unshare");
	if (uid) {
		write_proc("/proc/self/setgroups", "deny");
		(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		write_proc("/proc/self/uid_map", map);
		(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		write_proc("/proc/self/gid_map", map);
	}
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
}

static void mount_tmpfs(const char *name, unsigned long flags, const char *options)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "%s/%s", root_path, name);
	must(mkdir(path, 0755) == 0 && mount("tmpfs", path, "tmpfs", flags, options) == 0, path);
}

static void make_gone(void)
{
	char path[64];
	mount_tmpfs("gone", MS_NOSUID | MS_NODEV, "mode=0777");
	(void)snprintf(path, sizeof(path), "%s/gone", root_path);
	world_gone = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(world_gone >= 0, path);
	put_text(world_gone, "file", "abc", 0644);
	must(umount2(path, MNT_DETACH) == 0, "umount");
}

static void become_ordinary(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	if (geteuid() == 0) {
		must(setgroups(0, NULL) == 0 &&
			     setresgid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID) == 0 &&
			     setresuid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID) == 0,
		     "become an ordinary user");
	} else {
		must(syscall(SYS_capset, &head, none) == 0, "drop capabilities");
	}
}

static int run_role(int (*group)(void), bool root)
{
	(void)umask(022);
	enter_namespaces();
	must(mount("tmpfs", root_path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0777,size=64m") == 0,
	     root_path);
	mount_tmpfs("ws", MS_NOSUID | MS_NODEV, "mode=0777,size=64m");
	mount_tmpfs("host", MS_NOSUID | MS_NODEV, "mode=0777,size=64m");
	mount_tmpfs("small", MS_NOSUID | MS_NODEV, "mode=0777,size=256k,nr_inodes=64");
	(void)snprintf(small_path, sizeof(small_path), "%s/small", root_path);
	world_small = small_path;
	make_gone();
	world_root = root;
	if (!root)
		become_ordinary();
	/* A change of ids closes /proc/self to its own process. */
	must(prctl(PR_SET_DUMPABLE, 1) == 0, "prctl");
	(void)printf("# as %s\n", root ? "root" : "an ordinary user");
	(void)fflush(stdout);
	/* Whatever blocks is a failure. */
	(void)alarm(240);
	return group();
}

static int fork_role(int (*group)(void), bool root)
{
	(void)fflush(NULL);
	pid_t pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0)
		exit(run_role(group, root) ? 1 : 0);
	int status;
	must(waitpid(pid, &status, 0) == pid, "wait");
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int world_run(int (*group)(void))
{
	(void)snprintf(root_path, sizeof(root_path), "/tmp/belljar-test-XXXXXX");
	must(mkdtemp(root_path) != NULL, root_path);
	int failed = 0;
	if (geteuid() == 0)
		failed |= fork_role(group, true);
	failed |= fork_role(group, false);
	must(rmdir(root_path) == 0, "remove the test's directory");
	return failed;
}

static int count_fds(void)
{
	int count = 0;
	DIR *dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	must(w != NULL, "calloc");
	serial++;
	(void)snprintf(w->ws_path, sizeof(w->ws_path), "%s/ws/%d", root_path, serial);
	(void)snprintf(w->host, sizeof(w->host), "%s/host/%d", root_path, serial);
	must(mkdir(w->ws_path, 0755) == 0 && mkdir(w->host, 0755) == 0 && chdir(w->host) == 0,
	     w->host);
	w->ws = open(w->ws_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(w->ws >= 0, w->ws_path);
	w->fds = count_fds();
	*state = w;
	return 0;
}

/* Temporary names left in the directory; tests deliver few levels, so this may recurse. */
static int count_temporary(int dir_fd, const char *name)
{
	int count = 0;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		count += strncmp(e->d_name, ".belljar-", 9) == 0;
		count += count_temporary(fd, e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

int world_teardown(void **state)
{
	struct world *w = *state;
	int temporary = count_temporary(AT_FDCWD, w->host) + count_temporary(AT_FDCWD, w->ws_path) +
			count_temporary(AT_FDCWD, world_small);
	bool left = w->list.left > 0 || temporary > 0 || count_fds() != w->fds;
	if (left)
		print_error("left behind: %d temporary files (%llu counted), %d descriptors\n",
			    temporary, (unsigned long long)w->list.left, count_fds() - w->fds);
	files_list_free(&w->list);
	(void)close(w->ws);
	free(w);
	return left ? -1 : 0;
}

void put_text(int dir_fd, const char *path, const char *text, mode_t mode)
{
	auto_close int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
		     fchmod(fd, mode) == 0,
	     path);
}

void put_bytes(int dir_fd, const char *path, size_t size)
{
	auto_close int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	auto_free char *data = malloc(size + 1);
	must(fd >= 0 && data, path);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 2654435761U >> 13);
	must(write(fd, data, size) == (ssize_t)size, path);
}

bool has_text(int dir_fd, const char *path, const char *text)
{
	char buffer[4096];
	auto_close int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, buffer, sizeof(buffer));
	return n >= 0 && (size_t)n == strlen(text) && memcmp(buffer, text, (size_t)n) == 0;
}

bool exists(int dir_fd, const char *path)
{
	struct stat st;
	return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

mode_t mode_of(int dir_fd, const char *path)
{
	struct stat st;
	must(fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0, path);
	return st.st_mode & 07777;
}

void put_deep(int dir_fd, const char *first, int depth)
{
	int dir = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < depth; i++) {
		const char *name = i ? "d" : first;
		must(mkdirat(dir, name, 0755) == 0, "mkdirat");
		int next = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		must(next >= 0, "openat");
		(void)close(dir);
		dir = next;
	}
	(void)close(dir);
}

ssize_t naive(const struct world *w, const char *name, char *text, size_t size)
{
	auto_close int fd = openat(w->ws, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -1 : read(fd, text, size);
}

void assert_listed(const struct world *w, const char *name, const char *path)
{
	char sha[SHA256_DIGEST_STRING_LENGTH];
	struct stat st;
	for (size_t i = 0; i < w->list.count; i++) {
		const struct files_item *item = &w->list.item[i];
		if (strcmp(item->path, name) != 0)
			continue;
		assert_int_equal(item->type, FILES_FILE);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(item->bytes, st.st_size);
		assert_non_null(SHA256File(path, sha));
		assert_string_equal(item->sha256, sha);
		return;
	}
	fail_msg("%s is not in the list", name);
}

void assert_collects(struct world *w, const char *name, const char *host_path)
{
	struct bj_error untouched;
	memset(&w->err, 0x5a, sizeof(w->err));
	untouched = w->err;
	int result = files_collect(w->ws, name, host_path, &world_caps, &w->list, &w->err);
	if (result != 0)
		fail_msg("collect: %s", w->err.message);
	assert_memory_equal(&w->err, &untouched, sizeof(untouched));
}

void assert_collect_fails(struct world *w, const char *name, const char *host_path, int os,
			  const char *message)
{
	size_t before = w->list.problems;
	assert_int_equal(files_collect(w->ws, name, host_path, &world_caps, &w->list, &w->err), -1);
	if (!strstr(w->err.message, message))
		fail_msg("\"%s\" is not in: %s", message, w->err.message);
	assert_int_equal(w->err.os_error, os);
	assert_int_equal(w->list.problems, before + 1);
	for (const unsigned char *c = (const unsigned char *)w->err.message; *c; c++)
		assert_false(*c < 0x20 || *c == 0x7f);
}
