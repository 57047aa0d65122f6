/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restoring: three walks along the manifest, by the descriptors of its directories. The first
 * removes what is not in it, the second makes what is, the third sets the modes and times of
 * directories, which all have their owner's rights until then.
 */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/deliver.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum pass {
	SWEEP,	    /* remove what is not in the save point */
	SWEEP_SIZE, /* and files of another size, which are to be written anyway */
	FILL,
	FINISH,
};

struct restore {
	const struct save_store *store;
	const struct manifest *manifest;
	int root_fd;
	bool begun; /* something may have been changed */
	bool made_room;
	struct save_restored done;
	char path[SAVE_PATH_SIZE]; /* for messages */
};

struct child {
	const char *name;
	size_t index;
};

/* A walk along the manifest. */
struct walk {
	enum pass pass;
	size_t depth; /* directories that are open */
	int fd[FILES_DEPTH_MAX + 2];
	size_t index[FILES_DEPTH_MAX + 2];
	struct child *child; /* what belongs into one directory */
};

static void end_walk(struct walk *walk)
{
	while (walk->depth > 0)
		(void)close(walk->fd[--walk->depth]);
	free(walk->child);
}
#define auto_walk __attribute__((cleanup(end_walk)))

static int run(struct restore *r, enum pass pass, struct bj_error *err);

static const char *name_of(struct restore *r, size_t index)
{
	manifest_path(r->manifest, index, r->path);
	return index ? r->path : "the workspace";
}

static struct timespec *times_of(const struct save_entry *entry, struct timespec times[2])
{
	times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
	times[1] = (struct timespec){.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns};
	return times;
}

/* ---- Removing ---------------------------------------------------------------------------- */

static bool is_wanted(const struct save_entry *entry, const struct stat *st, enum pass pass)
{
	switch (entry->type) {
	case SAVE_FILE:
		return S_ISREG(st->st_mode) &&
		       (pass != SWEEP_SIZE || (uint64_t)st->st_size == entry->bytes);
	case SAVE_DIRECTORY:
		return S_ISDIR(st->st_mode);
	case SAVE_LINK:
		return S_ISLNK(st->st_mode);
	case SAVE_OTHER:
		return (st->st_mode & S_IFMT) == (entry->mode & S_IFMT);
	case SAVE_TYPE_COUNT:
		break;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct child *)a)->name, ((const struct child *)b)->name);
}

/* What the directory `index` is to hold, sorted as the manifest is. */
static size_t list_children(const struct restore *r, struct walk *walk, size_t index)
{
	const struct save_entry *entry = r->manifest->entry;
	size_t count = 0;
	for (size_t i = index + 1; i < entry[index].end; i = entry[i].end)
		walk->child[count++] = (struct child){entry[i].name, i};
	return count;
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static int sweep_one(struct restore *r, const struct walk *walk, size_t count, int dir_fd,
		     const char *name, struct bj_error *err)
{
	struct stat st;
	const struct child key = {.name = name};
	const struct child *found =
		count ? bsearch(&key, walk->child, count, sizeof(key), by_name) : NULL;
	if (found && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_wanted(&r->manifest->entry[found->index], &st, walk->pass))
		return 0;
	if (discard(dir_fd, name) < 0) {
		int os = errno;
		const char *where = name_of(r, walk->index[walk->depth - 1]);
		errno = os;
		return fail_errno(err, BJ_INVALID, "remove %s from %s", show(name).text,
				  show(where).text);
	}
	r->done.removed += !found;
	return 0;
}

static int sweep(struct restore *r, struct walk *walk, struct bj_error *err)
{
	size_t index = walk->index[walk->depth - 1];
	auto_close int fd = open_own_directory(walk->fd[walk->depth - 1], ".");
	__attribute__((cleanup(cleanup_dir))) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return fail_errno(err, BJ_INVALID, "list %s", show(name_of(r, index)).text);
	(void)TAKE_FD(fd);
	size_t count = list_children(r, walk, index);
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno)
			return fail_errno(err, BJ_INVALID, "list %s", show(name_of(r, index)).text);
		if (!entry)
			return 0;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    sweep_one(r, walk, count, dirfd(dir), entry->d_name, err) < 0)
			return -1;
	}
}

/* ---- Files and links --------------------------------------------------------------------- */

/*
 * Opens for reading what is there, where it may become what it was by its mode and time alone: not
 * where it has another name, whose mode would change with it. -1: it may not.
 */
