/* SPDX-License-Identifier: Apache-2.0 */
/* Save points: what is recorded, compared, listed and made again. Attacks:
 * test_files_save_hostile.c; what happens to a store: test_files_save_store.c. */
#include "save_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Some of everything that is recorded. */
static void make_tree(int ws)
{
	assert_int_equal(mkdirat(ws, "a", 0755) | mkdirat(ws, "a/empty", 0700) |
				 mkdirat(ws, "a/b", 0751),
			 0);
	put_text(ws, "a/b/tool", "#!/bin/sh\n", 0755);
	put_text(ws, "a/b/secret", "secret", 0600);
	put_text(ws, "a-b", "between a and a/b in the order of bytes", 0644);
	put_text(ws, "none", "", 0444);
	put_bytes(ws, "big", 1000001);
	assert_int_equal(symlinkat("../../etc/passwd", ws, "a/link") |
				 symlinkat("nowhere", ws, "dangling"),
			 0);
	set_mtime(ws, "a/b/tool", 1000000000, 123456789);
	set_mtime(ws, "none", -5, 999999999);
	set_mtime(ws, "a/link", 77, 1);
	set_mtime(ws, "a/empty", 88, 2);
	set_mtime(ws, "a", 99, 3);
	set_mtime(ws, ".", 11, 4);
}

