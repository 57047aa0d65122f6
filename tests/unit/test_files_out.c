/* SPDX-License-Identifier: Apache-2.0 */
/* Copying into and out of a workspace: what works, and where it goes. Attacks:
 * test_files_hostile.c. */
#include "files_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void a_file_is_delivered_and_listed(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "out.txt", "abc", 0666);
	put_text(w->ws, "tool", "#!/bin/sh\n", 06711);
	put_bytes(w->ws, "big", 1000001);
	assert_collects(w, "out.txt", "result.txt");
	assert_collects(w, "tool", "tool");
	assert_collects(w, "big", "big");
	assert_true(has_text(AT_FDCWD, "result.txt", "abc"));
	assert_int_equal(mode_of(AT_FDCWD, "result.txt"), 0644);
	assert_int_equal(mode_of(AT_FDCWD, "tool"), 0755);
	assert_int_equal(w->list.count, 3);
	assert_string_equal(w->list.item[0].path, "out.txt");
	assert_string_equal(w->list.item[0].sha256,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_listed(w, "big", "big");
	assert_int_equal(w->list.bytes, 3 + 10 + 1000001);
	assert_int_equal(w->list.entries, 3);
}

static void the_umask_of_the_caller_counts(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "f", "f", 0755);
	assert_int_equal(mkdirat(w->ws, "d", 0755) | mkdirat(w->ws, "d/e", 0755), 0);
	put_text(w->ws, "d/e/f", "f", 0644);
	mode_t before = umask(077);
	assert_collects(w, "f", "f");
	(void)umask(0777);
	assert_collects(w, "d", "d");
	(void)umask(before);
	assert_int_equal(mode_of(AT_FDCWD, "f"), 0700);
	assert_int_equal(mode_of(AT_FDCWD, "d"), 0700);
	assert_int_equal(mode_of(AT_FDCWD, "d/e/f"), 0);
}

static void a_file_goes_into_an_existing_directory(void **state)
{
	struct world *w = *state;
	assert_int_equal(mkdirat(w->ws, "sub", 0755) | mkdir("dir", 0755) | symlink("dir", "link"),
			 0);
	put_text(w->ws, "sub/f", "1", 0644);
	assert_collects(w, "sub/f", "dir");
	assert_true(has_text(AT_FDCWD, "dir/f", "1"));
	put_text(w->ws, "sub/f", "2", 0644);
	assert_collects(w, "sub/f", "dir/");
	assert_true(has_text(AT_FDCWD, "dir/f", "2"));
	put_text(w->ws, "sub/f", "3", 0644);
	assert_collects(w, "sub/f", "link/");
	assert_true(has_text(AT_FDCWD, "dir/f", "3"));
	assert_collects(w, "sub/f", ".");
	assert_true(has_text(AT_FDCWD, "f", "3"));
	char absolute[128];
	(void)snprintf(absolute, sizeof(absolute), "%s/g", w->host);
	assert_collects(w, "sub/f", absolute);
	assert_true(has_text(AT_FDCWD, "g", "3"));
	/* Its own name, here. */
	assert_collects(w, "sub/f", NULL);
	assert_true(has_text(AT_FDCWD, "sub/f", "3"));
	assert_int_equal(mode_of(AT_FDCWD, "sub"), 0755);
	assert_collects(w, "sub/f", NULL);
	/* Not through a link of the host that is called like a directory of the workspace. */
	assert_int_equal(mkdirat(w->ws, "led", 0755) | mkdir("away", 0755) | symlink("away", "led"),
			 0);
	put_text(w->ws, "led/f", "4", 0644);
	assert_collect_fails(
		w, "led/f", NULL, 0,
		"\"led\" exists on the host and is a symbolic link; it is not followed");
	assert_int_equal(access("away/f", F_OK), -1);
	assert_collects(w, "led/f", "led/");
	assert_true(has_text(AT_FDCWD, "away/f", "4"));
}

