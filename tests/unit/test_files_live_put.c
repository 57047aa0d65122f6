/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a file into a live workspace. Swapped directories: test_files_live_race.c. */
#include "live_case.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void a_file_is_put(void **state)
{
	struct world *w = *state;
	const struct files_put_how tool = {.most = 100, .executable = true};
	mode_t before = umask(077);
	assert_done(w, put_whole(w, "f", "abc", &put_plainly));
	assert_done(w, put_whole(w, "tool", "#!/bin/sh\n", &tool));
	assert_done(w, put_whole(w, "empty", "", &put_plainly));
	(void)umask(before);
	assert_true(has_text(w->ws, "f", "abc"));
	assert_int_equal(mode_of(w->ws, "f"), 0644);
	assert_true(has_text(w->ws, "tool", "#!/bin/sh\n"));
	assert_int_equal(mode_of(w->ws, "tool"), 0755);
	assert_true(has_text(w->ws, "empty", ""));
	assert_int_equal(names_in(w->ws, "."), 3);
}

static void a_shorter_file_leaves_nothing_of_the_longer(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "f", "a longer text", 0755);
	auto_close int old = openat(w->ws, "f", O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	assert_done(w, put_whole(w, "f", "short", &put_plainly));
	assert_true(has_text(w->ws, "f", "short"));
	assert_int_equal(mode_of(w->ws, "f"), 0644);
	/* Who has the old one open goes on reading the old one. */
	assert_int_equal(read(old, text, sizeof(text)), 13);
	assert_string_equal(text, "a longer text");
}

static void directories_on_the_way_are_made_on_request(void **state)
{
	struct world *w = *state;
	const struct files_put_how with_parents = {.most = 100, .parents = true};
	assert_failed(w, put_whole(w, "a/b/c/f", "x", &put_plainly), ENOENT,
		      "open the directory of \"a/b/c/f\"");
	assert_false(exists(w->ws, "a"));
	mode_t before = umask(077);
	assert_done(w, put_whole(w, "a/b/c/f", "x", &with_parents));
	(void)umask(before);
	assert_true(has_text(w->ws, "a/b/c/f", "x"));
	assert_int_equal(mode_of(w->ws, "a/b"), 0755);
	assert_done(w, put_whole(w, "a/b/d/f", "y", &with_parents));
	assert_true(has_text(w->ws, "a/b/d/f", "y"));
	assert_failed(w, put_whole(w, "a/b/c/f/g", "x", &with_parents), ENOTDIR,
		      "open the directory of \"a/b/c/f/g\"");
}

static void what_is_no_file_is_not_replaced(void **state)
{
	struct world *w = *state;
	assert_int_equal(mkdirat(w->ws, "dir", 0755) | mkfifoat(w->ws, "fifo", 0644) |
				 symlinkat("target", w->ws, "dangling") |
				 symlinkat("file", w->ws, "link"),
			 0);
	put_text(w->ws, "file", "file", 0644);
	assert_failed(w, put_whole(w, "dir", "x", &put_plainly), EISDIR, "\"dir\" is a directory;");
	assert_failed(w, put_whole(w, "fifo", "x", &put_plainly), EEXIST, "\"fifo\" is a FIFO;");
	assert_failed(w, put_whole(w, "link", "x", &put_plainly), EEXIST,
		      "\"link\" is a symbolic link;");
	assert_failed(w, put_whole(w, "dangling", "x", &put_plainly), EEXIST,
		      "\"dangling\" is a symbolic link;");
	assert_true(has_text(w->ws, "file", "file"));
	assert_false(exists(w->ws, "target"));
	assert_int_equal(names_in(w->ws, "."), 5);
	/* The naive way writes through the link. */
	put_text(w->ws, "dangling", "x", 0644);
	assert_true(exists(w->ws, "target"));
	assert_done(w, put_whole(w, "file", "x", &put_plainly));
}

static void nor_is_it_when_it_comes_while_the_file_is_written(void **state)
{
	struct world *w = *state;
	struct files_put *put = NULL;
	assert_done(w, files_put_begin(w->ws, "f", &put_plainly, &put, &w->err));
	assert_int_equal(symlinkat("target", w->ws, "f"), 0);
	assert_done(w, files_put_write(put, "x", 1, &w->err));
	assert_failed(w, files_put_commit(put, &w->err), EEXIST, "\"f\" is a symbolic link;");
	assert_false(exists(w->ws, "target"));
	assert_int_equal(names_in(w->ws, "."), 1);
}

