/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that somebody hostile made. Each is refused whole; beside each stands one that is not.
 */
#include "live_case.h"
#include "tar_make.h"

#include "files/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct files_caps caps = {.bytes = 10000, .entries = 20};

static int unpack_bytes(struct world *w, const void *data, size_t size, const char *name)
{
	struct files_unpacked in = {0};
	auto_close int fd = memfd_create("tar", MFD_CLOEXEC);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	int result = files_tar_in(w->ws, name, false, &caps, fd, &in, &w->err);
	assert_true(result == 0 || in.list.count == 0);
	assert_int_equal(in.list.left, 0);
	files_list_free(&in.list);
	return result;
}

static int unpack(struct world *w, const struct tar_made *tar, const char *name)
{
	return unpack_bytes(w, tar->data, tar->size, name);
}

/* A good entry, then this one. */
static int try_entry(struct world *w, struct tar_entry entry)
{
	static struct tar_made tar;
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "good", .data = "good"});
	tar_add(&tar, entry);
	tar_end(&tar);
	return unpack(w, &tar, "in");
}

static void assert_unpacks(struct world *w, struct tar_entry entry, int names)
{
	struct files_removed removed;
	assert_done(w, try_entry(w, entry));
	assert_int_equal(names_in(w->ws, "in"), names);
	assert_true(has_text(w->ws, "in/good", "good"));
	assert_done(w, files_rm(w->ws, "in", true, FILES_RM_MAX, &removed, &w->err));
}

static void names_that_lead_out_are_refused(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *name, *message;
	} row[] = {
		{"../f", "archive entry \"../f\" has a component \".\" or \"..\""},
		{"a/../../f", "archive entry \"a/../../f\" has a component"},
		{"/f", "archive entry \"/f\" is absolute"},
		{".//f", "archive entry \".//f\" is absolute"},
		{"a//f", "archive entry \"a//f\" has an empty component"},
		{"././f", "archive entry \"././f\" has a component"},
		{"..", "archive entry \"..\" has a component"},
		{"./..", "archive entry \"./..\" has a component"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		assert_failed(w, try_entry(w, (struct tar_entry){.name = row[i].name, .data = "x"}),
			      0, row[i].message);
		assert_non_null(
			strstr(w->err.message,
			       "(1 entries and 4 bytes were unpacked before it, and removed"));
		assert_int_equal(names_in(w->ws, "."), 0);
	}
	assert_false(exists(AT_FDCWD, "f"));
	assert_failed(w, try_entry(w, (struct tar_entry){.name = "../d", .type = '5'}), 0,
		      "component");
	assert_unpacks(w, (struct tar_entry){.name = "./f", .data = "x"}, 2);
	assert_unpacks(w, (struct tar_entry){.name = "./", .type = '5'}, 1);
	assert_unpacks(w, (struct tar_entry){.name = ".", .type = '5'}, 1);
	assert_unpacks(w, (struct tar_entry){.name = "./d/", .type = '5'}, 2);
	assert_unpacks(w, (struct tar_entry){.name = "%2e%2e\\f", .data = "x"}, 2);
}

static void names_that_only_pax_can_write_are_judged_the_same(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	static const struct {
		const char *name, *message;
	} row[] = {
		{"../f", "\"../f\" has a component \".\" or \"..\""},
		{"/etc/f", "\"/etc/f\" is absolute"},
		{"\xff/../../f", "\"\\xff/../../f\" has a component"},
	};
	char name[1024];
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		tar.size = 0;
		tar_add_pax(&tar, "path", row[i].name, 0);
		tar_add(&tar, (struct tar_entry){.name = "good", .data = "x"});
		tar_end(&tar);
		assert_failed(w, unpack(w, &tar, "in"), 0, row[i].message);
	}
	memset(name, 'n', sizeof(name) - 1);
	name[256] = '\0';
	tar.size = 0;
	tar_add_pax(&tar, "path", name, 0);
	tar_add(&tar, (struct tar_entry){.name = "good", .data = "x"});
	tar_end(&tar);
	assert_failed(w, unpack(w, &tar, "in"), 0, "has a component longer than 255 bytes");
	for (int i = 0; i < 34; i++)
		memcpy(name + 2 * i, "d/", 3);
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = name, .type = '5'});
	tar_end(&tar);
	assert_failed(w, unpack(w, &tar, "in"), 0, "is deeper than 32 directories");
	/* What comes after a NUL is no part of the name. */
	tar.size = 0;
	tar_add_pax(&tar, "path", "ok\0/../../f", 11);
	tar_add(&tar, (struct tar_entry){.name = "good", .data = "x"});
	tar_end(&tar);
	assert_done(w, unpack(w, &tar, "in"));
	assert_int_equal(names_in(w->ws, "in"), 1);
	assert_true(has_text(w->ws, "in/ok", "x"));
}