static void a_workspace_becomes_what_it_was(void **state)
{
	struct saver *s = *state;
	make_tree(s->ws);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	assert_int_equal(s->made.entries, 11);
	assert_int_equal(s->made.bytes, 10 + 6 + 39 + 1000001);
	assert_int_equal(s->made.new_bytes, s->made.bytes);
	assert_is(s->ws, before);

	/* Changed in each way; a file becomes a directory, a directory a file, a link a file. */
	put_text(s->ws, "a/b/tool", "#!/bin/no\n", 0644);
	put_text(s->ws, "a/b/secret", "longer than it was", 0666);
	put_text(s->ws, "a/b/new", "new", 0644);
	assert_int_equal(unlinkat(s->ws, "a-b", 0) | mkdirat(s->ws, "a-b", 0700), 0);
	put_text(s->ws, "a-b/in", "in", 0644);
	assert_int_equal(unlinkat(s->ws, "a/empty", AT_REMOVEDIR), 0);
	put_text(s->ws, "a/empty", "a file", 0644);
	assert_int_equal(unlinkat(s->ws, "dangling", 0), 0);
	put_text(s->ws, "dangling", "a file", 0644);
	assert_int_equal(unlinkat(s->ws, "a/link", 0) | symlinkat("elsewhere", s->ws, "a/link"), 0);
	assert_int_equal(unlinkat(s->ws, "none", 0) | fchmod(s->ws, 0700), 0);
	assert_restores(s, "one");
	assert_is(s->ws, before);
	assert_int_equal(s->restored.kept, 1);
	assert_int_equal(s->restored.written, 6);
	assert_int_equal(s->restored.removed, 1);

	/* And from nothing. */
	auto_close int other = -1;
	assert_int_equal(mkdir("other", 0755), 0);
	other = open("other", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct save_restored restored;
	assert_int_equal(save_restore(s->store, "one", other, &restored, &s->err), 0);
	auto_close int readable = open("other", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_is(readable, before);
	assert_int_equal(restored.written, 7);
	/* The owner's umask has no part in it. */
	assert_int_equal(unlinkat(s->ws, "none", 0) | unlinkat(s->ws, "a/empty", AT_REMOVEDIR), 0);
	mode_t mask = umask(0777);
	assert_restores(s, "one");
	(void)umask(mask);
	assert_is(s->ws, before);
}

static void what_is_as_it_was_is_not_hashed_again(void **state)
{
	struct saver *s = *state;
	make_tree(s->ws);
	assert_takes(s, "one", NULL);
	assert_int_equal(s->made.hashed, 5);
	assert_takes(s, "two", "one");
	assert_int_equal(s->made.hashed, 0);
	assert_int_equal(s->made.compared, 5);
	assert_int_equal(s->made.new_bytes, 0);
	/* Under another name, and beside names that come and go. */
	assert_int_equal(renameat(s->ws, "none", s->ws, "z"), 0);
	put_text(s->ws, "a/b/new", "new", 0644);
	assert_int_equal(unlinkat(s->ws, "a-b", 0), 0);
	assert_takes(s, "three", "two");
	assert_int_equal(s->made.hashed, 2);
	assert_int_equal(s->made.compared, 3);
	assert_int_equal(s->made.new_bytes, 3);
	/* Without one, or with one that is not there, all are; nothing is stored again. */
	assert_takes(s, "four", "no-such");
	assert_int_equal(s->made.hashed, 5);
	assert_int_equal(s->made.new_bytes, 0);
	assert_int_equal(s->made.serial, 4);
}

static void a_write_through_a_mapping_is_found_though_no_time_changed(void **state)
{
	struct saver *s = *state;
	struct stat before, after;
	put_bytes(s->ws, "f", 65536);
	auto_close int fd = openat(s->ws, "f", O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	/* The first write to a page is a fault, and sets the times; those after it are not seen. */
	map[40000] = 'a';
	assert_takes(s, "one", NULL);
	assert_int_equal(fstat(fd, &before), 0);
	map[40000]++;
	assert_int_equal(fstat(fd, &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
	assert_takes(s, "two", "one");
	assert_int_equal(s->made.hashed, 1);
	assert_int_equal(s->made.new_bytes, 65536);
	map[40000]--;
	assert_takes(s, "three", "two");
	assert_int_equal(s->made.new_bytes, 0);
	assert_int_equal(munmap(map, 65536), 0);
	assert_restores(s, "two");
	assert_int_equal(s->restored.written, 1);
	assert_restores(s, "one");
	assert_restores(s, "three");
	assert_int_equal(s->restored.kept, 1);
}

/* ---- Differences ------------------------------------------------------------------------- */

struct text {
	char data[4096];
	size_t size;
};

static int add_difference(void *user, const struct save_difference *d, struct bj_error *err)
{
	struct text *text = user;
	(void)err;
	text->size += (size_t)snprintf(text->data + text->size, sizeof(text->data) - text->size,
				       "%s %s %s>%s %o>%o %llu>%llu\n", save_change_name(d->change),
				       d->path, save_type_name(d->type_before),
				       save_type_name(d->type_after), d->mode_before, d->mode_after,
				       (unsigned long long)d->bytes_before,
				       (unsigned long long)d->bytes_after);
	return 0;
}

static void assert_differs(struct saver *s, const char *a, const char *b, const char *expected)
{
	struct text text = {.size = 0};
	struct save_side one = {a, s->ws}, other = {b, s->ws};
	if (save_diff(s->store, &one, &other, &save_wide, add_difference, &text, &s->err) < 0)
		fail_msg("diff: %s", s->err.message);
	assert_string_equal(text.data, expected);
}

static int stop_at_first(void *user, const struct save_difference *d, struct bj_error *err)
{
	(void)d;
	++*(int *)user;
	/* In parentheses: cmocka has a macro of that name. */
	return (fail)(err, BJ_REFUSED, "enough");
}

static void differences_are_listed_in_order(void **state)
{
	static const char forth[] = "mode  directory>directory 755>700 0>0\n"
				    "changed a directory>file 755>644 0>6\n"
				    "removed a/b directory>directory 751>751 0>0\n"
				    "removed a/b/secret file>file 600>600 6>0\n"
				    "removed a/b/tool file>file 755>755 10>0\n"
				    "removed a/empty directory>directory 700>700 0>0\n"
				    "removed a/link link>link 777>777 16>0\n"
				    "changed a-b file>file 644>644 39>40\n"
				    "changed big file>file 644>644 1000001>1000001\n"
				    "changed dangling link>link 777>777 7>4\n"
				    "added new directory>directory 755>755 0>0\n"
				    "added new/f file>file 644>644 0>1\n"
				    "mode none file>file 444>400 0>0\n";
	struct saver *s = *state;
	make_tree(s->ws);
	assert_takes(s, "one", NULL);
	assert_differs(s, "one", NULL, "");
	assert_differs(s, "one", "one", "");
	assert_restores(s, "one");
	assert_int_equal(
		unlinkat(s->ws, "a/b/tool", 0) | unlinkat(s->ws, "a/b/secret", 0) |
			unlinkat(s->ws, "a/link", 0) | unlinkat(s->ws, "a/b", AT_REMOVEDIR) |
			unlinkat(s->ws, "a/empty", AT_REMOVEDIR) |
			unlinkat(s->ws, "a", AT_REMOVEDIR) | unlinkat(s->ws, "dangling", 0) |
			symlinkat("here", s->ws, "dangling") | mkdirat(s->ws, "new", 0755),
		0);
	put_text(s->ws, "a", "a file", 0644);
	put_text(s->ws, "a-b", "between a and a/b in the order of bytes!", 0644);
	put_text(s->ws, "new/f", "x", 0644);
	auto_close int big = openat(s->ws, "big", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(big, "x", 1, 1000000), 1);
	assert_int_equal(fchmodat(s->ws, "none", 0400, 0) | fchmod(s->ws, 0700), 0);
	set_mtime(s->ws, "none", 1, 1);
	assert_differs(s, "one", NULL, forth);
	assert_takes(s, "two", "one");
	assert_differs(s, "one", "two", forth);
	assert_differs(s, "two", NULL, "");
	assert_restores(s, "one");
	struct text back = {.size = 0};
	struct save_side two = {"two", -1}, live = {NULL, s->ws};
	assert_int_equal(
		save_diff(s->store, &live, &two, &save_wide, add_difference, &back, &s->err), 0);
	assert_string_equal(back.data, forth);

	int calls = 0;
	assert_int_equal(
		save_diff(s->store, &live, &two, &save_wide, stop_at_first, &calls, &s->err), -1);
	assert_error(&s->err, BJ_REFUSED, 0, "enough");
	assert_int_equal(calls, 1);
	assert_int_equal(
		save_diff(s->store, &live, &live, &save_wide, add_difference, &back, &s->err), -1);
	assert_error(&s->err, BJ_INVALID, 0, "one side of a comparison is a save point");
}

/* ---- Lists and removal ------------------------------------------------------------------- */

static int add_path(void *user, const char *path, const struct save_entry *entry,
		    struct bj_error *err)
{
	struct text *text = user;
	(void)err;
	text->size += (size_t)snprintf(text->data + text->size, sizeof(text->data) - text->size,
				       "%s %s\n", save_type_name(entry->type), path);
	return 0;
}

static void save_points_are_listed_by_age(void **state)
{
	struct saver *s = *state;
	struct save_point *point = NULL;
	size_t count = 7;
	assert_int_equal(save_list(s->store, &point, &count, &s->err), 0);
	assert_int_equal(count, 0);
	free(point);
	make_tree(s->ws);
	assert_takes(s, "z", NULL);
	assert_takes(s, "a", "z");
	assert_takes(s, "m", "a");
	assert_int_equal(save_list(s->store, &point, &count, &s->err), 0);
	assert_int_equal(count, 3);
	assert_string_equal(point[0].name, "z");
	assert_string_equal(point[1].name, "a");
	assert_string_equal(point[2].name, "m");
	assert_int_equal(point[1].serial, 2);
	assert_int_equal(point[2].entries, 11);
	assert_int_equal(point[2].bytes, s->made.bytes);
	assert_int_equal(point[2].time_ns, s->made.time_ns);
	free(point);
	struct text text = {.size = 0};
	assert_int_equal(save_entries(s->store, "m", add_path, &text, &s->err), 0);
	assert_string_equal(text.data, "directory \ndirectory a\ndirectory a/b\nfile a/b/secret\n"
				       "file a/b/tool\ndirectory a/empty\nlink a/link\nfile a-b\n"
				       "file big\nlink dangling\nfile none\n");
}

static void an_object_lives_as_long_as_a_save_point_names_it(void **state)
{
	struct saver *s = *state;
	struct save_freed freed;
	put_text(s->ws, "both", "both", 0644);
	put_text(s->ws, "first", "first", 0644);
	assert_takes(s, "one", NULL);
	assert_int_equal(unlinkat(s->ws, "first", 0), 0);
	put_text(s->ws, "second", "second", 0644);
	assert_takes(s, "two", "one");
	assert_int_equal(count_objects(s), 3);
	auto_free char *two = describe(s->ws);
	assert_int_equal(save_remove(s->store, "one", &freed, &s->err), 0);
	assert_int_equal(freed.objects, 1);
	assert_int_equal(freed.bytes, 5);
	assert_int_equal(count_objects(s), 2);
	put_text(s->ws, "both", "gone", 0644);
	assert_restores(s, "two");
	assert_is(s->ws, two);
	assert_int_equal(save_remove(s->store, "one", &freed, &s->err), -1);
	assert_error(&s->err, BJ_INVALID, ENOENT, "there is no save point \"one\"");
	assert_restore_fails(s, "one", BJ_INVALID, ENOENT, "there is no save point \"one\"");
	assert_removes(s, "two");
	assert_int_equal(count_objects(s), 0);
}

static void names_of_save_points_are_plain(void **state)
{
	static const char *const bad[] = {"", ".", "..", ".x", "a/b", "a b", "a\n", "\xc3\xa9"};
	struct saver *s = *state;
	char name[SAVE_NAME_MAX + 2];
	struct save_request request = {.workspace_fd = s->ws, .caps = save_wide};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		request.name = bad[i];
		assert_take_fails(s, &request, BJ_INVALID, 0, "is no name of a save point");
		assert_restore_fails(s, bad[i], BJ_INVALID, 0, "is no name of a save point");
	}
	memset(name, 'n', sizeof(name));
	name[SAVE_NAME_MAX + 1] = '\0';
	request.name = name;
	assert_take_fails(s, &request, BJ_INVALID, 0, "1 to 64 letters");
	name[SAVE_NAME_MAX] = '\0';
	assert_takes(s, name, NULL);
	assert_takes(s, "A-z_0.9", NULL);
	request.name = "A-z_0.9";
	assert_take_fails(s, &request, BJ_INVALID, 0, "there is a save point \"A-z_0.9\" already");
}

/* ---- Of one moment ----------------------------------------------------------------------- */

struct writer {
	int fd;
	atomic_bool stop, freeze, frozen;
	int pauses, resumes;
	bool refuse;
};

static void *append(void *user)
{
	struct writer *writer = user;
	for (off_t size = 0; !atomic_load(&writer->stop);) {
		bool freeze = atomic_load(&writer->freeze);
		atomic_store(&writer->frozen, freeze);
		if (freeze)
			continue;
		if (pwrite(writer->fd, "x", 1, size++) != 1 ||
		    (size > 1 << 20 && ftruncate(writer->fd, size = 0) < 0))
			abort();
	}
	return NULL;
}

static int freeze(void *user, struct bj_error *err)
{
	struct writer *writer = user;
	if (writer->refuse)
		return (fail)(err, BJ_REFUSED, "not now");
	writer->pauses++;
	atomic_store(&writer->freeze, true);
	while (!atomic_load(&writer->frozen))
		;
	return 0;
}

static void thaw(void *user)
{
	struct writer *writer = user;
	writer->resumes++;
	atomic_store(&writer->freeze, false);
	while (atomic_load(&writer->frozen))
		;
}

static void a_file_that_changes_meanwhile_is_an_error_unless_paused(void **state)
{
	struct saver *s = *state;
	int failed = 0, taken = 0;
	pthread_t thread;
	put_text(s->ws, "f", "", 0644);
	struct writer writer = {.fd = openat(s->ws, "f", O_WRONLY | O_CLOEXEC)};
	struct save_pause pause = {freeze, thaw, &writer};
	struct save_request request = {.workspace_fd = s->ws, .name = "x", .caps = save_wide};
	assert_int_equal(pthread_create(&thread, NULL, append, &writer), 0);
	for (int i = 0; i < 30 || (i < 100000 && !failed); i++) {
		if (save_take(s->store, &request, &s->made, &s->err) == 0) {
			assert_removes(s, "x");
			continue;
		}
		failed++;
		assert_error(&s->err, BJ_INVALID, 0, "\"f\" changed while it was saved");
		assert_int_equal(count_temp(s) + count_objects(s), 0);
	}
	assert_true(failed > 0);
	request.pause = &pause;
	for (; taken < 30; taken++) {
		if (save_take(s->store, &request, &s->made, &s->err) < 0)
			fail_msg("%s", s->err.message);
		assert_removes(s, "x");
	}
	/* Resumed where the walk fails, and only where it was paused. */
	request.caps.entries = 1;
	assert_take_fails(s, &request, BJ_INVALID, 0, "more than 1 files and directories");
	assert_int_equal(writer.pauses, 31);
	assert_int_equal(writer.resumes, 31);
	writer.refuse = true;
	assert_take_fails(s, &request, BJ_REFUSED, 0, "not now");
	assert_int_equal(writer.resumes, 31);
	atomic_store(&writer.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(writer.fd);
}

/* ---- Somebody else's workspace ------------------------------------------------------------ */

#define OWNER 54322

/* With the file system ids of OWNER, and that one capability where `may_read`. */
static int restore_as_owner(struct saver *s, bool may_read)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];
	(void)setfsgid(OWNER);
	(void)setfsuid(OWNER);
	if (syscall(SYS_capget, &head, caps) < 0)
		return 1;
	if (may_read)
		caps[0].effective |= 1U << CAP_DAC_READ_SEARCH;
	if (syscall(SYS_capset, &head, caps) < 0)
		return 2;
	if (save_restore(s->store, "one", s->ws, &s->restored, &s->err) == 0)
		return may_read ? 0 : 3;
	return !may_read && s->err.os_error == EACCES ? 0 : 4;
}

static void assert_works_as_owner(struct saver *s, bool may_read)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(restore_as_owner(s, may_read));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_is_restored_belongs_to_the_owner_of_the_workspace(void **state)
{
	static const char *const name[] = {"a", "a/b", "a/b/tool", "a/link", "big", "."};
	struct saver *s = *state;
	struct stat st;
	if (!world_root)
		return;
	make_tree(s->ws);
	auto_free char *before = describe(s->ws);
	assert_takes(s, "one", NULL);
	assert_int_equal(fchown(s->ws, OWNER, OWNER), 0);
	/* All is root's, so all has to be made anew: what the owner of a directory may remove. */
	assert_int_equal(unlinkat(s->ws, "a/b/tool", 0) | unlinkat(s->ws, "a/b/secret", 0) |
				 unlinkat(s->ws, "a/link", 0) |
				 unlinkat(s->ws, "a/b", AT_REMOVEDIR) |
				 unlinkat(s->ws, "a/empty", AT_REMOVEDIR) |
				 unlinkat(s->ws, "a", AT_REMOVEDIR) | unlinkat(s->ws, "big", 0) |
				 unlinkat(s->ws, "none", 0) | unlinkat(s->ws, "a-b", 0) |
				 unlinkat(s->ws, "dangling", 0),
			 0);
	assert_works_as_owner(s, false);
	assert_false(exists(s->ws, "big"));
	assert_works_as_owner(s, true);
	assert_is(s->ws, before);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		assert_int_equal(fstatat(s->ws, name[i], &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_uid, OWNER);
		assert_int_equal(st.st_gid, OWNER);
	}
}

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		SAVE_TEST(a_workspace_becomes_what_it_was),
		SAVE_TEST(what_is_as_it_was_is_not_hashed_again),
		SAVE_TEST(a_write_through_a_mapping_is_found_though_no_time_changed),
		SAVE_TEST(differences_are_listed_in_order),
		SAVE_TEST(save_points_are_listed_by_age),
		SAVE_TEST(an_object_lives_as_long_as_a_save_point_names_it),
		SAVE_TEST(names_of_save_points_are_plain),
		SAVE_TEST(a_file_that_changes_meanwhile_is_an_error_unless_paused),
		SAVE_TEST(what_is_restored_belongs_to_the_owner_of_the_workspace),
	};
	return cmocka_run_group_tests_name("files, save points", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
