/* SPDX-License-Identifier: Apache-2.0 */
/* What leads from one save point to another, or to the workspace as it is: two walks side by side.
 */
#include "files/save_parts.h"

#include "base/cleanup.h"

#include <stdlib.h>

struct side {
	const struct save_side *what;
	/* A save point, or the workspace. */
	struct manifest manifest;
	size_t next;
	struct live live;

	bool more;
	struct save_entry entry; /* the one that is next */
	char path[SAVE_PATH_SIZE];
};

static void free_side(struct side **side)
{
	if (!*side)
		return;
	manifest_free(&(*side)->manifest);
	live_end(&(*side)->live);
	free(*side);
}
#define auto_side __attribute__((cleanup(free_side)))

static bool is_live(const struct side *side)
{
	return !side->what->name;
}

static int advance(struct side *side, struct bj_error *err)
{
	if (is_live(side))
		return live_next(&side->live, &side->entry, &side->more, err);
	side->more = side->next < side->manifest.count;
	if (side->more)
		side->entry = side->manifest.entry[side->next++];
	return 0;
}

static const char *path_of(struct side *side)
{
	if (is_live(side))
		return side->entry.depth ? side->live.path : "";
	manifest_path(&side->manifest, side->next - 1, side->path);
	return side->path;
}

/* NULL on failure. */
static struct side *open_side(const struct save_store *store, const struct save_side *what,
			      const struct save_caps *caps, struct bj_error *err)
{
	auto_side struct side *side = calloc(1, sizeof(*side));
	if (!side) {
		(void)fail_errno(err, BJ_INTERNAL, "compare save points");
		return NULL;
	}
	side->what = what;
	if (what->name) {
		if (store_name_check(what->name, err) < 0 ||
		    manifest_load(store, what->name, &side->manifest, err) < 0)
			return NULL;
	} else if (live_start(&side->live, what->workspace_fd, caps->entries, err) < 0) {
		return NULL;
	}
	if (advance(side, err) < 0)
		return NULL;
	return TAKE_PTR(side);
}

/* Of two files of one size. */
static int content_differs(const struct save_store *store, const struct side *a,
			   const struct side *b, bool *ret, struct bj_error *err)
{
	const struct side *live = is_live(a) ? a : is_live(b) ? b : NULL;
	const struct side *saved = live == a ? b : a;
	if (!live) {
		*ret = memcmp(a->entry.sha256, b->entry.sha256, SAVE_SHA_SIZE) != 0;
		return 0;
	}
	switch (object_compare(store, &saved->entry, live->live.fd, false)) {
	case OBJECT_SAME:
		*ret = false;
		return 0;
	case OBJECT_DIFFERS:
		*ret = true;
		return 0;
	case OBJECT_BAD:
		break;
	}
	return object_damaged(&saved->entry, live->live.path, err);
}

static int is_changed(const struct save_store *store, const struct side *a, const struct side *b,
		      bool *ret, struct bj_error *err)
{
	const struct save_entry *one = &a->entry, *other = &b->entry;
	*ret = one->type != other->type || one->bytes != other->bytes;
	if (*ret)
		return 0;
	if (one->type == SAVE_FILE)
		return content_differs(store, a, b, ret, err);
	if (one->type == SAVE_LINK)
		*ret = strcmp(one->link, other->link) != 0;
	if (one->type == SAVE_OTHER)
		*ret = (one->mode & S_IFMT) != (other->mode & S_IFMT);
	return 0;
}

struct report {
	save_difference_fn fn;
	void *user;
};

/* On one side only. */
static int report_one(const struct report *report, struct side *side, bool added,
		      struct bj_error *err)
{
	const struct save_entry *entry = &side->entry;
	const struct save_difference difference = {
		.change = added ? SAVE_ADDED : SAVE_REMOVED,
		.path = path_of(side),
		.type_before = entry->type,
		.type_after = entry->type,
		.mode_before = entry->mode,
		.mode_after = entry->mode,
		.bytes_before = added ? 0 : entry->bytes,
		.bytes_after = added ? entry->bytes : 0,
	};
	return report->fn(report->user, &difference, err) == 0 ? 0 : -1;
}

static int report_both(const struct save_store *store, const struct report *report, struct side *a,
		       struct side *b, struct bj_error *err)
{
	bool changed;
	if (is_changed(store, a, b, &changed, err) < 0)
		return -1;
	/* The mode of a link says nothing. */
	bool mode = a->entry.mode != b->entry.mode && a->entry.type != SAVE_LINK;
	if (!changed && !mode)
		return 0;
	const struct save_difference difference = {
		.change = changed ? SAVE_CHANGED : SAVE_MODE,
		.path = path_of(a),
		.type_before = a->entry.type,
		.type_after = b->entry.type,
		.mode_before = a->entry.mode,
		.mode_after = b->entry.mode,
		.bytes_before = a->entry.bytes,
		.bytes_after = b->entry.bytes,
	};
	return report->fn(report->user, &difference, err) == 0 ? 0 : -1;
}

static int compare(const struct save_store *store, struct side *a, struct side *b,
		   const struct report *report, struct bj_error *err)
{
	while (a->more || b->more) {
		int order = !b->more ? -1 : !a->more ? 1 : entry_order(&a->entry, &b->entry);
		int result = order == 0	 ? report_both(store, report, a, b, err)
			     : order < 0 ? report_one(report, a, false, err)
					 : report_one(report, b, true, err);
		if (result < 0 || (order <= 0 && advance(a, err) < 0) ||
		    (order >= 0 && advance(b, err) < 0))
			return -1;
	}
	return 0;
}

int save_diff(struct save_store *store, const struct save_side *a, const struct save_side *b,
	      const struct save_caps *caps, save_difference_fn fn, void *user, struct bj_error *err)
{
	auto_side struct side *one = NULL;
	auto_side struct side *other = NULL;
	if (!a->name && !b->name)
		return fail(err, BJ_INVALID, "one side of a comparison is a save point");
	if (store_lock_to_read(store, err) < 0)
		return -1;
	auto_unlock struct save_store *locked = store;
	one = open_side(locked, a, caps, err);
	if (one)
		other = open_side(locked, b, caps, err);
	if (!one || !other)
		return -1;
	const struct report report = {fn, user};
	return compare(locked, one, other, &report, err);
}