static void what_others_run_by_its_name_is_risky(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		uint32_t mode;
		const char *why; /* the first words, or NULL */
	} cases[] = {
		{"repo/.git/hooks/pre-commit", S_IFREG | 0644, "git runs its hooks"},
		{".git", S_IFREG | 0644, "git runs its hooks"},
		{"repo/.GIT", S_IFDIR | 0755, "git runs its hooks"},
		{"a/.bashrc", S_IFREG | 0644, "a shell runs it"},
		{"Conftest.py", S_IFREG | 0644, "pytest runs it"},
		{"lib/x.pth", S_IFREG | 0644, "Python runs its lines"},
		{"lib/sitecustomize.py", S_IFREG | 0644, "Python runs it"},
		{".vscode/tasks.json", S_IFREG | 0644, "an editor"},
		{".mcp.json", S_IFREG | 0644, "an agent starts"},
		{"x/.claude/settings.json", S_IFREG | 0644, "an agent obeys"},
		{"AGENTS.md", S_IFREG | 0644, "an agent takes it"},
		{"run", S_IFREG | 0755, "it is executable"},
		{"run", S_IFREG | 0655, NULL}, /* delivered without */
		{"bin", S_IFDIR | 0755, NULL},
		{"git/hooks", S_IFREG | 0644, NULL},
		{"x.git/config", S_IFREG | 0644, NULL},
		{".gitignore", S_IFREG | 0644, NULL},
		{"bashrc", S_IFREG | 0644, NULL},
		{".bashrc/x", S_IFREG | 0644, NULL},
		{"my_conftest.py", S_IFREG | 0644, NULL},
		{"x.pth/y", S_IFREG | 0644, NULL},
		{"plot.svg", S_IFREG | 0644, NULL},
		{"\xff/.git\xff/a", S_IFREG | 0644, NULL},
		{"", S_IFREG | 0644, NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got = files_risky(cases[i].path, cases[i].mode);
		if (!cases[i].why)
			assert_null(got);
		else
			assert_non_null(strstr(got ? got : "", cases[i].why));
	}
}

static void a_delivered_file_is_risky_by_either_name(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "conftest.py", "1", 0644);
	put_text(w->ws, "plain", "2", 0644);
	assert_collects(w, "conftest.py", "harmless.txt");
	assert_string_equal(w->list.item[w->list.count - 1].risky, "pytest runs it");
	assert_collects(w, "plain", ".bashrc");
	assert_string_equal(w->list.item[w->list.count - 1].risky,
			    "a shell runs it when it starts");
	assert_collects(w, "plain", "plain");
	assert_null(w->list.item[w->list.count - 1].risky);
	assert_int_equal(mkdirat(w->ws, "d", 0755) | mkdirat(w->ws, "d/.vscode", 0755), 0);
	put_text(w->ws, "d/.vscode/tasks.json", "3", 0644);
	assert_collects(w, "d", "d");
	/* The directory too, whose name is what makes it so. */
	assert_null(w->list.item[w->list.count - 3].risky);
	assert_non_null(w->list.item[w->list.count - 2].risky);
	assert_non_null(w->list.item[w->list.count - 1].risky);
}

