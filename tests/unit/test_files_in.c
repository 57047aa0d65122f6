/* SPDX-License-Identifier: Apache-2.0 */
/* Copying into and out of a workspace: what works, and where it goes. Attacks:
 * test_files_hostile.c. */
#include "files_world.h"

#include "base/cleanup.h"
#include "files/pack.h"
#include "layers/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* ---- names ------------------------------------------------------------------------------- */

static void names_below_the_workspace_are_accepted(void **state)
{
	(void)state;
	static const char *const good[] = {
		"a",   "a/b/c",	 "...",	     "..a", "a..",     ".a",	   "-rf",
		"a b", "%2e%2e", "a\\..\\b", "\n",  "\033[2J", "\xff\xfe", "caf\xc3\xa9",
	};
	char name[FILES_NAME_MAX + 1];
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_null(files_name_check(good[i], strlen(good[i])));
	memset(name, 'x', sizeof(name));
	assert_null(files_name_check(name, FILES_PART_MAX));
	for (size_t i = FILES_PART_MAX; i < FILES_NAME_MAX; i += FILES_PART_MAX + 1)
		name[i] = '/';
	assert_null(files_name_check(name, FILES_NAME_MAX));
}

static void other_names_are_refused_with_a_reason(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t size;
		const char *why;
	} bad[] = {
		{"", 0, "is empty"},
		{"/", 1, "is absolute"},
		{"/etc/passwd", 11, "is absolute"},
		{"a//b", 4, "empty component"},
		{"a/", 2, "empty component"},
		{".", 1, "\".\" or \"..\""},
		{"..", 2, "\".\" or \"..\""},
		{"../a", 4, "\".\" or \"..\""},
		{"a/..", 4, "\".\" or \"..\""},
		{"a/../b", 6, "\".\" or \"..\""},
		{"a/./b", 5, "\".\" or \"..\""},
		{"a\0b", 3, "NUL"},
		{"\0", 1, "NUL"},
	};
	char name[FILES_NAME_MAX + 2];
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *why = files_name_check(bad[i].name, bad[i].size);
		assert_non_null(why);
		assert_non_null(strstr(why, bad[i].why));
	}
	memset(name, 'x', sizeof(name));
	assert_non_null(strstr(files_name_check(name, FILES_PART_MAX + 1), "255"));
	assert_non_null(strstr(files_name_check(name, FILES_NAME_MAX + 1), "4095"));
}

#define LONG_NAME                                                                                  \
	"a-name-that-is-long-enough-to-reach-well-beyond-the-end-of-any-buffer-that-holds-a-path"

/* ---- in ---------------------------------------------------------------------------------- */

static int copy_in(struct world *w, const char *host_path, const char *name, struct fault *fault)
{
	struct files_input in;
	memset(fault, 0, sizeof(*fault));
	if (files_open_host(host_path, true, &world_caps, &in, &w->err) < 0)
		fail_msg("open: %s", w->err.message);
	assert_true(fcntl(in.fd, F_GETFD) & FD_CLOEXEC);
	int result = files_copy_in(w->ws, name, in.mode, in.fd, fault);
	(void)close(in.fd);
	return result;
}

static void assert_fault(const struct fault *fault, int os)
{
	bool the_callers = os == EEXIST || os == ENOTDIR || os == ENAMETOOLONG;
	assert_int_equal(fault->code, the_callers ? BJ_INVALID : BJ_SETUP);
	assert_int_equal(fault->layer, LAYER_MOUNT);
	assert_int_equal(fault->hook, HOOK_CHILD);
	assert_int_equal(fault->os, os);
	assert_string_equal(fault->what, FILES_COPY_IN_STEP);
}

static void a_file_is_copied_in_with_its_directories(void **state)
{
	struct world *w = *state;
	struct fault fault;
	put_text(AT_FDCWD, "data", "1,2,3\n", 0640);
	put_text(AT_FDCWD, "tool", "#!/bin/sh\n", 06777);
	mode_t before = umask(0777);
	assert_int_equal(copy_in(w, "data", "in/put/data.csv", &fault), 0);
	assert_int_equal(copy_in(w, "tool", "in/tool", &fault), 0);
	assert_int_equal(copy_in(w, "/proc/self/cmdline", "of-unknown-size", &fault), 0);
	(void)umask(before);
	assert_true(has_text(w->ws, "in/put/data.csv", "1,2,3\n"));
	assert_int_equal(mode_of(w->ws, "in/put/data.csv"), 0644);
	assert_int_equal(mode_of(w->ws, "in/put"), 0755);
	assert_int_equal(mode_of(w->ws, "in/tool"), 0755);
	assert_false(has_text(w->ws, "of-unknown-size", ""));
	/* Whatever a plan says, nothing inside is set-user-ID or writable for others. */
	auto_close int data = open("data", O_RDONLY | O_CLOEXEC);
	assert_int_equal(files_copy_in(w->ws, "odd", S_IFREG | 07777, data, &fault), 0);
	assert_int_equal(mode_of(w->ws, "odd"), 0755);
}

