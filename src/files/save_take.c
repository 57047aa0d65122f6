/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking a save point: one walk of the workspace beside the manifest of the one before. Objects
 * first, the manifest last, by one rename.
 */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/deliver.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct take {
	struct save_store *store;
	const struct save_request *request;
	struct manifest before; /* of `previous`; none is empty */
	size_t next;		/* in it */
	struct manifest_text text;
	struct save_made made;
	uint64_t used; /* of the store, as store_charge() counts */
	/* Objects that only this save point needs: gone again if it fails. */
	uint8_t (*added)[SAVE_SHA_SIZE];
	size_t added_count, added_room;
};

/* The entry of the save point before that is where `entry` is, or NULL. */
static const struct save_entry *find_before(struct take *take, const struct save_entry *entry)
{
	for (; take->next < take->before.count; take->next++) {
		const struct save_entry *other = &take->before.entry[take->next];
		int order = entry_order(other, entry);
		if (order == 0)
			take->next++;
		if (order >= 0)
			return order == 0 ? other : NULL;
	}
	return NULL;
}

static bool touched(const struct live *live)
{
	struct stat st;
	return fstat(live->fd, &st) < 0 || st.st_size != live->st.st_size ||
	       st.st_mtim.tv_sec != live->st.st_mtim.tv_sec ||
	       st.st_mtim.tv_nsec != live->st.st_mtim.tv_nsec;
}

static int remember(struct take *take, const struct save_entry *entry, struct bj_error *err)
{
	if (take->added_count == take->added_room) {
		size_t room = take->added_room ? take->added_room * 2 : 256;
		void *more = reallocarray(take->added, room, sizeof(*take->added));
		if (!more)
			return fail_errno(err, BJ_INTERNAL, "list the objects of a save point");
		take->added = more;
		take->added_room = room;
	}
	memcpy(take->added[take->added_count++], entry->sha256, SAVE_SHA_SIZE);
	return 0;
}

static int put_object(struct take *take, const struct live *live, struct save_entry *entry,
		      const uint8_t *doubted, struct bj_error *err)
{
	bool is_new;
	uint64_t cap = take->request->caps.store_bytes;
	const struct object_limits limits = {
		.room = take->used < cap ? cap - take->used : 0,
		.cap = cap,
	};
	if (object_put(take->store, live->fd, live->path, &limits, doubted, entry, &is_new, err) <
	    0)
		return -1;
	take->made.hashed++;
	if (!is_new)
		return 0;
	if (remember(take, entry, err) < 0) {
		(void)unlinkat(take->store->objects_fd, object_name(entry->sha256).text, 0);
		return -1;
	}
	take->used += store_charge(entry->bytes);
	take->made.new_bytes += entry->bytes;
	return 0;
}

static int take_file(struct take *take, const struct live *live, struct save_entry *entry,
		     const struct save_entry *before, struct bj_error *err)
{
	const uint8_t *doubted = NULL;
	uint64_t cap = take->request->caps.bytes;
	if (entry->bytes > cap - take->made.bytes) {
		(void)fail(err, BJ_INVALID,
			   "%s: more than the %llu bytes that a save point may have",
			   show(live->path).text, (unsigned long long)cap);
		return fail_hint(err,
				 "Holes of a file count as bytes. Remove what need not be kept.");
	}
	bool same = false;
	if (before && before->type == SAVE_FILE && before->bytes == entry->bytes) {
		same = object_compare(take->store, before, live->fd, false) == OBJECT_SAME;
		/* Should it hash to the name of what it differs from, then that one is wrong. */
		doubted = same ? NULL : before->sha256;
	}
	if (same) {
		memcpy(entry->sha256, before->sha256, sizeof(entry->sha256));
		take->made.compared++;
	} else if (put_object(take, live, entry, doubted, err) < 0) {
		return -1;
	}
	take->made.bytes += entry->bytes;
	if (!touched(live))
		return 0;
	(void)fail(err, BJ_INVALID, "%s changed while it was saved", show(live->path).text);
	return fail_hint(err, "Nothing may write to the workspace meanwhile: stop what runs there, "
			      "or try again.");
}

static int walk(struct take *take, struct bj_error *err)
{
	auto_live struct live live = {0};
	if (live_start(&live, take->request->workspace_fd, take->request->caps.entries, err) < 0)
		return -1;
	for (;;) {
		struct save_entry entry;
		bool more;
		if (live_next(&live, &entry, &more, err) < 0)
			return -1;
		if (!more)
			return 0;
		const struct save_entry *before = find_before(take, &entry);
		if (entry.type == SAVE_FILE && take_file(take, &live, &entry, before, err) < 0)
			return -1;
		if (manifest_add(&take->text, &entry, err) < 0)
			return -1;
	}
}

