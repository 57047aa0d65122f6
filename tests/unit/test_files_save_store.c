/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a store: full, locked, damaged, forged, or at its limits. */
#include "save_world.h"

#include "files/save_parts.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void a_store_that_others_reach_is_refused(void **state)
{
	struct saver *s = *state;
	struct save_store *store = NULL;
	static const mode_t open_to_some[] = {0701, 0710, 0704, 0755};
	for (size_t i = 0; i < ARRAY_SIZE(open_to_some); i++) {
		assert_int_equal(fchmod(s->store_fd, open_to_some[i]), 0);
		assert_int_equal(save_open(s->store_fd, false, &store, &s->err), -1);
		assert_error(&s->err, BJ_INVALID, 0, "the store belongs to uid");
	}
	assert_int_equal(fchmod(s->store_fd, 0700) | fchmodat(s->store_fd, "temp", 0770, 0), 0);
	assert_int_equal(save_open(s->store_fd, false, &store, &s->err), -1);
	assert_error(&s->err, BJ_INVALID, 0, "temp belongs to uid");
	assert_int_equal(fchmodat(s->store_fd, "temp", 0700, 0), 0);
	if (world_root) {
		assert_int_equal(fchown(s->store_fd, 1, 1), 0);
		assert_int_equal(save_open(s->store_fd, false, &store, &s->err), -1);
		assert_error(&s->err, BJ_INVALID, 0,
			     "the store belongs to uid 1 and has mode 0700");
		assert_int_equal(fchown(s->store_fd, 0, 0), 0);
	}
	/* A link in the place of one of its directories. */
	assert_int_equal(renameat(s->store_fd, "temp", s->store_fd, "x") |
				 symlinkat("x", s->store_fd, "temp"),
			 0);
	assert_int_equal(save_open(s->store_fd, false, &store, &s->err), -1);
	assert_int_equal(s->err.os_error, ENOTDIR);
	assert_null(store);
	assert_int_equal(unlinkat(s->store_fd, "temp", 0) |
				 renameat(s->store_fd, "x", s->store_fd, "temp"),
			 0);
	reopen(s);
}

/* Tries everything through another handle, while `user`'s is at work. */
static int try_all(void *user, struct bj_error *err)
{
	struct saver *s = user;
	struct save_store *other = NULL;
	struct save_point *point;
	struct save_freed freed;
	struct bj_error why;
	size_t count;
	(void)err;
	const struct save_request request = {
		.workspace_fd = s->ws, .name = "other", .caps = save_wide};
	assert_int_equal(save_open(s->store_fd, false, &other, &why), 0);
	assert_int_equal(save_list(other, &point, &count, &why), -1);
	assert_error(&why, BJ_INTERNAL, EWOULDBLOCK, "lock the store");
	assert_int_equal(save_take(other, &request, &s->made, &why), -1);
	assert_error(&why, BJ_INTERNAL, EWOULDBLOCK, "lock the store");
	assert_int_equal(save_remove(other, "x", &freed, &why), -1);
	assert_error(&why, BJ_INTERNAL, EWOULDBLOCK, "lock the store");
	assert_int_equal(save_restore(other, "x", s->ws, &s->restored, &why), -1);
	assert_error(&why, BJ_INTERNAL, EWOULDBLOCK, "lock the store");
	save_close(other);
	return 0;
}

static void nothing(void *user)
{
	(void)user;
}

static int take_while_read(void *user, const struct save_difference *d, struct bj_error *err)
{
	struct saver *s = user;
	struct save_store *other = NULL;
	struct save_point *point;
	struct save_freed freed;
	size_t count;
	(void)d;
	assert_int_equal(save_open(s->store_fd, false, &other, err), 0);
	assert_int_equal(save_remove(other, "one", &freed, err), -1);
	assert_int_equal(err->os_error, EWOULDBLOCK);
	/* Readers do not keep each other out. */
	assert_int_equal(save_list(other, &point, &count, err), 0);
	assert_int_equal(count, 1);
	free(point);
	save_close(other);
	return 0;
}