static void a_second_input_of_one_name_is_an_error(void **state)
{
	struct world *w = *state;
	struct fault fault;
	put_text(AT_FDCWD, "one", "one", 0644);
	put_text(AT_FDCWD, "two", "two", 0644);
	assert_int_equal(copy_in(w, "one", "x", &fault), 0);
	assert_int_equal(copy_in(w, "two", "x", &fault), -1);
	assert_fault(&fault, EEXIST);
	assert_true(has_text(w->ws, "x", "one"));
	assert_int_equal(copy_in(w, "two", "x/y", &fault), -1);
	assert_fault(&fault, ENOTDIR);
}

/* It is the caller's, and told apart from what the workspace refuses. */
static void a_file_that_cannot_be_read_is_an_error_of_its_own(void **state)
{
	struct world *w = *state;
	struct fault fault;
	assert_int_equal(copy_in(w, "/proc/self/mem", "x", &fault), -1);
	assert_int_equal(fault.code, BJ_INVALID);
	assert_int_equal(fault.layer, LAYER_MOUNT);
	assert_int_equal(fault.os, EIO);
	assert_string_equal(fault.what, FILES_READ_STEP);
}

/* The directory's own name fits to the byte; what is in it has no place any more. */
static void a_directory_with_the_longest_name_has_no_room_for_files(void **state)
{
	struct world *w = *state;
	struct fault fault;
	char name[FILES_NAME_MAX + 1];
	assert_int_equal(mkdir("p", 0755), 0);
	memset(name, 'x', sizeof(name));
	for (size_t i = FILES_PART_MAX; i < FILES_NAME_MAX; i += FILES_PART_MAX + 1)
		name[i] = '/';
	name[FILES_NAME_MAX] = '\0';
	assert_int_equal(copy_in(w, "p", name, &fault), 0);
	put_text(AT_FDCWD, "p/" LONG_NAME, "x", 0644);
	for (size_t cut = 0; cut < 3; cut++) {
		name[FILES_NAME_MAX - cut] = '\0';
		assert_int_equal(copy_in(w, "p", name, &fault), -1);
		assert_fault(&fault, ENAMETOOLONG);
	}
}

static void copying_in_judges_the_name_itself(void **state)
{
	struct world *w = *state;
	struct fault fault;
	char name[FILES_NAME_MAX + 2];
	put_text(AT_FDCWD, "x", "x", 0644);
	assert_int_equal(copy_in(w, "x", "../out", &fault), -1);
	assert_fault(&fault, EINVAL);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(copy_in(w, "x", name, &fault), -1);
	assert_fault(&fault, ENAMETOOLONG);
	assert_int_equal(copy_in(w, "x", "in", &fault), 0);
}

static void a_directory_is_copied_in_whole(void **state)
{
	struct world *w = *state;
	struct fault fault;
	assert_int_equal(mkdir("p", 0700) | mkdir("p/empty", 0700) | mkdir("p/a", 0755) |
				 mkdir("p/a/b", 0755),
			 0);
	put_text(AT_FDCWD, "p/a/b/run.sh", "#!/bin/sh\n", 0700);
	put_text(AT_FDCWD, "p/a/-x\n\xff", "odd", 0644);
	put_text(AT_FDCWD, "p/none", "", 0644);
	put_bytes(AT_FDCWD, "p/big", 1000000);
	assert_int_equal(copy_in(w, "p/", "in/project", &fault), 0);
	assert_true(has_text(w->ws, "in/project/a/b/run.sh", "#!/bin/sh\n"));
	assert_int_equal(mode_of(w->ws, "in/project/a/b/run.sh"), 0755);
	assert_int_equal(mode_of(w->ws, "in/project/empty"), 0755);
	assert_true(has_text(w->ws, "in/project/a/-x\n\xff", "odd"));
	assert_true(has_text(w->ws, "in/project/none", ""));
	/* And out again, to compare the large one. */
	assert_collects(w, "in/project/big", "big");
	assert_listed(w, "in/project/big", "p/big");
}

