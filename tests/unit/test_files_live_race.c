/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories swapped for links, as fast as another thread can, under each operation on a live
 * workspace. Beside each the naive way by path is shown to be led out, so that something was met.
 */
#include "live_case.h"

#include "files/tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* At least so often, about two seconds; longer where the scheduler has not yet shown every case. */
#define TURNS 150000

struct seen {
	int fooled, done, refused;
};

static bool enough(int turn, int turns, const struct seen *seen)
{
	if (turn < turns)
		return false;
	return turn >= 10 * turns || (seen->fooled && seen->done && seen->refused);
}

static void assert_seen(const struct seen *seen)
{
	assert_true(seen->fooled > 0);
	assert_true(seen->done > 0);
	assert_true(seen->refused > 0);
}

/* What a swap can make of a call on something that is there: it is led to a link, or finds it gone.
 */
static bool count(struct world *w, struct seen *seen, int result)
{
	if (result == 0) {
		seen->done++;
		return true;
	}
	if (w->err.os_error != ELOOP && w->err.os_error != ENOENT && w->err.os_error != ENOTDIR)
		fail_msg("%s", w->err.message);
	seen->refused++;
	return false;
}

/* Whether a file made at `path` of the workspace landed outside, from where it is taken again. */
static bool naive_lands_outside(const struct world *w, const char *path)
{
	int fd = openat(w->ws, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)close(fd);
	return unlink("outside/control") == 0;
}

static void put_while_swapped(struct world *w)
{
	struct seen seen = {0};
	for (int i = 0; !enough(i, TURNS / 2, &seen); i++) {
		seen.fooled += naive_lands_outside(w, "d/control");
		(void)count(w, &seen, put_whole(w, "d/new", "new", &put_plainly));
		assert_false(exists(AT_FDCWD, "outside/new"));
	}
	assert_seen(&seen);
}

static void what_is_put_never_lands_outside(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "d", "l", put_while_swapped);
	assert_canary();
}

static void put_parents_while_swapped(struct world *w)
{
	const struct files_put_how parents = {.most = 100, .parents = true};
	struct seen seen = {0};
	struct files_removed removed;
	for (int i = 0; !enough(i, TURNS / 8, &seen); i++) {
		if (mkdirat(w->ws, "d/a", 0700) == 0 && exists(AT_FDCWD, "outside/a"))
			seen.fooled++;
		(void)rmdir("outside/a");
		(void)count(w, &seen, put_whole(w, "d/a/b/f", "new", &parents));
		(void)files_mkdir(w->ws, "d/x/y", true, NULL);
		assert_false(exists(AT_FDCWD, "outside/a") || exists(AT_FDCWD, "outside/x"));
		(void)files_rm(w->ws, "d/a", true, 100, &removed, NULL);
		(void)files_rm(w->ws, "d/x", true, 100, &removed, NULL);
	}
	assert_seen(&seen);
}

static void no_directory_is_made_outside(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "d", "l", put_parents_while_swapped);
	assert_canary();
}

static void get_while_swapped(struct world *w)
{
	struct seen seen = {0};
	const struct files_get_how how = {.most = 100};
	for (int i = 0; !enough(i, TURNS, &seen); i++) {
		char text[16] = "";
		struct files_got got;
		int fd = -1;
		if (naive(w, "d/f", text, sizeof(text)) > 0)
			seen.fooled += strcmp(text, "canary") == 0;
		if (!count(w, &seen, files_get(w->ws, "d/f", &how, &fd, &got, &w->err)))
			continue;
		memset(text, 0, sizeof(text));
		assert_int_equal(read(fd, text, sizeof(text)), 4);
		assert_string_equal(text, "mine");
		(void)close(fd);
	}
	assert_seen(&seen);
}

static void what_is_got_is_never_from_outside(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "d", "l", get_while_swapped);
	assert_canary();
}

static void list_while_swapped(struct world *w)
{
	struct seen seen = {0};
	for (int i = 0; !enough(i, TURNS, &seen); i++) {
		struct files_page page;
		struct files_stat st;
		seen.fooled += exists(w->ws, "d/secret");
		assert_int_equal(files_stat(w->ws, "d/secret", &st, &w->err), -1);
		if (!count(w, &seen, files_ls(w->ws, "d", NULL, 0, &page, &w->err)))
			continue;
		assert_int_equal(page.count, 1);
		assert_string_equal(page.entry[0].name, "f");
		files_page_free(&page);
	}
	assert_seen(&seen);
}

static void what_is_listed_is_never_outside(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "d", "l", list_while_swapped);
}

