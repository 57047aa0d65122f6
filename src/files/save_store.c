/* SPDX-License-Identifier: Apache-2.0 */
/* A store: opening, locking, counting, and removing what nothing names any more. */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/deliver.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}
#define auto_dir __attribute__((cleanup(cleanup_dir)))

static DIR *list_directory(int dir_fd, const char *name)
{
	auto_close int fd = open_beneath(
		dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, BENEATH);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		(void)TAKE_FD(fd);
	return dir;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- Opening ----------------------------------------------------------------------------- */

void save_close(struct save_store *store)
{
	if (!store)
		return;
	cleanup_close(&store->temp_fd);
	cleanup_close(&store->points_fd);
	cleanup_close(&store->objects_fd);
	cleanup_close(&store->dir_fd);
	free(store->buffer[0]);
	free(store->buffer[1]);
	free(store);
}

static void cleanup_store(struct save_store **store)
{
	save_close(*store);
}

static int check_private(int fd, const char *what, struct bj_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INTERNAL, "look at %s", what);
	if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return 0;
	(void)fail(err, BJ_INVALID, "%s belongs to uid %u and has mode %04o", what,
		   (unsigned int)st.st_uid, (unsigned int)st.st_mode & 07777);
	return fail_hint(err,
			 "Save points are kept where nobody else can reach: a directory of "
			 "uid %u with mode 0700.",
			 (unsigned int)geteuid());
}

static int open_folder(int dir_fd, const char *name, int *ret_fd, struct bj_error *err)
{
	if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, BJ_INTERNAL, "make directory %s of the store", name);
	auto_close int fd = open_beneath(
		dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, BENEATH);
	if (fd < 0)
		return fail_errno(err, BJ_INTERNAL, "open directory %s of the store", name);
	if (check_private(fd, name, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int save_open(int store_fd, bool sync, struct save_store **ret, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_store))) struct save_store *store =
		calloc(1, sizeof(*store));
	if (!store)
		return fail_errno(err, BJ_INTERNAL, "open the store");
	store->sync = sync;
	store->objects_fd = store->points_fd = store->temp_fd = -1;
	/* A lock belongs to a description, and the caller may have duplicates of its own. */
	store->dir_fd = open_beneath(store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
	if (store->dir_fd < 0)
		return fail_errno(err, BJ_INTERNAL, "open the store");
	store->buffer[0] = malloc(SAVE_BUFFER);
	store->buffer[1] = malloc(SAVE_BUFFER);
	if (!store->buffer[0] || !store->buffer[1])
		return fail_errno(err, BJ_INTERNAL, "open the store");
	if (check_private(store->dir_fd, "the store", err) < 0 ||
	    open_folder(store->dir_fd, "objects", &store->objects_fd, err) < 0 ||
	    open_folder(store->dir_fd, "points", &store->points_fd, err) < 0 ||
	    open_folder(store->dir_fd, "temp", &store->temp_fd, err) < 0)
		return -1;
	*ret = TAKE_PTR(store);
	return 0;
}

int store_name_check(const char *name, struct bj_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	size_t size = strlen(name);
	if (size > 0 && size <= SAVE_NAME_MAX && name[0] != '.' && strspn(name, allowed) == size)
		return 0;
	return fail(err, BJ_INVALID,
		    "%s is no name of a save point: 1 to %d letters, digits, \"-\", \"_\" or "
		    "\".\", not first \".\"",
		    show(name).text, SAVE_NAME_MAX);
}

/* ---- Locking ----------------------------------------------------------------------------- */

static int lock(struct save_store *store, int how, struct bj_error *err)
{
	int result;
	do
		result = flock(store->dir_fd, how | LOCK_NB);
	while (result < 0 && errno == EINTR);
	if (result == 0)
		return 0;
	bool busy = errno == EWOULDBLOCK;
	(void)fail_errno(err, BJ_INTERNAL, "lock the store");
	return busy ? fail_hint(err, "Another save point is being taken, restored or removed; "
				     "try again.")
		    : -1;
}

