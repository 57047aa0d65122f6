/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of save points: manifests, objects, the lock of a store, the workspace as it is.
 *
 * A manifest is struct save_head, its records in the order of a walk (a directory, then what is in
 * it, names by their bytes), and the SHA-256 of all that. Behind a record: its name and a NUL; of
 * a link its text and a NUL. The first record is the workspace itself, without a name. A record
 * says how deep it lies and not where: its directory is the last one before it that is less deep.
 * Of each content there is one encoding. Little-endian.
 */
#ifndef FILES_SAVE_PARTS_H
#define FILES_SAVE_PARTS_H

#include "files/save.h"
#include "files/tree.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define SAVE_MAGIC	  UINT64_C(0x5450455641534a42) /* "BJSAVEPT" */
#define SAVE_VERSION	  1
#define SAVE_MANIFEST_MAX (UINT64_C(256) << 20)
#define SAVE_SERIAL_MAX	  (UINT64_MAX >> 1)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "manifests are little-endian");

struct save_head {
	uint64_t magic;
	uint32_t version;
	uint32_t entries;
	uint64_t size; /* of the whole manifest */
	uint64_t bytes;
	uint64_t time_ns;
	uint64_t serial;
	uint32_t left_out;
	uint32_t zero;
};
_Static_assert(sizeof(struct save_head) == 56, "the layout is fixed");

struct save_record {
	uint8_t type;
	uint8_t depth;
	uint16_t name_size, link_size; /* without their NUL */
	uint16_t mode;
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint32_t zero;
	uint64_t bytes;
	uint8_t sha256[SAVE_SHA_SIZE];
};
_Static_assert(sizeof(struct save_record) == 64, "the layout is fixed");

/* ---- Manifests --------------------------------------------------------------------------- */

struct manifest {
	uint8_t *data; /* its own where it was loaded; entries point into it */
	struct save_head head;
	struct save_entry *entry;
	size_t count;
};

/* NULL, or what is wrong with `data`, as a clause: "is too short". It must outlive the manifest. */
const char *manifest_parse(const uint8_t *data, size_t size, struct manifest *ret);
int manifest_load(const struct save_store *store, const char *name, struct manifest *ret,
		  struct bj_error *err);
void manifest_free(struct manifest *manifest);
/* The path of an entry, below the workspace. */
void manifest_path(const struct manifest *manifest, size_t index, char path[SAVE_PATH_SIZE]);

#define auto_manifest __attribute__((cleanup(manifest_free)))

/* A manifest in the making. Starts as all zeros. */
struct manifest_text {
	uint8_t *data;
	size_t size, room;
	struct save_head head;
};

int manifest_add(struct manifest_text *text, const struct save_entry *entry, struct bj_error *err);
/* Of `text->head`, serial and time are the caller's. */
int manifest_finish(struct manifest_text *text, struct bj_error *err);
void manifest_text_free(struct manifest_text *text);

#define auto_manifest_text __attribute__((cleanup(manifest_text_free)))

/*
 * Which comes first of two that are next in two walks which have come equally far: what lies deeper
 * belongs to a directory that the other walk has left, or never met.
 */
