/* SPDX-License-Identifier: Apache-2.0 */
/* Opening one file or directory: of the host by name, or beneath a directory by openat2. */
#include "files/beneath.h"
#include "files/files.h"
#include "files/pack.h"
#include "files/show.h"
#include "files/tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT "only files and directories are copied"

static bool is_plain(mode_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode);
}

/*
 * Adds `bits` to the mode of what `fd` is, O_PATH included, and gives the mode it had. There is no
 * fchmod for O_PATH before Linux 6.6; the link in /proc leads to this very inode.
 */
static int relax(int fd, mode_t bits, mode_t *ret_mode)
{
	struct stat st;
	char self[32];
	if (fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & bits) == bits || !is_plain(st.st_mode)) {
		errno = EACCES;
		return -1;
	}
	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	if (chmod(self, (st.st_mode & 07777) | bits) < 0)
		return -1;
	*ret_mode = st.st_mode & 07777;
	return 0;
}

static void restore(int fd, mode_t mode)
{
	char self[32];
	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	/* It worked a moment ago; if not now, the file stays readable by its owner, no worse. */
	(void)chmod(self, mode);
}

/* One component whose own mode forbids reading. Keeps errno EACCES where nothing can be done. */
static int open_locked(int dir_fd, const char *part, int flags, uint64_t resolve)
{
	auto_close int look = open_beneath(dir_fd, part, OPEN_LOOK, 0, resolve);
	if (look < 0)
		return -1;
	mode_t before;
	struct stat st;
	if (fstat(look, &st) < 0 || relax(look, S_ISDIR(st.st_mode) ? 0700 : 0400, &before) < 0) {
		errno = EACCES;
		return -1;
	}
	int fd = open_beneath(dir_fd, part, flags, 0, resolve);
	int os = errno;
	restore(look, before);
	errno = os;
	return fd;
}

/* One component in a directory that may be closed to its owner, or be closed itself. */
static int open_part(int dir_fd, const char *part, int flags, uint64_t resolve)
{
	int fd = open_beneath(dir_fd, part, flags, 0, resolve);
	if (fd >= 0 || errno != EACCES)
		return fd;
	mode_t before;
	bool relaxed = relax(dir_fd, 0700, &before) == 0;
	fd = open_beneath(dir_fd, part, flags, 0, resolve);
	if (fd < 0 && errno == EACCES)
		fd = open_locked(dir_fd, part, flags, resolve);
	int os = errno;
	if (relaxed)
		restore(dir_fd, before);
	errno = os;
	return fd;
}

/* `name` beneath `dir_fd` one component at a time, opening what is closed to its owner. */
static int open_unlocking(int dir_fd, const char *name, int flags, uint64_t resolve)
{
	char part[FILES_PART_MAX + 1];
	auto_close int held = -1;
	int dir = dir_fd;
	for (;;) {
		const char *slash = strchr(name, '/');
		size_t size = slash ? (size_t)(slash - name) : strlen(name);
		if (size >= sizeof(part)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, name, size);
		part[size] = '\0';
		if (!slash)
			return open_part(dir, part, flags, resolve);
		int next = open_part(dir, part, OPEN_LOOK | O_DIRECTORY, resolve);
		if (next < 0)
			return -1;
		if (held >= 0)
			(void)close(held);
		dir = held = next;
		name = slash + 1;
	}
}

int tree_look(int dir_fd, const char *name, struct tree_how how)
{
	return how.unlock ? open_unlocking(dir_fd, name, OPEN_LOOK, how.resolve)
			  : open_beneath(dir_fd, name, OPEN_LOOK, 0, how.resolve);
}

