/* SPDX-License-Identifier: Apache-2.0 */
/* Making, moving and removing in a live workspace. */
#include "live_case.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void directories_are_made(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	mode_t before = umask(077);
	assert_done(w, files_mkdir(w->ws, "a", false, &w->err));
	assert_done(w, files_mkdir(w->ws, "b/c/d", true, &w->err));
	(void)umask(before);
	assert_int_equal(mode_of(w->ws, "a"), 0755);
	assert_int_equal(mode_of(w->ws, "b/c"), 0755);
	assert_failed(w, files_mkdir(w->ws, "a", false, &w->err), EEXIST,
		      "make the directory \"a\"");
	assert_done(w, files_mkdir(w->ws, "b/c/d", true, &w->err));
	assert_failed(w, files_mkdir(w->ws, "x/y", false, &w->err), ENOENT, "\"x/y\"");
	assert_failed(w, files_mkdir(w->ws, "d/f", true, &w->err), ENOTDIR, "\"d/f\"");
	assert_failed(w, files_mkdir(w->ws, "l", true, &w->err), ELOOP, "symbolic link");
	assert_failed(w, files_mkdir(w->ws, "l/new", true, &w->err), ELOOP, "symbolic link");
	assert_int_equal(mkdirat(w->ws, "l/control", 0755) | rmdir("outside/control"), 0);
	assert_canary();
}

static void things_are_moved(void **state)
{
	struct world *w = *state;
	struct files_stat st;
	make_trap(w, ".");
	assert_done(w, files_mkdir(w->ws, "a/b", true, &w->err));
	assert_done(w, files_mv(w->ws, "d/f", "a/b/g", false, &w->err));
	assert_true(has_text(w->ws, "a/b/g", "mine"));
	assert_false(exists(w->ws, "d/f"));
	put_text(w->ws, "f", "f", 0644);
	assert_failed(w, files_mv(w->ws, "f", "a/b/g", false, &w->err), EEXIST,
		      "move \"f\": \"a/b/g\": File exists");
	assert_true(has_text(w->ws, "a/b/g", "mine"));
	assert_done(w, files_mv(w->ws, "f", "a/b/g", true, &w->err));
	assert_true(has_text(w->ws, "a/b/g", "f"));
	/* A link as such, and what replaces one does not go through it. */
	assert_done(w, files_mv(w->ws, "l", "m", false, &w->err));
	assert_done(w, files_stat(w->ws, "m", &st, &w->err));
	assert_int_equal(st.kind, FILES_KIND_SYMLINK);
	assert_int_equal(symlinkat("a/b/g", w->ws, "n"), 0);
	assert_failed(w, files_mv(w->ws, "m", "n", false, &w->err), EEXIST, "File exists");
	assert_done(w, files_mv(w->ws, "m", "n", true, &w->err));
	assert_true(has_text(w->ws, "a/b/g", "f"));
	/* Neither end is outside. */
	assert_failed(w, files_mv(w->ws, "n/secret", "x", false, &w->err), ELOOP, "symbolic link");
	assert_failed(w, files_mv(w->ws, "a/b/g", "n/x", false, &w->err), ELOOP, "symbolic link");
	assert_failed(w, files_mv(w->ws, "../x", "x", false, &w->err), 0, "component");
	assert_failed(w, files_mv(w->ws, "a", "../x", false, &w->err), 0, "component");
	assert_failed(w, files_mv(w->ws, "none", "x", true, &w->err), ENOENT, "move \"none\" to");
	assert_failed(w, files_mv(w->ws, "a", "a/b/c", false, &w->err), EINVAL, "\"a/b/c\"");
	assert_done(w, files_mv(w->ws, "a", "z", false, &w->err));
	assert_true(exists(w->ws, "z/b/g"));
	assert_canary();
}

static int rm(struct world *w, const char *name, bool tree, uint64_t most, uint64_t removed,
	      uint64_t left)
{
	struct files_removed count = {77, 77};
	int result = files_rm(w->ws, name, tree, most, &count, &w->err);
	assert_int_equal(count.removed, removed);
	assert_int_equal(count.left, left);
	return result;
}

static void one_thing_is_removed(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	assert_int_equal(mkfifoat(w->ws, "fifo", 0644), 0);
	assert_done(w, rm(w, "d/f", false, 0, 1, 0));
	assert_done(w, rm(w, "fifo", false, 0, 1, 0));
	assert_failed(w, rm(w, "d", false, 0, 0, 0), EISDIR, "remove \"d\"");
	assert_failed(w, rm(w, "d/f", false, 0, 0, 0), ENOENT, "remove \"d/f\"");
	assert_failed(w, rm(w, "l/f", false, 0, 0, 0), ELOOP, "symbolic link");
	assert_failed(w, rm(w, "l/f", true, FILES_RM_MAX, 0, 0), ELOOP, "symbolic link");
	assert_failed(w, rm(w, "", true, FILES_RM_MAX, 0, 0), 0, "is empty");
	assert_failed(w, rm(w, ".", true, FILES_RM_MAX, 0, 0), 0, "component");
	assert_done(w, rm(w, "l", false, 0, 1, 0));
	assert_canary();
}

