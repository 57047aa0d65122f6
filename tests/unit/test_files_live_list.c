/* SPDX-License-Identifier: Apache-2.0 */
/* Listing a live workspace, and its names as text. */
#include "live_case.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static const struct files_entry *entry_of(const struct files_page *page, const char *name)
{
	for (size_t i = 0; i < page->count; i++)
		if (strcmp(page->entry[i].name, name) == 0)
			return &page->entry[i];
	fail_msg("%s is not listed", name);
	return NULL;
}

static void each_kind_is_named(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *name, *kind, *risky;
		uint64_t bytes;
		bool executable;
	} row[] = {
		{"conftest.py", "file", "pytest runs it", 3, false},
		{"dir", "directory", NULL, 0, false},
		{"fifo", "fifo", NULL, 0, false},
		{"link", "symlink", NULL, 11, false},
		{"socket", "socket", NULL, 0, false},
		{"tool", "file", "it is executable", 2, true},
		{"device", "device", NULL, 0, false},
	};
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 5, .tv_nsec = 7}};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct files_page page;
	assert_int_equal(mkdirat(w->ws, "dir", 0755) | mkfifoat(w->ws, "fifo", 0644) |
				 symlinkat("/etc/passwd", w->ws, "link"),
			 0);
	put_text(w->ws, "conftest.py", "abc", 0644);
	put_text(w->ws, "tool", "ab", 0755);
	assert_int_equal(utimensat(w->ws, "tool", times, 0), 0);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/socket", w->ws);
	auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
	if (world_root)
		assert_int_equal(mknodat(w->ws, "device", S_IFCHR | 0666, makedev(1, 5)), 0);
	assert_done(w, files_ls(w->ws, "", NULL, 0, &page, &w->err));
	size_t count = ARRAY_SIZE(row) - !world_root;
	assert_int_equal(page.count, count);
	assert_int_equal(page.total, count);
	assert_false(page.more);
	for (size_t i = 0; i < count; i++) {
		const struct files_stat *listed = &entry_of(&page, row[i].name)->stat;
		struct files_stat alone;
		assert_done(w, files_stat(w->ws, row[i].name, &alone, &w->err));
		assert_string_equal(files_kind_name(listed->kind), row[i].kind);
		assert_string_equal(files_kind_name(alone.kind), row[i].kind);
		if (strcmp(row[i].kind, "directory") != 0)
			assert_int_equal(listed->bytes, row[i].bytes);
		assert_int_equal(listed->bytes, alone.bytes);
		assert_int_equal(listed->executable, row[i].executable);
		assert_int_equal(listed->mtime_ns, alone.mtime_ns);
		assert_int_equal(listed->risky != NULL, row[i].risky != NULL);
		if (row[i].risky)
			assert_string_equal(listed->risky, row[i].risky);
	}
	assert_int_equal(entry_of(&page, "tool")->stat.mtime_ns, INT64_C(5000000007));
	for (size_t i = 1; i < page.count; i++)
		assert_true(strcmp(page.entry[i - 1].name, page.entry[i].name) < 0);
	files_page_free(&page);
}

