/* SPDX-License-Identifier: Apache-2.0 */
/* Too much, too deep, growing, locked, oddly named; and a kernel without openat2. */
#include "files_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sha2.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
	/* Of several reads, each of less than the cap, the sum counts. */
	caps.bytes = 8192;
	assert_int_equal(files_collect(proc, "smaps", "out", &caps, &w->list, &w->err), -1);
	assert_non_null(strstr(w->err.message, "\"smaps\": more than the 8192 bytes"));
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
	for (int i = 0; i < 200 || (i < 20000 && !(capped && delivered)); i++) {
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
		T(a_sparse_terabyte_is_refused_at_once),
		T(bytes_are_counted_as_they_are_read),
		T(what_changes_while_it_is_copied_is_hashed_as_delivered),
		T(directories_five_thousand_deep_are_walked_without_recursion),
		T(entries_are_counted_as_they_are_read),
		T(what_the_program_locked_is_delivered_and_locked_again),
		T(odd_names_are_delivered_as_they_are),
		T(without_openat2_nothing_is_copied),
	};
	return cmocka_run_group_tests_name("files, limits", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