static void nothing_leads_out(void **state)
{
	struct world *w = *state;
	const struct files_put_how parents = {.most = 100, .parents = true};
	make_trap(w, ".");
	put_text(w->ws, "l/control", "x", 0644);
	assert_int_equal(unlink("outside/control"), 0);
	assert_failed(w, put_whole(w, "l/f", "x", &put_plainly), ELOOP, "symbolic link on the way");
	assert_failed(w, put_whole(w, "l/new/f", "x", &parents), ELOOP, "symbolic link on the way");
	assert_int_equal(symlinkat("/proc/self/root", w->ws, "magic"), 0);
	assert_failed(w, put_whole(w, "magic/tmp/f", "x", &put_plainly), ELOOP, "symbolic link");
	assert_failed(w, put_whole(w, "../f", "x", &put_plainly), 0, "a component \".\" or \"..\"");
	assert_failed(w, put_whole(w, "/f", "x", &put_plainly), 0, "is absolute");
	assert_failed(w, put_whole(w, "", "x", &put_plainly), 0, "is empty");
	assert_failed(w, put_whole(w, "d/", "x", &put_plainly), 0, "empty component");
	assert_canary();
	assert_done(w, put_whole(w, "d/f", "x", &put_plainly));
	assert_true(has_text(w->ws, "d/f", "x"));
}

static void another_mount_is_not_entered(void **state)
{
	struct world *w = *state;
	int ws = w->ws;
	struct files_stat st;
	auto_close int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->ws = root;
	assert_true(exists(root, "proc/version"));
	assert_failed(w, put_whole(w, "proc/f", "x", &put_plainly), EXDEV, "it leads elsewhere");
	assert_failed(w, files_stat(root, "proc/version", &st, &w->err), EXDEV, "leads elsewhere");
	assert_failed(w, files_mkdir(root, "proc/x/y", true, &w->err), EXDEV, "leads elsewhere");
	w->ws = ws;
}

static void an_aborted_or_too_large_one_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct files_put *put = NULL;
	const struct files_put_how four = {.most = 4};
	put_text(w->ws, "f", "old", 0644);
	assert_done(w, files_put_begin(w->ws, "f", &four, &put, &w->err));
	assert_done(w, files_put_write(put, "new", 3, &w->err));
	assert_int_equal(names_in(w->ws, "."), 2);
	assert_true(has_text(w->ws, "f", "old"));
	files_put_abort(put);
	files_put_abort(NULL);
	assert_int_equal(names_in(w->ws, "."), 1);

	assert_done(w, put_whole(w, "g", "1234", &four));
	assert_failed(w, put_whole(w, "f", "12345", &four), EFBIG, "more than the 4 bytes");
	assert_true(has_text(w->ws, "f", "old"));

	/* At once, and not only with the abort; afterwards nothing is put. */
	assert_done(w, files_put_begin(w->ws, "f", &four, &put, &w->err));
	assert_failed(w, files_put_write(put, "12345", 5, &w->err), EFBIG, "more than");
	assert_int_equal(names_in(w->ws, "."), 2);
	assert_failed(w, files_put_write(put, "1", 1, &w->err), 0, "it has failed before");
	assert_failed(w, files_put_commit(put, &w->err), 0, "it has failed before");
	assert_true(has_text(w->ws, "f", "old"));
}

static void the_program_may_meddle_with_the_temporary_file(void **state)
{
	struct world *w = *state;
	struct files_put *put = NULL;
	struct files_page page;
	/* Moved away: it is not what is put, and what was written is not left in it. */
	assert_done(w, files_put_begin(w->ws, "f", &put_plainly, &put, &w->err));
	assert_done(w, files_put_write(put, "half", 4, &w->err));
	assert_done(w, files_ls(w->ws, "", NULL, 0, &page, &w->err));
	assert_int_equal(page.count, 1);
	assert_int_equal(strncmp(page.entry[0].name, FILES_PUT_PREFIX, strlen(FILES_PUT_PREFIX)),
			 0);
	assert_int_equal(renameat(w->ws, page.entry[0].name, w->ws, "stolen"), 0);
	assert_int_equal(symlinkat("target", w->ws, page.entry[0].name), 0);
	assert_failed(w, files_put_commit(put, &w->err), EBUSY, "changed the temporary file");
	assert_false(exists(w->ws, "f"));
	assert_true(has_text(w->ws, "stolen", ""));
	/* What is there in its place is the program's. */
	assert_int_equal(unlinkat(w->ws, page.entry[0].name, 0), 0);
	files_page_free(&page);

	/* Written to. */
	assert_done(w, files_put_begin(w->ws, "f", &put_plainly, &put, &w->err));
	assert_done(w, files_put_write(put, "half", 4, &w->err));
	assert_done(w, files_ls(w->ws, "", NULL, 1, &page, &w->err));
	auto_close int theirs = openat(w->ws, page.entry[0].name, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(theirs, "more", 4), 4);
	assert_failed(w, files_put_commit(put, &w->err), EBUSY, "changed the temporary file");
	files_page_free(&page);
	assert_int_equal(names_in(w->ws, "."), 1);
}