static void assert_not_opened(struct world *w, const char *path, bool directory_too, int os,
			      const char *message)
{
	struct files_input in = {.fd = -7};
	assert_int_equal(files_open_host(path, directory_too, &world_caps, &in, &w->err), -1);
	assert_int_equal(in.fd, -7);
	assert_int_equal(w->err.code, BJ_INVALID);
	assert_int_equal(w->err.os_error, os);
	if (!strstr(w->err.message, message))
		fail_msg("\"%s\" is not in: %s", message, w->err.message);
}

static void what_is_no_file_of_the_host_is_named(void **state)
{
	struct world *w = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
	auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(mkfifo("fifo", 0644) | mkdir("dir", 0755) | symlink("nowhere", "link"), 0);
	assert_not_opened(w, "fifo", true, 0, "\"fifo\" is a FIFO, not a file or a directory");
	assert_non_null(strstr(w->err.hint, "--stdin"));
	assert_not_opened(w, "socket", true, 0, "\"socket\" is a socket, not");
	assert_not_opened(w, "/dev/null", true, 0, "\"/dev/null\" is a character device, not");
	assert_not_opened(w, "dir", false, 0, "\"dir\" is a directory, not a file");
	assert_not_opened(w, "link", true, ENOENT, "open \"link\"");
	assert_not_opened(w, "a\nb\033", true, ENOENT, "open \"a\\nb\\x1b\"");
	assert_not_opened(w, "", true, 0, "is empty");
	/* The caller's own link is followed. */
	struct files_input in;
	put_text(AT_FDCWD, "real", "real", 0644);
	assert_int_equal(symlink("real", "good"), 0);
	assert_int_equal(files_open_host("good", false, &world_caps, &in, &w->err), 0);
	assert_int_equal(in.bytes, 4);
	(void)close(in.fd);
}

static void what_is_no_file_in_a_directory_is_named(void **state)
{
	struct world *w = *state;
	struct fault fault;
	assert_int_equal(mkdir("p", 0755) | mkdir("p/a", 0755), 0);
	put_text(AT_FDCWD, "p/file", "file", 0644);
	assert_int_equal(copy_in(w, "p", "good", &fault), 0);
	assert_int_equal(symlink("../file", "p/a/link"), 0);
	assert_not_opened(w, "p", true, ELOOP, "\"p\": \"a/link\" is a symbolic link; only files");
	assert_int_equal(unlink("p/a/link") | mkfifo("p/a/fifo", 0644), 0);
	assert_not_opened(w, "p", true, 0, "\"p\": \"a/fifo\" is a FIFO; only files");
}

static void what_is_too_much_to_copy_in_is_refused_before_anything_runs(void **state)
{
	struct world *w = *state;
	struct fault fault;
	struct files_caps caps = {.bytes = 100, .entries = 3};
	struct files_input in;
	put_bytes(AT_FDCWD, "100", 100);
	put_bytes(AT_FDCWD, "101", 101);
	assert_int_equal(files_open_host("100", true, &caps, &in, &w->err), 0);
	(void)close(in.fd);
	assert_int_equal(files_open_host("101", true, &caps, &in, &w->err), -1);
	assert_non_null(strstr(w->err.message, "\"101\" has 101 bytes, the workspace holds 100"));

	assert_int_equal(mkdir("p", 0755), 0);
	put_bytes(AT_FDCWD, "p/1", 50);
	put_bytes(AT_FDCWD, "p/2", 50);
	put_bytes(AT_FDCWD, "p/3", 0);
	assert_int_equal(files_open_host("p", true, &caps, &in, &w->err), 0);
	(void)close(in.fd);
	put_bytes(AT_FDCWD, "p/3", 1);
	assert_int_equal(files_open_host("p", true, &caps, &in, &w->err), -1);
	assert_non_null(strstr(w->err.message, "\"p\": \"3\": more than the 0 bytes"));
	put_bytes(AT_FDCWD, "p/3", 0);
	put_bytes(AT_FDCWD, "p/4", 0);
	assert_int_equal(files_open_host("p", true, &caps, &in, &w->err), -1);
	assert_non_null(strstr(w->err.message, "\"p\": more than 3 files and directories"));

	put_deep(AT_FDCWD, "deep32", FILES_DEPTH_MAX + 1);
	assert_int_equal(copy_in(w, "deep32", "deep32", &fault), 0);
	put_deep(AT_FDCWD, "deep33", FILES_DEPTH_MAX + 2);
	assert_not_opened(w, "deep33", true, 0, "directory is deeper than 32");
}