static void only_files_and_directories_come_in(void **state)
{
	struct world *w = *state;
	static const struct {
		char type;
		const char *what;
	} row[] = {
		{'1', "is a hard link; only files and directories"},
		{'2', "is a symbolic link; only files and directories"},
		{'3', "is a character device; only files and directories"},
		{'4', "is a block device; only files and directories"},
		{'6', "is a FIFO; only files and directories"},
	};
	put_text(AT_FDCWD, "canary", "canary", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		assert_failed(w,
			      try_entry(w, (struct tar_entry){.name = "odd",
							      .type = row[i].type,
							      .link = "good"}),
			      0, row[i].what);
		assert_non_null(strstr(w->err.message, "archive entry \"odd\""));
		assert_int_equal(names_in(w->ws, "."), 0);
	}
	/* A link is refused where it stands, so nothing is ever written through one. */
	static struct tar_made tar;
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "l", .type = '2', .link = "/tmp"});
	tar_add(&tar, (struct tar_entry){.name = "l/f", .data = "x"});
	tar_end(&tar);
	assert_failed(w, unpack(w, &tar, "in"), 0, "archive entry \"l\" is a symbolic link");
	assert_unpacks(w, (struct tar_entry){.name = "plain", .data = "x"}, 2);
}

static void sizes_that_lie_are_refused(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	char data[6000] = "x";
	struct tar_entry huge = {.name = "f", .data = "x", .says = UINT64_C(077777777777)};
	assert_failed(w, try_entry(w, huge), 0,
		      "archive entry \"f\" has 8589934591 bytes, more than the 9996 that are left");
	/* It says more than there is. */
	assert_failed(w, try_entry(w, (struct tar_entry){.name = "f", .data = "x", .says = 5000}),
		      0, "archive entry \"f\" cannot be read: \"Truncated");
	/* Together too many. */
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "1", .data = data, .size = 6000});
	tar_add(&tar, (struct tar_entry){.name = "2", .data = data, .size = 4001});
	tar_end(&tar);
	assert_failed(
		w, unpack(w, &tar, "in"), 0,
		"archive entry \"2\" has 4001 bytes, more than the 4000 that are left of 10000");
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "1", .data = data, .size = 6000});
	tar_add(&tar, (struct tar_entry){.name = "2", .data = data, .size = 4000});
	tar_end(&tar);
	assert_done(w, unpack(w, &tar, "in"));
	/* pax has the last word on the size. */
	tar.size = 0;
	tar_add_pax(&tar, "size", "8800000000000", 0);
	tar_add(&tar, (struct tar_entry){.name = "f", .data = "x"});
	tar_end(&tar);
	assert_failed(w, unpack(w, &tar, "other"), 0, "\"f\" has 8800000000000 bytes");
	tar.size = 0;
	tar_add_pax(&tar, "size", "9223372036854775807", 0);
	tar_add(&tar, (struct tar_entry){.name = "f", .data = "x"});
	tar_end(&tar);
	assert_int_equal(unpack(w, &tar, "other"), -1);
	tar.size = 0;
	tar_add_pax(&tar, "size", "-5", 0);
	tar_add(&tar, (struct tar_entry){.name = "f", .data = "x"});
	tar_end(&tar);
	assert_int_equal(unpack(w, &tar, "other"), -1);
	assert_int_equal(names_in(w->ws, "."), 1);
}

static void sparse_files_are_refused(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	static const struct {
		const char *size, *map;
	} row[] = {
		{"1099511627776", "0,1"}, /* a byte, and a hole of a terabyte */
		{"9000", "4096,1"},	  /* below the cap */
		{"9000", "0,1"},
	};
	/* GNU's of pax, version 0.1. */
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		tar.size = 0;
		tar_add_pax(&tar, "GNU.sparse.size", row[i].size, 0);
		tar_add_pax(&tar, "GNU.sparse.map", row[i].map, 0);
		tar_add(&tar, (struct tar_entry){.name = "f", .data = "x"});
		tar_end(&tar);
		assert_failed(w, unpack(w, &tar, "in"), 0,
			      "archive entry \"f\" is a sparse file; only plain ones");
	}
	/* Only those records make it one. */
	tar.size = 0;
	tar_add_pax(&tar, "comment", "GNU.sparse.map=0,1", 0);
	tar_add(&tar, (struct tar_entry){.name = "f", .data = "x"});
	tar_end(&tar);
	assert_done(w, unpack(w, &tar, "in"));
	assert_true(has_text(w->ws, "in/f", "x"));
}

static void one_name_twice_is_refused(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	assert_failed(w, try_entry(w, (struct tar_entry){.name = "good", .data = "other"}), 0,
		      "archive entry \"good\" is in the archive twice");
	assert_failed(w, try_entry(w, (struct tar_entry){.name = "./good", .data = "other"}), 0,
		      "twice");
	assert_failed(w, try_entry(w, (struct tar_entry){.name = "good", .type = '5'}), 0, "twice");
	assert_failed(w, try_entry(w, (struct tar_entry){.name = "good/f", .data = "x"}), ENOTDIR,
		      "\"good/f\"");
	/* Directories may, and those on the way need not be there. */
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "a/b/f", .data = "x"});
	tar_add(&tar, (struct tar_entry){.name = "a/b/", .type = '5'});
	tar_add(&tar, (struct tar_entry){.name = "a/b", .type = '5'});
	tar_end(&tar);
	assert_done(w, unpack(w, &tar, "in"));
	assert_true(has_text(w->ws, "in/a/b/f", "x"));
}

