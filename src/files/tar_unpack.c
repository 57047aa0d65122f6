/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking, into a directory that nobody was told of but that a hostile program can see: each
 * entry is opened beneath it as everything else is. Nothing in an archive is believed: not a name,
 * not a size, not that it has an end.
 */
#include "files/tar_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_BUFFER (128 * 1024)

struct in {
	struct archive *archive;
	char *buffer; /* IN_BUFFER bytes */
	int from_fd, dir_fd;
	const struct files_caps *caps;
	struct files_unpacked *ret;
};

static void cleanup_in(struct in *in)
{
	(void)archive_read_free(in->archive);
	free(in->buffer);
}

static la_ssize_t read_in(struct archive *archive, void *user, const void **ret_data)
{
	struct in *in = user;
	ssize_t n = live_read(in->from_fd, in->buffer, IN_BUFFER);
	if (n < 0) {
		archive_set_error(archive, errno, "%s", strerror(errno));
		return ARCHIVE_FATAL;
	}
	*ret_data = in->buffer;
	return n;
}

static int open_in(struct in *in, struct bj_error *err)
{
	in->archive = archive_read_new();
	in->buffer = malloc(IN_BUFFER);
	if (!in->archive || !in->buffer)
		return fail_errno(err, BJ_INTERNAL, "read a tar archive");
	if (archive_read_support_format_tar(in->archive) != ARCHIVE_OK ||
	    archive_read_support_filter_none(in->archive) != ARCHIVE_OK ||
	    archive_read_open(in->archive, in, NULL, read_in, NULL) != ARCHIVE_OK)
		return tar_failed(in->archive, "read the tar archive", err);
	return 0;
}

/* "./" before a name and "/" after a directory's are how tar writes. Into `path`; "" for the root.
 */
static int take_name(const char *name, bool directory, char path[FILES_NAME_MAX + 1],
		     struct bj_error *err)
{
	const char *from = name;
	if (strncmp(from, "./", 2) == 0)
		from += 2;
	size_t size = strlen(from);
	if (directory && size > 1 && from[size - 1] == '/')
		size--;
	if (directory && (size == 0 || (size == 1 && from[0] == '.' && from == name))) {
		path[0] = '\0';
		return 0;
	}
	const char *wrong = files_name_check(from, size);
	if (wrong)
		return fail(err, BJ_INVALID, "archive entry %s %s", show(name).text, wrong);
	size_t depth = 0;
	for (size_t i = 0; i < size; i++)
		depth += from[i] == '/';
	if (depth + directory > FILES_DEPTH_MAX)
		return fail(err, BJ_INVALID, "archive entry %s is deeper than %d directories",
			    show(name).text, FILES_DEPTH_MAX);
	memcpy(path, from, size);
	path[size] = '\0';
	return 0;
}

static int check_entry(const struct in *in, struct archive_entry *entry, const char *name,
		       struct bj_error *err)
{
	mode_t type = archive_entry_filetype(entry);
	la_int64_t size = archive_entry_size(entry);
	if (archive_entry_hardlink(entry))
		return fail(
			err, BJ_INVALID,
			"archive entry %s is a hard link; only files and directories are unpacked",
			show(name).text);
	if (type != AE_IFREG && type != AE_IFDIR)
		return fail(err, BJ_INVALID,
			    "archive entry %s is %s; only files and directories are unpacked",
			    show(name).text, show_kind(type));
	if (archive_entry_sparse_count(entry) > 0)
		return fail(err, BJ_INVALID,
			    "archive entry %s is a sparse file; only plain ones are unpacked",
			    show(name).text);
	if (in->ret->entries >= in->caps->entries)
		return fail(err, BJ_INVALID,
			    "archive entry %s is one too many: at most %llu files and directories",
			    show(name).text, (unsigned long long)in->caps->entries);
	/* Of a directory too, whose bytes would only be skipped. */
	if (size < 0 || (uint64_t)size > in->caps->bytes - in->ret->bytes)
		return fail(
			err, BJ_INVALID,
			"archive entry %s has %lld bytes, more than the %llu that are left of %llu",
			show(name).text, (long long)size,
			(unsigned long long)(in->caps->bytes - in->ret->bytes),
			(unsigned long long)in->caps->bytes);
	return 0;
}

static int failed_entry(int dir_fd, const char *name, struct bj_error *err)
{
	if (errno == EEXIST)
		return fail(err, BJ_INVALID, "archive entry %s is in the archive twice",
			    show(name).text);
	return live_failed(dir_fd, "unpack archive entry", name, err);
}