static void a_full_workspace_is_recognised(void **state)
{
	struct world *w = *state;
	struct fault fault = {0};
	struct files_input in;
	auto_close int small = open(world_small, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_bytes(AT_FDCWD, "big", 512 << 10);
	assert_int_equal(files_open_host("big", true, &world_caps, &in, &w->err), 0);
	assert_int_equal(files_copy_in(small, "big", in.mode, in.fd, &fault), -1);
	assert_fault(&fault, ENOSPC);
	assert_int_equal(unlinkat(small, "big", 0), 0);
	(void)close(in.fd);
	put_bytes(AT_FDCWD, "fits", 128 << 10);
	assert_int_equal(files_open_host("fits", true, &world_caps, &in, &w->err), 0);
	memset(&fault, 0, sizeof(fault));
	assert_int_equal(files_copy_in(small, "fits", in.mode, in.fd, &fault), 0);
	assert_int_equal(unlinkat(small, "fits", 0), 0);
	(void)close(in.fd);
}

/* A pack of one entry, as the library would never make it. */
static int forged_pack(const char *path, uint32_t path_size, uint64_t bytes, uint64_t wrong)
{
	struct {
		struct pack_head head;
		struct pack_entry entry;
	} pack = {.head = {.magic = PACK_MAGIC}, .entry = {S_IFREG | 0644, path_size, bytes}};
	int fd = memfd_create("pack", MFD_CLOEXEC);
	pack.head.size = sizeof(pack) + strlen(path) + wrong;
	assert_int_equal(write(fd, &pack, sizeof(pack)), sizeof(pack));
	assert_int_equal(write(fd, path, strlen(path)), strlen(path));
	return fd;
}

static void a_forged_pack_is_refused(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *path;
		uint32_t path_size;
		uint64_t bytes, wrong;
		int os;
	} row[] = {
		{"../x", 4, 0, 0, EINVAL},	{"/x", 2, 0, 0, EINVAL},
		{"a/../../x", 9, 0, 0, EINVAL}, {"", 0, 0, 0, EINVAL},
		{"x", 100, 0, 0, EINVAL},	{"x", UINT32_MAX, 0, 0, ENAMETOOLONG},
		{"x", 1, 1, 0, EINVAL},		{"x", 1, UINT64_MAX, 0, EINVAL},
		{"x", 1, 0, 1, EINVAL},		{"x", 1, 0, UINT64_MAX, EINVAL},
	};
	struct fault fault;
	char name[16];
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		int fd = forged_pack(row[i].path, row[i].path_size, row[i].bytes, row[i].wrong);
		memset(&fault, 0, sizeof(fault));
		(void)snprintf(name, sizeof(name), "bad%zu", i);
		assert_int_equal(files_copy_in(w->ws, name, S_IFDIR | 0755, fd, &fault), -1);
		assert_fault(&fault, row[i].os);
		(void)close(fd);
		assert_false(exists(w->ws, "x") || exists(w->ws, "../x"));
	}
	int good = forged_pack("x", 1, 0, 0);
	assert_int_equal(files_copy_in(w->ws, "good", S_IFDIR | 0755, good, &fault), 0);
	assert_true(exists(w->ws, "good/x"));
	(void)close(good);
	/* A file given as a pack. */
	put_text(AT_FDCWD, "text", "no pack, but long enough to be one", 0644);
	auto_close int text = open("text", O_RDONLY | O_CLOEXEC);
	memset(&fault, 0, sizeof(fault));
	assert_int_equal(files_copy_in(w->ws, "text", S_IFDIR | 0755, text, &fault), -1);
	assert_fault(&fault, EINVAL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_below_the_workspace_are_accepted),
		cmocka_unit_test(other_names_are_refused_with_a_reason),
		T(a_file_is_copied_in_with_its_directories),
		T(a_second_input_of_one_name_is_an_error),
		T(a_file_that_cannot_be_read_is_an_error_of_its_own),
		T(a_directory_with_the_longest_name_has_no_room_for_files),
		T(copying_in_judges_the_name_itself),
		T(a_directory_is_copied_in_whole),
		T(what_is_no_file_of_the_host_is_named),
		T(what_is_no_file_in_a_directory_is_named),
		T(what_is_too_much_to_copy_in_is_refused_before_anything_runs),
		T(a_full_workspace_is_recognised),
		T(a_forged_pack_is_refused),
	};
	return cmocka_run_group_tests_name("files in", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
