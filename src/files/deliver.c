/* SPDX-License-Identifier: Apache-2.0 */
#include "files/deliver.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BUFFER (128 * 1024)

int write_limited(int fd, const void *data, size_t size)
{
	struct rlimit limit;
	off_t at = lseek(fd, 0, SEEK_CUR);
	if (at < 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -1;
	if (limit.rlim_cur != RLIM_INFINITY &&
	    ((uint64_t)at > limit.rlim_cur || size > limit.rlim_cur - (uint64_t)at)) {
		errno = EFBIG;
		return -1;
	}
	return write_whole(fd, data, size);
}

static int too_large(const char *path, uint64_t most, struct bj_error *err)
{
	(void)fail(err, BJ_INVALID, "%s: more than the %llu bytes that may be copied",
		   show(path).text, (unsigned long long)most);
	return fail_hint(err, "Holes of a file count as bytes. Copy less, or give a larger "
			      "--workspace.");
}

int copy_counted(int from, int to, uint64_t most, bool hash, const char *path, struct copied *ret,
		 struct bj_error *err)
{
	auto_free unsigned char *buffer = malloc(COPY_BUFFER);
	if (!buffer)
		return fail_errno(err, BJ_INTERNAL, "copy %s", show(path).text);
	struct copied copied = {0};
	struct stat st;
	/* An early answer for what says that it is too large; the count below is what decides. */
	if (fstat(from, &st) == 0 && st.st_size > 0 && (uint64_t)st.st_size > most)
		return too_large(path, most, err);
	SHA2_CTX sha;
	SHA256Init(&sha);
	for (;;) {
		ssize_t n = read(from, buffer, COPY_BUFFER);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, BJ_INVALID, "read %s", show(path).text);
		if (n == 0)
			break;
		uint64_t size = (uint64_t)n;
		if (size > most - copied.bytes)
			return too_large(path, most, err);
		if (write_limited(to, buffer, size) < 0)
			return fail_errno(err, BJ_INTERNAL, "write the copy of %s",
					  show(path).text);
		if (hash)
			SHA256Update(&sha, buffer, (size_t)n);
		copied.bytes += size;
	}
	if (hash)
		(void)SHA256End(&sha, copied.sha256);
	*ret = copied;
	return 0;
}

int temp_name(char name[TEMP_SIZE], struct bj_error *err)
{
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail_errno(err, BJ_INTERNAL, "getrandom");
	(void)snprintf(name, TEMP_SIZE, ".belljar-%016llx", (unsigned long long)random);
	return 0;
}

/* Whatever the umask, or nothing could be put into it. */
static int open_to_owner(int dir_fd, const char *name)
{
	struct stat st;
	char self[32];
	auto_close int fd = open_beneath(dir_fd, name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH_HOST);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & 0700) == 0700)
		return 0;
	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	return chmod(self, (st.st_mode & 07777) | 0700);
}

int make_directory(int dir_fd, const char *name, struct bj_error *err)
{
	if (mkdirat(dir_fd, name, 0755) < 0)
		return fail_errno(err, BJ_INVALID, "make directory %s", show(name).text);
	if (open_to_owner(dir_fd, name) < 0) {
		(void)fail_errno(err, BJ_INTERNAL, "open directory %s", show(name).text);
		(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
		return -1;
	}
	return 0;
}

int place_check(int dir_fd, const char *name, struct bj_error *err)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return fail_errno(err, BJ_INVALID, "deliver to %s", show(name).text);
	}
	if (S_ISREG(st.st_mode))
		return 0;
	(void)fail(err, BJ_INVALID, "%s exists on the host and is %s; it is not replaced",
		   show(name).text, show_kind(st.st_mode));
	return fail_hint(err, S_ISLNK(st.st_mode) ? "Give the path it leads to, or remove it."
						  : "Give another path, or remove it.");
}

/*
 * Whether `name` is what another output of this run became. A replaced file's inode may have been
 * used again: the last one with that number counts.
 */
static bool is_anothers(int dir_fd, const char *name, const char *path,
			const struct files_list *list)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	for (size_t i = list->count; i-- > 0;) {
		const struct files_item *item = &list->item[i];
		if (item->type == FILES_FILE && item->device == st.st_dev &&
		    item->inode == st.st_ino)
			return strcmp(item->path, path) != 0;
	}
	return false;
}

