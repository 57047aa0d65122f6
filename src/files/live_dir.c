/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and making directories of a live workspace, and saying why it did not work. */
#include "files/live_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of tmpfs inodes run out as easily as bytes, and errno is the same for both. */
static int no_space(int dir_fd, const char *what, const char *path, int os, struct bj_error *err)
{
	struct statfs fs;
	char used[128] = "";
	bool inodes = false;
	if (fstatfs(dir_fd, &fs) == 0) {
		unsigned long long block = (unsigned long long)fs.f_bsize;
		unsigned long long all = fs.f_blocks * block, left = fs.f_bavail * block;
		inodes = fs.f_files > 0 && fs.f_ffree == 0;
		if (inodes && left > 0)
			(void)snprintf(used, sizeof(used), ": all %llu inodes are used",
				       (unsigned long long)fs.f_files);
		else if (inodes)
			(void)snprintf(used, sizeof(used),
				       ": all %llu bytes and all %llu inodes are used", all,
				       (unsigned long long)fs.f_files);
		else
			(void)snprintf(used, sizeof(used), ": %llu of %llu bytes are used",
				       all - left, all);
	}
	errno = os;
	(void)fail_errno(err, BJ_INVALID, "%s %s", what, show(path).text);
	if (err) {
		size_t length = strlen(err->message);
		(void)snprintf(err->message + length, sizeof(err->message) - length, "%s", used);
	}
	return fail_hint(err,
			 inodes ? "Each file, directory and link is one inode: remove some, or "
				  "give a larger --workspace."
				: "Remove files, or give a larger --workspace.");
}

int live_failed(int dir_fd, const char *what, const char *path, struct bj_error *err)
{
	int os = errno;
	switch (os) {
	case ENOSPC:
	case EDQUOT:
		return no_space(dir_fd, what, path, os, err);
	case ELOOP:
		return fail_errno(err, BJ_INVALID, "%s %s: there is a symbolic link on the way",
				  what, show(path).text);
	case EXDEV:
		return fail_errno(err, BJ_INVALID, "%s %s: it leads elsewhere", what,
				  show(path).text);
	case ENOSYS:
		(void)fail_errno(err, BJ_UNSUPPORTED, "%s %s", what, show(path).text);
		return fail_hint(err, "Linux 5.6 has openat2. In a container, its seccomp filter "
				      "must allow it.");
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return fail_errno(err, BJ_INTERNAL, "%s %s", what, show(path).text);
	default:
		return fail_errno(err, BJ_INVALID, "%s %s", what, show(path).text);
	}
}

int live_make_directory(int dir_fd, const char *part, int *ret_fd)
{
	if (mkdirat(dir_fd, part, 0755) < 0)
		return -1;
	auto_close int fd = open_beneath(dir_fd, part, OPEN_TO_LIST, 0, BENEATH);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	/* The umask took something. If this is not what was made, it is the program's own. */
	if ((st.st_mode & 07777) != 0755 && fchmod(fd, 0755) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* One directory of a path, which may be there, and may be made by the program at this moment. */
static int open_or_make(int dir_fd, const char *part)
{
	int fd = open_beneath(dir_fd, part, OPEN_THROUGH, 0, BENEATH);
	if (fd >= 0 || errno != ENOENT || live_make_directory(dir_fd, part, &fd) == 0)
		return fd;
	return errno == EEXIST ? open_beneath(dir_fd, part, OPEN_THROUGH, 0, BENEATH) : -1;
}

/* `path` has been checked; `*ret_fd` is the directory of `path` up to `size`. */
static int make_parents(int workspace_fd, const char *path, size_t size, int *ret_fd,
			struct bj_error *err)
{
	char part[FILES_PART_MAX + 1];
	auto_close int dir = open_beneath(workspace_fd, ".", OPEN_THROUGH, 0, BENEATH);
	for (size_t start = 0; dir >= 0 && start < size;) {
		const char *slash = memchr(path + start, '/', size - start);
		size_t length = slash ? (size_t)(slash - path) - start : size - start;
		memcpy(part, path + start, length);
		part[length] = '\0';
		int next = open_or_make(dir, part);
		if (next < 0)
			return live_failed(dir, "make the directories of", path, err);
		(void)close(dir);
		dir = next;
		start += length + 1;
	}
	if (dir < 0)
		return live_failed(workspace_fd, "open the workspace of", path, err);
	*ret_fd = TAKE_FD(dir);
	return 0;
}

static int check_name(const char *name, struct bj_error *err)
{
	const char *wrong = files_name_check(name, strnlen(name, FILES_NAME_MAX + 1));
	if (wrong)
		return fail(err, BJ_INVALID, "the name %s %s", show(name).text, wrong);
	return 0;
}

int live_place(int workspace_fd, const char *name, bool parents, struct place *ret,
	       struct bj_error *err)
{
	char parent[FILES_NAME_MAX + 1] = ".";
	if (check_name(name, err) < 0)
		return -1;
	const char *slash = strrchr(name, '/');
	size_t size = slash ? (size_t)(slash - name) : 0;
	if (slash) {
		memcpy(parent, name, size);
		parent[size] = '\0';
	}
	int fd = open_beneath(workspace_fd, parent, OPEN_THROUGH, 0, BENEATH);
	if (fd < 0 && (!parents || errno != ENOENT))
		return live_failed(workspace_fd, "open the directory of", name, err);
	if (fd < 0 && make_parents(workspace_fd, name, size, &fd, err) < 0)
		return -1;
	ret->dir_fd = fd;
	const char *last = slash ? slash + 1 : name;
	memcpy(ret->name, last, strlen(last) + 1);
	return 0;
}

int live_open_directory(int workspace_fd, const char *name, int flags, int *ret_fd,
			struct bj_error *err)
{
	if (*name && check_name(name, err) < 0)
		return -1;
	const char *path = *name ? name : ".";
	int fd = open_beneath(workspace_fd, path, flags, 0, BENEATH);
	if (fd < 0)
		return live_failed(workspace_fd, "open the directory", path, err);
	*ret_fd = fd;
	return 0;
}

int files_mkdir(int workspace_fd, const char *name, bool parents, struct bj_error *err)
{
	struct place place;
	int made = -1;
	if (live_place(workspace_fd, name, parents, &place, err) < 0)
		return -1;
	auto_close int dir = place.dir_fd;
	if (parents)
		made = open_or_make(dir, place.name);
	else
		(void)live_make_directory(dir, place.name, &made);
	if (made < 0)
		return live_failed(dir, "make the directory", name, err);
	(void)close(made);
	return 0;
}

int live_check_place(int dir_fd, const char *part, const char *path, struct bj_error *err)
{
	struct stat st;
	if (fstatat(dir_fd, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : live_failed(dir_fd, "look at", path, err);
	if (S_ISREG(st.st_mode))
		return 0;
	(void)fail(err, BJ_INVALID, "%s is %s; a file does not replace it", show(path).text,
		   show_kind(st.st_mode));
	if (err)
		err->os_error = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
	return fail_hint(err, "Give another name, or remove it first.");
}

int live_temp_name(const char *prefix, char *name, struct bj_error *err)
{
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail_errno(err, BJ_INTERNAL, "getrandom");
	(void)snprintf(name, FILES_PART_MAX + 1, "%s%016llx", prefix, (unsigned long long)random);
	return 0;
}
