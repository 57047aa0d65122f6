/* SPDX-License-Identifier: Apache-2.0 */
/* Moving and removing. */
#include "files/live_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* musl 1.2.3 has no renameat2(). */
int live_rename_new(int from_fd, const char *from, int to_fd, const char *to)
{
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, RENAME_NOREPLACE);
}

int files_mv(int workspace_fd, const char *from, const char *to, bool overwrite,
	     struct bj_error *err)
{
	struct place old, new;
	if (live_place(workspace_fd, from, false, &old, err) < 0)
		return -1;
	auto_close int old_dir = old.dir_fd;
	if (live_place(workspace_fd, to, false, &new, err) < 0)
		return -1;
	auto_close int new_dir = new.dir_fd;
	int moved = overwrite ? renameat(old_dir, old.name, new_dir, new.name)
			      : live_rename_new(old_dir, old.name, new_dir, new.name);
	if (moved == 0)
		return 0;
	if (errno == EEXIST && !overwrite) {
		(void)fail_errno(err, BJ_INVALID, "move %s: %s", show(from).text, show(to).text);
		return fail_hint(err, "Give another name, or ask to overwrite.");
	}
	/* Both names are needed to say what was wrong, and one of them is in the middle. */
	char what[TEXT_PATH_SIZE + 16];
	(void)snprintf(what, sizeof(what), "move %s to", show(from).text);
	return live_failed(new_dir, what, to, err);
}

/* ---- removing ------------------------------------------------------------------------------ */

enum { LEVELS = 24 };

struct level {
	DIR *dir;
	char name[FILES_PART_MAX + 1]; /* in the level above */
	bool keeps;		       /* something in it could not be removed */
};

struct removal {
	int dir_fd; /* what the first level is in */
	struct level level[LEVELS];
	size_t depth;
	uint64_t steps, most;
	bool stopped; /* at `most` */
	struct files_removed count;
	int os; /* of what was left first */
	char left[FILES_PART_MAX + 1];
};

static void cleanup_removal(struct removal *rm)
{
	while (rm->depth > 0)
		(void)closedir(rm->level[--rm->depth].dir);
}

static int above(const struct removal *rm)
{
	return rm->depth ? dirfd(rm->level[rm->depth - 1].dir) : rm->dir_fd;
}

static void leave_it(struct removal *rm, const char *name)
{
	if (rm->count.left++ == 0) {
		rm->os = errno;
		memcpy(rm->left, name, strnlen(name, FILES_PART_MAX));
	}
	if (rm->depth)
		rm->level[rm->depth - 1].keeps = true;
}

/* A directory's mode may shut its owner out; a change through the descriptor meets no other. */
static int open_to_owner(int dir_fd, const char *name)
{
	char self[32];
	auto_close int look = open_beneath(dir_fd, name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
	if (look < 0)
		return -1;
	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", look);
	if (chmod(self, 0700) < 0) {
		errno = EACCES;
		return -1;
	}
	return 0;
}

/*
 * A directory below the last level goes up, to be met again there. So a tree of any depth is
 * removed with a fixed number of descriptors.
 */
static int hoist(const struct removal *rm, const char *name)
{
	char temp[FILES_PART_MAX + 1];
	if (live_temp_name(".belljar-rm-", temp, NULL) < 0)
		return -1;
	int top = dirfd(rm->level[0].dir);
	if (live_rename_new(above(rm), name, top, temp) == 0)
		return 0;
	/* To have another parent, a directory must be writable itself. */
	if (errno != EACCES || open_to_owner(above(rm), name) < 0)
		return -1;
	return live_rename_new(above(rm), name, top, temp);
}

/* A directory begins. -1 with errno where it cannot. */
static int enter(struct removal *rm, const char *name)
{
	struct stat st;
	if (rm->depth == LEVELS)
		return hoist(rm, name);
	auto_close int fd = open_beneath(above(rm), name, OPEN_TO_LIST, 0, BENEATH);
	if (fd < 0 && errno == EACCES && open_to_owner(above(rm), name) == 0)
		fd = open_beneath(above(rm), name, OPEN_TO_LIST, 0, BENEATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	/* Without this nothing in it can be removed; where it fails, that is said of each. */
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700);
	struct level *level = &rm->level[rm->depth];
	level->dir = fdopendir(fd);
	if (!level->dir)
		return -1;
	(void)TAKE_FD(fd);
	level->keeps = false;
	size_t size = strnlen(name, FILES_PART_MAX);
	memmove(level->name, name, size);
	level->name[size] = '\0';
	rm->depth++;
	return 0;
}

/* One name of the current level. What it is may change at every step: then it is tried again. */
static void remove_name(struct removal *rm, const char *name)
{
	while (rm->steps < rm->most) {
		rm->steps++;
		if (unlinkat(above(rm), name, 0) == 0) {
			rm->count.removed++;
			return;
		}
		if (errno == ENOENT)
			return;
		if (errno == EISDIR && enter(rm, name) == 0)
			return;
		if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR) {
			leave_it(rm, name);
			return;
		}
	}
	rm->stopped = true;
}