static int open_alike(int dir_fd, const struct save_entry *entry)
{
	struct stat st;
	auto_close int look = open_beneath(dir_fd, entry->name, OPEN_LOOK, 0, BENEATH);
	if (look < 0 || fstat(look, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (uint64_t)st.st_size != entry->bytes)
		return -1;
	if (!(st.st_mode & 0400) && chmod_by_fd(look, 0600) < 0)
		return -1;
	return open_beneath(dir_fd, entry->name, OPEN_WARILY, 0, BENEATH);
}

static int set_state(int fd, const struct save_entry *entry)
{
	struct timespec times[2];
	if (fchmod(fd, entry->mode) < 0)
		return -1;
	return futimens(fd, times_of(entry, times));
}

/* 1: it was there already. 0: it has to be written. */
static int keep_file(struct restore *r, int dir_fd, size_t index, struct bj_error *err)
{
	const struct save_entry *entry = &r->manifest->entry[index];
	auto_close int fd = open_alike(dir_fd, entry);
	if (fd < 0)
		return 0;
	enum object_match match = object_compare(r->store, entry, fd, true);
	if (match == OBJECT_BAD)
		return object_damaged(entry, name_of(r, index), err);
	if (match == OBJECT_DIFFERS)
		return 0;
	if (set_state(fd, entry) < 0)
		return fail_errno(err, BJ_INVALID, "set the mode and time of %s",
				  show(name_of(r, index)).text);
	return 1;
}

/* Under a temporary name, then by one rename. */
static int write_file(struct restore *r, int dir_fd, size_t index, struct bj_error *err)
{
	const struct save_entry *entry = &r->manifest->entry[index];
	const char *path = name_of(r, index);
	char temp[TEMP_SIZE];
	if (temp_name(temp, err) < 0)
		return -1;
	auto_close int fd = open_beneath(
		dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600, BENEATH);
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "write %s", show(path).text);
	int result = object_write_out(r->store, entry, fd, path, err);
	if (result == 0 &&
	    (set_state(fd, entry) < 0 || renameat(dir_fd, temp, dir_fd, entry->name) < 0))
		result = fail_errno(err, BJ_INVALID, "put %s in its place", show(path).text);
	if (result < 0)
		(void)unlinkat(dir_fd, temp, 0);
	return result;
}

static int write_link(struct restore *r, int dir_fd, size_t index, struct bj_error *err)
{
	const struct save_entry *entry = &r->manifest->entry[index];
	char temp[TEMP_SIZE];
	struct timespec times[2];
	if (temp_name(temp, err) < 0)
		return -1;
	int result = symlinkat(entry->link, dir_fd, temp);
	if (result == 0) {
		result = utimensat(dir_fd, temp, times_of(entry, times), AT_SYMLINK_NOFOLLOW);
		if (result == 0)
			result = renameat(dir_fd, temp, dir_fd, entry->name);
		int os = errno;
		if (result < 0)
			(void)unlinkat(dir_fd, temp, 0);
		errno = os;
	}
	return result == 0 ? 0
			   : fail_errno(err, BJ_INVALID, "put link %s in its place",
					show(name_of(r, index)).text);
}

/* 1 and 0 as keep_file(). */
static int keep_link(int dir_fd, const struct save_entry *entry)
{
	char text[PATH_MAX];
	struct timespec times[2];
	ssize_t size = readlinkat(dir_fd, entry->name, text, sizeof(text));
	return size >= 0 && (uint64_t)size == entry->bytes &&
	       memcmp(text, entry->link, (size_t)size) == 0 &&
	       utimensat(dir_fd, entry->name, times_of(entry, times), AT_SYMLINK_NOFOLLOW) == 0;
}

static int write_one(struct restore *r, int dir_fd, size_t index, struct bj_error *err)
{
	return r->manifest->entry[index].type == SAVE_FILE ? write_file(r, dir_fd, index, err)
							   : write_link(r, dir_fd, index, err);
}

/*
 * A workspace that is nearly full has no room for the old and the new: then all old files go that
 * are of another size than they should be, and this one. What is left is part of what was saved.
 */
static int write_in_place(struct restore *r, int dir_fd, size_t index, struct bj_error *err)
{
	struct bj_error why;
	if (write_one(r, dir_fd, index, &why) == 0)
		return 0;
	if (why.os_error == ENOSPC) {
		if (!r->made_room && run(r, SWEEP_SIZE, err) < 0)
			return -1;
		r->made_room = true;
		if (discard(dir_fd, r->manifest->entry[index].name) == 0)
			return write_one(r, dir_fd, index, err);
	}
	if (err)
		*err = why;
	return -1;
}

