/* SPDX-License-Identifier: Apache-2.0 */
#include "files/live_parts.h"

#include "files/beneath.h"
#include "files/show.h"
#include "files/tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int64_t live_ns(struct timespec time)
{
	int64_t ns;
	/* The program sets what times it likes. */
	if (__builtin_mul_overflow((int64_t)time.tv_sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, (int64_t)time.tv_nsec, &ns))
		return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Of the copy that is handed out. It is sealed: nobody can cut it while it is mapped. */
static int hash(int fd, uint64_t size, char sha256[65])
{
	SHA2_CTX sha;
	SHA256Init(&sha);
	if (size > 0) {
		void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			return -1;
		SHA256Update(&sha, data, (size_t)size);
		(void)munmap(data, (size_t)size);
	}
	(void)SHA256End(&sha, sha256);
	return 0;
}

int files_get(int workspace_fd, const char *name, const struct files_get_how *how, int *ret_fd,
	      struct files_got *ret, struct bj_error *err)
{
	const struct tree_how beneath = {.resolve = BENEATH};
	const char *wrong = files_name_check(name, strnlen(name, FILES_NAME_MAX + 1));
	auto_close int fd = -1;
	struct stat st;
	struct moment m;
	if (wrong)
		return fail(err, BJ_INVALID, "the name %s %s", show(name).text, wrong);
	if (tree_open(workspace_fd, name, beneath, name, &fd, &st, err) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		(void)fail(err, BJ_INVALID, "%s is %s, not a file", show(name).text,
			   show_kind(st.st_mode));
		if (err)
			err->os_error = EISDIR;
		return fail_hint(err, "Get it as a tar archive, or list it.");
	}
	if (moment_take(fd, name, how, NULL, 0, &m, err) < 0)
		return -1;
	auto_close int copy = m.fd;
	struct files_got got = {
		.bytes = m.bytes,
		.executable = (m.st.st_mode & 0100) != 0,
		.mtime_ns = live_ns(m.st.st_mtim),
		.risky = files_risky(name, m.st.st_mode),
	};
	if (how->hash && hash(copy, m.bytes, got.sha256) < 0)
		return fail_errno(err, BJ_INTERNAL, "hash the copy of %s", show(name).text);
	*ret = got;
	*ret_fd = TAKE_FD(copy);
	return 0;
}

int files_get_to(int workspace_fd, const char *name, const struct files_get_how *how, int to_fd,
		 struct files_got *ret, struct bj_error *err)
{
	auto_close int copy = -1;
	struct files_got got;
	if (files_get(workspace_fd, name, how, &copy, &got, err) < 0)
		return -1;
	if (live_send(to_fd, copy, got.bytes) < 0)
		return fail_errno(err, BJ_INTERNAL, "send %s", show(name).text);
	*ret = got;
	return 0;
}
