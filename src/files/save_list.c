/* SPDX-License-Identifier: Apache-2.0 */
/* The save points of a store: listing them, looking into one, removing one. */
#include "files/save_parts.h"

#include "files/deliver.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const type_names[] = {
	[SAVE_FILE] = "file",
	[SAVE_DIRECTORY] = "directory",
	[SAVE_LINK] = "link",
	[SAVE_OTHER] = "other",
};
static_assert(ARRAY_SIZE(type_names) == SAVE_TYPE_COUNT, "each type has a name");

static const char *const change_names[] = {
	[SAVE_ADDED] = "added",
	[SAVE_CHANGED] = "changed",
	[SAVE_REMOVED] = "removed",
	[SAVE_MODE] = "mode",
};
static_assert(ARRAY_SIZE(change_names) == SAVE_CHANGE_COUNT, "each change has a name");

const char *save_type_name(enum save_type type)
{
	return type_names[type];
}

const char *save_change_name(enum save_change change)
{
	return change_names[change];
}

struct points {
	const struct save_store *store;
	struct save_point *point;
	size_t count, room;
};

static int add_point(void *user, const char *name, struct bj_error *err)
{
	struct points *points = user;
	auto_manifest struct manifest manifest = {0};
	struct bj_error why;
	/* Nothing of ours has another name. */
	if (store_name_check(name, &why) < 0)
		return 0;
	if (points->count == points->room) {
		size_t room = points->room ? points->room * 2 : 16;
		struct save_point *more = reallocarray(points->point, room, sizeof(*more));
		if (!more)
			return fail_errno(err, BJ_INTERNAL, "list the save points");
		points->point = more;
		points->room = room;
	}
	struct save_point point = {.damaged = true};
	(void)snprintf(point.name, sizeof(point.name), "%s", name);
	if (manifest_load(points->store, name, &manifest, &why) == 0) {
		point.damaged = false;
		point.serial = manifest.head.serial;
		point.time_ns = manifest.head.time_ns;
		point.bytes = manifest.head.bytes;
		point.entries = manifest.head.entries;
		point.left_out = manifest.head.left_out;
	}
	points->point[points->count++] = point;
	return 0;
}

/* By age; damaged ones, whose age is not known, come first. */
static int by_serial(const void *a, const void *b)
{
	const struct save_point *one = a, *other = b;
	if (one->serial != other->serial)
		return one->serial < other->serial ? -1 : 1;
	return strcmp(one->name, other->name);
}

int save_list(struct save_store *store, struct save_point **ret, size_t *ret_count,
	      struct bj_error *err)
{
	if (store_lock_to_read(store, err) < 0)
		return -1;
	auto_unlock struct save_store *locked = store;
	struct points points = {.store = locked};
	if (store_points(locked, add_point, &points, err) < 0) {
		free(points.point);
		return -1;
	}
	if (points.count)
		qsort(points.point, points.count, sizeof(*points.point), by_serial);
	*ret = points.point;
	*ret_count = points.count;
	return 0;
}

int save_entries(struct save_store *store, const char *name, save_entry_fn fn, void *user,
		 struct bj_error *err)
{
	auto_manifest struct manifest manifest = {0};
	if (store_name_check(name, err) < 0 || store_lock_to_read(store, err) < 0)
		return -1;
	int result = manifest_load(store, name, &manifest, err);
	store_unlock(&store);
	if (result < 0)
		return -1;
	auto_free char *path = malloc(SAVE_PATH_SIZE);
	if (!path)
		return fail_errno(err, BJ_INTERNAL, "list save point %s", show(name).text);
	for (size_t i = 0; i < manifest.count; i++) {
		manifest_path(&manifest, i, path);
		if (fn(user, path, &manifest.entry[i], err) != 0)
			return -1;
	}
	return 0;
}

int save_remove(struct save_store *store, const char *name, struct save_freed *ret,
		struct bj_error *err)
{
	char temp[TEMP_SIZE];
	struct bj_error why;
	if (store_name_check(name, err) < 0 || store_lock_to_write(store, err) < 0)
		return -1;
	auto_unlock struct save_store *locked = store;
	if (temp_name(temp, err) < 0)
		return -1;
	/* Into temp/ by one rename: it is no save point from here on, and what it leaves there says
	 * that objects may be left, should this be cut off. */
	if (renameat(locked->points_fd, name, locked->temp_fd, temp) < 0) {
		if (errno == ENOENT)
			return fail_errno(err, BJ_INVALID, "there is no save point %s",
					  show(name).text);
		return fail_errno(err, BJ_INTERNAL, "remove save point %s", show(name).text);
	}
	/* Before its objects go: a save point that came back would lack them. */
	if (locked->sync && (fsync(locked->points_fd) < 0 || fsync(locked->temp_fd) < 0))
		return fail_errno(err, BJ_INTERNAL, "remove save point %s", show(name).text);
	int result = store_collect(locked, ret, &why);
	if (result < 0) {
		(void)fail(err, why.code, "%s was removed, but not what it alone needed: %s",
			   show(name).text, why.message);
		(void)fail_hint(err, "%s", why.hint);
	}
	if (unlinkat(locked->temp_fd, temp, 0) < 0 && result == 0)
		return fail_errno(err, BJ_INTERNAL, "remove save point %s", show(name).text);
	return result;
}