static void a_store_is_locked_while_it_is_used(void **state)
{
	struct saver *s = *state;
	const struct save_pause pause = {try_all, nothing, s};
	const struct save_request request = {
		.workspace_fd = s->ws, .name = "one", .caps = save_wide, .pause = &pause};
	assert_int_equal(save_take(s->store, &request, &s->made, &s->err), 0);
	put_text(s->ws, "new", "new", 0644);
	const struct save_side one = {"one", -1}, live = {NULL, s->ws};
	assert_int_equal(save_diff(s->store, &one, &live, &save_wide, take_while_read, s, &s->err),
			 0);
	assert_takes(s, "two", "one");
}

static void limits_are_named_with_their_number(void **state)
{
	struct saver *s = *state;
	struct save_request request = {
		.workspace_fd = s->ws, .name = "x", .caps = {10000, 4, 1, 32768}};
	put_bytes(s->ws, "a", 5000);
	put_bytes(s->ws, "b", 5001);
	put_text(s->ws, "c", "", 0644);
	assert_take_fails(s, &request, BJ_INVALID, 0,
			  "\"b\": more than the 10000 bytes that a save point may have");
	put_bytes(s->ws, "b", 4999);
	put_text(s->ws, "d", "d", 0644);
	assert_take_fails(s, &request, BJ_INVALID, 0, "more than 4 files and directories");
	assert_int_equal(unlinkat(s->ws, "d", 0), 0);
	/* Two files of two blocks, an empty one, the manifest: 24 KiB of 32. */
	request.caps.store_bytes = 24575;
	assert_take_fails(s, &request, BJ_INVALID, 0,
			  "the store would hold more than its 24575 bytes");
	assert_int_equal(count_objects(s), 0);
	request.caps.store_bytes = 24576;
	assert_int_equal(save_take(s->store, &request, &s->made, &s->err), 0);
	request.name = "y";
	assert_take_fails(s, &request, BJ_INVALID, 0,
			  "the store has 1 save points, and may have 1");
	/* In a store that is full, what is there already takes no room. */
	request.caps.points = 2;
	request.caps.store_bytes = 24576 + 4096;
	assert_int_equal(renameat(s->ws, "b", s->ws, "e"), 0);
	put_text(s->ws, "a", "fresh", 0644);
	assert_take_fails(s, &request, BJ_INVALID, 0,
			  "the store would hold more than its 28672 bytes");
	put_bytes(s->ws, "a", 5000);
	assert_int_equal(save_take(s->store, &request, &s->made, &s->err), 0);
	assert_int_equal(s->made.new_bytes, 0);
	/* A hole counts as bytes, and is refused before it is read. */
	auto_close int fd = openat(s->ws, "c", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	request.name = "z";
	request.caps = save_wide;
	assert_take_fails(s, &request, BJ_INVALID, 0, "\"c\": more than the 33554432 bytes");
}

static void a_full_disk_leaves_a_store_that_works(void **state)
{
	struct saver *s = *state;
	auto_close int mount = open(world_small, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int store_fd = -1;
	assert_int_equal(mkdirat(mount, "store", 0700), 0);
	int first = s->store_fd;
	store_fd = openat(mount, "store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->store_fd = store_fd;
	reopen(s);
	put_text(s->ws, "small", "small", 0644);
	auto_free char *one = describe(s->ws);
	assert_takes(s, "one", NULL);
	put_bytes(s->ws, "big", 512 << 10);
	put_bytes(s->ws, "before", 1000);
	struct save_request request = {.workspace_fd = s->ws, .name = "x", .caps = save_wide};
	assert_take_fails(s, &request, BJ_INTERNAL, ENOSPC, "write \"big\" into the store");
	assert_int_equal(count_objects(s), 1);
	/* No inode: not one for the first temporary file, then for the last object alone. */
	char name[32];
	assert_int_equal(unlinkat(s->ws, "big", 0), 0);
	for (int left = 0; left < 6; left++) {
		for (int i = 0; i < 64; i++) {
			(void)snprintf(name, sizeof(name), "%d", i);
			int fd = openat(mount, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			(void)(fd >= 0 && close(fd));
		}
		for (int i = 0; i < left; i++) {
			(void)snprintf(name, sizeof(name), "%d", i);
			assert_int_equal(unlinkat(mount, name, 0), 0);
		}
		if (save_take(s->store, &request, &s->made, &s->err) == 0) {
			assert_true(left > 0);
			assert_removes(s, "x");
		} else {
			assert_true(left < 3);
			assert_int_equal(s->err.os_error, ENOSPC);
		}
		assert_int_equal(count_objects(s), 1);
		assert_int_equal(count_temp(s), 0);
	}
	for (int i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		(void)unlinkat(mount, name, 0);
	}
	assert_takes(s, "two", "one");
	assert_restores(s, "one");
	assert_is(s->ws, one);
	assert_removes(s, "one");
	assert_removes(s, "two");
	s->store_fd = first;
	reopen(s);
	assert_int_equal(unlinkat(mount, "store/temp", AT_REMOVEDIR) |
				 unlinkat(mount, "store/points", AT_REMOVEDIR),
			 0);
	for (int i = 0; i < 256; i++) {
		(void)snprintf(name, sizeof(name), "store/objects/%02x", i);
		(void)unlinkat(mount, name, AT_REMOVEDIR);
	}
	assert_int_equal(unlinkat(mount, "store/objects", AT_REMOVEDIR) |
				 unlinkat(mount, "store", AT_REMOVEDIR),
			 0);
}

/* ---- Damage ------------------------------------------------------------------------------- */

static void overwrite(struct saver *s, const char *path, off_t at, const char *text)
{
	auto_close int fd = openat(s->store_fd, path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
}

static void a_damaged_object_is_named_and_can_be_mended(void **state)
{
	struct saver *s = *state;
	char object[80];
	put_text(s->ws, "a", "a", 0644);
	put_text(s->ws, "f", "content", 0644);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	object_path(object, "content", 7);
	/* Of the right size: known when it is read, and the file keeps what it had. */
	overwrite(s, object, 2, "X");
	assert_restore_fails(s, "one", BJ_INTERNAL, 0,
			     "\"f\": what the store holds of it is damaged");
	assert_non_null(strstr(s->err.message, "the workspace is a mixture now, of which 1 files"));
	assert_true(has_text(s->ws, "f", "content"));
	put_text(s->ws, "f", "other", 0644);
	put_text(s->ws, "a", "b", 0644);
	assert_restore_fails(s, "one", BJ_INTERNAL, 0, "\"f\": what the store holds");
	assert_true(has_text(s->ws, "f", "other"));
	assert_true(has_text(s->ws, "a", "a"));
	/* Compared with the workspace it differs, and hashes to the same name. */
	put_text(s->ws, "f", "content", 0644);
	assert_takes(s, "two", "one");
	assert_int_equal(s->made.new_bytes, 0);
	put_text(s->ws, "f", "other", 0644);
	assert_restores(s, "one");
	assert_true(has_text(s->ws, "f", "content"));
	put_text(s->ws, "f", "other", 0644);
	put_text(s->ws, "more", "more", 0644);

	/* Of another size, or gone: known before anything is changed. */
	auto_close int fd = openat(s->store_fd, object, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 6), 0);
	assert_restore_fails(s, "one", BJ_INTERNAL, 0, "the workspace was not changed");
	assert_int_equal(unlinkat(s->store_fd, object, 0), 0);
	assert_restore_fails(s, "one", BJ_INTERNAL, 0, "the workspace was not changed");
	assert_true(exists(s->ws, "more"));
	assert_true(has_text(s->ws, "f", "other"));
	const struct save_side one = {"one", -1}, live = {NULL, s->ws};
	put_text(s->ws, "f", "7 bytes", 0644);
	assert_int_equal(save_diff(s->store, &one, &live, &save_wide, NULL, NULL, &s->err), -1);
	assert_error(&s->err, BJ_INTERNAL, 0, "\"f\": what the store holds");
	put_text(s->ws, "f", "content", 0644);
	assert_takes(s, "three", "two");
	put_text(s->ws, "f", "other", 0644);
	set_mtime(s->ws, ".", 5, 5);
	assert_restores(s, "one");
	assert_is(s->ws, before);
}

static void a_damaged_save_point_hinders_no_other(void **state)
{
	struct saver *s = *state;
	struct save_point *point = NULL;
	struct save_freed freed;
	size_t count = 0;
	put_text(s->ws, "f", "one", 0644);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	put_text(s->ws, "f", "two", 0644);
	assert_takes(s, "two", "one");
	put_text(s->ws, "f", "three", 0644);
	assert_takes(s, "three", "two");
	overwrite(s, "points/two", 100, "X");
	reopen(s);
	assert_restore_fails(s, "two", BJ_INTERNAL, 0,
			     "save point \"two\" is damaged: its manifest has another hash");
	assert_int_equal(save_list(s->store, &point, &count, &s->err), 0);
	assert_int_equal(count, 3);
	assert_string_equal(point[0].name, "two");
	assert_true(point[0].damaged && !point[1].damaged && !point[2].damaged);
	free(point);
	/* As a base for the next it is worth nothing, and no harm. */
	assert_takes(s, "four", "two");
	assert_int_equal(s->made.serial, 4);
	/* What it needs is not known, so nothing is taken away. */
	assert_int_equal(save_remove(s->store, "three", &freed, &s->err), -1);
	assert_error(&s->err, BJ_INTERNAL, 0,
		     "\"three\" was removed, but not what it alone needed");
	assert_int_equal(count_objects(s), 3);
	assert_restores(s, "one");
	assert_is(s->ws, before);
	assert_int_equal(save_remove(s->store, "two", &freed, &s->err), 0);
	assert_int_equal(freed.objects, 1);
	assert_int_equal(count_objects(s), 2);
}

static void what_was_cut_off_is_cleared_up_by_the_next(void **state)
{
	struct saver *s = *state;
	char orphan[80];
	put_text(s->ws, "f", "f", 0644);
	assert_takes(s, "one", NULL);
	object_path(orphan, "orphan", 6);
	char folder[11];
	(void)snprintf(folder, sizeof(folder), "%.10s", orphan);
	assert_int_equal(mkdirat(s->store_fd, folder, 0700), 0);
	put_text(s->store_fd, orphan, "orphan", 0600);
	/* Without the mark nobody looks, and no harm is done. */
	assert_takes(s, "two", "one");
	assert_int_equal(count_objects(s), 2);
	put_text(s->store_fd, "temp/.belljar-0123456789abcdef", "half a manif", 0600);
	assert_takes(s, "three", "two");
	assert_int_equal(count_objects(s), 1);
	/* What is not ours is left alone. */
	(void)snprintf(orphan, sizeof(orphan), "%s/README", folder);
	put_text(s->store_fd, orphan, "?", 0600);
	assert_removes(s, "one");
	assert_int_equal(count_objects(s), 2);
	assert_int_equal(unlinkat(s->store_fd, orphan, 0), 0);
	assert_restores(s, "three");
}

/* ---- Forged manifests --------------------------------------------------------------------- */

#define ROOT                                                                                       \
	{                                                                                          \
		.type = SAVE_DIRECTORY, .depth = 0, .name = "", .mode = 0755                       \
	}
#define DIR_AT(d, n)                                                                               \
	{                                                                                          \
		.type = SAVE_DIRECTORY, .depth = (d), .name = (n), .mode = 0755                    \
	}
#define FILE_AT(d, n)                                                                              \
	{                                                                                          \
		.type = SAVE_FILE, .depth = (d), .name = (n), .mode = 0644                         \
	}
#define LINK_TO(t)                                                                                 \
	{                                                                                          \
		.type = SAVE_LINK, .depth = 1, .name = "l", .link = (t), .bytes = sizeof(t) - 1    \
	}

static void a_forged_manifest_is_refused(void **state)
{
	static const struct {
		struct save_entry entry[4];
		size_t count;
		uint64_t bytes;
		const char *why; /* NULL: it is accepted */
	} row[] = {
		{{ROOT, FILE_AT(1, "f")}, 2, 0, NULL},
		{{ROOT, DIR_AT(1, "d"), FILE_AT(2, "f"), FILE_AT(1, "g")}, 4, 0, NULL},
		{{ROOT, LINK_TO("../../x")}, 2, 0, NULL},
		{{ROOT, FILE_AT(1, "..")}, 2, 0, "a wrong name"},
		{{ROOT, FILE_AT(1, ".")}, 2, 0, "a wrong name"},
		{{ROOT, FILE_AT(1, "")}, 2, 0, "a wrong name"},
		{{ROOT, FILE_AT(1, "/etc/passwd")}, 2, 0, "a wrong name"},
		{{ROOT, FILE_AT(1, "a/b")}, 2, 0, "a wrong name"},
		{{ROOT, FILE_AT(1, "b"), FILE_AT(1, "a")}, 3, 0, "wrong order"},
		{{ROOT, FILE_AT(1, "a"), FILE_AT(1, "a")}, 3, 0, "wrong order"},
		{{ROOT, DIR_AT(1, "d"), FILE_AT(2, "x"), DIR_AT(1, "d")}, 4, 0, "wrong order"},
		{{ROOT, FILE_AT(1, "f"), FILE_AT(2, "x")}, 3, 0, "lies nowhere"},
		{{ROOT, LINK_TO("/etc"), FILE_AT(2, "passwd")}, 3, 0, "lies nowhere"},
		{{ROOT, FILE_AT(2, "x")}, 2, 0, "lies nowhere"},
		{{ROOT, ROOT}, 2, 0, "lies nowhere"},
		{{FILE_AT(1, "f")}, 1, 0, "does not begin with the workspace"},
		{{DIR_AT(0, "d")}, 1, 0, "does not begin with the workspace"},
		{{ROOT, FILE_AT(1, "f")}, 2, 1, "other entries than its head says"},
		{{ROOT, {SAVE_FILE, 1, "f", .mode = 04755}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_FILE, 1, "f", .mode = S_IFREG | 0644}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_OTHER, 1, "f", .mode = S_IFREG | 0644}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_OTHER, 1, "f", .mode = S_IFIFO | 0644}}, 2, 0, NULL},
		{{ROOT, {SAVE_FILE, 1, "f", .mtime_ns = 1000000000}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_FILE, 1, "f", .bytes = UINT64_MAX}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_DIRECTORY, 1, "f", .bytes = 1}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_LINK, 1, "f"}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_LINK, 1, "f", .link = "x", .bytes = 2}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_FILE, 1, "f", .link = "x"}}, 2, 0, "wrong numbers"},
		{{ROOT, {SAVE_TYPE_COUNT, 1, "f"}}, 2, 0, "wrong numbers"},
	};
	struct manifest manifest;
	struct bj_error err;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		/* With the right size and hash, whatever else is wrong with it. */
		struct manifest_text text = {.head = {.serial = 1}};
		for (size_t k = 0; k < row[i].count; k++)
			assert_int_equal(manifest_add(&text, &row[i].entry[k], &err), 0);
		text.head.bytes += row[i].bytes;
		assert_int_equal(manifest_finish(&text, &err), 0);
		const char *why = manifest_parse(text.data, text.size, &manifest);
		if (!why)
			manifest_free(&manifest);
		if ((why == NULL) != (row[i].why == NULL) || (why && !strstr(why, row[i].why)))
			fail_msg("row %zu: %s", i, why ? why : "accepted");
		manifest_text_free(&text);
	}
}

