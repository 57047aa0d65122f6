/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Save points: the recorded content of a workspace, in a store of the host's.
 *
 * A workspace is what a program nobody has read made of it; the store is a directory of ours, 0700,
 * that no program reaches. In it:
 *
 *   objects/ab/cdef…   the bytes of a file, named by their SHA-256
 *   points/NAME        a save point: its manifest (save_parts.h), which names objects
 *   temp/              what is being made. Something in it means that a take or a removal was
 *                      cut off, and the next one clears up
 *
 * Whatever has a name in objects/ or points/ came there by one rename, whole. So a process that
 * dies between any two steps leaves a store that opens, with every older save point in it.
 *
 * Recorded are regular files, directories and symbolic links (as links: their text), with mode bits
 * 0777 and the time of last change. FIFOs, sockets and devices are left out, and listed as
 * SAVE_OTHER. Owners, set-user-ID, hard links, holes, attributes and ACLs are not recorded.
 *
 * The store is locked (flock) while a call runs: by one that writes, or by any number that read. A
 * lock that cannot be had at once is an error with os_error EWOULDBLOCK. A struct save_store is
 * for one thread at a time.
 */
#ifndef FILES_SAVE_H
#define FILES_SAVE_H

#include "files/files.h"

#include <stdbool.h>
#include <stdint.h>

#define SAVE_NAME_MAX  64
#define SAVE_PATH_SIZE ((FILES_DEPTH_MAX + 1) * (FILES_PART_MAX + 1))
#define SAVE_SHA_SIZE  32

enum save_type { SAVE_FILE, SAVE_DIRECTORY, SAVE_LINK, SAVE_OTHER, SAVE_TYPE_COUNT };
const char *save_type_name(enum save_type type); /* "file", "directory", "link", "other" */

struct save_entry {
	enum save_type type;
	unsigned int depth; /* 0 is the workspace itself */
	const char *name;   /* the last component; "" for the workspace */
	const char *link;   /* text of a SAVE_LINK, else NULL */
	uint32_t mode;	    /* 0777; of a SAVE_OTHER with the bits of S_IFMT */
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint64_t bytes;		       /* of a file's content or a link's text */
	uint8_t sha256[SAVE_SHA_SIZE]; /* of a file's content */
	size_t parent, end;	       /* in a manifest: index of the directory; behind the last
					  entry below this one */
};

/* What may not be exceeded; each is an error that names it and the number. */
struct save_caps {
	uint64_t bytes;	      /* of all files of a save point; holes count */
	uint32_t entries;     /* of a save point */
	uint32_t points;      /* save points in the store */
	uint64_t store_bytes; /* of the whole store, each file counted in units of 4 KiB */
};

struct save_store;

/*
 * `store_fd` is a directory of the caller's uid that nobody else has a right to; it stays the
 * caller's. What is missing in it is made. With `sync` a save point that was taken, or removed,
 * also survives the loss of power; without it, it survives the death of any process.
 */
int save_open(int store_fd, bool sync, struct save_store **ret, struct bj_error *err);
void save_close(struct save_store *store);

/*
 * Called around the walk, so that a save point is of one moment: the caller freezes what writes to
 * the workspace. `resume` is called exactly when `pause` gave 0.
 */
struct save_pause {
	int (*pause)(void *user, struct bj_error *err);
	void (*resume)(void *user);
	void *user;
};

struct save_request {
	int workspace_fd; /* O_PATH will do */
	const char *name; /* letters, digits, "-", "_", "."; not first "." */
	/*
	 * A save point of the same workspace, or NULL. Files that have its size are compared with
	 * what it names, byte by byte, which is several times faster than hashing. Times are never
	 * believed: a write through a shared mapping of tmpfs changes none. One that is missing or
	 * damaged costs time only.
	 */
	const char *previous;
	struct save_caps caps;
	const struct save_pause *pause; /* or NULL */
};

struct save_made {
	uint64_t serial;  /* higher than that of every older save point */
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint32_t entries, left_out;
	uint64_t bytes;
	uint64_t new_bytes; /* of content that the store did not hold before */
	uint32_t compared;  /* files found unchanged without hashing */
	uint32_t hashed;
};

/*
 * Records the workspace: whole or not at all. Without `pause`, a file that changes while it is read
 * is an error; a change through a shared mapping is not noticed then.
 */
int save_take(struct save_store *store, const struct save_request *request, struct save_made *ret,
	      struct bj_error *err);

struct save_restored {
	uint32_t written, kept; /* files and links */
	uint64_t removed;	/* entries that were not in the save point */
	uint32_t missing;	/* SAVE_OTHER that is not there any more: nothing makes it */
};

/*
 * Makes the workspace what it was. Runs with the file system ids of its owner (setfsuid), whose the
 * files become; where the store is root's, with CAP_DAC_READ_SEARCH raised again after that. The
 * processes that write to the workspace are stopped or gone. Each file is replaced in one step
 * after its content was found to be what its hash says, unless the workspace is too full for both:
 * then the old one goes first. The message of an error says whether the workspace was changed.
 */
int save_restore(struct save_store *store, const char *name, int workspace_fd,
		 struct save_restored *ret, struct bj_error *err);

enum save_change { SAVE_ADDED, SAVE_CHANGED, SAVE_REMOVED, SAVE_MODE, SAVE_CHANGE_COUNT };
const char *save_change_name(enum save_change change); /* "added", "changed", "removed", "mode" */

struct save_difference {
	enum save_change change;
	const char *path; /* below the workspace: bytes; "" for the workspace */
	/* Of one that was added or removed both are of the side that has it; bytes then are 0 on
	 * the other. */
	enum save_type type_before, type_after;
	uint32_t mode_before, mode_after;
	uint64_t bytes_before, bytes_after;
};

/* Other than 0 ends the walk, which then fails with what the callback put into `err`. */
typedef int (*save_difference_fn)(void *user, const struct save_difference *difference,
				  struct bj_error *err);

/* One side of a comparison: a save point, or with `name` NULL the workspace as it is. */
struct save_side {
	const char *name;
	int workspace_fd;
};

/*
 * What leads from `a` to `b`, at most one of them a workspace; in the order of bytes, component by
 * component: a directory is followed by what is in it. Times alone are no difference.
 */
int save_diff(struct save_store *store, const struct save_side *a, const struct save_side *b,
	      const struct save_caps *caps, save_difference_fn fn, void *user,
	      struct bj_error *err);

struct save_point {
	char name[SAVE_NAME_MAX + 1];
	bool damaged; /* then only `name` is known */
	uint64_t serial, time_ns, bytes;
	uint32_t entries, left_out;
};

/* All save points, oldest first. `*ret` is for free(). */
int save_list(struct save_store *store, struct save_point **ret, size_t *ret_count,
	      struct bj_error *err);

/* All entries of a save point, in the order of save_diff(); other than 0 ends it as there. */
typedef int (*save_entry_fn)(void *user, const char *path, const struct save_entry *entry,
			     struct bj_error *err);
int save_entries(struct save_store *store, const char *name, save_entry_fn fn, void *user,
		 struct bj_error *err);

struct save_freed {
	uint64_t objects, bytes;
};

/*
 * Removes a save point, then every object that none names. Where another one is damaged it cannot
 * be known what that one needs: then the save point goes and its objects stay, and that is an
 * error.
 */
int save_remove(struct save_store *store, const char *name, struct save_freed *ret,
		struct bj_error *err);

#endif
