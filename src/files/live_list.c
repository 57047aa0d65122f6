/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking. A page keeps the first names after a given one in a heap whose root is the last of them,
 * so that what a directory costs in memory does not depend on how many names the program makes.
 */
#include "files/live_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *files_kind_name(enum files_kind kind)
{
	static const char *const name[] = {
		[FILES_KIND_FILE] = "file",	  [FILES_KIND_DIRECTORY] = "directory",
		[FILES_KIND_SYMLINK] = "symlink", [FILES_KIND_FIFO] = "fifo",
		[FILES_KIND_SOCKET] = "socket",	  [FILES_KIND_DEVICE] = "device",
	};
	_Static_assert(ARRAY_SIZE(name) == FILES_KIND_COUNT, "a name per kind");
	return name[kind];
}

static enum files_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return FILES_KIND_FILE;
	case S_IFDIR:
		return FILES_KIND_DIRECTORY;
	case S_IFLNK:
		return FILES_KIND_SYMLINK;
	case S_IFIFO:
		return FILES_KIND_FIFO;
	case S_IFSOCK:
		return FILES_KIND_SOCKET;
	default:
		return FILES_KIND_DEVICE;
	}
}

static struct files_stat stat_of(const char *path, const struct stat *st)
{
	return (struct files_stat){
		.kind = kind_of(st->st_mode),
		.bytes = (uint64_t)st->st_size,
		.executable = S_ISREG(st->st_mode) && (st->st_mode & 0100),
		.mtime_ns = live_ns(st->st_mtim),
		.risky = files_risky(path, st->st_mode),
	};
}

int files_stat(int workspace_fd, const char *name, struct files_stat *ret, struct bj_error *err)
{
	struct place place;
	struct stat st;
	if (live_place(workspace_fd, name, false, &place, err) < 0)
		return -1;
	auto_close int dir = place.dir_fd;
	/* Not of what is mounted there. */
	auto_close int fd = open_beneath(dir, place.name, OPEN_LOOK, 0, BENEATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return live_failed(dir, "look at", name, err);
	*ret = stat_of(name, &st);
	return 0;
}

/* ---- the first names after one ------------------------------------------------------------ */

struct names {
	char **heap;
	size_t count, room, most;
	uint64_t total, later;
};

static void cleanup_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->heap[i]);
	free(names->heap);
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static void swap(char **a, char **b)
{
	char *c = *a;
	*a = *b;
	*b = c;
}

static void sink(const struct names *names)
{
	for (size_t at = 0;;) {
		size_t child = 2 * at + 1;
		if (child >= names->count)
			return;
		if (child + 1 < names->count &&
		    strcmp(names->heap[child + 1], names->heap[child]) > 0)
			child++;
		if (strcmp(names->heap[at], names->heap[child]) >= 0)
			return;
		swap(&names->heap[at], &names->heap[child]);
		at = child;
	}
}

static void rise(const struct names *names, size_t at)
{
	while (at > 0 && strcmp(names->heap[at], names->heap[(at - 1) / 2]) > 0) {
		swap(&names->heap[at], &names->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static int keep_name(struct names *names, const char *name)
{
	bool full = names->count == names->most;
	if (full && strcmp(name, names->heap[0]) >= 0)
		return 0;
	if (!full && names->count == names->room) {
		size_t more = names->room ? names->room * 2 : 64;
		char **heap = reallocarray(names->heap, more, sizeof(*heap));
		if (!heap)
			return -1;
		names->heap = heap;
		names->room = more;
	}
	char *copy = strdup(name);
	if (!copy)
		return -1;
	if (full) {
		free(names->heap[0]);
		names->heap[0] = copy;
		sink(names);
	} else {
		names->heap[names->count++] = copy;
		rise(names, names->count - 1);
	}
	return 0;
}

static int read_names(DIR *dir, const char *name, const char *after, struct names *names,
		      struct bj_error *err)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno)
			return fail_errno(err, BJ_INVALID, "list %s", show(name).text);
		if (!entry)
			return 0;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++names->total > FILES_NAMES_MAX) {
			errno = E2BIG;
			return fail_errno(err, BJ_INVALID, "list %s: more than %llu names in it",
					  show(name).text, (unsigned long long)FILES_NAMES_MAX);
		}
		if (after && strcmp(entry->d_name, after) <= 0)
			continue;
		names->later++;
		if (keep_name(names, entry->d_name) < 0)
			return fail_errno(err, BJ_INTERNAL, "list %s", show(name).text);
	}
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What is gone by now is left out. */
static int fill(int dir_fd, const char *path, struct names *names, struct files_page *page,
		struct bj_error *err)
{
	char whole[FILES_NAME_MAX + FILES_PART_MAX + 2];
	size_t size = strlen(path);
	memcpy(whole, path, size);
	if (size > 0)
		whole[size++] = '/';
	page->entry = calloc(names->count ? names->count : 1, sizeof(*page->entry));
	if (!page->entry)
		return fail_errno(err, BJ_INTERNAL, "list %s", show(path).text);
	for (size_t i = 0; i < names->count; i++) {
		struct stat st;
		const char *name = names->heap[i];
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) {
			if (errno == ENOENT)
				continue;
			return live_failed(dir_fd, "look at what is in", path, err);
		}
		size_t length = strnlen(name, FILES_PART_MAX);
		memcpy(whole + size, name, length);
		whole[size + length] = '\0';
		struct files_entry *entry = &page->entry[page->count++];
		entry->stat = stat_of(whole, &st);
		entry->name = TAKE_PTR(names->heap[i]);
	}
	return 0;
}

int files_ls(int workspace_fd, const char *name, const char *after, size_t most,
	     struct files_page *ret, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_names))) struct names names = {
		.most = most ? most : FILES_PAGE_DEFAULT};
	auto_close int fd = -1;
	if (names.most > FILES_PAGE_MAX)
		return fail(err, BJ_INVALID, "a page of %zu names: at most %d", most,
			    FILES_PAGE_MAX);
	if (live_open_directory(workspace_fd, name, OPEN_TO_LIST, &fd, err) < 0)
		return -1;
	__attribute__((cleanup(cleanup_dir))) DIR *dir = fdopendir(fd);
	if (!dir)
		return fail_errno(err, BJ_INTERNAL, "list %s", show(name).text);
	(void)TAKE_FD(fd);
	if (read_names(dir, name, after, &names, err) < 0)
		return -1;
	if (names.count)
		qsort(names.heap, names.count, sizeof(*names.heap), by_bytes);
	struct files_page page = {.total = names.total, .more = names.later > names.count};
	if (names.count) {
		const char *last = names.heap[names.count - 1];
		memcpy(page.last, last, strnlen(last, FILES_PART_MAX));
	}
	if (fill(dirfd(dir), name, &names, &page, err) < 0) {
		files_page_free(&page);
		return -1;
	}
	*ret = page;
	return 0;
}

void files_page_free(struct files_page *page)
{
	for (size_t i = 0; i < page->count; i++)
		free(page->entry[i].name);
	free(page->entry);
	memset(page, 0, sizeof(*page));
}
