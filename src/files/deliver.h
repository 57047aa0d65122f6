/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of collecting: copying, replacing in one step, and taking back. */
#ifndef FILES_DELIVER_H
#define FILES_DELIVER_H

#include "files/files.h"

#include <sys/types.h>

/* Of `item` all but the path is taken as it is. */
int list_add(struct files_list *list, const char *path, struct files_item item,
	     struct bj_error *err);
int list_add_directory(struct files_list *list, const char *path, struct bj_error *err);
void list_cut(struct files_list *list, size_t count);
void list_problem(struct files_list *list, const char *path, const struct bj_error *error);

struct copied {
	uint64_t bytes;
	char sha256[65];
};

/* write of all, but what RLIMIT_FSIZE forbids is EFBIG and not a signal to the caller's process. */
int write_limited(int fd, const void *data, size_t size);

/*
 * Copies what is left of `from` to `to`, counting: more than `most` bytes is an error, whatever
 * the file's size was said to be. `sha256` stays empty unless `hash`. `path` is for messages.
 */
int copy_counted(int from, int to, uint64_t most, bool hash, const char *path, struct copied *ret,
		 struct bj_error *err);

/* Where a thing is to appear. */
struct place {
	int dir_fd; /* O_PATH */
	char name[FILES_PART_MAX + 1];
};

/*
 * Finds the place that `host_path` means for `name` of the workspace: the rules are at
 * files_collect(). `ret_exists`: a directory is there already. Nothing else may be.
 */
int place_find(const char *host_path, const char *name, bool directory, struct place *ret,
	       bool *ret_exists, struct bj_error *err);

/* Whether a file may appear as `name` in `dir_fd`: nothing or a regular file is there. */
int place_check(int dir_fd, const char *name, struct bj_error *err);

#define TEMP_SIZE 32
/* A name that nobody can have prepared. */
int temp_name(char name[TEMP_SIZE], struct bj_error *err);

/* Makes the directory `name`; the owner can use it whatever the umask. EEXIST is an error. */
int make_directory(int dir_fd, const char *name, struct bj_error *err);

/* Copies `from` to `name` in `dir_fd`: complete, in one step, or not at all. */
int deliver_file(int dir_fd, const char *name, int from, mode_t mode, uint64_t most,
		 const char *path, struct files_list *list, struct bj_error *err);

/* Removes the directory `name`, which we made, with all that is in it; counts what stays. */
void remove_tree(int dir_fd, const char *name, uint64_t *left);

#endif