static void a_tree_is_removed_and_links_in_it_are_not_followed(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	assert_done(w, files_mkdir(w->ws, "t/a/b", true, &w->err));
	assert_done(w, files_mkdir(w->ws, "t/closed/in", true, &w->err));
	assert_int_equal(symlinkat("../../d", w->ws, "t/a/inner") | mkfifoat(w->ws, "t/fifo", 0) |
				 renameat(w->ws, "l", w->ws, "t/a/b/l"),
			 0);
	assert_true(exists(w->ws, "t/a/b/l/secret"));
	put_text(w->ws, "t/closed/in/f", "x", 0);
	assert_int_equal(
		fchmodat(w->ws, "t/closed/in", 0500, 0) | fchmodat(w->ws, "t/closed", 0, 0), 0);
	assert_done(w, rm(w, "t", true, FILES_RM_MAX, 9, 0));
	assert_false(exists(w->ws, "t"));
	assert_true(has_text(w->ws, "d/f", "mine"));
	assert_canary();
	assert_failed(w, rm(w, "t", true, FILES_RM_MAX, 0, 0), ENOENT, "remove \"t\"");
	/* A file, a link, as a tree. */
	assert_done(w, rm(w, "d/f", true, FILES_RM_MAX, 1, 0));
	assert_int_equal(symlinkat("d", w->ws, "to-d"), 0);
	assert_done(w, rm(w, "to-d", true, FILES_RM_MAX, 1, 0));
	assert_true(exists(w->ws, "d"));
}

static void a_tree_may_be_of_any_depth(void **state)
{
	struct world *w = *state;
	enum { DEPTH = 3000 };
	put_deep(w->ws, "t", DEPTH);
	assert_done(w, rm(w, "t", true, FILES_RM_MAX, DEPTH, 0));
	/* Also where a level is not open to its owner. */
	put_deep(w->ws, "t", 24);
	int dir = openat(w->ws, "t", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 1; i < 24; i++) {
		int next = openat(dir, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(dir);
		dir = next;
	}
	put_deep(dir, "locked", 2);
	assert_int_equal(fchmodat(dir, "locked", 0, 0), 0);
	(void)close(dir);
	assert_done(w, rm(w, "t", true, FILES_RM_MAX, 26, 0));
	assert_int_equal(names_in(w->ws, "."), 0);
}

static void what_is_met_is_bounded(void **state)
{
	struct world *w = *state;
	char name[16];
	assert_done(w, files_mkdir(w->ws, "t", false, &w->err));
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "t/%d", i);
		put_text(w->ws, name, "x", 0644);
	}
	/* The first is the tree itself. */
	assert_failed(w, rm(w, "t", true, 41, 40, 0), EBUSY, "not done after 41 names");
	assert_int_equal(names_in(w->ws, "t"), 60);
	assert_failed(w, rm(w, "t", true, 0, 0, 0), EBUSY, "not done after 0 names");
	assert_failed(w, rm(w, "t", true, 60, 59, 0), EBUSY, "not done after 60 names");
	assert_done(w, rm(w, "t", true, 2, 2, 0));
}

struct maker {
	int ws;
	atomic_int made;
	atomic_bool stop;
};

static void *make_more(void *user)
{
	struct maker *m = user;
	char name[32];
	for (int i = 0; !atomic_load(&m->stop); i++) {
		(void)mkdirat(m->ws, "t", 0755);
		(void)snprintf(name, sizeof(name), "t/%d", i);
		if (mknodat(m->ws, name, S_IFREG | 0644, 0) == 0)
			atomic_fetch_add(&m->made, 1);
	}
	return NULL;
}

static void a_tree_that_grows_meanwhile_has_an_end(void **state)
{
	struct world *w = *state;
	struct maker m = {.ws = w->ws};
	struct files_removed count;
	pthread_t thread;
	int done = 0, more = 0;
	assert_int_equal(pthread_create(&thread, NULL, make_more, &m), 0);
	for (int i = 0; i < 300 || (i < 10000 && !(done && more)); i++) {
		uint64_t most = 3000;
		if (files_rm(w->ws, "t", true, most, &count, &w->err) == 0) {
			done++;
			more += count.removed > 1;
		} else if (w->err.os_error != ENOENT) {
			assert_failed(w, -1, EBUSY, "the program may be making new ones");
		}
		assert_true(count.removed <= most);
		assert_int_equal(count.left, 0);
	}
	atomic_store(&m.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&m.made) > 0);
	assert_true(done > 0 && more > 0);
}

/* Mounting is for root. */
static void another_mount_stays(void **state)
{
	struct world *w = *state;
	char path[80];
	if (!world_root)
		return;
	assert_done(w, files_mkdir(w->ws, "t/a/m", true, &w->err));
	put_text(w->ws, "t/a/f", "x", 0644);
	(void)snprintf(path, sizeof(path), "%s/t/a/m", w->ws_path);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, "mode=0777,size=64k"), 0);
	put_text(w->ws, "t/a/m/f", "mounted", 0644);
	int result = rm(w, "t", true, FILES_RM_MAX, 1, 3);
	assert_failed(w, result, EXDEV, "another file system is mounted on \"m\"");
	assert_true(has_text(w->ws, "t/a/m/f", "mounted"));
	assert_false(exists(w->ws, "t/a/f"));
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_done(w, rm(w, "t", true, FILES_RM_MAX, 3, 0));
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(directories_are_made),
		T(things_are_moved),
		T(one_thing_is_removed),
		T(a_tree_is_removed_and_links_in_it_are_not_followed),
		T(a_tree_may_be_of_any_depth),
		T(what_is_met_is_bounded),
		T(a_tree_that_grows_meanwhile_has_an_end),
		T(another_mount_stays),
	};
	return cmocka_run_group_tests_name("files, live: change", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