/* A directory ends: what the program has put into it since is removed too. */
static void leave(struct removal *rm)
{
	const struct level *level = &rm->level[--rm->depth];
	(void)closedir(level->dir);
	if (level->keeps) {
		errno = ENOTEMPTY;
		leave_it(rm, level->name);
	} else if (unlinkat(above(rm), level->name, AT_REMOVEDIR) == 0) {
		rm->count.removed++;
	} else if (errno == ENOTEMPTY || errno == ENOTDIR) {
		remove_name(rm, level->name);
	} else if (errno != ENOENT) {
		leave_it(rm, level->name);
	}
}

static void remove_all(struct removal *rm, const char *name)
{
	remove_name(rm, name);
	while (rm->depth > 0 && !rm->stopped) {
		errno = 0;
		const struct dirent *entry = readdir(rm->level[rm->depth - 1].dir);
		if (!entry) {
			if (errno)
				leave_it(rm, rm->level[rm->depth - 1].name);
			leave(rm);
		} else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			remove_name(rm, entry->d_name);
		}
	}
}

static int say_left(const struct removal *rm, const char *name, struct bj_error *err)
{
	errno = rm->os;
	if (rm->os == EXDEV || rm->os == EBUSY) {
		return fail_errno(err, BJ_INVALID,
				  "remove %s: another file system is mounted on %s",
				  show(name).text, show(rm->left).text);
	}
	return fail_errno(err, BJ_INVALID, "remove %s: %llu stay; %s", show(name).text,
			  (unsigned long long)rm->count.left, show(rm->left).text);
}

static int remove_tree_of(const struct place *place, const char *name, uint64_t most,
			  struct files_removed *ret, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_removal))) struct removal rm = {
		.dir_fd = place->dir_fd, .most = most < FILES_RM_MAX ? most : FILES_RM_MAX};
	struct stat st;
	if (fstatat(rm.dir_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return live_failed(rm.dir_fd, "remove", name, err);
	remove_all(&rm, place->name);
	*ret = rm.count;
	if (rm.stopped) {
		(void)fail(
			err, BJ_INVALID,
			"remove %s: not done after %llu names; the program may be making new ones",
			show(name).text, (unsigned long long)rm.steps);
		if (err)
			err->os_error = EBUSY;
		return fail_hint(err, "End what writes there, then try again.");
	}
	return rm.count.left ? say_left(&rm, name, err) : 0;
}

void live_remove(int dir_fd, const char *part, uint64_t *left)
{
	__attribute__((cleanup(cleanup_removal))) struct removal rm = {.dir_fd = dir_fd,
								       .most = FILES_RM_MAX};
	remove_all(&rm, part);
	*left += rm.count.left + rm.stopped;
}

int files_rm(int workspace_fd, const char *name, bool tree, uint64_t most,
	     struct files_removed *ret, struct bj_error *err)
{
	struct place place;
	*ret = (struct files_removed){0};
	if (live_place(workspace_fd, name, false, &place, err) < 0)
		return -1;
	auto_close int dir = place.dir_fd;
	if (tree)
		return remove_tree_of(&place, name, most, ret, err);
	if (unlinkat(dir, place.name, 0) == 0) {
		ret->removed = 1;
		return 0;
	}
	if (errno == EISDIR) {
		(void)fail_errno(err, BJ_INVALID, "remove %s", show(name).text);
		return fail_hint(err, "A directory is removed only as a tree.");
	}
	return live_failed(dir, "remove", name, err);
}
