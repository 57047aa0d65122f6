/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of a live workspace as tar, out and in. Archives that lie: test_files_live_untar.c.
 */
#include "live_case.h"

#include "files/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct files_caps roomy = {.bytes = 32 << 20, .entries = 1000};

/* An archive of `name` in a memfd, at its start. */
static int pack(struct world *w, const char *name)
{
	int fd = memfd_create("tar", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_done(w, files_tar_out(w->ws, name, &roomy, fd, &w->list, &w->err));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* The tar of the distribution, with `fd` as its standard input or output. */
static void run_tar(const char *const argv[], int stdin_fd, int stdout_fd)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	if (stdin_fd >= 0)
		assert_int_equal(posix_spawn_file_actions_adddup2(&actions, stdin_fd, 0), 0);
	if (stdout_fd >= 0)
		assert_int_equal(posix_spawn_file_actions_adddup2(&actions, stdout_fd, 1), 0);
	char *const environment[] = {NULL};
	assert_int_equal(posix_spawn(&pid, "/bin/tar", &actions, NULL,
				     (char *const *)(uintptr_t)argv, environment),
			 0);
	assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static const char long_part[] = "a-name-that-is-so-long-that-ustar-has-no-room-for-it-and-pax-must-"
				"help-out-with-a-header-of-its-own-for-each-of-them-in-the-archive";

static void make_tree(struct world *w)
{
	const struct files_put_how tool = {.most = 100, .executable = true, .parents = true};
	char path[512];
	assert_done(w, put_whole(w, "t/a/tool", "#!/bin/sh\n", &tool));
	assert_int_equal(mkdirat(w->ws, "t/empty", 0700), 0);
	put_text(w->ws, "t/f", "abc", 0600);
	put_text(w->ws, "t/none", "", 0666);
	put_text(w->ws, "t/caf\xc3\xa9", "utf-8", 0644);
	put_text(w->ws, "t/cafe\xcc\x81", "decomposed", 0644);
	put_text(w->ws, "t/\xff\n\x1b", "bytes", 0644);
	put_text(w->ws, "t/-rf", "dash", 0644);
	put_bytes(w->ws, "t/large", 1000001);
	(void)snprintf(path, sizeof(path), "t/%s", long_part);
	assert_int_equal(mkdirat(w->ws, path, 0755), 0);
	(void)snprintf(path, sizeof(path), "t/%s/%s", long_part, long_part);
	put_text(w->ws, path, "long", 0644);
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1234567890}};
	assert_int_equal(utimensat(w->ws, "t/f", times, 0), 0);
}

