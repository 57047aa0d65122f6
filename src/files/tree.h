/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a directory that somebody hostile may have made: by descriptors, without recursion, to a
 * fixed depth, counting entries as they are read. Names come sorted, so that equal trees give equal
 * results.
 */
#ifndef FILES_TREE_H
#define FILES_TREE_H

#include "files/files.h"

#include <sys/stat.h>

enum tree_event {
	TREE_END,
	TREE_FILE,  /* `fd` is open for reading, `st` its state; both until the next call */
	TREE_ENTER, /* a directory begins */
	TREE_LEAVE, /* a directory that was entered ends */
	TREE_ODD,   /* cannot be copied: `odd` says why */
};

/* How to open what is found. */
struct tree_how {
	uint64_t resolve; /* BENEATH or BENEATH_HOST */
	bool unlock;	  /* where the owner's own rights are missing, add them for the moment */
};

struct tree_level {
	int fd;
	char **name;
	size_t count, next;
	size_t path_size;
};

struct tree {
	struct tree_how how;
	uint64_t *entries, max_entries;
	size_t depth; /* levels in use */
	struct tree_level level[FILES_DEPTH_MAX + 1];

	/* of the last event */
	char path[FILES_NAME_MAX + (FILES_DEPTH_MAX + 2) * (FILES_PART_MAX + 1)];
	const char *name; /* its last component */
	int fd;
	struct stat st;
	struct bj_error odd;
};

/*
 * Starts at the directory `dir_fd`, which becomes the tree's own even on failure. `path` is put
 * before every path, "" for none. `*entries` counts on from what it is.
 */
int tree_start(struct tree **ret, int dir_fd, const char *path, struct tree_how how,
	       uint64_t *entries, uint64_t max_entries, struct bj_error *err);
/* -1 only for what ends the whole walk: too many entries, no memory. */
int tree_next(struct tree *tree, enum tree_event *ret, struct bj_error *err);
/* After TREE_ENTER: not this one; no TREE_LEAVE follows. */
void tree_skip(struct tree *tree);
void tree_free(struct tree *tree);

/*
 * Opens `name`, a path beneath `dir_fd`, for reading: a regular file or a directory, else an error
 * that names what it is. `path` is for messages.
 */
int tree_open(int dir_fd, const char *name, struct tree_how how, const char *path, int *ret_fd,
	      struct stat *ret_st, struct bj_error *err);

/* O_PATH of whatever `name`, a path beneath `dir_fd`, is; -1 with errno. */
int tree_look(int dir_fd, const char *name, struct tree_how how);

#define auto_tree __attribute__((cleanup(tree_cleanup)))
static inline void tree_cleanup(struct tree **tree)
{
	tree_free(*tree);
}

#endif