static inline int entry_order(const struct save_entry *a, const struct save_entry *b)
{
	if (a->depth != b->depth)
		return a->depth > b->depth ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* ---- The store --------------------------------------------------------------------------- */

#define SAVE_BUFFER (128 * 1024)

struct save_store {
	int dir_fd; /* a description of its own: what is locked */
	int objects_fd, points_fd, temp_fd;
	bool sync;
	unsigned char *buffer[2]; /* SAVE_BUFFER each */
};

/* The lock is given back at the end of the scope. */
int store_lock_to_read(struct save_store *store, struct bj_error *err);
/* Also clears up after whoever was cut off. */
int store_lock_to_write(struct save_store *store, struct bj_error *err);
void store_unlock(struct save_store **store);
#define auto_unlock __attribute__((cleanup(store_unlock)))

int store_name_check(const char *name, struct bj_error *err);

/* Calls `fn` for the name of each save point. */
typedef int (*store_point_fn)(void *user, const char *name, struct bj_error *err);
int store_points(const struct save_store *store, store_point_fn fn, void *user,
		 struct bj_error *err);

/* What the store holds, as save_caps counts it; and how many save points, and their last serial. */
struct store_use {
	uint64_t bytes, serial;
	uint32_t points;
};
int store_count(const struct save_store *store, struct store_use *ret, struct bj_error *err);

/* What a file of `bytes` counts. */
static inline uint64_t store_charge(uint64_t bytes)
{
	return bytes > UINT64_MAX - 4096 ? UINT64_MAX
	       : bytes			 ? (bytes + 4095) & ~UINT64_C(4095)
					 : 4096;
}

/* Removes every object that no save point names. */
int store_collect(const struct save_store *store, struct save_freed *ret, struct bj_error *err);

/* A new file in temp/, for writing. */
int store_temp(const struct save_store *store, char name[32], int *ret_fd, struct bj_error *err);

/* ---- Objects ----------------------------------------------------------------------------- */

/* "ab/cdef…" */
struct object_name {
	char text[2 * SAVE_SHA_SIZE + 2];
};
struct object_name object_name(const uint8_t sha256[SAVE_SHA_SIZE]);

/* Whether it is there with this size; -1 with errno, ENOENT or EUCLEAN. */
int object_check(const struct save_store *store, const struct save_entry *entry);

enum object_match {
	OBJECT_SAME,
	OBJECT_DIFFERS,
	OBJECT_BAD, /* with errno: not to be read; or missing (ENOENT), of another size or, with
		       `verify`, not what its name says (EUCLEAN) */
};
/* Compares the file `fd`, from its beginning, with the object of `entry`. */
enum object_match object_compare(const struct save_store *store, const struct save_entry *entry,
				 int fd, bool verify);

/*
 * Stores what is in `fd`, which must be entry->bytes, and sets entry->sha256. `room`: what the
 * store may grow by, `cap` for its message. `doubted`: an object that is not to be trusted though
 * it is there. `*ret_new`: it was not there before.
 */
struct object_limits {
	uint64_t room, cap;
};
int object_put(const struct save_store *store, int fd, const char *path,
	       const struct object_limits *limits, const uint8_t *doubted, struct save_entry *entry,
	       bool *ret_new, struct bj_error *err);

/* Writes the object of `entry` to `to`, an empty file; fails when it is not what its name says. */
int object_write_out(const struct save_store *store, const struct save_entry *entry, int to,
		     const char *path, struct bj_error *err);
/* Says so, after any of the above with its errno. */
int object_damaged(const struct save_entry *entry, const char *path, struct bj_error *err);

/* ---- A workspace as it is ---------------------------------------------------------------- */

struct live {
	struct tree *tree;
	uint64_t entries;
	bool started;
	int fd; /* of a file: open for reading until the next call */
	const char *path;
	struct stat st;
	char link[PATH_MAX];
};

int live_start(struct live *live, int workspace_fd, uint64_t max_entries, struct bj_error *err);
/* `*ret_more` false: there is no more. */
int live_next(struct live *live, struct save_entry *ret, bool *ret_more, struct bj_error *err);
void live_end(struct live *live);

#define auto_live __attribute__((cleanup(live_end)))

/* ---- Restoring --------------------------------------------------------------------------- */

/*
 * Opens the directory `name`, giving its owner all rights to it. "." is the directory itself. -1
 * with errno.
 */
int open_own_directory(int dir_fd, const char *name);
/* Removes whatever `name` in `dir_fd` is, however deep. -1 with errno. */
int discard(int dir_fd, const char *name);
/* chmod of what an O_PATH descriptor is. */
int chmod_by_fd(int fd, mode_t mode);

#endif
