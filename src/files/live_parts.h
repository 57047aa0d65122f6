/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations on a live workspace share. */
#ifndef FILES_LIVE_PARTS_H
#define FILES_LIVE_PARTS_H

#include "files/deliver.h"
#include "files/live.h"

#include <sys/stat.h>

/* A directory to go through. Without O_NOFOLLOW, so that a link is ELOOP and not ENOTDIR. */
#define OPEN_THROUGH (O_PATH | O_DIRECTORY | O_CLOEXEC)
/* One to list, likewise. */
#define OPEN_TO_LIST (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/*
 * Why `what` failed for `path`, by errno: what is on the way, or what is used up of the file system
 * that `dir_fd` is in. Returns -1.
 */
int live_failed(int dir_fd, const char *what, const char *path, struct bj_error *err);

/* The directory that `name` is in, O_PATH, and its last component. The descriptor is the caller's.
 */
int live_place(int workspace_fd, const char *name, bool make_parents, struct place *ret,
	       struct bj_error *err);

/* A directory by name, "" for the workspace; its last component may be no link either. */
int live_open_directory(int workspace_fd, const char *name, int flags, int *ret_fd,
			struct bj_error *err);

/* Makes `part` in `dir_fd`, 0755, and opens it, O_PATH; EEXIST is an error. */
int live_make_directory(int dir_fd, const char *part, int *ret_fd);

/* Refuses what a file does not replace: all but nothing and a regular file. */
int live_check_place(int dir_fd, const char *part, const char *path, struct bj_error *err);

/* `prefix` and 16 digits that nobody can have foreseen. `name` has FILES_PART_MAX + 1 bytes. */
int live_temp_name(const char *prefix, char *name, struct bj_error *err);

/* renameat2() that replaces nothing. */
int live_rename_new(int from_fd, const char *from, int to_fd, const char *to);

/* Removes what we made, whatever it is by now; counts what stays. */
void live_remove(int dir_fd, const char *part, uint64_t *left);

int64_t live_ns(struct timespec time);

/* Whole reads and writes of a descriptor that may be a socket, or one that does not block. */
ssize_t live_read(int fd, void *data, size_t size);
int live_write(int fd, const void *data, size_t size);
/* All of a sealed copy, from its start. */
int live_send(int to, int copy, uint64_t size);

/*
 * The content of a regular file, open as `fd`, at one moment. `small` takes it where it fits,
 * else it is a sealed memfd. `st` was taken when it was opened.
 */
struct moment {
	int fd; /* -1: it is in `small` */
	uint64_t bytes;
	struct stat st;
};

int moment_take(int fd, const char *path, const struct files_get_how *how, void *small,
		size_t small_size, struct moment *ret, struct bj_error *err);

#endif