static void assert_tree(int dir_fd, const char *root)
{
	char path[512];
	struct stat st;
	auto_close int dir = openat(dir_fd, root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_true(has_text(dir, "a/tool", "#!/bin/sh\n"));
	assert_int_equal(mode_of(dir, "a/tool"), 0755);
	assert_true(has_text(dir, "f", "abc"));
	assert_int_equal(mode_of(dir, "f"), 0644);
	assert_int_equal(mode_of(dir, "empty"), 0755);
	assert_true(has_text(dir, "none", ""));
	assert_true(has_text(dir, "caf\xc3\xa9", "utf-8"));
	assert_true(has_text(dir, "cafe\xcc\x81", "decomposed"));
	assert_true(has_text(dir, "\xff\n\x1b", "bytes"));
	assert_true(has_text(dir, "-rf", "dash"));
	(void)snprintf(path, sizeof(path), "%s/%s", long_part, long_part);
	assert_true(has_text(dir, path, "long"));
	assert_int_equal(fstatat(dir, "f", &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(fstatat(dir, "large", &st, 0), 0);
	assert_int_equal(st.st_size, 1000001);
	assert_int_equal(names_in(dir, "."), 10);
}

static void a_tree_goes_out_and_comes_in(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	make_tree(w);
	auto_close int tar = pack(w, "t");
	assert_int_equal(w->list.problems, 0);
	assert_int_equal(w->list.count, 12);
	assert_done(w, files_tar_in(w->ws, "copy/of/t", true, &roomy, tar, &in, &w->err));
	assert_tree(w->ws, "copy/of/t");
	assert_int_equal(in.entries, 12);
	assert_int_equal(in.list.count, 12);
	assert_int_equal(in.bytes, w->list.bytes);
	assert_int_equal(in.list.left, 0);
	assert_int_equal(names_in(w->ws, "copy/of"), 1);
	/* The same bytes, however often it is asked for. */
	auto_close int again = pack(w, "t");
	static char one[2 << 20], other[2 << 20];
	ssize_t size = pread(tar, one, sizeof(one), 0);
	assert_true(size > 1000001);
	assert_int_equal(pread(again, other, sizeof(other), 0), size);
	assert_memory_equal(one, other, (size_t)size);
	files_list_free(&in.list);
}

static void the_tar_of_the_distribution_reads_and_writes_the_same(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	make_tree(w);
	assert_int_equal(mkdir("theirs", 0755), 0);
	auto_close int ours = pack(w, "t");
	static const char *const extract[] = {"tar", "-x", "-f", "-", "-C", "theirs", NULL};
	run_tar(extract, ours, -1);
	assert_tree(AT_FDCWD, "theirs");

	static const char *const create[][7] = {
		{"tar", "--format=gnu", "-C", "theirs", "-cf-", "."},
		{"tar", "--format=pax", "-C", "theirs", "-cf-", "."},
	};
	for (size_t i = 0; i < ARRAY_SIZE(create); i++) {
		auto_close int theirs = memfd_create("tar", MFD_CLOEXEC);
		char name[] = {'0' + (char)i, '\0'};
		run_tar(create[i], -1, theirs);
		assert_int_equal(lseek(theirs, 0, SEEK_SET), 0);
		assert_done(w, files_tar_in(w->ws, name, false, &roomy, theirs, &in, &w->err));
		assert_tree(w->ws, name);
		files_list_free(&in.list);
		memset(&in, 0, sizeof(in));
	}
}

static void headers_tell_nothing_of_the_host(void **state)
{
	struct world *w = *state;
	char head[512];
	put_text(w->ws, "f", "abc", 0755);
	auto_close int tar = pack(w, "");
	assert_int_equal(pread(tar, head, sizeof(head), 0), sizeof(head));
	assert_string_equal(head, "f");
	assert_string_equal(head + 100, "000755 ");
	assert_string_equal(head + 108, "000000 ");
	assert_string_equal(head + 116, "000000 ");
	assert_int_equal(head[156], '0');
	assert_string_equal(head + 257, "ustar");
	assert_string_equal(head + 265, "");
	assert_string_equal(head + 297, "");
}

static void what_is_no_file_is_left_out_and_named(void **state)
{
	struct world *w = *state;
	make_trap(w, ".");
	assert_int_equal(mkfifoat(w->ws, "fifo", 0644) | symlinkat("f", w->ws, "d/link"), 0);
	put_deep(w->ws, "deep", 34);
	size_t special = 4 + world_root;
	if (world_root)
		assert_int_equal(mknodat(w->ws, "device", S_IFCHR | 0666, makedev(1, 3)), 0);
	auto_close int tar = pack(w, "");
	assert_int_equal(w->list.problems, special);
	assert_string_equal(w->list.problem[0].path, "d/link");
	assert_int_equal(strncmp(w->list.problem[1].path, "deep/d/d/", 9), 0);
	assert_non_null(strstr(w->list.problem[1].error.message, "deeper than 32"));
	assert_string_equal(w->list.problem[2].path, world_root ? "device" : "fifo");
	assert_string_equal(w->list.problem[special - 1].path, "l");
	assert_non_null(strstr(w->list.problem[special - 1].error.message, "is a symbolic link"));
	static char data[256 * 1024];
	ssize_t size = pread(tar, data, sizeof(data), 0);
	assert_true(size > 0 && (size_t)size < sizeof(data));
	assert_non_null(memmem(data, (size_t)size, "mine", 4));
	assert_null(memmem(data, (size_t)size, "canary", 6));
	assert_null(memmem(data, (size_t)size, "fifo", 4));
	struct bj_error *err = &w->err;
	assert_failed(w, files_tar_out(w->ws, "l", &roomy, tar, &w->list, err), ELOOP,
		      "symbolic link");
	assert_failed(w, files_tar_out(w->ws, "d/f", &roomy, tar, &w->list, err), ENOTDIR,
		      "\"d/f\"");
}

static void an_archive_that_grows_too_large_has_no_end(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	const struct files_caps few = {.bytes = 1000, .entries = 2},
				small = {.bytes = 5, .entries = 9};
	put_text(w->ws, "1", "abc", 0644);
	put_text(w->ws, "2", "abc", 0644);
	auto_close int whole = memfd_create("tar", MFD_CLOEXEC);
	assert_done(w, files_tar_out(w->ws, "", &few, whole, &w->list, &w->err));
	files_list_free(&w->list);
	auto_close int tar = memfd_create("tar", MFD_CLOEXEC);
	assert_failed(w, files_tar_out(w->ws, "", &small, tar, &w->list, &w->err), EFBIG,
		      "\"2\" has 3 bytes, more than the 2 allowed");
	assert_int_equal(lseek(tar, 0, SEEK_SET), 0);
	assert_int_equal(files_tar_in(w->ws, "in", false, &roomy, tar, &in, &w->err), -1);
	files_list_free(&in.list);
	files_list_free(&w->list);
	put_text(w->ws, "3", "abc", 0644);
	assert_failed(w, files_tar_out(w->ws, "", &few, tar, &w->list, &w->err), 0,
		      "more than 2 files and directories");
	assert_int_equal(names_in(w->ws, "."), 3);
}

static void nobody_who_reads_is_an_error_and_no_signal(void **state)
{
	struct world *w = *state;
	int ends[2];
	put_bytes(w->ws, "f", 1 << 20);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	(void)close(ends[0]);
	assert_failed(w, files_tar_out(w->ws, "", &roomy, ends[1], &w->list, &w->err), EPIPE,
		      "write the tar archive: Broken pipe");
	(void)close(ends[1]);
}

struct sender {
	struct world *w;
	int to;
	int result;
	struct bj_error err;
};

static void *send_tree(void *user)
{
	struct sender *s = user;
	s->result = files_tar_out(s->w->ws, "t", &roomy, s->to, &s->w->list, &s->err);
	(void)close(s->to);
	return NULL;
}

static void it_streams_through_a_socket(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	int ends[2];
	pthread_t thread;
	make_tree(w);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	struct sender s = {.w = w, .to = ends[1]};
	assert_int_equal(pthread_create(&thread, NULL, send_tree, &s), 0);
	assert_done(w, files_tar_in(w->ws, "in", false, &roomy, ends[0], &in, &w->err));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(s.result, 0);
	(void)close(ends[0]);
	assert_tree(w->ws, "in");
	files_list_free(&in.list);
}

/* ---- into what is there ---------------------------------------------------------------------- */

static void a_tree_is_merged_into_one_that_exists(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	make_tree(w);
	auto_close int tar = pack(w, "t");
	assert_done(w, files_mkdir(w->ws, "old/a", true, &w->err));
	put_text(w->ws, "old/f", "a longer text", 0755);
	put_text(w->ws, "old/a/kept", "kept", 0640);
	assert_int_equal(fchmodat(w->ws, "old", 0700, 0), 0);
	auto_close int open_before = openat(w->ws, "old/f", O_RDONLY | O_CLOEXEC);
	assert_done(w, files_tar_in(w->ws, "old", false, &roomy, tar, &in, &w->err));
	assert_tree(w->ws, "old");
	assert_true(has_text(w->ws, "old/a/kept", "kept"));
	assert_int_equal(mode_of(w->ws, "old"), 0700);
	assert_int_equal(in.list.count, 12);
	char text[16] = "";
	assert_int_equal(read(open_before, text, sizeof(text)), 13);
	assert_int_equal(names_in(w->ws, "."), 2);
	files_list_free(&in.list);
	/* Into the workspace itself. */
	memset(&in, 0, sizeof(in));
	assert_int_equal(lseek(tar, 0, SEEK_SET), 0);
	assert_done(w, files_tar_in(w->ws, "", false, &roomy, tar, &in, &w->err));
	assert_true(has_text(w->ws, "f", "abc"));
	assert_int_equal(names_in(w->ws, "."), 12);
	files_list_free(&in.list);
}

static void what_does_not_fit_is_named_and_the_rest_is_merged(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	make_trap(w, ".");
	assert_done(w, files_mkdir(w->ws, "t/dir", true, &w->err));
	assert_done(w, files_mkdir(w->ws, "t/l", true, &w->err));
	put_text(w->ws, "t/dir/f", "1", 0644);
	put_text(w->ws, "t/file", "2", 0644);
	put_text(w->ws, "t/l/f", "3", 0644);
	put_text(w->ws, "t/link", "4", 0644);
	put_text(w->ws, "t/z", "4", 0644);
	auto_close int tar = pack(w, "t");
	assert_done(w, files_mkdir(w->ws, "u/file", true, &w->err));
	put_text(w->ws, "u/dir", "x", 0644);
	assert_int_equal(renameat(w->ws, "l", w->ws, "u/l"), 0);
	assert_true(exists(w->ws, "u/l/secret"));
	assert_int_equal(symlinkat("target", w->ws, "u/link"), 0);
	assert_failed(w, files_tar_in(w->ws, "u", false, &roomy, tar, &in, &w->err), ENOTDIR,
		      "put into the directory \"dir\"");
	assert_int_equal(in.list.problems, 4);
	assert_string_equal(in.list.problem[1].path, "file");
	assert_int_equal(in.list.problem[1].error.os_error, EISDIR);
	assert_string_equal(in.list.problem[3].path, "link");
	assert_int_equal(in.list.problem[3].error.os_error, EEXIST);
	assert_string_equal(in.list.problem[2].path, "l");
	assert_int_equal(in.list.problem[2].error.os_error, ELOOP);
	assert_int_equal(in.list.count, 1);
	assert_string_equal(in.list.item[0].path, "z");
	assert_true(has_text(w->ws, "u/z", "4"));
	assert_canary();
	assert_int_equal(names_in(w->ws, "u"), 5);
	assert_int_equal(names_in(w->ws, "."), 3);
	files_list_free(&in.list);
}

static void nor_does_a_directory_replace_what_is_none(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	make_trap(w, ".");
	auto_close int tar = pack(w, "d");
	assert_failed(w, files_tar_in(w->ws, "l", false, &roomy, tar, &in, &w->err), ENOTDIR,
		      "\"l\" is a symbolic link; a directory does not replace it");
	assert_failed(w, files_tar_in(w->ws, "l/x", true, &roomy, tar, &in, &w->err), ELOOP,
		      "symbolic link on the way");
	assert_failed(w, files_tar_in(w->ws, "d/f", false, &roomy, tar, &in, &w->err), ENOTDIR,
		      "\"d/f\" is a file");
	assert_failed(w, files_tar_in(w->ws, "x/y", false, &roomy, tar, &in, &w->err), ENOENT,
		      "\"x/y\"");
	assert_failed(w, files_tar_in(w->ws, "../x", true, &roomy, tar, &in, &w->err), 0,
		      "component");
	assert_int_equal(names_in(w->ws, "."), 2);
	assert_canary();
	assert_done(w, files_tar_in(w->ws, "x/y", true, &roomy, tar, &in, &w->err));
	assert_true(has_text(w->ws, "x/y/f", "mine"));
	files_list_free(&in.list);
}

static void a_full_workspace_is_as_it_was(void **state)
{
	struct world *w = *state;
	struct files_unpacked in = {0};
	put_bytes(w->ws, "1", 100000);
	put_bytes(w->ws, "2", 200000);
	auto_close int tar = pack(w, "");
	auto_close int small = open(world_small, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_failed(
		w, files_tar_in(small, "t", false, &roomy, tar, &in, &w->err), ENOSPC,
		"archive entry \"2\": No space left on device: 262144 of 262144 bytes are used");
	assert_non_null(strstr(w->err.message, "(2 entries and 100000 bytes were unpacked before"));
	assert_int_equal(in.entries, 2);
	assert_int_equal(in.bytes, 100000);
	assert_int_equal(in.list.count, 0);
	assert_int_equal(names_in(small, "."), 0);
	files_list_free(&in.list);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_tree_goes_out_and_comes_in),
		T(the_tar_of_the_distribution_reads_and_writes_the_same),
		T(headers_tell_nothing_of_the_host),
		T(what_is_no_file_is_left_out_and_named),
		T(an_archive_that_grows_too_large_has_no_end),
		T(nobody_who_reads_is_an_error_and_no_signal),
		T(it_streams_through_a_socket),
		T(a_tree_is_merged_into_one_that_exists),
		T(what_does_not_fit_is_named_and_the_rest_is_merged),
		T(nor_does_a_directory_replace_what_is_none),
		T(a_full_workspace_is_as_it_was),
	};
	return cmocka_run_group_tests_name("files, live: tar", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