/* Why `name` could not be opened: what it is says more than the errno. */
static int explain(int dir_fd, const char *name, struct tree_how how, const char *path,
		   struct bj_error *err)
{
	int os = errno;
	struct shown it = show(path);
	if (os == ENOSYS) {
		(void)fail_errno(err, BJ_UNSUPPORTED, "open %s: openat2", it.text);
		return fail_hint(err, "Linux 5.6 has openat2. In a container, its seccomp filter "
				      "must allow it.");
	}
	struct stat st;
	auto_close int look = tree_look(dir_fd, name, how);
	if (look >= 0 && fstat(look, &st) == 0 && !is_plain(st.st_mode)) {
		errno = os;
		(void)fail(err, BJ_INVALID, "%s is %s; " KEPT, it.text, show_kind(st.st_mode));
		if (err)
			err->os_error = os;
		return fail_hint(err, "Write the content itself to a regular file of that name.");
	}
	errno = os;
	if (os == ELOOP)
		return fail_errno(err, BJ_INVALID, "%s: a directory on the way is a symbolic link",
				  it.text);
	if (os == EXDEV)
		return fail_errno(err, BJ_INVALID, "%s leads elsewhere", it.text);
	if (os == ENOENT)
		return fail_errno(err, BJ_INVALID, "%s is not there", it.text);
	return fail_errno(err,
			  os == EMFILE || os == ENFILE || os == ENOMEM ? BJ_INTERNAL : BJ_INVALID,
			  "open %s", it.text);
}

int tree_open(int dir_fd, const char *name, struct tree_how how, const char *path, int *ret_fd,
	      struct stat *ret_st, struct bj_error *err)
{
	auto_close int fd = open_beneath(dir_fd, name, OPEN_WARILY, 0, how.resolve);
	if (fd < 0 && errno == EACCES && how.unlock)
		fd = open_unlocking(dir_fd, name, OPEN_WARILY, how.resolve);
	if (fd < 0)
		return explain(dir_fd, name, how, path, err);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INTERNAL, "look at %s", show(path).text);
	if (!is_plain(st.st_mode)) {
		(void)fail(err, BJ_INVALID, "%s is %s; " KEPT, show(path).text,
			   show_kind(st.st_mode));
		return fail_hint(err, "Write the content itself to a regular file of that name.");
	}
	*ret_fd = TAKE_FD(fd);
	*ret_st = st;
	return 0;
}

static int refuse_kind(const char *path, mode_t mode, bool directory_too, struct bj_error *err)
{
	(void)fail(err, BJ_INVALID, "%s is %s, not a file%s", show(path).text, show_kind(mode),
		   directory_too ? " or a directory" : "");
	if (S_ISFIFO(mode))
		return fail_hint(err, "Write its content to a file first, or give it as --stdin.");
	return -1;
}

int files_open_host(const char *path, bool directory_too, const struct files_caps *caps,
		    struct files_input *ret, struct bj_error *err)
{
	if (!*path)
		return fail(err, BJ_INVALID, "the path of a file to copy in is empty");
	/* Looked at before it is opened: opening a device or a FIFO is an act. */
	auto_close int look = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	if (look < 0 || fstat(look, &st) < 0)
		return fail_errno(err, BJ_INVALID, "open %s", show(path).text);
	if (!S_ISREG(st.st_mode) && !(directory_too && S_ISDIR(st.st_mode)))
		return refuse_kind(path, st.st_mode, directory_too, err);
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INVALID, "open %s", show(path).text);
	if (directory_too && S_ISDIR(st.st_mode))
		return pack_directory(fd, path, caps, ret, err);
	if (!S_ISREG(st.st_mode))
		return refuse_kind(path, st.st_mode, directory_too, err);
	if ((uint64_t)st.st_size > caps->bytes) {
		(void)fail(err, BJ_INVALID, "%s has %lld bytes, the workspace holds %llu",
			   show(path).text, (long long)st.st_size, (unsigned long long)caps->bytes);
		return fail_hint(err, "Give a larger --workspace, or less data.");
	}
	*ret = (struct files_input){
		.fd = TAKE_FD(fd),
		.mode = S_IFREG | (st.st_mode & 0100 ? 0755 : 0644),
		.bytes = (uint64_t)st.st_size,
	};
	return 0;
}
