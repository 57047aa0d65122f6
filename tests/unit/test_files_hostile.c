/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may leave in its workspace to fool whoever collects. Each attack is first shown to
 * work on a plain open(), so that a test which passes has met something.
 */
#include "files_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sha2.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

/* What a plain open() beneath the workspace gives; -1 with errno. */
static ssize_t naive(const struct world *w, const char *name, char *text, size_t size)
{
	auto_close int fd = openat(w->ws, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -1 : read(fd, text, size);
}

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
	for (int i = 0; i < SWAPS; i++) {
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
	for (int i = 0; i < SWAPS / 10; i++) {
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

/* ---- too much ------------------------------------------------------------------------------ */

static void a_sparse_terabyte_is_refused_at_once(void **state)
{
	struct world *w = *state;
	struct statvfs before, after;
	int ws = w->ws;
	put_text(ws, "sparse", "x", 0644);
	assert_int_equal(mkdirat(ws, "t", 0755), 0);
	auto_close int fd = openat(ws, "sparse", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	assert_int_equal(linkat(ws, "sparse", ws, "t/sparse", 0), 0);
	assert_int_equal(statvfs(".", &before), 0);
	assert_collect_fails(w, "sparse", "out", 0,
			     "more than the 8388608 bytes that may be copied");
	assert_non_null(strstr(w->err.hint, "Holes"));
	assert_collect_fails(w, "t", "t", 0, "\"t/sparse\": more than the 8388608 bytes");
	assert_int_equal(statvfs(".", &after), 0);
	assert_int_equal(before.f_bfree, after.f_bfree);
	assert_false(exists(AT_FDCWD, "out") || exists(AT_FDCWD, "t"));
	/* Exactly the cap, holes and all, is delivered; a byte more is not. */
	assert_int_equal(ftruncate(fd, (off_t)world_caps.bytes + 1), 0);
	assert_collect_fails(w, "sparse", "out", 0, "more than the 8388608 bytes");
	assert_int_equal(ftruncate(fd, (off_t)world_caps.bytes), 0);
	assert_collects(w, "sparse", "out");
	assert_listed(w, "sparse", "out");
	/* And the cap is on all outputs together. */
	put_text(ws, "more", "x", 0644);
	assert_collect_fails(w, "more", "more", 0, "more than the 0 bytes");
}

static void bytes_are_counted_as_they_are_read(void **state)
{
	/* Files of proc say that they are empty. */
	struct world *w = *state;
	int ws = w->ws;
	auto_close int proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstatat(proc, "maps", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	struct files_caps caps = {.bytes = 100, .entries = 10};
	assert_int_equal(files_collect(proc, "maps", "out", &caps, &w->list, &w->err), -1);
	assert_non_null(strstr(w->err.message, "\"maps\": more than the 100 bytes"));
	assert_false(exists(AT_FDCWD, "out"));
	w->ws = proc;
	assert_collects(w, "maps", "out");
	w->ws = ws;
	assert_true(w->list.item[0].bytes > 100);
	assert_listed(w, "maps", "out");
}

struct grower {
	int fd;
	atomic_bool stop;
};

static void *grow(void *user)
{
	struct grower *g = user;
	static const char block[65536] = {'g'};
	/* Bounded, should the collector never end; alternately longer and shorter. */
	for (off_t size = 0; !atomic_load(&g->stop); size += sizeof(block)) {
		if (size >= 4 << 20 && ftruncate(g->fd, size = 0) < 0)
			abort();
		if (pwrite(g->fd, block, sizeof(block), size) < 0)
			abort();
	}
	return NULL;
}

static void what_changes_while_it_is_copied_is_hashed_as_delivered(void **state)
{
	struct world *w = *state;
	put_bytes(w->ws, "log", 1 << 20);
	struct grower g = {.fd = openat(w->ws, "log", O_WRONLY | O_CLOEXEC)};
	struct files_caps caps = {.bytes = 3 << 20, .entries = 10};
	pthread_t thread;
	int capped = 0, delivered = 0;
	assert_int_equal(pthread_create(&thread, NULL, grow, &g), 0);
	for (int i = 0; i < 500; i++) {
		struct files_list list = {0};
		if (files_collect(w->ws, "log", "log", &caps, &list, &w->err) == 0) {
			char sha[SHA256_DIGEST_STRING_LENGTH];
			struct stat st;
			assert_int_equal(stat("log", &st), 0);
			assert_int_equal(list.item[0].bytes, st.st_size);
			assert_true(list.bytes <= caps.bytes);
			assert_non_null(SHA256File("log", sha));
			assert_string_equal(list.item[0].sha256, sha);
			delivered++;
		} else {
			assert_non_null(strstr(w->err.message, "more than the 3145728 bytes"));
			assert_int_equal(list.count, 0);
			capped++;
		}
		files_list_free(&list);
	}
	atomic_store(&g.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(g.fd);
	assert_true(capped > 0 && delivered > 0);
}

/* `first`, as many directories below it as are walked, `last`. */
static void deep_path(char path[256], const char *first, const char *last)
{
	size_t used = (size_t)snprintf(path, 256, "%s", first);
	for (int i = 0; i < FILES_DEPTH_MAX; i++)
		used += (size_t)snprintf(path + used, 256 - used, "/d");
	(void)snprintf(path + used, 256 - used, "%s", last);
}

static void directories_five_thousand_deep_are_walked_without_recursion(void **state)
{
	struct world *w = *state;
	put_deep(w->ws, "deep", 5000);
	put_text(w->ws, "deep/d/f", "f", 0644);
	assert_int_equal(files_collect(w->ws, "deep", "out", &world_caps, &w->list, &w->err), -1);
	assert_non_null(strstr(w->err.message, "directory is deeper than 32: \"deep/d/d"));
	assert_int_equal(w->list.problems, 1);
	assert_true(has_text(AT_FDCWD, "out/d/f", "f"));
	char path[256];
	deep_path(path, "out", "");
	assert_true(exists(AT_FDCWD, path));
	deep_path(path, "out", "/d");
	assert_false(exists(AT_FDCWD, path));
	put_deep(w->ws, "fits", FILES_DEPTH_MAX + 1);
	assert_collects(w, "fits", "fits");
	/* A failure at the bottom takes all of it back. */
	put_deep(w->ws, "fails", FILES_DEPTH_MAX + 1);
	deep_path(path, "fails", "/big");
	put_bytes(w->ws, path, world_caps.bytes + 1);
	assert_int_equal(files_collect(w->ws, "fails", "fails", &world_caps, &w->list, &w->err),
			 -1);
	assert_non_null(strstr(w->err.message, "more than the"));
	assert_false(exists(AT_FDCWD, "fails"));
}

static void entries_are_counted_as_they_are_read(void **state)
{
	struct world *w = *state;
	char name[32];
	assert_int_equal(mkdirat(w->ws, "many", 0755), 0);
	for (unsigned int i = 0; i < world_caps.entries; i++) {
		(void)snprintf(name, sizeof(name), "many/%u", i);
		put_text(w->ws, name, "", 0644);
	}
	assert_collect_fails(w, "many", "many", 0, "more than 1000 files and directories");
	assert_false(exists(AT_FDCWD, "many"));
	assert_int_equal(unlinkat(w->ws, "many/0", 0), 0);
	files_list_free(&w->list);
	assert_collects(w, "many", "many");
	assert_int_equal(w->list.count, world_caps.entries);
}

/* ---- locked, odd, unsupported ---------------------------------------------------------------- */

static void what_the_program_locked_is_delivered_and_locked_again(void **state)
{
	struct world *w = *state;
	char text[8];
	assert_int_equal(mkdirat(w->ws, "t", 0755) | mkdirat(w->ws, "t/shut", 0755) |
				 mkdirat(w->ws, "t/shut/in", 0755) | mkdirat(w->ws, "t/no-x", 0755),
			 0);
	put_text(w->ws, "t/shut/in/f", "f", 0);
	put_text(w->ws, "t/no-x/f", "g", 0644);
	assert_int_equal(symlinkat("/etc/passwd", w->ws, "t/shut/link"), 0);
	assert_int_equal(fchmodat(w->ws, "t/shut/in", 0, 0) | fchmodat(w->ws, "t/shut", 0, 0) |
				 fchmodat(w->ws, "t/no-x", 0400, 0),
			 0);
	if (!world_root) {
		assert_int_equal(naive(w, "t/shut/in/f", text, 1), -1);
		assert_int_equal(errno, EACCES);
	}
	assert_collects(w, "t/shut/in/f", "f");
	assert_true(has_text(AT_FDCWD, "f", "f"));
	assert_collect_fails(w, "t/shut/link", "l", ELOOP, "\"t/shut/link\" is a symbolic link");
	assert_collect_fails(w, "t/shut/none", "n", ENOENT, "\"t/shut/none\" is not there");
	assert_int_equal(files_collect(w->ws, "t", "t", &world_caps, &w->list, &w->err), -1);
	assert_non_null(strstr(w->err.message, "\"t/shut/link\" is a symbolic link"));
	assert_true(has_text(AT_FDCWD, "t/shut/in/f", "f"));
	assert_true(has_text(AT_FDCWD, "t/no-x/f", "g"));
	assert_int_equal(mode_of(w->ws, "t/shut"), 0);
	assert_int_equal(mode_of(w->ws, "t/no-x"), 0400);
	assert_int_equal(fchmodat(w->ws, "t/shut", 0700, 0), 0);
	assert_int_equal(mode_of(w->ws, "t/shut/in"), 0);
	assert_int_equal(fchmodat(w->ws, "t/shut/in", 0700, 0), 0);
	assert_int_equal(mode_of(w->ws, "t/shut/in/f"), 0);
	/* The workspace itself. */
	put_text(w->ws, "file", "file", 0644);
	assert_int_equal(fchmod(w->ws, 0), 0);
	assert_collects(w, "file", "file");
	assert_int_equal(fchmod(w->ws, 0755), 0);
}

static void odd_names_are_delivered_as_they_are(void **state)
{
	struct world *w = *state;
	char longest[FILES_PART_MAX + 1];
	const char *const name[] = {"a\nb", "\033[31mred", "\xff\xfe", "-rf",
				    " ",    "a\"b\\c",	   "*",	       longest};
	char path[FILES_PART_MAX + 3];
	memset(longest, 'n', FILES_PART_MAX);
	longest[FILES_PART_MAX] = '\0';
	assert_int_equal(mkdirat(w->ws, "t", 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		(void)snprintf(path, sizeof(path), "t/%s", name[i]);
		put_text(w->ws, path, name[i], 0644);
		assert_collects(w, path, name[i]);
		assert_listed(w, path, name[i]);
	}
	assert_collects(w, "t", "t");
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		(void)snprintf(path, sizeof(path), "t/%s", name[i]);
		assert_listed(w, path, path);
	}
	/* In a message they are one line of text, checked by assert_collect_fails(). */
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		(void)snprintf(path, sizeof(path), "x/%.200s", name[i]);
		assert_collect_fails(w, path, "out", ENOENT, "is not there");
	}
}

/* A filter that answers openat2 as a kernel without it does. */
static int forbid_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a process of its own; the result is which check failed, 0 for none. */
static int without_openat2(struct world *w)
{
	struct files_input in;
	struct fault fault = {0};
	char byte;
	if (forbid_openat2() < 0)
		return 1;
	if (naive(w, "f", &byte, 1) != 1)
		return 2;
	if (files_collect(w->ws, "f", "out", &world_caps, &w->list, &w->err) != -1)
		return 3;
	if (w->err.code != BJ_UNSUPPORTED || w->err.os_error != ENOSYS ||
	    !strstr(w->err.message, "openat2") || !strstr(w->err.hint, "5.6"))
		return 4;
	if (exists(AT_FDCWD, "out"))
		return 5;
	if (files_open_host("file", true, &world_caps, &in, &w->err) < 0)
		return 6;
	if (files_copy_in(w->ws, "in", in.mode, in.fd, &fault) != -1 || fault.os != ENOSYS)
		return 7;
	if (files_open_host("dir", true, &world_caps, &in, &w->err) != -1)
		return 8;
	return w->err.os_error == ENOSYS ? 0 : 9;
}

static void without_openat2_nothing_is_copied(void **state)
{
	struct world *w = *state;
	int status;
	put_text(w->ws, "f", "f", 0644);
	put_text(AT_FDCWD, "file", "file", 0644);
	assert_int_equal(mkdir("dir", 0755), 0);
	put_text(AT_FDCWD, "dir/file", "file", 0644);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(without_openat2(w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_collects(w, "f", "out");
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
		T(a_sparse_terabyte_is_refused_at_once),
		T(bytes_are_counted_as_they_are_read),
		T(what_changes_while_it_is_copied_is_hashed_as_delivered),
		T(directories_five_thousand_deep_are_walked_without_recursion),
		T(entries_are_counted_as_they_are_read),
		T(what_the_program_locked_is_delivered_and_locked_again),
		T(odd_names_are_delivered_as_they_are),
		T(without_openat2_nothing_is_copied),
	};
	return cmocka_run_group_tests_name("files, hostile", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
