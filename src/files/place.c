/* SPDX-License-Identifier: Apache-2.0 */
/* Where on the host an output is to appear. The path is the caller's; only its last component is
 * judged, because that is what a delivery replaces. */
#include "files/deliver.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AS_DIRECTORY (O_PATH | O_DIRECTORY | O_CLOEXEC)

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* "dir/", "." and "..": a directory to put things into. */
static bool means_inside(const char *path)
{
	const char *last = last_of(path);
	return !*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
}

static int open_directory(int dir_fd, const char *path, int flags, int *ret_fd,
			  struct bj_error *err)
{
	int fd = openat(dir_fd, path, AS_DIRECTORY | flags);
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "deliver into directory %s", show(path).text);
	*ret_fd = fd;
	return 0;
}

static bool is_link(int dir_fd, const char *name)
{
	int os = errno;
	struct stat st;
	bool link = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
	errno = os;
	return link;
}

/*
 * The directories of `name` below the working directory, made where they are missing. The name is
 * one of the workspace: a link of the host that happens to be called the same is not meant by it.
 */
static int open_own_parents(const char *name, int *ret_fd, struct bj_error *err)
{
	char part[FILES_PART_MAX + 1];
	auto_close int dir = -1;
	if (open_directory(AT_FDCWD, ".", 0, &dir, err) < 0)
		return -1;
	for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		size_t size = (size_t)(slash - name);
		memcpy(part, name, size);
		part[size] = '\0';
		int next = openat(dir, part, AS_DIRECTORY | O_NOFOLLOW);
		if (next < 0 && is_link(dir, part)) {
			(void)fail(
				err, BJ_INVALID,
				"%s exists on the host and is a symbolic link; it is not followed",
				show(part).text);
			return fail_hint(err,
					 "Say where it is to be on the host: --out NAME:HOST.");
		}
		if (next < 0 && errno == ENOENT) {
			if (make_directory(dir, part, err) < 0)
				return -1;
			next = openat(dir, part, AS_DIRECTORY | O_NOFOLLOW);
		}
		if (next < 0)
			return fail_errno(err, BJ_INVALID, "deliver into directory %s",
					  show(part).text);
		(void)close(dir);
		dir = next;
	}
	*ret_fd = TAKE_FD(dir);
	return 0;
}

/* The directory that `path` is in. */
static int open_parent(const char *path, int *ret_fd, struct bj_error *err)
{
	const char *last = last_of(path);
	if (last == path)
		return open_directory(AT_FDCWD, ".", 0, ret_fd, err);
	/* With its slash, so that the parent of "/x" is "/". */
	auto_free char *parent = strndup(path, (size_t)(last - path));
	if (!parent)
		return fail_errno(err, BJ_INTERNAL, "deliver to %s", show(path).text);
	return open_directory(AT_FDCWD, parent, 0, ret_fd, err);
}

/* A link to a directory could be meant either way; following it is never guessed. */
static int check_link(int dir_fd, const char *name, struct bj_error *err)
{
	struct stat st;
	if (!is_link(dir_fd, name))
		return 0;
	bool to_directory = fstatat(dir_fd, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
	(void)fail(err, BJ_INVALID, "%s exists on the host and is a symbolic link; it is not %s",
		   show(name).text, to_directory ? "followed" : "replaced");
	return fail_hint(err, to_directory ? "Put a \"/\" at the end of the path to deliver into "
					     "the directory it leads to."
					   : "Give the path it leads to, or remove it.");
}

static int set_name(struct place *place, const char *name, struct bj_error *err)
{
	size_t size = strlen(name);
	if (size > FILES_PART_MAX)
		return fail(err, BJ_INVALID, "%s: file name too long", show(name).text);
	memcpy(place->name, name, size + 1);
	return 0;
}

static bool is_directory(const struct place *place)
{
	struct stat st;
	return fstatat(place->dir_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

int place_find(const char *host_path, const char *name, bool directory, struct place *ret,
	       bool *ret_exists, struct bj_error *err)
{
	struct place place = {.dir_fd = -1};
	auto_close int dir = -1;
	if (host_path && !*host_path)
		return fail(err, BJ_INVALID, "the path to deliver to is empty");
	bool inside = host_path && means_inside(host_path);
	int opened = !host_path ? open_own_parents(name, &dir, err)
		     : inside	? open_directory(AT_FDCWD, host_path, 0, &dir, err)
				: open_parent(host_path, &dir, err);
	if (opened < 0 ||
	    set_name(&place, last_of(host_path && !inside ? host_path : name), err) < 0 ||
	    check_link(dir, place.name, err) < 0)
		return -1;
	place.dir_fd = dir;
	if (!directory && !inside && host_path && is_directory(&place)) {
		int deeper = -1;
		if (open_directory(dir, place.name, O_NOFOLLOW, &deeper, err) < 0)
			return -1;
		(void)close(dir);
		place.dir_fd = dir = deeper;
		if (set_name(&place, last_of(name), err) < 0)
			return -1;
	}
	bool exists = directory && is_directory(&place);
	if (!exists && place_check(place.dir_fd, place.name, err) < 0)
		return -1;
	struct stat st;
	if (directory && !exists && fstatat(dir, place.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return fail(err, BJ_INVALID, "%s exists on the host and is not a directory",
			    show(place.name).text);
	(void)TAKE_FD(dir);
	*ret = place;
	*ret_exists = exists;
	return 0;
}
