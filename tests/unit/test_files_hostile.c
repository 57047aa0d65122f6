/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may leave in its workspace to fool whoever collects. Each attack is first shown to
 * work on a plain open(), so that a test which passes has met something.
 */
#include "files_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static void assert_naive_is_fooled(const struct world *w, const char *name)
{
	char byte;
	assert_int_equal(naive(w, name, &byte, 1), 1);
}

static void links_to_files_of_the_host_are_not_followed(void **state)
{
	struct world *w = *state;
	static const char *const target[] = {
		"/etc/passwd",
		"/proc/self/environ",
		"/proc/self/root/etc/passwd",
		"../../../etc/passwd",
		"file",
	};
	put_text(w->ws, "file", "mine", 0644);
	put_text(AT_FDCWD, "etc", "x", 0644);
	assert_int_equal(setenv("SECRET", "s3cret", 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(target); i++) {
		assert_int_equal(symlinkat(target[i], w->ws, "out"), 0);
		if (target[i][0] == '/')
			assert_naive_is_fooled(w, "out");
		assert_collect_fails(w, "out", "out", ELOOP,
				     "\"out\" is a symbolic link; only files");
		assert_non_null(strstr(w->err.hint, "regular file"));
		assert_int_equal(unlinkat(w->ws, "out", 0), 0);
	}
	assert_false(exists(AT_FDCWD, "out"));
	assert_collects(w, "file", "out");
}

static void links_on_the_way_are_not_followed(void **state)
{
	struct world *w = *state;
	assert_int_equal(symlinkat("/etc", w->ws, "d"), 0);
	assert_int_equal(symlinkat("/proc/self/root", w->ws, "magic"), 0);
	assert_int_equal(symlinkat(".", w->ws, "here"), 0);
	put_text(w->ws, "file", "mine", 0644);
	assert_naive_is_fooled(w, "d/passwd");
	assert_naive_is_fooled(w, "magic/etc/passwd");
	assert_naive_is_fooled(w, "here/file");
	assert_collect_fails(w, "d/passwd", "out", ELOOP,
			     "a directory on the way is a symbolic link");
	assert_collect_fails(w, "magic/etc/passwd", "out", ELOOP, "on the way is a symbolic link");
	assert_collect_fails(w, "here/file", "out", ELOOP, "on the way is a symbolic link");
	assert_false(exists(AT_FDCWD, "out"));
}

static void magic_links_are_not_followed_either(void **state)
{
	/* A workspace with a magic link at hand: proc itself. */
	struct world *w = *state;
	int ws = w->ws;
	char byte;
	auto_close int proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->ws = proc;
	assert_int_equal(naive(w, "exe", &byte, 1), 1);
	assert_collect_fails(w, "exe", "out", ELOOP, "\"exe\" is a symbolic link");
	assert_collect_fails(w, "root/etc/passwd", "out", ELOOP, "on the way is a symbolic link");
	w->ws = ws;
	assert_false(exists(AT_FDCWD, "out"));
}

static void another_mount_is_not_entered(void **state)
{
	struct world *w = *state;
	int ws = w->ws;
	char text[4];
	/* The root directory holds the mount of proc. */
	auto_close int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->ws = root;
	assert_int_equal(naive(w, "proc/version", text, 4), 4);
	assert_collect_fails(w, "proc/version", "out", EXDEV, "\"proc/version\" leads elsewhere");
	w->ws = ws;
	assert_false(exists(AT_FDCWD, "out"));
}

/* ---- a component swapped while it is opened ------------------------------------------------ */

#define SWAPS 20000

struct swapper {
	int ws;
	const char *one, *other;
	atomic_bool stop;
};

static void *swap(void *user)
{
	struct swapper *s = user;
	while (!atomic_load(&s->stop))
		if (renameat2(s->ws, s->one, s->ws, s->other, RENAME_EXCHANGE) < 0)
			abort();
	return NULL;
}

static void race(struct world *w, const char *one, const char *other, void (*body)(struct world *))
{
	struct swapper s = {.ws = w->ws, .one = one, .other = other};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
	body(w);
	atomic_store(&s.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void collect_while_swapped(struct world *w)
{
	char text[16];
	int fooled = 0, delivered = 0, refused = 0;
	const struct files_caps caps = {.bytes = UINT64_MAX, .entries = UINT32_MAX};
	/* Longer where the scheduler has not yet shown every case. */
	for (int i = 0; i < SWAPS || (i < 10 * SWAPS && !(fooled && delivered && refused)); i++) {
		memset(text, 0, sizeof(text));
		if (naive(w, "d/f", text, sizeof(text)) > 0)
			fooled += strcmp(text, "canary") == 0;
		struct files_list list = {0};
		if (files_collect(w->ws, "d/f", "out", &caps, &list, &w->err) == 0) {
			delivered++;
			assert_true(has_text(AT_FDCWD, "out", "mine"));
			assert_int_equal(list.count, 1);
		} else {
			refused++;
			assert_int_equal(w->err.os_error, ELOOP);
		}
		files_list_free(&list);
	}
	assert_true(fooled > 0);
	assert_true(delivered > 0);
	assert_true(refused > 0);
}

static void a_directory_swapped_for_a_link_never_leads_out(void **state)
{
	struct world *w = *state;
	assert_int_equal(mkdir("outside", 0755) | mkdirat(w->ws, "d", 0755), 0);
	put_text(AT_FDCWD, "outside/f", "canary", 0644);
	put_text(w->ws, "d/f", "mine", 0644);
	char target[128];
	(void)snprintf(target, sizeof(target), "%s/outside", w->host);
	assert_int_equal(symlinkat(target, w->ws, "l"), 0);
	race(w, "d", "l", collect_while_swapped);
}

static void collect_tree_while_swapped(struct world *w)
{
	char byte;
	int fooled = 0, refused = 0;
	for (int i = 0; i < SWAPS / 10 || (i < SWAPS && !(fooled && refused)); i++) {
		struct files_list list = {0};
		fooled += naive(w, "t/a/canary", &byte, 1) == 1;
		/* Both may be seen as the directory, each at its time; that is no harm. */
		refused += files_collect(w->ws, "t", "tree", &world_caps, &list, &w->err) < 0;
		files_list_free(&list);
		assert_false(exists(AT_FDCWD, "tree/a/canary") ||
			     exists(AT_FDCWD, "tree/b/canary"));
	}
	assert_true(fooled > 0);
	assert_true(refused > 0);
}

static void a_directory_of_a_tree_swapped_for_a_link_never_leads_out(void **state)
{
	struct world *w = *state;
	assert_int_equal(mkdir("outside", 0755) | mkdirat(w->ws, "t", 0755) |
				 mkdirat(w->ws, "t/a", 0755),
			 0);
	put_text(AT_FDCWD, "outside/canary", "canary", 0644);
	put_text(w->ws, "t/a/f", "mine", 0644);
	char target[128];
	(void)snprintf(target, sizeof(target), "%s/outside", w->host);
	assert_int_equal(symlinkat(target, w->ws, "t/b"), 0);
	race(w, "t/a", "t/b", collect_tree_while_swapped);
}

/* ---- writing on the host ------------------------------------------------------------------- */

static void a_dangling_link_at_the_destination_is_not_written_through(void **state)
{
	struct world *w = *state;
	put_text(w->ws, "f", "f", 0644);
	assert_int_equal(symlink("control", "naive") | symlink("target", "out"), 0);
	put_text(AT_FDCWD, "naive", "x", 0644);
	assert_true(exists(AT_FDCWD, "control"));
	assert_collect_fails(w, "f", "out", 0, "\"out\" exists on the host and is a symbolic link");
	assert_false(exists(AT_FDCWD, "target"));
	assert_int_equal(mkdir("dir", 0755) | symlink("../target", "dir/f"), 0);
	assert_collect_fails(w, "f", "dir/", 0, "is a symbolic link; it is not replaced");
	assert_false(exists(AT_FDCWD, "target"));
	assert_int_equal(unlink("out"), 0);
	assert_collects(w, "f", "out");
}

static void a_sibling_of_the_same_prefix_is_not_reached(void **state)
{
	struct world *w = *state;
	int ws = w->ws;
	assert_int_equal(mkdirat(ws, "12", 0755) | mkdirat(ws, "123", 0755), 0);
	put_text(ws, "123/f", "sibling", 0644);
	put_text(ws, "12/f", "mine", 0644);
	assert_int_equal(symlinkat("../123", ws, "12/l"), 0);
	auto_close int inner = openat(ws, "12", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->ws = inner;
	assert_naive_is_fooled(w, "../123/f");
	assert_naive_is_fooled(w, "l/f");
	assert_collect_fails(w, "../123/f", "out", 0, "the name \"../123/f\" has a component");
	assert_collect_fails(w, "3/f", "out", ENOENT, "is not there");
	assert_collect_fails(w, "l/f", "out", ELOOP, "on the way is a symbolic link");
	assert_collects(w, "f", "out");
	w->ws = ws;
	assert_true(has_text(AT_FDCWD, "out", "mine"));
}

static void odd_names_reach_nothing_else(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *name;
		int os;
		const char *message;
	} row[] = {
		{"", 0, "is empty"},
		{"/etc/passwd", 0, "is absolute"},
		{"..", 0, "\".\" or \"..\""},
		{"a/../../x", 0, "\".\" or \"..\""},
		{"a//b", 0, "empty component"},
		{"a/", 0, "empty component"},
		{"%2e%2e/etc/passwd", ENOENT, "is not there"},
		{"..\\..\\etc\\passwd", ENOENT, "\"..\\\\..\\\\etc\\\\passwd\" is not there"},
		{"\xe2\x80\xae\xc2\x9b", ENOENT, "\"\\xe2\\x80\\xae\\xc2\\x9b\" is not there"},
		{"caf\xc3\xa9", ENOENT, "\"caf\xc3\xa9\" is not there"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		assert_collect_fails(w, row[i].name, "out", row[i].os, row[i].message);
	char name[4098];
	memset(name, 'x', sizeof(name));
	name[4097] = '\0';
	assert_collect_fails(w, name, "out", 0, "longer than 4095 bytes");
	name[256] = '\0';
	assert_collect_fails(w, name, "out", 0, "component longer than 255");
	assert_false(exists(AT_FDCWD, "out"));
}

static void make_odd_kinds(int ws, const char *dir)
{
	char path[64];
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(path, sizeof(path), "%sfifo", dir);
	assert_int_equal(mkfifoat(ws, path, 0644), 0);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/%ssocket", ws, dir);
	assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
	if (!world_root)
		return;
	(void)snprintf(path, sizeof(path), "%sdevice", dir);
	assert_int_equal(mknodat(ws, path, S_IFCHR | 0666, makedev(1, 5)), 0);
	(void)snprintf(path, sizeof(path), "%sblock", dir);
	assert_int_equal(mknodat(ws, path, S_IFBLK | 0666, makedev(7, 0)), 0);
}

static void what_is_no_file_neither_blocks_nor_is_read(void **state)
{
	struct world *w = *state;
	char byte;
	assert_int_equal(mkdirat(w->ws, "t", 0755), 0);
	make_odd_kinds(w->ws, "");
	make_odd_kinds(w->ws, "t/");
	put_text(w->ws, "t/file", "file", 0644);
	/* With a writer there, reading waits for it. */
	auto_close int writer = openat(w->ws, "fifo", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_int_equal(naive(w, "fifo", &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_collect_fails(w, "fifo", "out", 0, "\"fifo\" is a FIFO; only files");
	assert_collect_fails(w, "socket", "out", ENXIO, "\"socket\" is a socket; only files");
	if (world_root) {
		assert_collect_fails(w, "device", "out", EACCES, "is a character device; only");
		assert_collect_fails(w, "block", "out", EACCES, "is a block device; only");
	}
	assert_false(exists(AT_FDCWD, "out"));
	/* In a tree each is named, and the rest is delivered. */
	size_t odd = world_root ? 4 : 2, before = w->list.problems;
	assert_int_equal(files_collect(w->ws, "t", "t", &world_caps, &w->list, &w->err), -1);
	assert_int_equal(w->list.problems - before, odd);
	assert_true(has_text(AT_FDCWD, "t/file", "file"));
	assert_listed(w, "t/file", "t/file");
	assert_false(exists(AT_FDCWD, "t/fifo") || exists(AT_FDCWD, "t/socket"));
	/* The host's side. */
	assert_int_equal(mkfifo("pipe", 0644), 0);
	assert_collect_fails(w, "t/file", "pipe", 0, "\"pipe\" exists on the host and is a FIFO");
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(links_to_files_of_the_host_are_not_followed),
		T(links_on_the_way_are_not_followed),
		T(magic_links_are_not_followed_either),
		T(another_mount_is_not_entered),
		T(a_directory_swapped_for_a_link_never_leads_out),
		T(a_directory_of_a_tree_swapped_for_a_link_never_leads_out),
		T(a_dangling_link_at_the_destination_is_not_written_through),
		T(a_sibling_of_the_same_prefix_is_not_reached),
		T(odd_names_reach_nothing_else),
		T(what_is_no_file_neither_blocks_nor_is_read),
	};
	return cmocka_run_group_tests_name("files, hostile", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