int store_lock_to_read(struct save_store *store, struct bj_error *err)
{
	return lock(store, LOCK_SH, err);
}

void store_unlock(struct save_store **store)
{
	if (*store)
		(void)flock((*store)->dir_fd, LOCK_UN);
}

/* Removes what lies in temp/. What could not be removed is tried again the next time. */
static void clear_temp(const struct save_store *store)
{
	auto_dir DIR *dir = list_directory(store->temp_fd, ".");
	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		if (!is_dot(entry->d_name))
			(void)unlinkat(store->temp_fd, entry->d_name, 0);
}

static bool was_cut_off(const struct save_store *store)
{
	bool found = false;
	auto_dir DIR *dir = list_directory(store->temp_fd, ".");
	for (const struct dirent *entry; dir && !found && (entry = readdir(dir));)
		found = !is_dot(entry->d_name);
	return found;
}

int store_lock_to_write(struct save_store *store, struct bj_error *err)
{
	struct save_freed freed;
	struct bj_error why;
	if (lock(store, LOCK_EX, err) < 0)
		return -1;
	if (!was_cut_off(store))
		return 0;
	/* Objects first: what is in temp/ is the mark that there may be some that nothing names.
	 * Where a damaged save point forbids to remove any, they stay until it is removed. */
	(void)store_collect(store, &freed, &why);
	clear_temp(store);
	return 0;
}

int store_temp(const struct save_store *store, char name[TEMP_SIZE], int *ret_fd,
	       struct bj_error *err)
{
	if (temp_name(name, err) < 0)
		return -1;
	int fd = openat(store->temp_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (fd < 0)
		return fail_errno(err, BJ_INTERNAL, "write into the store");
	*ret_fd = fd;
	return 0;
}

/* ---- Counting ---------------------------------------------------------------------------- */

int store_points(const struct save_store *store, store_point_fn fn, void *user,
		 struct bj_error *err)
{
	auto_dir DIR *dir = list_directory(store->points_fd, ".");
	if (!dir)
		return fail_errno(err, BJ_INTERNAL, "list the save points");
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno)
			return fail_errno(err, BJ_INTERNAL, "list the save points");
		if (!entry)
			return 0;
		if (!is_dot(entry->d_name) && fn(user, entry->d_name, err) < 0)
			return -1;
	}
}

typedef int (*object_fn)(void *user, int folder_fd, const char *folder, const char *name,
			 struct bj_error *err);

static int each_in_folder(DIR *dir, const char *folder, object_fn fn, void *user,
			  struct bj_error *err)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno)
			return fail_errno(err, BJ_INTERNAL, "list the objects of the store");
		if (!entry)
			return 0;
		if (!is_dot(entry->d_name) && fn(user, dirfd(dir), folder, entry->d_name, err) < 0)
			return -1;
	}
}

static int each_object(const struct save_store *store, object_fn fn, void *user,
		       struct bj_error *err)
{
	char folder[3];
	for (unsigned int i = 0; i < 256; i++) {
		(void)snprintf(folder, sizeof(folder), "%02x", i);
		auto_dir DIR *dir = list_directory(store->objects_fd, folder);
		if (!dir && errno == ENOENT)
			continue;
		if (!dir)
			return fail_errno(err, BJ_INTERNAL, "list the objects of the store");
		if (each_in_folder(dir, folder, fn, user, err) < 0)
			return -1;
	}
	return 0;
}

static void add_use(struct store_use *use, uint64_t bytes)
{
	if (__builtin_add_overflow(use->bytes, store_charge(bytes), &use->bytes))
		use->bytes = UINT64_MAX;
}

static int count_object(void *user, int folder_fd, const char *folder, const char *name,
			struct bj_error *err)
{
	struct stat st;
	(void)folder;
	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, BJ_INTERNAL, "look at an object of the store");
	add_use(user, (uint64_t)st.st_size);
	return 0;
}

