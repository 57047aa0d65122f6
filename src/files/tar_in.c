/* SPDX-License-Identifier: Apache-2.0 */
/* From a temporary directory into place: by one rename, or file by file. */
#include "files/tar_parts.h"

#include "files/beneath.h"
#include "files/show.h"
#include "files/tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct merge {
	struct files_list *list;
	/* The target's directories that correspond to the tree's levels, and the tree's own. */
	int to[FILES_DEPTH_MAX + 1], from[FILES_DEPTH_MAX + 1];
	size_t depth;
};

static void leave(struct merge *m)
{
	m->depth--;
	(void)close(m->to[m->depth]);
	(void)close(m->from[m->depth]);
}

static void cleanup_merge(struct merge *m)
{
	while (m->depth > 0)
		leave(m);
}

static int merge_file(struct merge *m, const struct tree *tree, struct bj_error *err)
{
	int from = m->from[m->depth - 1], to = m->to[m->depth - 1];
	struct bj_error why;
	struct files_item item = {.type = FILES_FILE,
				  .bytes = (uint64_t)tree->st.st_size,
				  .risky = files_risky(tree->path, tree->st.st_mode)};
	if (live_check_place(to, tree->name, tree->path, &why) < 0) {
		list_problem(m->list, tree->path, &why);
		return 0;
	}
	size_t before = m->list->count;
	if (list_add(m->list, tree->path, item, err) < 0)
		return -1;
	if (renameat(from, tree->name, to, tree->name) == 0)
		return 0;
	(void)live_failed(to, "put", tree->path, &why);
	list_cut(m->list, before);
	list_problem(m->list, tree->path, &why);
	return 0;
}

static int merge_directory(struct merge *m, struct tree *tree, struct bj_error *err)
{
	int from = m->from[m->depth - 1], to = m->to[m->depth - 1], made = -1;
	struct bj_error why;
	if (live_make_directory(to, tree->name, &made) < 0 && errno == EEXIST)
		made = open_beneath(to, tree->name, OPEN_THROUGH, 0, BENEATH);
	auto_close int target = made;
	auto_close int source = open_beneath(from, tree->name, OPEN_THROUGH, 0, BENEATH);
	if (target < 0 || source < 0) {
		(void)live_failed(to, "put into the directory", tree->path, &why);
		list_problem(m->list, tree->path, &why);
		tree_skip(tree);
		return 0;
	}
	m->to[m->depth] = TAKE_FD(target);
	m->from[m->depth++] = TAKE_FD(source);
	return list_add_directory(m->list, tree->path, err);
}

int tar_merge(int from_fd, int to_fd, struct files_list *list, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_merge))) struct merge m = {
		.list = list, .to = {to_fd}, .from = {from_fd}, .depth = 1};
	auto_tree struct tree *tree = NULL;
	const struct tree_how how = {.resolve = BENEATH};
	uint64_t entries = 0;
	int walked = fcntl(from_fd, F_DUPFD_CLOEXEC, 0);
	if (walked < 0)
		return fail_errno(err, BJ_INTERNAL, "go through what was unpacked");
	/* What the program adds to it meanwhile is taken for part of it, up to a bound. */
	if (tree_start(&tree, walked, "", how, &entries, FILES_NAMES_MAX, err) < 0)
		return -1;
	for (;;) {
		enum tree_event event;
		int result = 0;
		if (tree_next(tree, &event, err) < 0)
			return -1;
		switch (event) {
		case TREE_END:
			return 0;
		case TREE_FILE:
			result = merge_file(&m, tree, err);
			break;
		case TREE_ENTER:
			result = merge_directory(&m, tree, err);
			break;
		case TREE_LEAVE:
			leave(&m);
			break;
		case TREE_ODD:
			list_problem(list, tree->path, &tree->odd);
			break;
		}
		if (result < 0)
			return -1;
	}
}

