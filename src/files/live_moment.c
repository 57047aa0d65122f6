/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that a file had at one moment, while a program may write to it: by write(), which
 * changes its times (though perhaps long before the last byte is in place), or through a shared
 * mapping, which on tmpfs changes nothing that can be seen.
 */
#include "files/live_parts.h"

#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define COMPARE_BUFFER (128 * 1024)
#define SEND_MOST      (1 << 30)

static int changed(const char *path, struct bj_error *err)
{
	(void)fail(err, BJ_INVALID, "%s was changed while it was read", show(path).text);
	if (err)
		err->os_error = EBUSY;
	return fail_hint(err, "Try again when the program has written it.");
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static int check_same(int fd, const struct stat *before, const char *path, struct bj_error *err)
{
	struct stat now;
	if (fstat(fd, &now) < 0)
		return fail_errno(err, BJ_INTERNAL, "look at %s", show(path).text);
	if (now.st_size != before->st_size || !same_time(now.st_mtim, before->st_mtim) ||
	    !same_time(now.st_ctim, before->st_ctim))
		return changed(path, err);
	return 0;
}

/* `size` bytes at `at`; 0 at once where the file ends before. */
static ssize_t read_at_once(int fd, char *data, size_t size, off_t at)
{
	size_t got = 0;
	while (got < size) {
		ssize_t n = pread(fd, data + got, size - got, at + (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int read_small(int fd, const char *path, void *data, size_t size, struct bj_error *err)
{
	ssize_t n = read_at_once(fd, data, size, 0);
	if (n < 0)
		return fail_errno(err, BJ_INVALID, "read %s", show(path).text);
	return (size_t)n == size ? 0 : changed(path, err);
}

/* A memfd counts for the limit on file sizes too, whose signal is not the caller's to get. */
static bool within_limit(uint64_t size)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

/* sendfile copies once; what it counts is what `to` has. */
static int copy_out(int fd, const char *path, uint64_t size, int to, struct bj_error *err)
{
	off_t at = 0;
	if (!within_limit(size)) {
		errno = EFBIG;
		return fail_errno(err, BJ_INTERNAL, "copy %s", show(path).text);
	}
	while ((uint64_t)at < size) {
		uint64_t left = size - (uint64_t)at;
		ssize_t n = sendfile(to, fd, &at, left < SEND_MOST ? (size_t)left : SEND_MOST);
		if (n < 0 && errno != EINTR)
			return fail_errno(
				err, errno == ENOSPC || errno == ENOMEM ? BJ_INTERNAL : BJ_INVALID,
				"read %s", show(path).text);
		if (n == 0)
			return changed(path, err);
	}
	return 0;
}

/* Whether the file still has the `size` bytes that `small`, or else `copy`, has. */
static int compare(int fd, const char *path, uint64_t size, const char *small, int copy,
		   struct bj_error *err)
{
	size_t room = size < COMPARE_BUFFER ? (size_t)size : COMPARE_BUFFER;
	auto_free char *buffer = malloc(2 * room + 1);
	if (!buffer)
		return fail_errno(err, BJ_INTERNAL, "read %s", show(path).text);
	char *other = buffer + room;
	for (uint64_t at = 0; at < size;) {
		size_t ask = size - at < room ? (size_t)(size - at) : room;
		ssize_t n = read_at_once(fd, buffer, ask, (off_t)at);
		if (n >= 0 && !small && read_at_once(copy, other, ask, (off_t)at) != (ssize_t)ask)
			n = -1;
		if (n < 0)
			return fail_errno(err, BJ_INVALID, "read %s", show(path).text);
		if ((size_t)n != ask || memcmp(buffer, small ? small + at : other, ask) != 0)
			return changed(path, err);
		at += ask;
	}
	return 0;
}

static int take(int fd, const char *path, const struct files_get_how *how, void *small,
		size_t small_size, struct moment *m, struct bj_error *err)
{
	if (fstat(fd, &m->st) < 0)
		return fail_errno(err, BJ_INTERNAL, "look at %s", show(path).text);
	m->bytes = (uint64_t)m->st.st_size;
	/* A hole counts like any byte: it is one in the copy. */
	if (m->bytes > how->most) {
		(void)fail(err, BJ_INVALID, "%s has %llu bytes, more than the %llu allowed",
			   show(path).text, (unsigned long long)m->bytes,
			   (unsigned long long)how->most);
		if (err)
			err->os_error = EFBIG;
		return -1;
	}
	bool fits = small && m->bytes <= small_size;
	auto_close int copy = -1;
	if (!fits) {
		copy = memfd_create("belljar-get", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (copy < 0)
			return fail_errno(err, BJ_INTERNAL, "make a copy of %s", show(path).text);
	}
	int got = fits ? read_small(fd, path, small, (size_t)m->bytes, err)
		       : copy_out(fd, path, m->bytes, copy, err);
	if (got < 0 ||
	    (!how->pause && compare(fd, path, m->bytes, fits ? small : NULL, copy, err) < 0) ||
	    check_same(fd, &m->st, path, err) < 0)
		return -1;
	m->fd = TAKE_FD(copy);
	return 0;
}

int moment_take(int fd, const char *path, const struct files_get_how *how, void *small,
		size_t small_size, struct moment *ret, struct bj_error *err)
{
	const struct files_pause *pause = how->pause;
	struct moment m = {.fd = -1};
	if (pause && pause->pause(pause->user) < 0)
		return fail_errno(err, BJ_INTERNAL, "stop the program to read %s", show(path).text);
	int result = take(fd, path, how, small, small_size, &m, err);
	if (pause)
		pause->resume(pause->user);
	auto_close int copy = m.fd;
	if (result < 0)
		return -1;
	if (copy >= 0 && (lseek(copy, 0, SEEK_SET) < 0 ||
			  fcntl(copy, F_ADD_SEALS,
				F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0))
		return fail_errno(err, BJ_INTERNAL, "seal the copy of %s", show(path).text);
	(void)TAKE_FD(copy);
	*ret = m;
	return 0;
}