static int unpack_directory(const struct in *in, const char *path, struct bj_error *err)
{
	struct stat st;
	struct place place;
	int made = -1;
	if (live_place(in->dir_fd, path, true, &place, err) < 0)
		return -1;
	auto_close int dir = place.dir_fd;
	if (live_make_directory(dir, place.name, &made) == 0)
		return close(made);
	/* As a directory it may come again: or have been made as a parent. */
	if (errno == EEXIST && fstatat(dir, place.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = EEXIST;
	}
	return failed_entry(dir, path, err);
}

static int copy_data(struct in *in, const char *path, int fd, uint64_t size, struct bj_error *err)
{
	uint64_t done = 0;
	for (;;) {
		const void *data;
		size_t length;
		la_int64_t at;
		int got = archive_read_data_block(in->archive, &data, &length, &at);
		if (got == ARCHIVE_EOF)
			break;
		if (got != ARCHIVE_OK) {
			const char *why = archive_error_string(in->archive);
			return fail(err, BJ_INVALID, "archive entry %s cannot be read: %s",
				    show(path).text, show(why ? why : "unknown error").text);
		}
		if (at < 0 || (uint64_t)at != done || length > size - done)
			return fail(err, BJ_INVALID,
				    "archive entry %s is not the %llu bytes it says",
				    show(path).text, (unsigned long long)size);
		if (write_limited(fd, data, length) < 0)
			return live_failed(in->dir_fd, "unpack archive entry", path, err);
		done += length;
	}
	if (done != size)
		return fail(err, BJ_INVALID, "archive entry %s has %llu bytes and says %llu",
			    show(path).text, (unsigned long long)done, (unsigned long long)size);
	return 0;
}

static int unpack_file(struct in *in, struct archive_entry *entry, const char *path,
		       struct bj_error *err)
{
	uint64_t size = (uint64_t)archive_entry_size(entry);
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = archive_entry_mtime(entry), .tv_nsec = archive_entry_mtime_nsec(entry)},
	};
	struct place place;
	if (live_place(in->dir_fd, path, true, &place, err) < 0)
		return -1;
	auto_close int dir = place.dir_fd;
	auto_close int fd =
		open_beneath(dir, place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600, BENEATH);
	if (fd < 0)
		return failed_entry(dir, path, err);
	if (copy_data(in, path, fd, size, err) < 0)
		return -1;
	if (fchmod(fd, archive_entry_perm(entry) & 0100 ? 0755 : 0644) < 0 ||
	    (archive_entry_mtime_is_set(entry) && futimens(fd, times) < 0) ||
	    close(TAKE_FD(fd)) < 0)
		return live_failed(dir, "unpack archive entry", path, err);
	in->ret->bytes += size;
	return 0;
}

static int unpack_entry(struct in *in, struct archive_entry *entry, struct bj_error *err)
{
	char path[FILES_NAME_MAX + 1];
	const char *name = archive_entry_pathname(entry);
	bool directory = archive_entry_filetype(entry) == AE_IFDIR;
	if (!name)
		return fail(err, BJ_INVALID, "archive entry %llu has no name",
			    (unsigned long long)in->ret->entries + 1);
	if (check_entry(in, entry, name, err) < 0 || take_name(name, directory, path, err) < 0)
		return -1;
	in->ret->entries++;
	if (!path[0])
		return 0;
	if (directory)
		return unpack_directory(in, path, err) < 0
			       ? -1
			       : list_add_directory(&in->ret->list, path, err);
	struct files_item item = {.type = FILES_FILE,
				  .bytes = (uint64_t)archive_entry_size(entry),
				  .risky = files_risky(path, archive_entry_mode(entry))};
	return unpack_file(in, entry, path, err) < 0 ? -1
						     : list_add(&in->ret->list, path, item, err);
}

int tar_unpack(int from_fd, int dir_fd, const struct files_caps *caps, struct files_unpacked *ret,
	       struct bj_error *err)
{
	__attribute__((cleanup(cleanup_in))) struct in in = {
		.from_fd = from_fd, .dir_fd = dir_fd, .caps = caps, .ret = ret};
	auto_locale struct tar_locale locale = {0};
	if (tar_locale_enter(&locale, "C", err) < 0 || open_in(&in, err) < 0)
		return -1;
	for (;;) {
		struct archive_entry *entry;
		int got = archive_read_next_header(in.archive, &entry);
		if (got == ARCHIVE_EOF)
			break;
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return tar_failed(in.archive, "read the tar archive", err);
		if (unpack_entry(&in, entry, err) < 0)
			return -1;
	}
	/* libarchive takes an archive that stops between two entries for a whole one. */
	if (archive_filter_bytes(in.archive, 0) <= archive_read_header_position(in.archive))
		return fail(err, BJ_INVALID, "the tar archive has no end: it was cut");
	return 0;
}
