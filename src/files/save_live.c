/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace as it is, in the order and the form of a manifest. */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <unistd.h>

static const struct tree_how how = {.resolve = BENEATH, .unlock = true};

int live_start(struct live *live, int workspace_fd, uint64_t max_entries, struct bj_error *err)
{
	auto_close int fd = -1;
	if (tree_open(workspace_fd, ".", how, "the workspace", &fd, &live->st, err) < 0)
		return -1;
	live->fd = -1;
	live->started = false;
	live->path = "";
	/* The workspace itself is one. */
	live->entries = 1;
	return tree_start(&live->tree, TAKE_FD(fd), "", how, &live->entries, max_entries, err);
}

void live_end(struct live *live)
{
	tree_free(live->tree);
	live->tree = NULL;
}

static struct save_entry make_entry(const struct live *live, enum save_type type,
				    unsigned int depth, const char *name)
{
	return (struct save_entry){
		.type = type,
		.depth = depth,
		.name = name,
		.mode = live->st.st_mode & 0777,
		.mtime_s = live->st.st_mtim.tv_sec,
		.mtime_ns = (uint32_t)live->st.st_mtim.tv_nsec,
		.bytes = type == SAVE_FILE ? (uint64_t)live->st.st_size : 0,
	};
}

/* What the tree cannot open: a link is recorded, what has no content left out; else it is why. */
static int look(struct live *live, struct save_entry *ret, struct bj_error *err)
{
	struct tree *tree = live->tree;
	unsigned int depth = (unsigned int)tree->depth;
	auto_close int fd = tree_look(tree->level[depth - 1].fd, tree->name, how);
	if (fd < 0 || fstat(fd, &live->st) < 0 || S_ISREG(live->st.st_mode) ||
	    S_ISDIR(live->st.st_mode)) {
		if (err)
			*err = tree->odd;
		return -1;
	}
	if (!S_ISLNK(live->st.st_mode)) {
		*ret = make_entry(live, SAVE_OTHER, depth, tree->name);
		ret->mode |= live->st.st_mode & S_IFMT;
		return 0;
	}
	ssize_t size = readlinkat(fd, "", live->link, sizeof(live->link));
	if (size <= 0 || (size_t)size >= sizeof(live->link))
		return fail_errno(err, BJ_INVALID, "read link %s", show(tree->path).text);
	live->link[size] = '\0';
	*ret = make_entry(live, SAVE_LINK, depth, tree->name);
	ret->link = live->link;
	ret->bytes = strlen(live->link);
	return 0;
}

int live_next(struct live *live, struct save_entry *ret, bool *ret_more, struct bj_error *err)
{
	struct tree *tree = live->tree;
	enum tree_event event;
	*ret_more = true;
	live->fd = -1;
	if (!live->started) {
		live->started = true;
		*ret = make_entry(live, SAVE_DIRECTORY, 0, "");
		return 0;
	}
	do
		if (tree_next(tree, &event, err) < 0)
			return -1;
	while (event == TREE_LEAVE);
	live->path = tree->path;
	unsigned int depth = (unsigned int)tree->depth;
	switch (event) {
	case TREE_FILE:
		live->fd = tree->fd;
		live->st = tree->st;
		*ret = make_entry(live, SAVE_FILE, depth, tree->name);
		return 0;
	case TREE_ENTER:
		live->st = tree->st;
		*ret = make_entry(live, SAVE_DIRECTORY, depth - 1, tree->name);
		return 0;
	case TREE_ODD:
		return look(live, ret, err);
	case TREE_END:
	case TREE_LEAVE:
		break;
	}
	*ret_more = false;
	return 0;
}