static void what_is_risky_depends_on_the_whole_path(void **state)
{
	struct world *w = *state;
	struct files_page page;
	assert_int_equal(mkdirat(w->ws, ".git", 0755) | mkdirat(w->ws, ".git/hooks", 0755), 0);
	put_text(w->ws, ".git/hooks/f", "x", 0644);
	assert_done(w, files_ls(w->ws, ".git/hooks", NULL, 0, &page, &w->err));
	assert_non_null(strstr(page.entry[0].stat.risky, "git runs its hooks"));
	files_page_free(&page);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of all bytes that a name can have, in no order. */
static char **make_names(int dir_fd, size_t count)
{
	char **name = calloc(count, sizeof(*name));
	assert_non_null(name);
	for (size_t i = 0; i < count; i++) {
		unsigned byte = (unsigned)(i * 7 % 253) + 1;
		char text[64];
		(void)snprintf(text, sizeof(text), "%c%zu", byte == '/' ? 'x' : (int)byte,
			       i * 7919 % count);
		name[i] = strdup(text);
		assert_int_equal(mknodat(dir_fd, text, S_IFREG | 0644, 0), 0);
	}
	qsort(name, count, sizeof(*name), by_bytes);
	return name;
}

static void pages_give_each_name_once_in_order(void **state)
{
	struct world *w = *state;
	enum { COUNT = 2500 };
	static const size_t most[] = {0, 1, 7, 1000, 2499, 2500, 10000};
	char **name = make_names(w->ws, COUNT);
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		struct files_page page = {.more = true};
		char after[FILES_PART_MAX + 1] = "";
		size_t seen = 0, pages = 0, size = most[m] ? most[m] : FILES_PAGE_DEFAULT;
		for (; page.more && pages < 50; pages++) {
			assert_done(w, files_ls(w->ws, "", seen ? after : NULL, most[m], &page,
						&w->err));
			assert_int_equal(page.total, COUNT);
			assert_true(page.count <= size);
			assert_true(page.more == (seen + page.count < COUNT));
			for (size_t i = 0; i < page.count; i++)
				assert_string_equal(page.entry[i].name, name[seen++]);
			memcpy(after, page.last, sizeof(after));
			bool more = page.more;
			files_page_free(&page);
			page.more = more;
		}
		assert_int_equal(seen, size * 50 < COUNT ? size * 50 : COUNT);
	}
	struct files_page page;
	assert_done(w, files_ls(w->ws, "", "\xff\xff", 5, &page, &w->err));
	assert_int_equal(page.count, 0);
	assert_int_equal(page.total, COUNT);
	assert_string_equal(page.last, "");
	files_page_free(&page);
	assert_failed(w, files_ls(w->ws, "", NULL, FILES_PAGE_MAX + 1, &page, &w->err), 0,
		      "a page of 10001 names: at most 10000");
	for (size_t i = 0; i < COUNT; i++)
		free(name[i]);
	free(name);
}

static void the_root_of_a_listing_is_no_link(void **state)
{
	struct world *w = *state;
	struct files_page page;
	struct files_stat st;
	make_trap(w, ".");
	put_text(w->ws, "file", "x", 0644);
	assert_int_equal(mkfifoat(w->ws, "fifo", 0644), 0);
	assert_true(exists(w->ws, "l/secret"));
	assert_failed(w, files_ls(w->ws, "l", NULL, 0, &page, &w->err), ELOOP,
		      "open the directory \"l\": there is a symbolic link");
	assert_failed(w, files_ls(w->ws, "l/x", NULL, 0, &page, &w->err), ELOOP, "symbolic link");
	assert_failed(w, files_ls(w->ws, "file", NULL, 0, &page, &w->err), ENOTDIR, "\"file\"");
	assert_failed(w, files_ls(w->ws, "fifo", NULL, 0, &page, &w->err), ENOTDIR, "\"fifo\"");
	assert_failed(w, files_ls(w->ws, "none", NULL, 0, &page, &w->err), ENOENT, "\"none\"");
	assert_failed(w, files_ls(w->ws, "..", NULL, 0, &page, &w->err), 0, "component");
	assert_failed(w, files_stat(w->ws, "l/secret", &st, &w->err), ELOOP, "symbolic link");
	assert_done(w, files_stat(w->ws, "l", &st, &w->err));
	assert_int_equal(st.kind, FILES_KIND_SYMLINK);
	assert_done(w, files_ls(w->ws, "d", NULL, 0, &page, &w->err));
	assert_string_equal(page.entry[0].name, "f");
	files_page_free(&page);
}

/*
 * One inode with a million names, which costs the least. Once is enough: as the ordinary user, who
 * is always there.
 */