static void too_many_entries_are_refused(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	char name[16];
	for (int count = 20; count <= 21; count++) {
		tar.size = 0;
		for (int i = 0; i < count; i++) {
			(void)snprintf(name, sizeof(name), "d%d", i);
			tar_add(&tar, (struct tar_entry){.name = name, .type = '5'});
		}
		tar_end(&tar);
		if (count == 20)
			assert_done(w, unpack(w, &tar, "20"));
		else
			assert_failed(w, unpack(w, &tar, "21"), 0,
				      "archive entry \"d20\" is one too many: at most 20");
	}
	/* The root again and again counts too. */
	tar.size = 0;
	for (int i = 0; i < 21; i++)
		tar_add(&tar, (struct tar_entry){.name = "./", .type = '5'});
	tar_end(&tar);
	assert_failed(w, unpack(w, &tar, "21"), 0, "is one too many");
	assert_int_equal(names_in(w->ws, "."), 1);
}

static void half_an_archive_is_refused_wherever_it_is_cut(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	struct files_removed removed;
	char zeros[512] = {0};
	int whole = 0;
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "d", .type = '5'});
	tar_add(&tar, (struct tar_entry){.name = "d/f", .data = "some bytes"});
	/* Its last record looks like the end of an archive. */
	tar_add(&tar, (struct tar_entry){.name = "zeros", .data = zeros, .size = sizeof(zeros)});
	size_t end = tar.size;
	tar_end(&tar);
	/* Before, at and after the end of each record. */
	for (size_t i = 1; i <= 3 * (tar.size / 512) + 1; i++) {
		size_t size = i / 3 * 512 + i % 3 - 1;
		int result = unpack_bytes(w, tar.data, size, "in");
		/* One record of zeros is an end for most; the second may be missing. */
		assert_int_equal(result, size >= end + 512 ? 0 : -1);
		whole += result == 0;
		assert_int_equal(names_in(w->ws, "."), result == 0);
		if (result == 0)
			assert_done(w,
				    files_rm(w->ws, "in", true, FILES_RM_MAX, &removed, &w->err));
	}
	assert_true(whole > 0);
	assert_failed(w, unpack_bytes(w, tar.data, end, "in"), 0, "the tar archive has no end");
}

static void what_is_no_tar_is_refused(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	static const unsigned char gzip[512] = {0x1f, 0x8b, 8};
	static const char *const texts[] = {"hello", "PK\003\004", "!<arch>\n", ""};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(unpack_bytes(w, texts[i], strlen(texts[i]), "in"), -1);
		assert_non_null(strstr(w->err.message, "read the tar archive"));
	}
	assert_failed(w, unpack_bytes(w, gzip, sizeof(gzip), "in"), 84, "read the tar archive");
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "f", .data = "x"});
	tar_end(&tar);
	tar.data[3] = 'x'; /* its sum is wrong now */
	assert_int_equal(unpack(w, &tar, "in"), -1);
	assert_int_equal(names_in(w->ws, "."), 0);
	/* One without anything in it is one. */
	tar.size = 0;
	tar_end(&tar);
	assert_done(w, unpack(w, &tar, "in"));
	assert_int_equal(names_in(w->ws, "in"), 0);
}

static void modes_owners_and_attributes_are_dropped(void **state)
{
	struct world *w = *state;
	static struct tar_made tar;
	struct stat st;
	tar.size = 0;
	tar_add(&tar, (struct tar_entry){.name = "d", .type = '5', .mode = 01000});
	tar_add_pax(&tar, "SCHILY.xattr.user.x", "value", 0);
	tar_add(&tar, (struct tar_entry){.name = "d/f", .data = "x", .mode = 06711});
	tar_add(&tar, (struct tar_entry){.name = "d/g", .data = "x", .mode = 04066});
	tar_end(&tar);
	assert_done(w, unpack(w, &tar, "in"));
	assert_int_equal(mode_of(w->ws, "in/d"), 0755);
	assert_int_equal(mode_of(w->ws, "in/d/f"), 0755);
	assert_int_equal(mode_of(w->ws, "in/d/g"), 0644);
	assert_int_equal(fstatat(w->ws, "in/d/f", &st, 0), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_mtim.tv_sec, 1000000000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(names_that_lead_out_are_refused),
		T(names_that_only_pax_can_write_are_judged_the_same),
		T(only_files_and_directories_come_in),
		T(sizes_that_lie_are_refused),
		T(sparse_files_are_refused),
		T(one_name_twice_is_refused),
		T(too_many_entries_are_refused),
		T(half_an_archive_is_refused_wherever_it_is_cut),
		T(what_is_no_tar_is_refused),
		T(modes_owners_and_attributes_are_dropped),
	};
	return cmocka_run_group_tests_name("files, live: untar", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