static int write_temp(int from, int temp_fd, uint64_t most, const char *path, struct copied *ret,
		      struct stat *ret_st, struct bj_error *err)
{
	auto_close int to = temp_fd;
	if (copy_counted(from, to, most, true, path, ret, err) < 0)
		return -1;
	/* NFS and quotas may report a failed write only at the close. */
	if (fstat(to, ret_st) < 0 || close(TAKE_FD(to)) < 0)
		return fail_errno(err, BJ_INTERNAL, "write the copy of %s", show(path).text);
	return 0;
}

int deliver_file(int dir_fd, const char *name, int from, mode_t mode, uint64_t most,
		 const char *path, struct files_list *list, struct bj_error *err)
{
	char temp[TEMP_SIZE];
	struct copied copied = {0};
	struct stat st;
	if (is_anothers(dir_fd, name, path, list)) {
		(void)fail(err, BJ_INVALID, "%s: another output of this run is there already",
			   show(path).text);
		return fail_hint(err, "Give each a name of its own on the host: NAME:HOST.");
	}
	if (temp_name(temp, err) < 0)
		return -1;
	/* Made with its last mode, so that the umask and default ACLs decide, not we. */
	int to = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			mode & 0100 ? 0755 : 0644);
	if (to < 0)
		return fail_errno(err, BJ_INVALID, "write beside the destination of %s",
				  show(path).text);
	struct bj_error why;
	int result = write_temp(from, to, most, path, &copied, &st, &why);
	/* In the list first: what follows the rename must not fail. */
	size_t before = list->count;
	if (result == 0) {
		/* Under whichever of its names: the caller may have chosen one. */
		const char *risky = files_risky(name, 0);
		struct files_item item = {.type = FILES_FILE,
					  .bytes = copied.bytes,
					  .device = st.st_dev,
					  .inode = st.st_ino,
					  .risky = risky ? risky : files_risky(path, mode)};
		memcpy(item.sha256, copied.sha256, sizeof(item.sha256));
		result = list_add(list, path, item, &why);
	}
	if (result == 0 && renameat(dir_fd, temp, dir_fd, name) < 0)
		result = fail_errno(&why, BJ_INVALID, "deliver %s", show(path).text);
	if (result == 0)
		return 0;
	list_cut(list, before);
	if (unlinkat(dir_fd, temp, 0) < 0 && errno != ENOENT)
		list->left++;
	if (err)
		*err = why;
	return -1;
}

/* A step down for remove_tree(): -1 when `name` cannot be opened as a directory. */
static int step_down(DIR **stack, size_t *depth, int dir_fd, const char *name)
{
	int fd = open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0,
			      BENEATH_HOST);
	if (fd < 0)
		return -1;
	stack[*depth] = fdopendir(fd);
	if (!stack[*depth]) {
		(void)close(fd);
		return -1;
	}
	++*depth;
	return 0;
}

void remove_tree(int dir_fd, const char *name, uint64_t *left)
{
	enum { LEVELS = FILES_DEPTH_MAX + 1 };
	DIR *stack[LEVELS];
	char names[LEVELS][FILES_PART_MAX + 1];
	size_t depth = 0;
	if (step_down(stack, &depth, dir_fd, name) < 0)
		++*left;
	while (depth > 0) {
		DIR *dir = stack[depth - 1];
		const struct dirent *entry = readdir(dir);
		if (!entry) {
			(void)closedir(dir);
			depth--;
			int above = depth ? dirfd(stack[depth - 1]) : dir_fd;
			if (unlinkat(above, depth ? names[depth] : name, AT_REMOVEDIR) < 0)
				++*left;
			continue;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			continue;
		/* Linux gives EISDIR for a directory. */
		size_t size = strlen(entry->d_name);
		if (errno != EISDIR || depth == LEVELS || size > FILES_PART_MAX) {
			++*left;
			continue;
		}
		memcpy(names[depth], entry->d_name, size + 1);
		if (step_down(stack, &depth, dirfd(dir), entry->d_name) < 0)
			++*left;
	}
}