static void a_million_names_are_paged_and_more_are_an_error(void **state)
{
	struct world *w = *state;
	struct files_page page;
	char name[16];
	if (world_root)
		return;
	put_text(w->ws, "one", "x", 0644);
	assert_int_equal(mkdirat(w->ws, "d", 0755), 0);
	auto_close int dir = openat(w->ws, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (uint64_t i = 0; i < FILES_NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%08" PRIx64, i);
		assert_int_equal(linkat(w->ws, "one", dir, name, 0), 0);
	}
	assert_done(w, files_ls(w->ws, "d", "000ffffd", 3, &page, &w->err));
	assert_int_equal(page.total, FILES_NAMES_MAX);
	assert_int_equal(page.count, 2);
	assert_string_equal(page.entry[0].name, "000ffffe");
	assert_false(page.more);
	files_page_free(&page);
	assert_done(w, files_ls(w->ws, "d", NULL, FILES_PAGE_MAX, &page, &w->err));
	assert_int_equal(page.count, FILES_PAGE_MAX);
	assert_string_equal(page.last, "0000270f");
	assert_true(page.more);
	files_page_free(&page);
	assert_int_equal(linkat(w->ws, "one", dir, "x", 0), 0);
	assert_failed(w, files_ls(w->ws, "d", NULL, 3, &page, &w->err), E2BIG,
		      "more than 1048576 names in it");
	struct files_removed removed;
	assert_done(w, files_rm(w->ws, "d", true, FILES_RM_MAX, &removed, &w->err));
	assert_int_equal(removed.removed, FILES_NAMES_MAX + 2);
}

/* ---- names as text --------------------------------------------------------------------------- */

static void assert_text(const char *name, size_t size, const char *expected)
{
	char text[4 * 64 + 1], back[sizeof(text)];
	struct bj_error err;
	size_t back_size = 0, length = files_name_text(name, size, text);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	assert_int_equal(files_text_name(text, length, back, &back_size, &err), 0);
	assert_int_equal(back_size, size);
	assert_memory_equal(back, name, size);
}

static void every_name_has_a_text_and_comes_back(void **state)
{
	(void)state;
	char all[256], text[4 * 256 + 1], back[4 * 256 + 1];
	struct bj_error err;
	size_t size = 0;
	for (int byte = 0; byte < 256; byte++) {
		char name[2] = {(char)byte, 'x'}, expected[16];
		all[byte] = (char)byte;
		if (byte == '\\')
			(void)snprintf(expected, sizeof(expected), "\\\\x");
		else if (byte >= 0x20 && byte < 0x7f)
			(void)snprintf(expected, sizeof(expected), "%cx", byte);
		else
			(void)snprintf(expected, sizeof(expected), "\\x%02xx", byte);
		assert_text(name, 2, expected);
	}
	size_t length = files_name_text(all, sizeof(all), text);
	assert_int_equal(files_text_name(text, length, back, &size, &err), 0);
	assert_int_equal(size, sizeof(all));
	assert_memory_equal(back, all, sizeof(all));
	assert_text("", 0, "");
	assert_text("caf\xc3\xa9 \xf0\x9f\x8d\xb5", 10, "caf\xc3\xa9 \xf0\x9f\x8d\xb5");
	/* Cut, overlong, a surrogate, a direction override. */
	assert_text("\xc3", 1, "\\xc3");
	assert_text("\xc0\xaf", 2, "\\xc0\\xaf");
	assert_text("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	assert_text("\xe2\x80\xae", 3, "\\xe2\\x80\\xae");
	assert_text("\\x41", 4, "\\\\x41");
}

static void a_text_that_is_none_is_refused(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = {"\\",	  "a\\",   "\\n",   "\\x",
					  "\\x4", "\\xg0", "\\x0g", "\\X41"};
	char name[64];
	size_t size = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_failed(w, files_text_name(bad[i], strlen(bad[i]), name, &size, &w->err), 0,
			      "begins neither \"\\\\\" nor \"\\xNN\"");
	assert_done(w, files_text_name("\\x4a\\xE9 \xe2\x80\xae", 12, name, &size, &w->err));
	assert_int_equal(size, 6);
	assert_string_equal(name, "J\xe9 \xe2\x80\xae");
	/* Decoded once, and judged then. */
	assert_done(w, files_text_name("\\x2e\\x2e\\x2fetc", 15, name, &size, &w->err));
	assert_string_equal(files_name_check(name, size), "has a component \".\" or \"..\"");
	assert_done(w, files_text_name("a\\x00b", 6, name, &size, &w->err));
	assert_string_equal(files_name_check(name, size), "contains a NUL byte");
	assert_done(w, files_text_name("%2e%2e", 6, name, &size, &w->err));
	assert_string_equal(name, "%2e%2e");
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(each_kind_is_named),
		T(what_is_risky_depends_on_the_whole_path),
		T(pages_give_each_name_once_in_order),
		T(the_root_of_a_listing_is_no_link),
		T(a_million_names_are_paged_and_more_are_an_error),
		T(every_name_has_a_text_and_comes_back),
		T(a_text_that_is_none_is_refused),
	};
	return cmocka_run_group_tests_name("files, live: list", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
