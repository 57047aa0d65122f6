/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a live workspace: hostile code runs in it, and swaps what it likes while an operation is
 * on its way. Everything is reached by openat2 from the workspace's descriptor: beneath it, through
 * no symbolic link, into no other mount. What the program does meanwhile can make an operation
 * fail, or act on another thing of this workspace; never on one outside it.
 *
 * For a process that has the workspace's own id and nothing else to lose. What it makes belongs to
 * that id. Directories are 0755 and files 0644 or 0755, whatever the umask.
 *
 * A name is below the workspace: bytes that files_name_check() lets pass. Where a directory is
 * meant, "" is the workspace itself. Errors carry errno in `os_error` where the kernel said no;
 * ENOSPC comes with what is used up, bytes or inodes, and how many there are.
 *
 * Reading waits for nobody but the descriptor it was given. SIGPIPE of a pipe that nobody reads is
 * the caller's to ignore; a socket gives EPIPE.
 */
#ifndef FILES_LIVE_H
#define FILES_LIVE_H

#include "files/files.h"

/* ---- Put --------------------------------------------------------------------------------- */

#define FILES_PUT_PREFIX ".belljar-put-"

struct files_put_how {
	uint64_t most; /* bytes */
	bool executable;
	bool parents; /* make the directories on the way */
};

/*
 * A file in the making: under a temporary name beside its place, which it takes in one step. Only
 * nothing or a regular file may be in that place. (What the program puts there in the last moment
 * is replaced, unless it is a directory: it is never followed.)
 *
 * A failure of `write`, `from` or `commit` has removed the temporary file; the put is then only to
 * be aborted. `commit` frees it, whatever comes of it.
 */
struct files_put;

int files_put_begin(int workspace_fd, const char *name, const struct files_put_how *how,
		    struct files_put **ret, struct bj_error *err);
int files_put_write(struct files_put *put, const void *data, size_t size, struct bj_error *err);
/* All that `fd` has, to its end: a file, a pipe, a socket. */
int files_put_from(struct files_put *put, int fd, struct bj_error *err);
int files_put_commit(struct files_put *put, struct bj_error *err);
void files_put_abort(struct files_put *put);

/* ---- Get --------------------------------------------------------------------------------- */

/*
 * Stops the program while its file is read. `pause` returns when no task of it can run any more,
 * or -1 with errno; after a 0 `resume` is called once. Without it a file is read twice and
 * compared: that shows writes through a shared mapping, which on tmpfs change no time, and a
 * write() that was on its way; not what was changed and then changed back in between.
 */
struct files_pause {
	int (*pause)(void *user);
	void (*resume)(void *user);
	void *user;
};

struct files_get_how {
	uint64_t most;
	bool hash;
	const struct files_pause *pause; /* or NULL */
};

struct files_got {
	uint64_t bytes;
	char sha256[65]; /* of exactly the bytes given; "" unless asked for */
	bool executable;
	int64_t mtime_ns;
	const char *risky; /* as files_risky() has it */
};

/* The bytes of one moment in a sealed memfd, its position at the start; else EBUSY: "changed while
 * it was read". */
int files_get(int workspace_fd, const char *name, const struct files_get_how *how, int *ret_fd,
	      struct files_got *ret, struct bj_error *err);
/* The same to a descriptor. Nothing is written before all is known to be of one moment. */
int files_get_to(int workspace_fd, const char *name, const struct files_get_how *how, int to_fd,
		 struct files_got *ret, struct bj_error *err);

/* ---- Look -------------------------------------------------------------------------------- */

enum files_kind {
	FILES_KIND_FILE,
	FILES_KIND_DIRECTORY,
	FILES_KIND_SYMLINK,
	FILES_KIND_FIFO,
	FILES_KIND_SOCKET,
	FILES_KIND_DEVICE,
	FILES_KIND_COUNT
};

const char *files_kind_name(enum files_kind kind); /* "file", "directory", "symlink", … */

struct files_stat {
	enum files_kind kind;
	uint64_t bytes;
	bool executable;  /* a file that its owner may execute */
	int64_t mtime_ns; /* what does not fit is INT64_MIN or INT64_MAX */
	const char *risky;
};

struct files_entry {
	char *name; /* the last component */
	struct files_stat stat;
};

#define FILES_PAGE_DEFAULT 1000
#define FILES_PAGE_MAX	   10000
/*
 * A page is made in one pass over the directory, and holds at most FILES_PAGE_MAX names of 256
 * bytes: 3 MB, however large the directory. One with more names than this is an error, E2BIG.
 */
#define FILES_NAMES_MAX (UINT64_C(1) << 20)

struct files_page {
	struct files_entry *entry; /* by the bytes of their names */
	size_t count;
	uint64_t total;		       /* names in the directory */
	bool more;		       /* names after `last` */
	char last[FILES_PART_MAX + 1]; /* the next page's `after`, also where it is gone since */
};

/* `after` NULL: from the first. `most` 0: FILES_PAGE_DEFAULT. */
int files_ls(int workspace_fd, const char *name, const char *after, size_t most,
	     struct files_page *ret, struct bj_error *err);
void files_page_free(struct files_page *page);
/* Of a symbolic link: its own. */
int files_stat(int workspace_fd, const char *name, struct files_stat *ret, struct bj_error *err);

/* ---- Change ------------------------------------------------------------------------------ */

/* `parents`: those too, and one that exists is as good as one that was made. */
int files_mkdir(int workspace_fd, const char *name, bool parents, struct bj_error *err);

/* Anything, a symbolic link as such. What is at `to` stays, EEXIST, unless `overwrite`. */
int files_mv(int workspace_fd, const char *from, const char *to, bool overwrite,
	     struct bj_error *err);

struct files_removed {
	uint64_t removed;
	uint64_t left; /* could not be removed */
};

/* Of a tree at most so many entries are met: one that grows as fast as it is removed is EBUSY. */
#define FILES_RM_MAX (UINT64_C(1) << 22)

/*
 * One name; or, with `tree`, a directory and all in it, of any depth. Other mounts stay, and are an
 * error. `most` is FILES_RM_MAX or less. `ret` is filled also where it fails.
 */
int files_rm(int workspace_fd, const char *name, bool tree, uint64_t most,
	     struct files_removed *ret, struct bj_error *err);

/* ---- Names as text ----------------------------------------------------------------------- */

#define FILES_TEXT_MAX (4 * FILES_NAME_MAX)

/*
 * Bytes as text and back, without loss: printable UTF-8 stays as it is; a backslash is "\\", any
 * other byte "\xNN". Back, only these two are escapes, and all else stands for itself.
 * files_name_text() wants room for four times `size` and a NUL, and returns what it used.
 */
size_t files_name_text(const char *name, size_t size, char *text);
/* `name` has room for `size` bytes and a NUL, which may not be its only one. */
int files_text_name(const char *text, size_t size, char *name, size_t *ret_size,
		    struct bj_error *err);

#endif
