/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing what a program left, whatever it is: deeper than any walk goes, closed to its owner, in
 * a workspace without a free byte or inode. A directory is emptied by moving the directories in it
 * up beside each other, so that two are open at a time and nothing is made.
 */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/deliver.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Each pass takes away a level at least; who adds faster than that is not waited for. */
#define PASSES_MAX (1 << 20)

int chmod_by_fd(int fd, mode_t mode)
{
	/* There is no fchmod for O_PATH before Linux 6.6; this link leads to that very inode. */
	char self[32];
	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	return chmod(self, mode);
}

/* All rights of the owner's to the directory `fd`, O_PATH or not. */
static int make_own(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -1;
	return (st.st_mode & 0700) == 0700 ? 0 : chmod_by_fd(fd, (st.st_mode & 0777) | 0700);
}

int open_own_directory(int dir_fd, const char *name)
{
	if (strcmp(name, ".") == 0) {
		/* Without the right to search it, not even "." can be looked up in it. */
		if (make_own(dir_fd) < 0)
			return -1;
	} else {
		auto_close int look =
			open_beneath(dir_fd, name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
		if (look < 0 || make_own(look) < 0)
			return -1;
	}
	return open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0,
			    BENEATH);
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}
#define auto_dir __attribute__((cleanup(cleanup_dir)))

static DIR *open_stream(int dir_fd, const char *name)
{
	auto_close int fd = open_own_directory(dir_fd, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		(void)TAKE_FD(fd);
	return dir;
}

/* 0: gone, or was never there. 1: a directory that is not empty. */
static int remove_simple(int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* Linux gives EISDIR for a directory. */
	if (errno != EISDIR)
		return -1;
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTEMPTY ? 1 : -1;
}

/* Moves the directory `name` of `from` into `to`, under a name that nobody can have prepared. */
static int move_up(int from, const char *name, int to)
{
	char temp[TEMP_SIZE];
	struct bj_error why;
	/* Its own ".." changes, which takes the right to write to it. */
	auto_close int look = open_beneath(from, name, OPEN_LOOK | O_DIRECTORY, 0, BENEATH);
	if (look < 0 || make_own(look) < 0)
		return -1;
	if (temp_name(temp, &why) < 0) {
		errno = why.os_error;
		return -1;
	}
	return renameat(from, name, to, temp);
}

/* Empties the directory `name` of `above`, what is a directory in it goes up into `above`. */
static int empty_into(int above, const char *name)
{
	auto_dir DIR *dir = open_stream(above, name);
	if (!dir)
		return -1;
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry)
			return errno ? -1 : 0;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int left = remove_simple(dirfd(dir), entry->d_name);
		if (left < 0 || (left > 0 && move_up(dirfd(dir), entry->d_name, above) < 0))
			return -1;
	}
}

/* One pass over the directory: empties and removes each directory found. */
static int empty_once(DIR *dir)
{
	rewinddir(dir);
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry)
			return errno ? -1 : 0;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int left = remove_simple(dirfd(dir), entry->d_name);
		if (left > 0 && empty_into(dirfd(dir), entry->d_name) == 0)
			left = remove_simple(dirfd(dir), entry->d_name);
		if (left < 0)
			return -1;
	}
}

int discard(int dir_fd, const char *name)
{
	int left = remove_simple(dir_fd, name);
	if (left <= 0)
		return left;
	auto_dir DIR *dir = open_stream(dir_fd, name);
	if (!dir)
		return -1;
	/* A pass that adds directories behind where it reads does not meet them: the next does. */
	for (int passes = 0; left > 0; passes++) {
		if (passes == PASSES_MAX) {
			errno = EBUSY;
			return -1;
		}
		if (empty_once(dir) < 0)
			return -1;
		left = remove_simple(dir_fd, name);
	}
	return left;
}