static void a_manifest_with_other_bytes_is_refused(void **state)
{
	struct saver *s = *state;
	uint8_t data[4096];
	struct manifest manifest;
	put_text(s->ws, "f", "f", 0644);
	assert_int_equal(symlinkat("x", s->ws, "l"), 0);
	assert_takes(s, "one", NULL);
	auto_close int fd = openat(s->store_fd, "points/one", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, data, sizeof(data));
	assert_true(size > 100);
	assert_null(manifest_parse(data, (size_t)size, &manifest));
	assert_int_equal(manifest.count, 3);
	manifest_free(&manifest);
	/* Each bit, and each length. Exactly as much memory as there is: a read beyond is found. */
	for (size_t i = 0; i < 8 * (size_t)size; i++) {
		data[i / 8] ^= (uint8_t)(1U << i % 8);
		assert_non_null(manifest_parse(data, (size_t)size, &manifest));
		data[i / 8] ^= (uint8_t)(1U << i % 8);
	}
	for (size_t i = 0; i < (size_t)size; i++) {
		auto_free uint8_t *part = malloc(i ? i : 1);
		assert_non_null(part);
		memcpy(part, data, i);
		assert_non_null(manifest_parse(part, i, &manifest));
	}
}

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		SAVE_TEST(a_store_that_others_reach_is_refused),
		SAVE_TEST(a_store_is_locked_while_it_is_used),
		SAVE_TEST(limits_are_named_with_their_number),
		SAVE_TEST(a_full_disk_leaves_a_store_that_works),
		SAVE_TEST(a_damaged_object_is_named_and_can_be_mended),
		SAVE_TEST(a_damaged_save_point_hinders_no_other),
		SAVE_TEST(what_was_cut_off_is_cleared_up_by_the_next),
		cmocka_unit_test(a_forged_manifest_is_refused),
		SAVE_TEST(a_manifest_with_other_bytes_is_refused),
	};
	return cmocka_run_group_tests_name("files, save points, store", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