static void remove_while_swapped(struct world *w)
{
	struct seen seen = {0};
	for (int i = 0; !enough(i, TURNS, &seen); i++) {
		struct files_removed removed;
		put_text(AT_FDCWD, "outside/control", "x", 0600);
		(void)unlinkat(w->ws, "d/control", 0);
		seen.fooled += !exists(AT_FDCWD, "outside/control");
		(void)count(w, &seen, files_rm(w->ws, "d/f", i & 1, 100, &removed, &w->err));
		/* Once more, and as long as it takes to hit the directory. */
		if (removed.removed)
			(void)put_whole(w, "d/f", "mine", &put_plainly);
		assert_true(has_text(AT_FDCWD, "outside/f", "canary"));
	}
	assert_int_equal(unlink("outside/control") == 0 || errno == ENOENT, 1);
	assert_seen(&seen);
}

static void nothing_outside_is_removed(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "d", "l", remove_while_swapped);
	assert_canary();
}

static void remove_tree_while_swapped(struct world *w)
{
	struct seen seen = {.refused = 1};
	char target[128];
	(void)snprintf(target, sizeof(target), "%s/outside", w->host);
	for (int i = 0; !enough(i, TURNS / 8, &seen); i++) {
		struct files_removed removed;
		/* Both names, and by each of them the naive way may reach the file outside. */
		(void)(mkdirat(w->ws, "t", 0755) | mkdirat(w->ws, "t/d", 0755) |
		       symlinkat(target, w->ws, "t/l"));
		put_text(AT_FDCWD, "outside/control", "x", 0600);
		auto_close int dir = openat(w->ws, "t/d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)unlinkat(dir, "control", 0);
		seen.fooled += !exists(AT_FDCWD, "outside/control");
		/* Nobody makes new entries: so it comes to an end, whatever is exchanged. */
		assert_done(w, files_rm(w->ws, "t", true, 1000, &removed, &w->err));
		assert_int_equal(removed.removed, 3);
		assert_int_equal(removed.left, 0);
		seen.done++;
		assert_true(has_text(AT_FDCWD, "outside/f", "canary"));
	}
	(void)unlink("outside/control");
	assert_seen(&seen);
}

static void nor_of_a_tree_in_which_links_are_swapped(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "t/d", "t/l", remove_tree_while_swapped);
	assert_canary();
}

static void move_while_swapped(struct world *w)
{
	struct seen seen = {0};
	for (int i = 0; !enough(i, TURNS, &seen); i++) {
		put_text(AT_FDCWD, "outside/one", "x", 0600);
		(void)renameat(w->ws, "d/one", w->ws, "d/two");
		seen.fooled += exists(AT_FDCWD, "outside/two");
		(void)unlink("outside/two");
		(void)count(w, &seen, files_mv(w->ws, "d/f", "d/g", true, &w->err));
		(void)count(w, &seen, files_mv(w->ws, "d/g", "d/f", false, &w->err));
		assert_true(has_text(AT_FDCWD, "outside/f", "canary"));
		assert_false(exists(AT_FDCWD, "outside/g"));
	}
	(void)unlink("outside/one");
	assert_seen(&seen);
}

static void nothing_is_moved_out_or_in(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	while_swapped(w, "d", "l", move_while_swapped);
	assert_canary();
}

/* ---- tar ------------------------------------------------------------------------------------- */

static bool has_bytes(int fd, const char *bytes)
{
	static char data[64 * 1024];
	ssize_t n = pread(fd, data, sizeof(data), 0);
	assert_true(n >= 0 && (size_t)n < sizeof(data));
	return memmem(data, (size_t)n, bytes, strlen(bytes)) != NULL;
}

static void tar_out_while_swapped(struct world *w)
{
	struct seen seen = {0};
	auto_close int tar = memfd_create("tar", MFD_CLOEXEC);
	for (int i = 0; !enough(i, TURNS / 4, &seen); i++) {
		struct files_list list = {0};
		seen.fooled += exists(w->ws, "t/d/secret");
		assert_int_equal(ftruncate(tar, 0) | (int)lseek(tar, 0, SEEK_SET), 0);
		assert_done(w, files_tar_out(w->ws, "t", &world_caps, tar, &list, &w->err));
		/* What was a link when it was met is left out, and named. */
		for (size_t p = 0; p < list.problems; p++)
			assert_int_equal(list.problem[p].error.os_error, ELOOP);
		seen.refused += list.problems > 0;
		seen.done += has_bytes(tar, "mine");
		assert_false(has_bytes(tar, "canary") || has_bytes(tar, "secret"));
		files_list_free(&list);
		int whole = files_tar_out(w->ws, "t/d", &world_caps, tar, &list, &w->err);
		assert_true(whole == 0 || w->err.os_error == ELOOP);
		assert_false(has_bytes(tar, "canary") || has_bytes(tar, "secret"));
		files_list_free(&list);
	}
	assert_seen(&seen);
}