/* ---- where it goes ------------------------------------------------------------------------- */

struct target {
	struct place place; /* the temporary directory's, too */
	char temp[FILES_PART_MAX + 1];
	bool exists;
};

static int find_target(int workspace_fd, const char *name, bool parents, struct target *t,
		       struct bj_error *err)
{
	struct stat st;
	if (!*name) {
		t->exists = true;
		(void)snprintf(t->place.name, sizeof(t->place.name), ".");
		return live_open_directory(workspace_fd, "", OPEN_THROUGH, &t->place.dir_fd, err);
	}
	if (live_place(workspace_fd, name, parents, &t->place, err) < 0)
		return -1;
	auto_close int dir = t->place.dir_fd;
	t->exists = fstatat(dir, t->place.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!t->exists && errno != ENOENT)
		return live_failed(dir, "look at", name, err);
	if (t->exists && !S_ISDIR(st.st_mode)) {
		(void)fail(err, BJ_INVALID, "%s is %s; a directory does not replace it",
			   show(name).text, show_kind(st.st_mode));
		if (err)
			err->os_error = ENOTDIR;
		return fail_hint(err, "Give another name, or remove it first.");
	}
	(void)TAKE_FD(dir);
	return 0;
}

static int merge_into(const struct target *t, const char *name, int from_fd,
		      struct files_list *list, struct bj_error *err)
{
	int to = open_beneath(t->place.dir_fd, t->place.name, OPEN_THROUGH, 0, BENEATH);
	if (to < 0)
		return live_failed(t->place.dir_fd, "unpack into", name, err);
	int from = fcntl(from_fd, F_DUPFD_CLOEXEC, 0);
	if (from < 0) {
		(void)close(to);
		return fail_errno(err, BJ_INTERNAL, "unpack into %s", show(name).text);
	}
	size_t before = list->problems;
	if (tar_merge(from, to, list, err) < 0)
		return -1;
	if (list->problems == before)
		return 0;
	if (err)
		*err = list->problem[0].error;
	return -1;
}

static int put_in_place(const struct target *t, const char *name, int from_fd,
			struct files_unpacked *ret, struct bj_error *err)
{
	if (t->exists) {
		list_cut(&ret->list, 0);
		return merge_into(t, name, from_fd, &ret->list, err);
	}
	if (live_rename_new(t->place.dir_fd, t->temp, t->place.dir_fd, t->place.name) == 0)
		return 0;
	(void)live_failed(t->place.dir_fd, "unpack to", name, err);
	list_cut(&ret->list, 0);
	return -1;
}

/* Says, after why it ended, how far it had come. */
static void say_how_far(const struct files_unpacked *ret, struct bj_error *err)
{
	if (!err)
		return;
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used,
		       " (%llu entries and %llu bytes were unpacked before it, and removed again)",
		       (unsigned long long)ret->entries, (unsigned long long)ret->bytes);
}

int files_tar_in(int workspace_fd, const char *name, bool parents, const struct files_caps *caps,
		 int from_fd, struct files_unpacked *ret, struct bj_error *err)
{
	struct target t = {.place.dir_fd = -1};
	int made = -1;
	if (find_target(workspace_fd, name, parents, &t, err) < 0)
		return -1;
	auto_close int dir = t.place.dir_fd;
	if (live_temp_name(".belljar-tar-", t.temp, err) < 0)
		return -1;
	if (live_make_directory(dir, t.temp, &made) < 0)
		return live_failed(dir, "make a directory beside", *name ? name : ".", err);
	auto_close int temp_dir = made;
	int result = tar_unpack(from_fd, temp_dir, caps, ret, err);
	if (result < 0) {
		list_cut(&ret->list, 0);
		say_how_far(ret, err);
	} else {
		result = put_in_place(&t, name, temp_dir, ret, err);
	}
	if (result < 0 || t.exists)
		live_remove(dir, t.temp, &ret->list.left);
	return result;
}
