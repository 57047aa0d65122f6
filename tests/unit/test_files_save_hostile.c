/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may make of its workspace to fool, or to hinder, whoever saves and restores it. */
#include "save_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static void odd_names_come_back_as_they_are(void **state)
{
	struct saver *s = *state;
	char longest[FILES_PART_MAX + 1], path[FILES_PART_MAX + 3];
	const char *const name[] = {"a\nb", "\033[31mred", "\xff\xfe", "-rf",  " ",
				    "*",    "a\"b\\c",	   longest,    "\x01", "..."};
	memset(longest, 'n', FILES_PART_MAX);
	longest[FILES_PART_MAX] = '\0';
	assert_int_equal(mkdirat(s->ws, "t", 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		put_text(s->ws, name[i], name[i], 0644);
		(void)snprintf(path, sizeof(path), "t/%s", name[i]);
		assert_int_equal(symlinkat(name[i], s->ws, path), 0);
	}
	assert_int_equal(mkdirat(s->ws, "d\n\033", 0755), 0);
	put_text(s->ws, "d\n\033/\xff", "deeper", 0644);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		assert_int_equal(unlinkat(s->ws, name[i], 0), 0);
	assert_int_equal(unlinkat(s->ws, "t/*", 0), 0);
	put_text(s->ws, "\033]0;title\a", "more", 0644);
	assert_restores(s, "one");
	assert_is(s->ws, before);
	/* In a message they are one line, which assert_error() looks at. */
	char object[80];
	object_path(object, "deeper", 6);
	assert_int_equal(unlinkat(s->store_fd, object, 0), 0);
	assert_restore_fails(s, "one", BJ_INTERNAL, 0, "\"d\\n\\x1b/\\xff\": what the store holds");
	assert_is(s->ws, before);
}

static void a_tree_too_deep_is_refused_and_one_that_came_is_removed(void **state)
{
	struct saver *s = *state;
	struct save_request request = {.workspace_fd = s->ws, .name = "x", .caps = save_wide};
	/* As deep as goes: 32 directories below the workspace, and a file in the last. */
	put_deep(s->ws, "fits", FILES_DEPTH_MAX);
	char path[256] = "fits";
	for (int i = 1; i < FILES_DEPTH_MAX; i++)
		strcat(path, "/d");
	strcat(path, "/f");
	put_text(s->ws, path, "at the bottom", 0644);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	put_deep(s->ws, "deep", FILES_DEPTH_MAX + 1);
	assert_take_fails(s, &request, BJ_INVALID, 0, "directory is deeper than 32: \"deep/d/d");
	assert_int_equal(count_objects(s), 1);
	put_deep(s->ws, "fits/five-thousand", 5000);
	put_text(s->ws, "fits/five-thousand/d/f", "x", 0);
	assert_int_equal(fchmodat(s->ws, "fits/five-thousand/d/d/d", 0, 0) |
				 fchmodat(s->ws, "fits/five-thousand/d", 0, 0),
			 0);
	/* Wide and deep. */
	for (int i = 0; i < 200; i++) {
		(void)snprintf(path, sizeof(path), "deep/w%d", i);
		put_deep(s->ws, path, 20);
	}
	assert_restores(s, "one");
	assert_is(s->ws, before);
}

/* A file outside the workspace that must stay as it is, and links to it. */
static void make_canary(struct saver *s)
{
	char target[128];
	assert_int_equal(mkdir("outside", 0755), 0);
	put_text(AT_FDCWD, "outside/f", "canary", 0644);
	(void)snprintf(target, sizeof(target), "%s/outside", s->w->host);
	assert_int_equal(symlinkat(target, s->ws, "l"), 0);
	(void)snprintf(target, sizeof(target), "%s/outside/f", s->w->host);
	assert_int_equal(symlinkat(target, s->ws, "lf"), 0);
}

static void assert_canary(struct saver *s)
{
	char object[80];
	struct stat st;
	object_path(object, "canary", 6);
	assert_false(exists(s->store_fd, object));
	assert_true(has_text(AT_FDCWD, "outside/f", "canary"));
	assert_int_equal(stat("outside/f", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(st.st_nlink, 1);
}

static void links_are_recorded_and_never_followed(void **state)
{
	struct saver *s = *state;
	char text[16] = "";
	make_canary(s);
	assert_int_equal(naive(s->w, "l/f", text, sizeof(text)), 6);
	assert_int_equal(mkdirat(s->ws, "d", 0755), 0);
	put_text(s->ws, "d/f", "mine", 0600);
	put_text(s->ws, "f", "mine", 0600);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	assert_canary(s);
	/* Where a directory and a file were there is a link out now. */
	assert_int_equal(renameat2(s->ws, "d", s->ws, "l", RENAME_EXCHANGE) |
				 renameat2(s->ws, "f", s->ws, "lf", RENAME_EXCHANGE),
			 0);
	assert_true(has_text(s->ws, "d/f", "canary"));
	assert_restores(s, "one");
	assert_canary(s);
	assert_is(s->ws, before);
	/* The links go, what they lead to stays. */
	assert_int_equal(unlinkat(s->ws, "l", 0) | unlinkat(s->ws, "lf", 0), 0);
	assert_takes(s, "two", "one");
	assert_restores(s, "one");
	assert_restores(s, "two");
	assert_canary(s);
	/* The control: what follows links does reach it. */
	assert_restores(s, "one");
	put_text(s->ws, "lf", "naive", 0666);
	assert_true(has_text(AT_FDCWD, "outside/f", "naive"));
}

static void another_mount_is_not_entered(void **state)
{
	struct saver *s = *state;
	/* The directory that the mounts of this test lie in. */
	auto_close int above = open("../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[64];
	(void)snprintf(name, sizeof(name), "host/%s/f", strrchr(s->w->host, '/') + 1);
	put_text(AT_FDCWD, "f", "elsewhere", 0644);
	assert_true(has_text(above, name, "elsewhere"));
	const struct save_request request = {.workspace_fd = above, .name = "x", .caps = save_wide};
	assert_take_fails(s, &request, BJ_INVALID, EXDEV, "\"host\" leads elsewhere");
	assert_int_equal(count_objects(s), 0);
	assert_takes(s, "good", NULL);
}

/* ---- A directory swapped for a link ------------------------------------------------------- */

struct swapper {
	int ws;
	atomic_bool stop;
};

static void *swap(void *user)
{
	struct swapper *swapper = user;
	while (!atomic_load(&swapper->stop))
		/* A restore may have one of them in hand. */
		(void)renameat2(swapper->ws, "d", swapper->ws, "l", RENAME_EXCHANGE);
	return NULL;
}

/* How many rounds: longer where the scheduler has not yet shown every case. */
#define ROUNDS 300

static void a_swapped_directory_does_not_lead_a_save_out(void **state)
{
	struct saver *s = *state;
	struct swapper swapper = {.ws = s->ws};
	const struct save_request request = {.workspace_fd = s->ws, .name = "x", .caps = save_wide};
	pthread_t thread;
	int fooled = 0, taken = 0, refused = 0;
	make_canary(s);
	assert_int_equal(mkdirat(s->ws, "d", 0755), 0);
	put_text(s->ws, "d/f", "mine", 0644);
	assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
	for (int i = 0; i < ROUNDS || (i < 20 * ROUNDS && !(fooled && taken)); i++) {
		char text[16] = "";
		fooled += naive(s->w, "d/f", text, sizeof(text)) > 0 && strcmp(text, "canary") == 0;
		if (save_take(s->store, &request, &s->made, &s->err) == 0) {
			taken++;
			assert_removes(s, "x");
		} else {
			refused++;
			assert_int_equal(s->err.code, BJ_INVALID);
		}
		assert_canary(s);
	}
	atomic_store(&swapper.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	print_message("# fooled %d, taken %d, refused %d\n", fooled, taken, refused);
	assert_true(fooled > 0 && taken > 0);
}

static void a_swapped_directory_does_not_lead_a_restore_out(void **state)
{
	struct saver *s = *state;
	struct swapper swapper = {.ws = s->ws};
	pthread_t thread;
	int fooled = 0, restored = 0, refused = 0;
	make_canary(s);
	assert_int_equal(mkdirat(s->ws, "d", 0755), 0);
	put_text(s->ws, "d/f", "mine", 0644);
	put_text(s->ws, "d/g", "mine too", 0644);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
	for (int i = 0; i < ROUNDS || (i < 30 * ROUNDS && (fooled < 30 || refused < 30)); i++) {
		/* Where both share a CPU, this is when they change over. */
		(void)sched_yield();
		/* The control: a plain write, into a file of its own. */
		int fd = openat(s->ws, "d/naive", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		(void)(fd >= 0 && close(fd));
		fooled += unlink("outside/naive") == 0;
		(void)unlinkat(s->ws, "d/f", 0);
		put_text(AT_FDCWD, "outside/f", "canary", 0644);
		if (save_restore(s->store, "one", s->ws, &s->restored, &s->err) == 0)
			restored++;
		else
			refused++;
		assert_canary(s);
		assert_false(exists(AT_FDCWD, "outside/g"));
	}
	atomic_store(&swapper.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	print_message("# fooled %d, restored %d, refused %d\n", fooled, restored, refused);
	assert_true(fooled > 0 && restored > 0);
	assert_restores(s, "one");
	assert_is(s->ws, before);
}

/* ---- Locked, odd, shared ------------------------------------------------------------------ */

static void what_is_locked_is_saved_and_restored_locked(void **state)
{
	struct saver *s = *state;
	char byte;
	assert_int_equal(mkdirat(s->ws, "shut", 0755) | mkdirat(s->ws, "shut/in", 0755), 0);
	put_text(s->ws, "shut/in/f", "f", 0);
	assert_int_equal(symlinkat("x", s->ws, "shut/link"), 0);
	assert_int_equal(fchmodat(s->ws, "shut/in", 0400, 0) | fchmodat(s->ws, "shut", 0, 0) |
				 fchmod(s->ws, 0),
			 0);
	if (!world_root) {
		assert_int_equal(naive(s->w, "shut/in/f", &byte, 1), -1);
		assert_int_equal(errno, EACCES);
	}
	assert_takes(s, "one", NULL);
	assert_int_equal(s->made.entries, 5);
	assert_int_equal(fchmod(s->ws, 0700), 0);
	assert_int_equal(mode_of(s->ws, "shut"), 0);
	assert_int_equal(fchmodat(s->ws, "shut", 0700, 0) | fchmodat(s->ws, "shut/in", 0700, 0), 0);
	assert_int_equal(mode_of(s->ws, "shut/in/f"), 0);
	assert_int_equal(unlinkat(s->ws, "shut/in/f", 0), 0);
	assert_int_equal(mkdirat(s->ws, "more", 0755) | mkdirat(s->ws, "more/d", 0), 0);
	assert_int_equal(fchmodat(s->ws, "more", 0, 0) | fchmodat(s->ws, "shut/in", 0, 0) |
				 fchmod(s->ws, 0),
			 0);
	assert_restores(s, "one");
	struct stat st;
	assert_int_equal(fstat(s->ws, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0);
	assert_int_equal(fchmod(s->ws, 0700), 0);
	assert_false(exists(s->ws, "more"));
	assert_int_equal(mode_of(s->ws, "shut"), 0);
	assert_int_equal(fchmodat(s->ws, "shut", 0700, 0), 0);
	assert_int_equal(mode_of(s->ws, "shut/in"), 0400);
	assert_int_equal(fchmodat(s->ws, "shut/in", 0700, 0), 0);
	assert_int_equal(mode_of(s->ws, "shut/in/f"), 0);
	assert_int_equal(fchmodat(s->ws, "shut/in/f", 0600, 0), 0);
	assert_true(has_text(s->ws, "shut/in/f", "f"));
}

static int add_other(void *user, const char *path, const struct save_entry *entry,
		     struct bj_error *err)
{
	(void)err;
	char *text = user;
	if (entry->type == SAVE_OTHER)
		(void)strncat(strcat(text, " "), path, 64);
	return 0;
}

static void what_has_no_content_is_left_out_and_listed(void **state)
{
	struct saver *s = *state;
	char path[64], text[512] = "";
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	put_text(s->ws, "file", "file", 0644);
	assert_int_equal(mkfifoat(s->ws, "fifo", 0644), 0);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/socket", s->ws);
	assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
	if (world_root)
		assert_int_equal(mknodat(s->ws, "device", S_IFCHR | 0666, makedev(1, 5)), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/fifo", s->ws);
	/* With a writer there, reading waits for it. */
	auto_close int writer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_takes(s, "one", NULL);
	assert_int_equal(s->made.left_out, world_root ? 3 : 2);
	assert_int_equal(save_entries(s->store, "one", add_other, text, &s->err), 0);
	assert_string_equal(text, world_root ? " device fifo socket" : " fifo socket");
	/* What is still there stays; what is not, or came since, does not come back. */
	assert_int_equal(unlinkat(s->ws, "fifo", 0) | mkfifoat(s->ws, "other", 0644) |
				 unlinkat(s->ws, "socket", 0),
			 0);
	put_text(s->ws, "socket", "a file", 0644);
	assert_restores(s, "one");
	assert_int_equal(s->restored.missing, 2);
	assert_int_equal(s->restored.removed, 1);
	assert_false(exists(s->ws, "fifo") || exists(s->ws, "other") || exists(s->ws, "socket"));
	assert_int_equal(exists(s->ws, "device"), world_root);
	assert_true(has_text(s->ws, "file", "file"));
}

static void hard_links_become_files_of_their_own(void **state)
{
	struct saver *s = *state;
	put_text(s->ws, "a", "same", 0644);
	put_text(s->ws, "b", "same", 0600);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	assert_int_equal(count_objects(s), 1);
	/* One inode under both names cannot have both modes. */
	assert_int_equal(unlinkat(s->ws, "b", 0) | linkat(s->ws, "a", s->ws, "b", 0), 0);
	assert_restores(s, "one");
	assert_is(s->ws, before);
}

static void a_full_workspace_is_restored_all_the_same(void **state)
{
	struct saver *s = *state;
	int ws = s->ws;
	auto_close int mount = open(world_small, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(mount, "ws", 0755), 0);
	auto_close int small = openat(mount, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->ws = small;
	/* 200 of 256 KiB in one file; then in the other. */
	put_bytes(small, "a", 200 << 10);
	put_text(small, "b", "small", 0644);
	auto_free char *one = describe(small);
	assert_takes(s, "one", NULL);
	put_text(small, "a", "small", 0644);
	put_bytes(small, "b", 200 << 10);
	auto_free char *two = describe(small);
	assert_takes(s, "two", "one");
	assert_restores(s, "one");
	assert_is(small, one);
	assert_restores(s, "two");
	assert_is(small, two);
	/* The same size, other bytes: there is room for one of them. */
	auto_close int fd = openat(small, "b", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "other", 5, 1000), 5);
	assert_int_equal(close(TAKE_FD(fd)), 0);
	assert_restores(s, "two");
	assert_is(small, two);
	/* Holes take no room, and no inode is free. */
	fd = openat(small, "a", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 8 << 20), 0);
	assert_int_equal(close(TAKE_FD(fd)), 0);
	auto_free char *three = describe(small);
	assert_takes(s, "three", NULL);
	assert_int_equal(unlinkat(small, "a", 0) | mkdirat(small, "d", 0755), 0);
	char name[32];
	int made = 0;
	for (; made < 100; made++) {
		(void)snprintf(name, sizeof(name), made % 2 ? "d/%d" : "d/d%d", made);
		if (made % 2 ? mknodat(small, name, S_IFREG | 0644, 0) : mkdirat(small, name, 0755))
			break;
	}
	assert_int_equal(errno, ENOSPC);
	assert_restores(s, "three");
	assert_is(small, three);
	/* The control: there is no room for both. */
	fd = openat(small, "c", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	auto_free char *zeros = calloc(1, 200 << 10);
	assert_true(write(fd, zeros, 200 << 10) < 200 << 10);
	s->ws = ws;
	assert_int_equal(unlinkat(small, "a", 0) | unlinkat(small, "b", 0) |
				 unlinkat(small, "c", 0) | unlinkat(mount, "ws", AT_REMOVEDIR),
			 0);
}

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		SAVE_TEST(odd_names_come_back_as_they_are),
		SAVE_TEST(a_tree_too_deep_is_refused_and_one_that_came_is_removed),
		SAVE_TEST(links_are_recorded_and_never_followed),
		SAVE_TEST(another_mount_is_not_entered),
		SAVE_TEST(a_swapped_directory_does_not_lead_a_save_out),
		SAVE_TEST(a_swapped_directory_does_not_lead_a_restore_out),
		SAVE_TEST(what_is_locked_is_saved_and_restored_locked),
		SAVE_TEST(what_has_no_content_is_left_out_and_listed),
		SAVE_TEST(hard_links_become_files_of_their_own),
		SAVE_TEST(a_full_workspace_is_restored_all_the_same),
	};
	return cmocka_run_group_tests_name("files, save points, hostile", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
