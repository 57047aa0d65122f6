/* SPDX-License-Identifier: Apache-2.0 */
#include "files/live_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUT_BUFFER (128 * 1024)

struct files_put {
	struct place place;
	char temp[FILES_PART_MAX + 1];
	int fd; /* -1: there is no temporary file any more */
	uint64_t bytes, most;
	char path[]; /* as it was asked for */
};

/*
 * Removes the temporary file. The program may have moved or linked it meanwhile: then it keeps an
 * empty one.
 */
static void discard(struct files_put *put)
{
	struct stat ours, there;
	if (put->fd < 0)
		return;
	bool known = fstat(put->fd, &ours) == 0;
	if (known && fstatat(put->place.dir_fd, put->temp, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_dev == ours.st_dev && there.st_ino == ours.st_ino)
		(void)unlinkat(put->place.dir_fd, put->temp, 0);
	if (!known || (fstat(put->fd, &ours) == 0 && ours.st_nlink > 0))
		(void)(ftruncate(put->fd, 0) == 0);
	(void)close(put->fd);
	put->fd = -1;
}

void files_put_abort(struct files_put *put)
{
	if (!put)
		return;
	discard(put);
	cleanup_close(&put->place.dir_fd);
	free(put);
}

static void cleanup_put(struct files_put **put)
{
	files_put_abort(*put);
}

#define auto_put __attribute__((cleanup(cleanup_put)))

int files_put_begin(int workspace_fd, const char *name, const struct files_put_how *how,
		    struct files_put **ret, struct bj_error *err)
{
	size_t size = strnlen(name, FILES_NAME_MAX + 1);
	auto_put struct files_put *put = calloc(1, sizeof(*put) + size + 1);
	if (!put)
		return fail_errno(err, BJ_INTERNAL, "put %s", show(name).text);
	put->fd = put->place.dir_fd = -1;
	put->most = how->most;
	memcpy(put->path, name, size);
	if (live_place(workspace_fd, name, how->parents, &put->place, err) < 0 ||
	    live_check_place(put->place.dir_fd, put->place.name, name, err) < 0 ||
	    live_temp_name(FILES_PUT_PREFIX, put->temp, err) < 0)
		return -1;
	put->fd = open_beneath(put->place.dir_fd, put->temp,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600, BENEATH);
	if (put->fd < 0)
		return live_failed(put->place.dir_fd, "make the file", name, err);
	if (fchmod(put->fd, how->executable ? 0755 : 0644) < 0)
		return live_failed(put->place.dir_fd, "set the mode of", name, err);
	*ret = TAKE_PTR(put);
	return 0;
}

static int write_some(struct files_put *put, const void *data, size_t size, struct bj_error *err)
{
	if (put->fd < 0)
		return fail(err, BJ_INVALID, "put %s: it has failed before", show(put->path).text);
	if (size > put->most - put->bytes) {
		(void)fail(err, BJ_INVALID, "put %s: more than the %llu bytes that are allowed",
			   show(put->path).text, (unsigned long long)put->most);
		if (err)
			err->os_error = EFBIG;
		return -1;
	}
	if (write_limited(put->fd, data, size) < 0)
		return live_failed(put->place.dir_fd, "write", put->path, err);
	put->bytes += size;
	return 0;
}

int files_put_write(struct files_put *put, const void *data, size_t size, struct bj_error *err)
{
	if (write_some(put, data, size, err) == 0)
		return 0;
	discard(put);
	return -1;
}

static int write_all(struct files_put *put, int fd, struct bj_error *err)
{
	auto_free char *buffer = malloc(PUT_BUFFER);
	if (!buffer)
		return fail_errno(err, BJ_INTERNAL, "put %s", show(put->path).text);
	for (;;) {
		ssize_t n = live_read(fd, buffer, PUT_BUFFER);
		if (n < 0)
			return fail_errno(err, BJ_INVALID, "read what is to become %s",
					  show(put->path).text);
		if (n == 0)
			return 0;
		if (write_some(put, buffer, (size_t)n, err) < 0)
			return -1;
	}
}

int files_put_from(struct files_put *put, int fd, struct bj_error *err)
{
	if (write_all(put, fd, err) == 0)
		return 0;
	discard(put);
	return -1;
}

/* That what has the temporary name is what was written. The program can alter it right after, but
 * so it can under the last name. */
static int check_temp(const struct files_put *put, struct bj_error *err)
{
	struct stat ours, there;
	if (fstat(put->fd, &ours) < 0)
		return fail_errno(err, BJ_INTERNAL, "put %s", show(put->path).text);
	if (fstatat(put->place.dir_fd, put->temp, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_dev == ours.st_dev && there.st_ino == ours.st_ino &&
	    (uint64_t)ours.st_size == put->bytes)
		return 0;
	(void)fail(err, BJ_INVALID, "put %s: the program changed the temporary file",
		   show(put->path).text);
	if (err)
		err->os_error = EBUSY;
	return fail_hint(err, "Nothing was put. Try again.");
}

int files_put_commit(struct files_put *given, struct bj_error *err)
{
	auto_put struct files_put *put = given;
	if (put->fd < 0)
		return fail(err, BJ_INVALID, "put %s: it has failed before", show(put->path).text);
	int dir = put->place.dir_fd;
	if (check_temp(put, err) < 0 || live_check_place(dir, put->place.name, put->path, err) < 0)
		return -1;
	/* What a file system reports only at a close comes before the rename. */
	int flushed = fcntl(put->fd, F_DUPFD_CLOEXEC, 0);
	if (flushed < 0 || close(flushed) < 0)
		return live_failed(dir, "write", put->path, err);
	if (renameat(dir, put->temp, dir, put->place.name) < 0)
		return live_failed(dir, "put", put->path, err);
	(void)close(TAKE_FD(put->fd));
	return 0;
}
