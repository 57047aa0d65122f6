/* SPDX-License-Identifier: Apache-2.0 */
#include "files/tree.h"

#include "files/show.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void drop_names(struct tree_level *level)
{
	for (size_t i = 0; i < level->count; i++)
		free(level->name[i]);
	free(level->name);
	level->name = NULL;
	level->count = level->next = 0;
}

static void drop_level(struct tree *tree)
{
	struct tree_level *level = &tree->level[--tree->depth];
	drop_names(level);
	(void)close(level->fd);
	level->fd = -1;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	while (tree->depth > 0)
		drop_level(tree);
	cleanup_close(&tree->fd);
	free(tree);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct tree_level *level, size_t *room, const char *name)
{
	if (level->count == *room) {
		size_t more = *room ? *room * 2 : 16;
		char **names = reallocarray(level->name, more, sizeof(*names));
		if (!names)
			return -1;
		level->name = names;
		*room = more;
	}
	level->name[level->count] = strdup(name);
	if (!level->name[level->count])
		return -1;
	level->count++;
	return 0;
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static int too_many(const struct tree *tree, struct bj_error *err)
{
	return fail(err, BJ_INVALID, "more than %llu files and directories",
		    (unsigned long long)tree->max_entries);
}

/* All names of a directory, counted as they come. */
static int read_names(struct tree *tree, struct tree_level *level, struct bj_error *err)
{
	/* A directory stream owns its descriptor; the level keeps one to open by. */
	int fd = fcntl(level->fd, F_DUPFD_CLOEXEC, 0);
	__attribute__((cleanup(cleanup_dir))) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int os = errno;
		cleanup_close(&fd);
		errno = os;
		return fail_errno(err, BJ_INTERNAL, "list %s", show(tree->path).text);
	}
	size_t room = 0;
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno)
			return fail_errno(err, BJ_INVALID, "list %s", show(tree->path).text);
		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (*tree->entries >= tree->max_entries)
			return too_many(tree, err);
		++*tree->entries;
		if (add_name(level, &room, entry->d_name) < 0)
			return fail_errno(err, BJ_INTERNAL, "list %s", show(tree->path).text);
	}
	if (level->count)
		qsort(level->name, level->count, sizeof(*level->name), by_bytes);
	return 0;
}

/* Takes `fd`; tree->path is the directory's. */
static int push(struct tree *tree, int fd, struct bj_error *err)
{
	struct tree_level *level = &tree->level[tree->depth++];
	*level = (struct tree_level){.fd = fd, .path_size = strlen(tree->path)};
	return read_names(tree, level, err);
}

int tree_start(struct tree **ret, int dir_fd, const char *path, struct tree_how how,
	       uint64_t *entries, uint64_t max_entries, struct bj_error *err)
{
	auto_close int fd = dir_fd;
	auto_tree struct tree *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return fail_errno(err, BJ_INTERNAL, "copy %s", show(path).text);
	tree->fd = -1;
	tree->how = how;
	tree->entries = entries;
	tree->max_entries = max_entries;
	size_t size = strlen(path);
	if (size > FILES_NAME_MAX)
		return fail(err, BJ_INVALID, "%s: name too long", show(path).text);
	memcpy(tree->path, path, size + 1);
	if (push(tree, TAKE_FD(fd), err) < 0)
		return -1;
	*ret = TAKE_PTR(tree);
	return 0;
}

/* Puts the next name of the level into tree->path. */
static void set_path(struct tree *tree, struct tree_level *level)
{
	size_t size = level->path_size;
	const char *name = level->name[level->next++];
	if (size > 0)
		tree->path[size++] = '/';
	size_t length = strlen(name);
	memcpy(tree->path + size, name, length + 1);
	tree->name = tree->path + size;
}

static void leave(struct tree *tree)
{
	drop_level(tree);
	const struct tree_level *level = &tree->level[tree->depth];
	tree->path[level->path_size] = '\0';
	const char *slash = strrchr(tree->path, '/');
	tree->name = slash ? slash + 1 : tree->path;
}

int tree_next(struct tree *tree, enum tree_event *ret, struct bj_error *err)
{
	cleanup_close(&tree->fd);
	tree->fd = -1;
	struct tree_level *level = &tree->level[tree->depth - 1];
	if (level->next == level->count) {
		if (tree->depth == 1) {
			*ret = TREE_END;
			return 0;
		}
		leave(tree);
		*ret = TREE_LEAVE;
		return 0;
	}
	set_path(tree, level);
	auto_close int fd = -1;
	if (tree_open(level->fd, tree->name, tree->how, tree->path, &fd, &tree->st, &tree->odd) <
	    0) {
		*ret = TREE_ODD;
		return 0;
	}
	if (S_ISREG(tree->st.st_mode)) {
		tree->fd = TAKE_FD(fd);
		*ret = TREE_FILE;
		return 0;
	}
	if (tree->depth > FILES_DEPTH_MAX) {
		(void)fail(&tree->odd, BJ_INVALID, "directory is deeper than %d: %s",
			   FILES_DEPTH_MAX, show(tree->path).text);
		*ret = TREE_ODD;
		return 0;
	}
	*ret = TREE_ENTER;
	return push(tree, TAKE_FD(fd), err);
}

void tree_skip(struct tree *tree)
{
	drop_level(tree);
}