static void a_destination_that_cannot_be_is_named(void **state)
{
	struct world *w = *state;
	char name[300];
	put_text(w->ws, "f", "f", 0644);
	assert_int_equal(mkdirat(w->ws, "d", 0755), 0);
	assert_int_equal(mkdir("dir", 0755) | mkdir("dir/f", 0755), 0);
	assert_int_equal(mkfifo("fifo", 0644) | symlink("dir", "link"), 0);
	put_text(AT_FDCWD, "file", "old", 0644);
	assert_collect_fails(w, "f", "none/f", ENOENT, "deliver into directory \"none/\"");
	assert_collect_fails(w, "f", "none/", ENOENT, "deliver into directory \"none/\"");
	assert_collect_fails(w, "f", "file/f", ENOTDIR, "deliver into directory \"file/\"");
	assert_collect_fails(w, "f", "", 0, "is empty");
	assert_collect_fails(w, "f", "dir", 0, "\"f\" exists on the host and is a directory");
	assert_collect_fails(w, "f", "fifo", 0, "\"fifo\" exists on the host and is a FIFO");
	assert_collect_fails(w, "f", "link", 0, "is a symbolic link; it is not followed");
	assert_collect_fails(w, "d", "file", 0,
			     "\"file\" exists on the host and is not a directory");
	assert_collect_fails(w, "d", "fifo", 0, "\"fifo\" exists on the host and is a FIFO");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_collect_fails(w, "f", name, 0, "file name too long");
	assert_true(has_text(AT_FDCWD, "file", "old"));
	assert_int_equal(w->list.count, 0);
	assert_collects(w, "f", "file");
	assert_true(has_text(AT_FDCWD, "file", "f"));
}

static void a_missing_output_is_said_so(void **state)
{
	struct world *w = *state;
	assert_collect_fails(w, "plot.svg", "plot.svg", ENOENT, "\"plot.svg\" is not there");
	assert_int_equal(w->err.code, BJ_INVALID);
	assert_string_equal(w->list.problem[0].path, "plot.svg");
	put_text(w->ws, "file", "x", 0644);
	assert_collect_fails(w, "file/x", "x", ENOTDIR, "open \"file/x\"");
	assert_false(exists(AT_FDCWD, "plot.svg"));
	assert_false(exists(AT_FDCWD, "x"));
}

/* The path as it was given, whichever end the trouble is at. */
static void both_ends_of_what_was_not_copied_are_named(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "f", "f", 0644);
	assert_int_equal(mkdirat(w->ws, "r", 0755) | mkdir("d", 0755) | mkdir("d/taken", 0755) |
				 mkdir("d/r", 0755),
			 0);
	put_text(w->ws, "r/good", "good", 0644);
	assert_int_equal(symlinkat("x", w->ws, "r/link"), 0);
	assert_int_equal(mkfifo("d/fifo", 0644), 0);
	assert_collect_fails(
		w, "f", "d/fifo", 0,
		"\"f\" was not copied to \"d/fifo\": \"fifo\" exists on the host and is a FIFO");
	assert_collect_fails(w, "none", "./d/none", ENOENT,
			     "\"none\" was not copied to \"./d/none\": \"none\" is not there");
	assert_collect_fails(w, "none", NULL, ENOENT,
			     "\"none\" was not copied out: \"none\" is not there");
	assert_collect_fails(w, "f", "gone/f", ENOENT, "\"f\" was not copied to \"gone/f\": ");
	assert_collect_fails(
		w, "r", "d/r", ELOOP,
		"\"r\" was not wholly copied to \"d/r\": \"r/link\" is a symbolic link");
	assert_true(has_text(AT_FDCWD, "d/r/good", "good"));
	assert_collects(w, "f", "d/f");
}

/* However long the names are, the reason is there. */
static void long_names_do_not_push_the_reason_out(void **state)
{
	struct world *w = *state;
	char name[256], path[600];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	put_text(w->ws, name, "x", 0644);
	assert_collect_fails(w, name, path, 0, "file name too long");
	assert_non_null(strstr(w->err.message, "nnn\"... was not copied to \"ppp"));
}