static void a_full_workspace_says_what_is_used_up(void **state)
{
	struct world *w = *state;
	int ws = w->ws;
	struct files_put *put = NULL;
	const struct files_put_how large = {.most = UINT64_MAX};
	char block[4096] = "x", name[32];
	auto_close int small = open(world_small, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->ws = small;
	assert_done(w, files_put_begin(small, "f", &large, &put, &w->err));
	int wrote = 0;
	while (files_put_write(put, block, sizeof(block), &w->err) == 0)
		wrote++;
	assert_true(wrote >= 60 && wrote < 65);
	assert_failed(w, -1, ENOSPC, ": 262144 of 262144 bytes are used");
	assert_int_equal(names_in(small, "."), 0);
	files_put_abort(put);

	int made = 0;
	for (; made < 100; made++) {
		(void)snprintf(name, sizeof(name), "d%d", made);
		if (files_mkdir(small, name, false, &w->err) < 0)
			break;
	}
	assert_true(made > 10 && made < 64);
	assert_failed(w, -1, ENOSPC, ": all 64 inodes are used");
	assert_failed(w, put_whole(w, "f", "x", &put_plainly), ENOSPC, ": all 64 inodes are used");
	assert_non_null(strstr(w->err.hint, "is one inode"));
	while (made-- > 0) {
		(void)snprintf(name, sizeof(name), "d%d", made);
		assert_int_equal(unlinkat(small, name, AT_REMOVEDIR), 0);
	}
	assert_done(w, put_whole(w, "f", "x", &put_plainly));
	assert_int_equal(unlinkat(small, "f", 0), 0);
	w->ws = ws;
}

static void a_file_size_limit_is_an_error_and_no_signal(void **state)
{
	struct world *w = *state;
	struct rlimit before, low;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = before;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	int result = put_whole(w, "f", "four", &put_plainly);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_failed(w, result, EFBIG, "write \"f\"");
	assert_int_equal(names_in(w->ws, "."), 0);
}

static void *feed(void *user)
{
	char data[1000];
	memset(data, 'x', sizeof(data));
	for (int i = 0; i < 1000; i++)
		if (write(*(int *)user, data, sizeof(data)) != (ssize_t)sizeof(data))
			break;
	(void)close(*(int *)user);
	return NULL;
}

static void it_may_come_from_a_descriptor(void **state)
{
	struct world *w = *state;
	struct stat st;
	int pair[2];
	for (int nonblock = 0; nonblock < 2; nonblock++) {
		struct files_put *put = NULL;
		pthread_t thread;
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(fcntl(pair[0], F_SETFL, nonblock ? O_NONBLOCK : 0), 0);
		assert_done(w, files_put_begin(w->ws, "f", &put_plainly, &put, &w->err));
		assert_int_equal(pthread_create(&thread, NULL, feed, &pair[1]), 0);
		assert_done(w, files_put_from(put, pair[0], &w->err));
		assert_int_equal(pthread_join(thread, NULL), 0);
		(void)close(pair[0]);
		assert_done(w, files_put_commit(put, &w->err));
		assert_int_equal(fstatat(w->ws, "f", &st, 0), 0);
		assert_int_equal(st.st_size, 1000000);
	}
	/* One that cannot be read. */
	struct files_put *put = NULL;
	assert_done(w, files_put_begin(w->ws, "g", &put_plainly, &put, &w->err));
	assert_failed(w, files_put_from(put, w->ws, &w->err), EISDIR,
		      "read what is to become \"g\"");
	files_put_abort(put);
	assert_int_equal(names_in(w->ws, "."), 1);
}

static void a_workspace_that_is_gone_is_an_error(void **state)
{
	struct world *w = *state;
	int ws = w->ws;
	w->ws = -1;
	assert_failed(w, put_whole(w, "f", "x", &put_plainly), EBADF,
		      "open the directory of \"f\"");
	w->ws = ws;
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_file_is_put),
		T(a_shorter_file_leaves_nothing_of_the_longer),
		T(directories_on_the_way_are_made_on_request),
		T(what_is_no_file_is_not_replaced),
		T(nor_is_it_when_it_comes_while_the_file_is_written),
		T(nothing_leads_out),
		T(another_mount_is_not_entered),
		T(an_aborted_or_too_large_one_leaves_nothing),
		T(the_program_may_meddle_with_the_temporary_file),
		T(a_full_workspace_says_what_is_used_up),
		T(a_file_size_limit_is_an_error_and_no_signal),
		T(it_may_come_from_a_descriptor),
		T(a_workspace_that_is_gone_is_an_error),
	};
	return cmocka_run_group_tests_name("files, live: put", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