struct point_count {
	const struct save_store *store;
	struct store_use *use;
};

/* Its head alone. One that is damaged still counts, but cannot say how far the numbers went. */
static int count_point(void *user, const char *name, struct bj_error *err)
{
	struct point_count *count = user;
	struct save_head head;
	struct stat st;
	auto_close int fd = open_beneath(count->store->points_fd, name, OPEN_WARILY, 0, BENEATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INTERNAL, "open save point %s", show(name).text);
	count->use->points++;
	add_use(count->use, (uint64_t)st.st_size);
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == SAVE_MAGIC &&
	    head.serial < SAVE_SERIAL_MAX && head.serial > count->use->serial)
		count->use->serial = head.serial;
	return 0;
}

int store_count(const struct save_store *store, struct store_use *ret, struct bj_error *err)
{
	struct store_use use = {0};
	struct point_count count = {store, &use};
	if (each_object(store, count_object, &use, err) < 0 ||
	    store_points(store, count_point, &count, err) < 0)
		return -1;
	*ret = use;
	return 0;
}

/* ---- What nothing names ------------------------------------------------------------------ */

/* The names of all objects that some save point needs, and room for them. */
struct used {
	const struct save_store *store;
	uint8_t (*sha256)[SAVE_SHA_SIZE];
	size_t count, room;
	struct save_freed freed;
};

static void cleanup_used(struct used *used)
{
	free(used->sha256);
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, SAVE_SHA_SIZE);
}

static int add_point(void *user, const char *name, struct bj_error *err)
{
	struct used *used = user;
	auto_manifest struct manifest manifest = {0};
	if (manifest_load(used->store, name, &manifest, err) < 0)
		return -1;
	if (used->room - used->count < manifest.count) {
		size_t room = used->count * 2 + manifest.count;
		void *more = reallocarray(used->sha256, room, sizeof(*used->sha256));
		if (!more)
			return fail_errno(err, BJ_INTERNAL, "list the objects of the store");
		used->sha256 = more;
		used->room = room;
	}
	for (size_t i = 0; i < manifest.count; i++)
		if (manifest.entry[i].type == SAVE_FILE)
			memcpy(used->sha256[used->count++], manifest.entry[i].sha256,
			       SAVE_SHA_SIZE);
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_name(const char *folder, const char *name, uint8_t sha256[SAVE_SHA_SIZE])
{
	if (strlen(name) != 2 * (SAVE_SHA_SIZE - 1))
		return false;
	for (size_t i = 0; i < SAVE_SHA_SIZE; i++) {
		const char *pair = i ? name + 2 * (i - 1) : folder;
		int high = hex_digit(pair[0]), low = hex_digit(pair[1]);
		if (high < 0 || low < 0)
			return false;
		sha256[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static int remove_unused(void *user, int folder_fd, const char *folder, const char *name,
			 struct bj_error *err)
{
	struct used *used = user;
	uint8_t sha256[SAVE_SHA_SIZE];
	struct stat st;
	/* What has no name of an object is not ours to remove. */
	if (!read_name(folder, name, sha256))
		return 0;
	if (used->count && bsearch(sha256, used->sha256, used->count, SAVE_SHA_SIZE, by_bytes))
		return 0;
	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    unlinkat(folder_fd, name, 0) < 0)
		return fail_errno(err, BJ_INTERNAL, "remove an object of the store");
	used->freed.objects++;
	used->freed.bytes += (uint64_t)st.st_size;
	return 0;
}

int store_collect(const struct save_store *store, struct save_freed *ret, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_used))) struct used used = {.store = store};
	if (store_points(store, add_point, &used, err) < 0)
		return -1;
	if (used.count)
		qsort(used.sha256, used.count, SAVE_SHA_SIZE, by_bytes);
	if (each_object(store, remove_unused, &used, err) < 0)
		return -1;
	*ret = used.freed;
	return 0;
}