static void a_directory_appears_whole_and_is_merged_the_next_time(void **state)
{
	struct world *w = *state;
	assert_int_equal(mkdirat(w->ws, "r", 0755) | mkdirat(w->ws, "r/a", 0755) |
				 mkdirat(w->ws, "r/empty", 0755),
			 0);
	put_text(w->ws, "r/a/x", "first and longer", 0644);
	put_text(w->ws, "r/y", "y", 0755);
	assert_collects(w, "r", "results");
	assert_true(has_text(AT_FDCWD, "results/a/x", "first and longer"));
	assert_int_equal(mode_of(AT_FDCWD, "results/y"), 0755);
	assert_int_equal(mode_of(AT_FDCWD, "results/empty"), 0755);
	static const char *const order[] = {"r", "r/a", "r/a/x", "r/empty", "r/y"};
	assert_int_equal(w->list.count, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_string_equal(w->list.item[i].path, order[i]);
	assert_int_equal(w->list.item[1].type, FILES_DIRECTORY);
	assert_listed(w, "r/a/x", "results/a/x");

	put_text(AT_FDCWD, "results/a/own", "own", 0644);
	put_text(w->ws, "r/a/x", "second", 0644);
	put_text(w->ws, "r/new", "new", 0644);
	assert_collects(w, "r", "results");
	assert_true(has_text(AT_FDCWD, "results/a/x", "second"));
	assert_true(has_text(AT_FDCWD, "results/new", "new"));
	assert_true(has_text(AT_FDCWD, "results/a/own", "own"));
	assert_false(exists(AT_FDCWD, "results/r"));
	assert_collects(w, "r", "results/");
	assert_true(has_text(AT_FDCWD, "results/r/new", "new"));
}

static void what_stands_in_the_way_of_a_tree_is_a_problem_of_its_own(void **state)
{
	struct world *w = *state;
	assert_int_equal(mkdirat(w->ws, "r", 0755) | mkdirat(w->ws, "r/dir", 0755) |
				 mkdirat(w->ws, "r/linked", 0755),
			 0);
	put_text(w->ws, "r/dir/x", "x", 0644);
	put_text(w->ws, "r/linked/x", "x", 0644);
	put_text(w->ws, "r/file", "new", 0644);
	put_text(w->ws, "r/good", "good", 0644);
	assert_int_equal(mkdir("r", 0755) | mkdir("elsewhere", 0755), 0);
	assert_int_equal(symlink("../elsewhere", "r/linked") | symlink("../target", "r/file"), 0);
	put_text(AT_FDCWD, "r/dir", "a file here", 0644);
	assert_int_equal(files_collect(w->ws, "r", "r", &world_caps, &w->list, &w->err), -1);
	assert_non_null(strstr(w->err.message, "(and 2 more of \"r\")"));
	assert_int_equal(w->list.problems, 3);
	assert_string_equal(w->list.problem[0].path, "r/dir");
	assert_int_equal(w->list.problem[0].error.os_error, ENOTDIR);
	assert_string_equal(w->list.problem[1].path, "r/file");
	assert_string_equal(w->list.problem[2].path, "r/linked");
	assert_true(has_text(AT_FDCWD, "r/good", "good"));
	assert_true(has_text(AT_FDCWD, "r/dir", "a file here"));
	assert_false(exists(AT_FDCWD, "target") || exists(AT_FDCWD, "elsewhere/x"));
}

static void a_shorter_file_leaves_no_stale_tail(void **state)
{
	struct world *w = *state;
	char old[16] = {0};
	put_text(AT_FDCWD, "f", "old and long", 0600);
	auto_close int reader = open("f", O_RDONLY | O_CLOEXEC);
	put_text(w->ws, "f", "new", 0644);
	assert_collects(w, "f", "f");
	assert_true(has_text(AT_FDCWD, "f", "new"));
	/* Who had it open reads the old bytes, all of them. */
	assert_int_equal(read(reader, old, sizeof(old)), 12);
	assert_string_equal(old, "old and long");
}

static void a_full_disk_leaves_nothing(void **state)
{
	struct world *w = *state;
	char path[128];
	assert_int_equal(chdir(world_small), 0);
	put_text(AT_FDCWD, "f", "old", 0644);
	put_bytes(w->ws, "f", 512 << 10);
	assert_int_equal(mkdirat(w->ws, "d", 0755) | mkdirat(w->ws, "d/e", 0755), 0);
	put_text(w->ws, "d/e/a", "small", 0644);
	put_bytes(w->ws, "d/e/b", 512 << 10);
	assert_collect_fails(w, "f", "f", ENOSPC, "write the copy of \"f\": No space left");
	assert_collect_fails(w, "d", "d", ENOSPC, "write the copy of \"d/e/b\": No space left");
	assert_int_equal(w->list.count, 0);
	assert_int_equal(w->list.bytes, 0);
	assert_true(has_text(AT_FDCWD, "f", "old"));
	assert_false(exists(AT_FDCWD, "d"));
	/* No inode left for a temporary file. */
	for (int i = 0; i < 100; i++) {
		(void)snprintf(path, sizeof(path), "inode%d", i);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		(void)(fd >= 0 && close(fd));
	}
	put_text(w->ws, "g", "g", 0644);
	assert_collect_fails(w, "g", "f", ENOSPC, "beside the destination of \"g\"");
	for (int i = 0; i < 100; i++) {
		(void)snprintf(path, sizeof(path), "inode%d", i);
		(void)unlink(path);
	}
	put_bytes(w->ws, "f", 128 << 10);
	assert_collects(w, "f", "f");
	assert_listed(w, "f", "f");
	assert_int_equal(unlink("f"), 0);
}

static void limits_of_the_caller_are_errors_and_not_signals(void **state)
{
	struct world *w = *state;
	struct rlimit before, low = {.rlim_cur = 1000};
	put_bytes(w->ws, "f", 1001);
	assert_int_equal(mkdir("p", 0755), 0);
	put_bytes(AT_FDCWD, "p/f", 1001);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_collect_fails(w, "f", "f", EFBIG, "write the copy of \"f\": File too large");
	struct files_input in;
	assert_int_equal(files_open_host("p", true, &world_caps, &in, &w->err), -1);
	assert_int_equal(w->err.os_error, EFBIG);
	put_bytes(w->ws, "g", 1000);
	assert_collects(w, "g", "g");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

	put_deep(w->ws, "deep", 20);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = (struct rlimit){.rlim_cur = 24, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	int result = files_collect(w->ws, "deep", "deep", &world_caps, &w->list, &w->err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(result, -1);
	assert_int_equal(w->err.os_error, EMFILE);
	assert_collects(w, "deep", "deep2");
}

static void a_directory_without_write_permission_is_an_error(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "f", "f", 0644);
	assert_int_equal(mkdir("dir", 0555), 0);
	if (world_root)
		assert_collects(w, "f", "dir/f");
	else
		assert_collect_fails(w, "f", "dir/f", EACCES, "beside the destination of \"f\"");
}

static void a_workspace_that_is_no_longer_mounted_gives_its_files(void **state)
{
	struct world *w = *state;
	int ws = w->ws;
	w->ws = world_gone;
	assert_collects(w, "file", "file");
	assert_collect_fails(w, "none", "none", ENOENT, "\"none\" is not there");
	w->ws = ws;
	assert_true(has_text(AT_FDCWD, "file", "abc"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_file_is_delivered_and_listed),
		T(the_umask_of_the_caller_counts),
		T(a_file_goes_into_an_existing_directory),
		T(what_others_run_by_its_name_is_risky),
		T(a_delivered_file_is_risky_by_either_name),
		T(a_destination_that_cannot_be_is_named),
		T(a_missing_output_is_said_so),
		T(both_ends_of_what_was_not_copied_are_named),
		T(long_names_do_not_push_the_reason_out),
		T(a_directory_appears_whole_and_is_merged_the_next_time),
		T(what_stands_in_the_way_of_a_tree_is_a_problem_of_its_own),
		T(a_shorter_file_leaves_no_stale_tail),
		T(a_full_disk_leaves_nothing),
		T(limits_of_the_caller_are_errors_and_not_signals),
		T(a_directory_without_write_permission_is_an_error),
		T(a_workspace_that_is_no_longer_mounted_gives_its_files),
	};
	return cmocka_run_group_tests_name("files out", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