static void what_is_packed_is_never_from_outside(void **state)
{
	struct world *w = *state;
	assert_done(w, files_mkdir(w->ws, "t", false, &w->err));
	make_trap(w, "t");
	while_swapped(w, "t/d", "t/l", tar_out_while_swapped);
	assert_canary();
}

/* "new" and "sub/new". */
static int make_archive(struct world *w)
{
	const struct files_put_how parents = {.most = 100, .parents = true};
	struct files_removed removed;
	int fd = memfd_create("tar", MFD_CLOEXEC);
	assert_done(w, put_whole(w, "from/new", "new", &parents));
	assert_done(w, put_whole(w, "from/sub/new", "new", &parents));
	assert_done(w, files_tar_out(w->ws, "from", &world_caps, fd, &w->list, &w->err));
	assert_done(w, files_rm(w->ws, "from", true, 100, &removed, &w->err));
	return fd;
}

static int tar_archive;

static void tar_in_while_swapped(struct world *w)
{
	struct seen seen = {0};
	struct files_removed removed;
	for (int i = 0; !enough(i, TURNS / 8, &seen); i++) {
		struct files_unpacked in = {0};
		seen.fooled += naive_lands_outside(w, "d/control");
		/* In turn: to what is swapped, and to a new directory in it. */
		assert_int_equal(lseek(tar_archive, 0, SEEK_SET), 0);
		(void)count(w, &seen,
			    files_tar_in(w->ws, i & 1 ? "d" : "d/n", false, &world_caps,
					 tar_archive, &in, &w->err));
		assert_int_equal(in.list.left, 0);
		files_list_free(&in.list);
		(void)files_rm(w->ws, "d/n", true, 100, &removed, NULL);
		(void)files_rm(w->ws, "d/new", true, 100, &removed, NULL);
		(void)files_rm(w->ws, "d/sub", true, 100, &removed, NULL);
		assert_false(exists(AT_FDCWD, "outside/new") || exists(AT_FDCWD, "outside/n") ||
			     exists(AT_FDCWD, "outside/sub"));
	}
	assert_seen(&seen);
}

static void what_is_unpacked_never_lands_outside(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	auto_close int archive = make_archive(w);
	tar_archive = archive;
	while_swapped(w, "d", "l", tar_in_while_swapped);
	assert_canary();
}

/* Here the target stays, and what is swapped is a directory that the archive has too. */
static void merge_while_swapped(struct world *w)
{
	struct seen seen = {0};
	for (int i = 0; !enough(i, TURNS / 8, &seen); i++) {
		struct files_unpacked in = {0};
		seen.fooled += naive_lands_outside(w, "to/sub/control");
		assert_int_equal(lseek(tar_archive, 0, SEEK_SET), 0);
		(void)count(
			w, &seen,
			files_tar_in(w->ws, "to", false, &world_caps, tar_archive, &in, &w->err));
		assert_int_equal(in.list.left, 0);
		files_list_free(&in.list);
		assert_false(exists(AT_FDCWD, "outside/new"));
	}
	assert_seen(&seen);
	assert_true(has_text(w->ws, "to/new", "new"));
}

static void nor_is_it_merged_into_what_is_outside(void **state)
{
	struct world *w = *state;
	assert_done(w, files_mkdir(w->ws, "to", false, &w->err));
	make_trap(w, "to");
	assert_done(w, files_mv(w->ws, "to/d", "to/sub", false, &w->err));
	auto_close int archive = make_archive(w);
	tar_archive = archive;
	while_swapped(w, "to/sub", "to/l", merge_while_swapped);
	assert_canary();
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(what_is_put_never_lands_outside),
		T(no_directory_is_made_outside),
		T(what_is_got_is_never_from_outside),
		T(what_is_listed_is_never_outside),
		T(nothing_outside_is_removed),
		T(nor_of_a_tree_in_which_links_are_swapped),
		T(nothing_is_moved_out_or_in),
		T(what_is_packed_is_never_from_outside),
		T(what_is_unpacked_never_lands_outside),
		T(nor_is_it_merged_into_what_is_outside),
	};
	return cmocka_run_group_tests_name("files, live: races", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
