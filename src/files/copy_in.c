/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying into the workspace, in init: between clone and exec, so nothing here allocates. Each
 * thing copied is a regular file of the host or a pack; both were opened before clone. Nothing
 * untrusted runs yet, still every access is an openat2 beneath the workspace, and O_EXCL: two
 * inputs of one name are an error and not the second one.
 */
#include "files/beneath.h"
#include "files/files.h"
#include "files/pack.h"

#include "base/child_code.h"
#include "base/io.h"
#include "layers/step.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BUFFER (32 * 1024)
#define TO_THE_END  UINT64_MAX

/* A file in reading; the position is ours, because descriptions are shared between processes. */
struct source {
	int fd;
	uint64_t at;
	bool failed; /* it could not be read */
};

CHILD_CODE static int refuse(int os)
{
	errno = os;
	return -1;
}

CHILD_CODE static ssize_t read_some(struct source *from, void *data, size_t size)
{
	ssize_t n;
	do
		n = pread(from->fd, data, size, (off_t)from->at);
	while (n < 0 && errno == EINTR);
	from->failed = n < 0;
	return n;
}

/* All of `size`, -1 with EINVAL where the file ends before. */
CHILD_CODE static int take(struct source *from, void *data, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t n = read_some(from, (char *)data + got, size - got);
		if (n < 0)
			return -1;
		if (n == 0)
			return refuse(EINVAL);
		got += (size_t)n;
		from->at += (uint64_t)n;
	}
	return 0;
}

/* Up to `bytes`, or TO_THE_END; the size of the workspace bounds a file that grows meanwhile. */
CHILD_CODE static int copy_bytes(struct source *from, int to, uint64_t bytes)
{
	char buffer[COPY_BUFFER];
	for (uint64_t left = bytes; left > 0;) {
		size_t ask = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
		ssize_t n = read_some(from, buffer, ask);
		if (n < 0)
			return -1;
		if (n == 0)
			return bytes == TO_THE_END ? 0 : refuse(EINVAL);
		if (write_whole(to, buffer, (size_t)n) < 0)
			return -1;
		from->at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

CHILD_CODE static int make_directory(int dir_fd, const char *name)
{
	if (mkdirat(dir_fd, name, 0755) < 0) {
		if (errno != EEXIST)
			return -1;
		int fd = open_beneath(dir_fd, name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
		return fd < 0 ? -1 : close(fd);
	}
	/* Whatever umask init was started with. */
	return fchmodat(dir_fd, name, 0755, 0);
}

/*
 * Opens the directory that `path` is to be in, making what is missing of it. `path` has been
 * checked; its slashes are replaced one at a time and put back.
 */
CHILD_CODE static int open_parent(int workspace_fd, char *path)
{
	char *last = strrchr(path, '/');
	if (!last)
		return open_beneath(workspace_fd, ".", OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
	*last = '\0';
	int fd = open_beneath(workspace_fd, path, OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
	*last = '/';
	if (fd >= 0 || errno != ENOENT)
		return fd;

	int dir = open_beneath(workspace_fd, ".", OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
	char *slash;
	for (char *part = path; dir >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		*slash = '\0';
		int next = -1;
		if (make_directory(dir, part) == 0)
			next = open_beneath(dir, part, OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
		int os = errno;
		*slash = '/';
		(void)close(dir);
		errno = os;
		dir = next;
	}
	return dir;
}

CHILD_CODE static int put_file(int dir_fd, const char *name, uint32_t mode, struct source *from,
			       uint64_t bytes)
{
	int fd = open_beneath(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			      0600, BENEATH);
	if (fd < 0)
		return -1;
	int result = copy_bytes(from, fd, bytes);
	if (result == 0)
		result = fchmod(fd, mode & 0755);
	int os = errno;
	/* close reports what a deferred write met. */
	if (close(fd) < 0 && result == 0)
		return -1;
	errno = os;
	return result;
}

/* One file or directory to `path`, which is `size` bytes and a NUL. */
CHILD_CODE static int put(int workspace_fd, char *path, size_t size, uint32_t mode,
			  struct source *from, uint64_t bytes)
{
	if (files_name_check(path, size))
		return refuse(size > FILES_NAME_MAX ? ENAMETOOLONG : EINVAL);
	int dir = open_parent(workspace_fd, path);
	if (dir < 0)
		return -1;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int result = -1;
	if (S_ISREG(mode))
		result = put_file(dir, name, mode, from, bytes);
	else if (S_ISDIR(mode))
		result = make_directory(dir, name);
	else
		errno = EINVAL;
	int os = errno;
	(void)close(dir);
	errno = os;
	return result;
}

/* Unpacks below `path`, of `size` bytes, in a buffer of FILES_NAME_MAX + 1. */
CHILD_CODE static int unpack(int workspace_fd, char *path, size_t size, struct source *from)
{
	struct pack_head head;
	struct stat st;
	if (take(from, &head, sizeof(head)) < 0 || fstat(from->fd, &st) < 0)
		return -1;
	if (head.magic != PACK_MAGIC || st.st_size < 0 || head.size != (uint64_t)st.st_size)
		return refuse(EINVAL);
	if (put(workspace_fd, path, size, S_IFDIR | 0755, from, 0) < 0)
		return -1;
	while (from->at < head.size) {
		struct pack_entry entry;
		if (take(from, &entry, sizeof(entry)) < 0)
			return -1;
		if (size + 1 + entry.path_size > FILES_NAME_MAX)
			return refuse(ENAMETOOLONG);
		path[size] = '/';
		if (take(from, path + size + 1, entry.path_size) < 0)
			return -1;
		size_t whole = size + 1 + entry.path_size;
		path[whole] = '\0';
		if (entry.bytes > head.size - from->at)
			return refuse(EINVAL);
		if (put(workspace_fd, path, whole, entry.mode, from, entry.bytes) < 0)
			return -1;
	}
	return 0;
}

CHILD_CODE static int copy_in(int workspace_fd, const char *name, uint32_t mode,
			      struct source *from)
{
	char path[FILES_NAME_MAX + 1];
	size_t size = strnlen(name, sizeof(path));
	if (files_name_check(name, size))
		return refuse(size > FILES_NAME_MAX ? ENAMETOOLONG : EINVAL);
	memcpy(path, name, size);
	path[size] = '\0';
	if (S_ISDIR(mode))
		return unpack(workspace_fd, path, size, from);
	/* A plan may give the permissions alone. */
	return put(workspace_fd, path, size, S_IFREG | (mode & 0755), from, TO_THE_END);
}

/* Of names that were checked, in a workspace that was empty, only another input's are in the way.
 */
CHILD_CODE static bool is_the_callers(int os)
{
	return os == EEXIST || os == ENOTDIR || os == ENAMETOOLONG;
}

CHILD_CODE int files_copy_in(int workspace_fd, const char *name, uint32_t mode, int source_fd,
			     struct fault *fault)
{
	/* No STEP(): whether it was this that failed is known only afterwards, so it cannot be
	 * planted. */
	static const struct step reading = {LAYER_MOUNT, HOOK_CHILD, FILES_READ_STEP};
	struct source from = {.fd = source_fd};
	int got = copy_in(workspace_fd, name, mode, &from);
	if (got < 0 && from.failed)
		(void)step_failed(fault, &reading, errno);
	else
		got = (int)STEP(fault, LAYER_MOUNT, HOOK_CHILD, FILES_COPY_IN_STEP, got);
	if (got < 0 && (from.failed || is_the_callers(fault->os)))
		fault->code = BJ_INVALID;
	return got;
}
