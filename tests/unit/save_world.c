/* SPDX-License-Identifier: Apache-2.0 */
#include "save_world.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct save_caps save_wide = {
	.bytes = 32 << 20,
	.entries = 10000,
	.points = 16,
	.store_bytes = 60 << 20,
};

int save_setup(void **state)
{
	struct saver *s = calloc(1, sizeof(*s));
	void *w = NULL;
	if (!s || world_setup(&w) != 0 || mkdir("store", 0700) < 0)
		return -1;
	s->w = w;
	s->ws = s->w->ws;
	s->store_fd = open("store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = s;
	return s->store_fd < 0 ? -1 : save_open(s->store_fd, false, &s->store, &s->err);
}

int save_teardown(void **state)
{
	struct saver *s = *state;
	save_close(s->store);
	(void)close(s->store_fd);
	void *w = s->w;
	free(s);
	return world_teardown(&w);
}

void reopen(struct saver *s)
{
	save_close(s->store);
	s->store = NULL;
	if (save_open(s->store_fd, false, &s->store, &s->err) < 0)
		fail_msg("open: %s", s->err.message);
}

void assert_error(const struct bj_error *err, enum bj_code code, int os, const char *message)
{
	if (!strstr(err->message, message))
		fail_msg("\"%s\" is not in: %s", message, err->message);
	assert_int_equal(err->code, code);
	assert_int_equal(err->os_error, os);
	for (const unsigned char *c = (const unsigned char *)err->message; *c; c++)
		assert_false(*c < 0x20 || *c == 0x7f);
}

void assert_takes(struct saver *s, const char *name, const char *previous)
{
	const struct save_request request = {
		.workspace_fd = s->ws,
		.name = name,
		.previous = previous,
		.caps = save_wide,
	};
	if (save_take(s->store, &request, &s->made, &s->err) < 0)
		fail_msg("take %s: %s", name, s->err.message);
	assert_int_equal(count_temp(s), 0);
}

void assert_take_fails(struct saver *s, const struct save_request *request, enum bj_code code,
		       int os, const char *message)
{
	struct save_made made, untouched;
	memset(&made, 0x5a, sizeof(made));
	untouched = made;
	assert_int_equal(save_take(s->store, request, &made, &s->err), -1);
	assert_error(&s->err, code, os, message);
	assert_memory_equal(&made, &untouched, sizeof(made));
	assert_int_equal(count_temp(s), 0);
}

void assert_restores(struct saver *s, const char *name)
{
	if (save_restore(s->store, name, s->ws, &s->restored, &s->err) < 0)
		fail_msg("restore %s: %s", name, s->err.message);
}

void assert_restore_fails(struct saver *s, const char *name, enum bj_code code, int os,
			  const char *message)
{
	assert_int_equal(save_restore(s->store, name, s->ws, &s->restored, &s->err), -1);
	assert_error(&s->err, code, os, message);
}

void assert_removes(struct saver *s, const char *name)
{
	struct save_freed freed;
	if (save_remove(s->store, name, &freed, &s->err) < 0)
		fail_msg("remove %s: %s", name, s->err.message);
	assert_int_equal(count_temp(s), 0);
}

/* ---- Trees as text ----------------------------------------------------------------------- */

static void describe_content(FILE *out, int dir_fd, const char *name, const struct stat *st)
{
	char text[4096] = "";
	if (S_ISLNK(st->st_mode)) {
		assert_true(readlinkat(dir_fd, name, text, sizeof(text) - 1) > 0);
		(void)fprintf(out, " -> %s", text);
		return;
	}
	/* Whatever its mode is. */
	(void)snprintf(text, sizeof(text), "/proc/self/fd/%d/%s", dir_fd, name);
	if (!(st->st_mode & 0400))
		assert_int_equal(chmod(text, 0400), 0);
	char sha[SHA256_DIGEST_STRING_LENGTH];
	assert_non_null(SHA256File(text, sha));
	assert_int_equal(chmod(text, st->st_mode & 07777), 0);
	(void)fprintf(out, " %s", sha);
}

static void describe_into(FILE *out, int dir_fd, int depth);

static void describe_one(FILE *out, int dir_fd, const char *name, int depth)
{
	struct stat st;
	assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	(void)fprintf(out, "%d %s %o %lld.%09ld", depth, name, st.st_mode,
		      (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		describe_content(out, dir_fd, name, &st);
	(void)fputc('\n', out);
	if (!S_ISDIR(st.st_mode))
		return;
	if ((st.st_mode & 0700) != 0700)
		assert_int_equal(fchmodat(dir_fd, name, 0700, 0), 0);
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	describe_into(out, fd, depth + 1);
	assert_int_equal(fchmod(fd, st.st_mode & 07777), 0);
	(void)close(fd);
}

static void describe_into(FILE *out, int dir_fd, int depth)
{
	struct dirent **list;
	int count = scandirat(dir_fd, ".", &list, NULL, alphasort);
	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		if (strcmp(list[i]->d_name, ".") != 0 && strcmp(list[i]->d_name, "..") != 0)
			describe_one(out, dir_fd, list[i]->d_name, depth);
		free(list[i]);
	}
	free(list);
}

char *describe(int fd)
{
	char *text = NULL;
	size_t size = 0;
	struct stat st;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(fstat(fd, &st), 0);
	(void)fprintf(out, "%o %lld.%09ld\n", st.st_mode, (long long)st.st_mtim.tv_sec,
		      st.st_mtim.tv_nsec);
	describe_into(out, fd, 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

void assert_is(int fd, const char *description)
{
	auto_free char *now = describe(fd);
	assert_string_equal(now, description);
}

/* ---- The store's inside ------------------------------------------------------------------ */

static size_t count_files(int dir_fd, const char *name)
{
	size_t count = 0;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.' && (!e->d_name[1] || e->d_name[1] == '.'))
			continue;
		count += e->d_type == DT_DIR ? count_files(fd, e->d_name) : 1;
	}
	(void)closedir(dir);
	return count;
}

size_t count_objects(const struct saver *s)
{
	return count_files(s->store_fd, "objects");
}

size_t count_temp(const struct saver *s)
{
	return count_files(s->store_fd, "temp");
}

void object_path(char path[80], const void *data, size_t size)
{
	char sha[SHA256_DIGEST_STRING_LENGTH];
	assert_non_null(SHA256Data(data, size, sha));
	(void)snprintf(path, 80, "objects/%.2s/%s", sha, sha + 2);
}

void set_mtime(int dir_fd, const char *path, long s, long ns)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = s, .tv_nsec = ns}};
	assert_int_equal(utimensat(dir_fd, path, times, AT_SYMLINK_NOFOLLOW), 0);
}