static int fill(struct restore *r, int dir_fd, size_t index, struct bj_error *err)
{
	const struct save_entry *entry = &r->manifest->entry[index];
	struct stat st;
	if (entry->type == SAVE_OTHER) {
		r->done.missing += fstatat(dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0;
		return 0;
	}
	int kept = entry->type == SAVE_FILE ? keep_file(r, dir_fd, index, err)
					    : keep_link(dir_fd, entry);
	if (kept < 0 || (kept == 0 && write_in_place(r, dir_fd, index, err) < 0))
		return -1;
	if (kept)
		r->done.kept++;
	else
		r->done.written++;
	return 0;
}

/* ---- The walk ---------------------------------------------------------------------------- */

static bool is_absent(int os)
{
	return os == ENOENT || os == ENOTDIR || os == ELOOP;
}

/* Takes `fd`. */
static int push(struct restore *r, struct walk *walk, int fd, size_t index, struct bj_error *err)
{
	walk->fd[walk->depth] = fd;
	walk->index[walk->depth++] = index;
	return walk->pass == SWEEP || walk->pass == SWEEP_SIZE ? sweep(r, walk, err) : 0;
}

static int enter(struct restore *r, struct walk *walk, size_t *index, struct bj_error *err)
{
	const struct save_entry *entry = &r->manifest->entry[*index];
	int above = walk->fd[walk->depth - 1];
	if (walk->pass == FILL && mkdirat(above, entry->name, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, BJ_INVALID, "make directory %s",
				  show(name_of(r, *index)).text);
	int fd = open_own_directory(above, entry->name);
	/* Not made yet; a link in its place was removed with what was above it. */
	if (fd < 0 && is_absent(errno) && (walk->pass == SWEEP || walk->pass == SWEEP_SIZE)) {
		*index = entry->end;
		return 0;
	}
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "open directory %s",
				  show(name_of(r, *index)).text);
	return push(r, walk, fd, (*index)++, err);
}

static int leave(struct restore *r, struct walk *walk, struct bj_error *err)
{
	auto_close int fd = walk->fd[--walk->depth];
	size_t index = walk->index[walk->depth];
	if (walk->pass == FINISH && set_state(fd, &r->manifest->entry[index]) < 0)
		return fail_errno(err, BJ_INVALID, "set the mode and time of %s",
				  show(name_of(r, index)).text);
	return 0;
}

static int run(struct restore *r, enum pass pass, struct bj_error *err)
{
	const struct manifest *m = r->manifest;
	auto_walk struct walk walk = {.pass = pass};
	walk.child = calloc(m->count, sizeof(*walk.child));
	int root = walk.child ? open_own_directory(r->root_fd, ".") : -1;
	if (root < 0)
		return fail_errno(err, BJ_INTERNAL, "open the workspace");
	r->begun = true;
	if (push(r, &walk, root, 0, err) < 0)
		return -1;
	for (size_t i = 1; i < m->count;) {
		while (walk.depth > m->entry[i].depth)
			if (leave(r, &walk, err) < 0)
				return -1;
		if (m->entry[i].type == SAVE_DIRECTORY) {
			if (enter(r, &walk, &i, err) < 0)
				return -1;
			continue;
		}
		if (pass == FILL && fill(r, walk.fd[walk.depth - 1], i, err) < 0)
			return -1;
		i++;
	}
	while (walk.depth > 0)
		if (leave(r, &walk, err) < 0)
			return -1;
	return 0;
}

/* ---- All of it --------------------------------------------------------------------------- */

/* Before anything is changed: what the store lacks cannot be put back. */
static int check_objects(struct restore *r, struct bj_error *err)
{
	const struct manifest *m = r->manifest;
	for (size_t i = 0; i < m->count; i++)
		if (m->entry[i].type == SAVE_FILE && object_check(r->store, &m->entry[i]) < 0)
			return object_damaged(&m->entry[i], name_of(r, i), err);
	return 0;
}

static int restore_all(struct restore *r, struct bj_error *err)
{
	if (check_objects(r, err) < 0 || run(r, SWEEP, err) < 0 || run(r, FILL, err) < 0)
		return -1;
	return run(r, FINISH, err);
}

/* Which state the workspace is in, which whoever goes on has to know. */
static int add_state(const struct restore *r, const struct bj_error *why, struct bj_error *err)
{
	const char *hint = why->hint;
	if (r->begun)
		(void)fail(err, why->code,
			   "%.400s; the workspace is a mixture now, of which %u files are as saved",
			   why->message, r->done.written + r->done.kept);
	else
		(void)fail(err, why->code, "%.400s; the workspace was not changed", why->message);
	if (r->begun && !*hint)
		hint = "Restore again, or another save point.";
	if (err)
		err->os_error = why->os_error;
	return fail_hint(err, "%s", hint);
}

int save_restore(struct save_store *store, const char *name, int workspace_fd,
		 struct save_restored *ret, struct bj_error *err)
{
	auto_manifest struct manifest manifest = {0};
	struct bj_error why;
	if (store_name_check(name, err) < 0 || store_lock_to_read(store, err) < 0)
		return -1;
	auto_unlock struct save_store *locked = store;
	if (manifest_load(locked, name, &manifest, err) < 0)
		return -1;
	auto_free struct restore *r = calloc(1, sizeof(*r));
	if (!r)
		return fail_errno(err, BJ_INTERNAL, "restore save point %s", show(name).text);
	r->store = locked;
	r->manifest = &manifest;
	r->root_fd = workspace_fd;
	if (restore_all(r, &why) < 0)
		return add_state(r, &why, err);
	*ret = r->done;
	return 0;
}
