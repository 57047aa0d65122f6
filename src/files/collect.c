/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying out. Everything inside is dead when this runs, but nothing here relies on it: each file
 * is opened once, and read, counted, hashed and delivered from that one descriptor.
 */
#include "files/beneath.h"
#include "files/deliver.h"
#include "files/show.h"
#include "files/tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct collect {
	const struct files_caps *caps;
	struct files_list *list;
	/* The host's directories that correspond to the tree's levels. */
	int dir[FILES_DEPTH_MAX + 1];
	size_t depth;
};

static uint64_t bytes_left(const struct collect *c)
{
	return c->list->bytes < c->caps->bytes ? c->caps->bytes - c->list->bytes : 0;
}

static void close_dirs(struct collect *c)
{
	while (c->depth > 0)
		(void)close(c->dir[--c->depth]);
}

/* A file of the tree. What stands in its way on the host is its own problem, not the tree's. */
static int tree_file(struct collect *c, struct tree *tree, struct bj_error *err)
{
	int dir = c->dir[c->depth - 1];
	struct bj_error why;
	if (place_check(dir, tree->name, &why) < 0) {
		list_problem(c->list, tree->path, &why);
		return 0;
	}
	return deliver_file(dir, tree->name, tree->fd, tree->st.st_mode, bytes_left(c), tree->path,
			    c->list, err);
}

static int tree_directory(struct collect *c, struct tree *tree, struct bj_error *err)
{
	int dir = c->dir[c->depth - 1];
	int fd = open_beneath(dir, tree->name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH_HOST);
	if (fd < 0 && errno == ENOENT) {
		if (make_directory(dir, tree->name, err) < 0)
			return -1;
		fd = open_beneath(dir, tree->name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH_HOST);
	}
	if (fd < 0) {
		struct bj_error why;
		(void)fail_errno(&why, BJ_INVALID, "deliver into directory %s on the host",
				 show(tree->name).text);
		list_problem(c->list, tree->path, &why);
		tree_skip(tree);
		return 0;
	}
	c->dir[c->depth++] = fd;
	return list_add_directory(c->list, tree->path, err);
}

/* Everything in `from` to c->dir[0]. -1 for what ends all of it. */
static int copy_tree(struct collect *c, int from, const char *name, struct bj_error *err)
{
	auto_tree struct tree *tree = NULL;
	struct tree_how how = {.resolve = BENEATH, .unlock = true};
	if (list_add_directory(c->list, name, err) < 0) {
		(void)close(from);
		return -1;
	}
	if (tree_start(&tree, from, name, how, &c->list->entries, c->caps->entries, err) < 0)
		return -1;
	for (;;) {
		enum tree_event event;
		if (tree_next(tree, &event, err) < 0)
			return -1;
		int result = 0;
		switch (event) {
		case TREE_END:
			return 0;
		case TREE_FILE:
			result = tree_file(c, tree, err);
			break;
		case TREE_ENTER:
			result = tree_directory(c, tree, err);
			break;
		case TREE_LEAVE:
			(void)close(c->dir[--c->depth]);
			break;
		case TREE_ODD:
			list_problem(c->list, tree->path, &tree->odd);
			break;
		}
		if (result < 0)
			return -1;
	}
}

/* Into a directory that is there: what was delivered before a failure stays, and is listed. */
static int merge(struct collect *c, int from, const char *name, const struct place *place,
		 struct bj_error *err)
{
	auto_close int source = from;
	int fd = open_beneath(place->dir_fd, place->name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH_HOST);
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "deliver into directory %s",
				  show(place->name).text);
	c->dir[c->depth++] = fd;
	int result = copy_tree(c, TAKE_FD(source), name, err);
	close_dirs(c);
	return result;
}

/* Under a temporary name, then by one rename: complete or not at all. */
static int build(struct collect *c, int from, const char *name, const struct place *place,
		 struct bj_error *err)
{
	auto_close int source = from;
	struct place temp = {.dir_fd = place->dir_fd};
	size_t before = c->list->count;
	struct bj_error why;
	char text[TEMP_SIZE];
	if (temp_name(text, err) < 0)
		return -1;
	memcpy(temp.name, text, sizeof(text));
	if (make_directory(temp.dir_fd, temp.name, err) < 0)
		return -1;
	int result = merge(c, TAKE_FD(source), name, &temp, &why);
	if (result == 0 && renameat(temp.dir_fd, temp.name, place->dir_fd, place->name) < 0)
		result = fail_errno(&why, BJ_INVALID, "deliver %s", show(name).text);
	if (result == 0)
		return 0;
	list_cut(c->list, before);
	remove_tree(temp.dir_fd, temp.name, &c->list->left);
	if (err)
		*err = why;
	return -1;
}

static int collect(struct collect *c, int workspace_fd, const char *name, const char *host_path,
		   struct bj_error *err)
{
	struct tree_how how = {.resolve = BENEATH, .unlock = true};
	auto_close int from = -1;
	struct stat st;
	const char *wrong = files_name_check(name, strlen(name));
	if (wrong)
		return fail(err, BJ_INVALID, "the name %s %s", show(name).text, wrong);
	if (c->list->entries >= c->caps->entries)
		return fail(err, BJ_INVALID, "more than %llu files and directories",
			    (unsigned long long)c->caps->entries);
	if (tree_open(workspace_fd, name, how, name, &from, &st, err) < 0)
		return -1;
	c->list->entries++;
	bool directory = S_ISDIR(st.st_mode), exists;
	struct place place;
	if (place_find(host_path, name, directory, &place, &exists, err) < 0)
		return -1;
	auto_close int dir = place.dir_fd;
	if (!directory)
		return deliver_file(dir, place.name, from, st.st_mode, bytes_left(c), name, c->list,
				    err);
	return exists ? merge(c, TAKE_FD(from), name, &place, err)
		      : build(c, TAKE_FD(from), name, &place, err);
}

/* Names both ends as they were asked for: what is below often knows one of them, or its last part.
 */
static void name_output(struct bj_error *err, const char *name, const char *host_path, bool partly)
{
	char from[TEXT_VALUE_SIZE], to[TEXT_VALUE_SIZE];
	struct bj_error why = *err;
	(void)text_quote(from, sizeof(from), name);
	(void)text_quote(to, sizeof(to), host_path);
	(void)snprintf(err->message, sizeof(err->message), "%s was not %scopied %s%s: %.280s", from,
		       partly ? "wholly " : "", host_path ? "to " : "out", host_path ? to : "",
		       why.message);
}

int files_collect(int workspace_fd, const char *name, const char *host_path,
		  const struct files_caps *caps, struct files_list *list, struct bj_error *err)
{
	struct collect c = {.caps = caps, .list = list};
	struct bj_error why;
	size_t before = list->problems, listed = list->count;
	if (collect(&c, workspace_fd, name, host_path, &why) < 0)
		list_problem(list, name, &why);
	if (list->problems == before)
		return 0;
	size_t more = list->problems - before - 1;
	if (err && before < FILES_PROBLEMS_MAX)
		*err = list->problem[before].error;
	else
		(void)fail(err, BJ_INVALID, "more went wrong before");
	if (err)
		name_output(err, name, host_path, list->count > listed);
	if (err && more) {
		size_t used = strlen(err->message);
		(void)snprintf(err->message + used, sizeof(err->message) - used,
			       " (and %zu more of %s)", more, show(name).text);
	}
	return -1;
}