static int walk_paused(struct take *take, struct bj_error *err)
{
	const struct save_pause *pause = take->request->pause;
	if (pause && pause->pause(pause->user, err) < 0)
		return -1;
	int result = walk(take, err);
	if (pause)
		pause->resume(pause->user);
	return result;
}

/* ---- The manifest ------------------------------------------------------------------------ */

static int write_manifest(struct take *take, int fd, struct bj_error *err)
{
	uint64_t cap = take->request->caps.store_bytes;
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return fail_errno(err, BJ_INTERNAL, "clock_gettime");
	take->made.time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	take->text.head.time_ns = take->made.time_ns;
	take->text.head.serial = take->made.serial;
	if (manifest_finish(&take->text, err) < 0)
		return -1;
	uint64_t charge = store_charge(take->text.size);
	if (take->used > cap || charge > cap - take->used) {
		(void)fail(err, BJ_INVALID, "the store would hold more than its %llu bytes",
			   (unsigned long long)cap);
		return fail_hint(err, "Remove a save point.");
	}
	/* All objects in one go: a sync for each costs hundreds of times as much. */
	if (write_limited(fd, take->text.data, take->text.size) < 0 ||
	    (take->store->sync && (syncfs(take->store->dir_fd) < 0 || fsync(fd) < 0)))
		return fail_errno(err, BJ_INTERNAL, "write the save point into the store");
	return 0;
}

static int publish(struct take *take, const char *temp, struct bj_error *err)
{
	const struct save_store *store = take->store;
	const char *name = take->request->name;
	if (renameat(store->temp_fd, temp, store->points_fd, name) < 0)
		return fail_errno(err, BJ_INTERNAL, "put save point %s into the store",
				  show(name).text);
	if (!store->sync || fsync(store->points_fd) == 0)
		return 0;
	(void)fail_errno(err, BJ_INTERNAL, "put save point %s into the store", show(name).text);
	(void)unlinkat(store->points_fd, name, 0);
	return -1;
}

/* With the temporary file of the manifest there from the first: while there is one, objects may
 * exist that nothing names. */
static int take_all(struct take *take, struct bj_error *err)
{
	char temp[TEMP_SIZE];
	auto_close int fd = -1;
	if (store_temp(take->store, temp, &fd, err) < 0)
		return -1;
	int result = walk_paused(take, err);
	if (result == 0)
		result = write_manifest(take, fd, err);
	if (result == 0 && close(TAKE_FD(fd)) < 0)
		result = fail_errno(err, BJ_INTERNAL, "write the save point into the store");
	if (result == 0)
		result = publish(take, temp, err);
	if (result == 0)
		return 0;
	for (size_t i = 0; i < take->added_count; i++)
		(void)unlinkat(take->store->objects_fd, object_name(take->added[i]).text, 0);
	(void)unlinkat(take->store->temp_fd, temp, 0);
	return -1;
}

/* ---- Beforehand -------------------------------------------------------------------------- */

static int check_new(struct take *take, struct bj_error *err)
{
	const struct save_caps *caps = &take->request->caps;
	const char *name = take->request->name;
	struct store_use use;
	struct stat st;
	if (fstatat(take->store->points_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)fail(err, BJ_INVALID, "there is a save point %s already", show(name).text);
		return fail_hint(err, "Give another name, or remove that one.");
	}
	if (errno != ENOENT)
		return fail_errno(err, BJ_INTERNAL, "look for save point %s", show(name).text);
	if (store_count(take->store, &use, err) < 0)
		return -1;
	if (use.points >= caps->points) {
		(void)fail(err, BJ_INVALID, "the store has %u save points, and may have %u",
			   use.points, caps->points);
		return fail_hint(err, "Remove one.");
	}
	take->used = use.bytes;
	take->made.serial = use.serial + 1;
	return 0;
}

static void load_before(struct take *take)
{
	struct bj_error why;
	const char *previous = take->request->previous;
	/* Without it everything is hashed; no more is lost. */
	if (previous && store_name_check(previous, &why) == 0)
		(void)manifest_load(take->store, previous, &take->before, &why);
}

int save_take(struct save_store *store, const struct save_request *request, struct save_made *ret,
	      struct bj_error *err)
{
	struct take take = {.store = store, .request = request};
	if (store_name_check(request->name, err) < 0 || store_lock_to_write(store, err) < 0)
		return -1;
	int result = check_new(&take, err);
	if (result == 0) {
		load_before(&take);
		result = take_all(&take, err);
	}
	store_unlock(&store);
	if (result == 0) {
		take.made.entries = take.text.head.entries;
		take.made.left_out = take.text.head.left_out;
		*ret = take.made;
	}
	manifest_free(&take.before);
	manifest_text_free(&take.text);
	free(take.added);
	return result;
}
