/* SPDX-License-Identifier: Apache-2.0 */
#include "files/tar_parts.h"

#include "files/beneath.h"
#include "files/show.h"
#include "files/tree.h"

#include "base/cleanup.h"

#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAR_RECORD 512
#define BLOCK	   (128 * 1024)
/* Files up to this size are read into memory, larger ones into a memfd. */
#define SMALL (256 * 1024)

struct out {
	struct archive *archive;
	struct archive_entry *entry;
	char *buffer; /* SMALL bytes */
	int to_fd;
	bool cut; /* nothing more is written */
	int os;	  /* why it was cut, where that was writing */
	const struct files_caps *caps;
	struct files_list *list;
};

int tar_locale_enter(struct tar_locale *locale, const char *name, struct bj_error *err)
{
	locale->made = newlocale(LC_CTYPE_MASK, name, NULL);
	if (!locale->made)
		return fail_errno(err, BJ_INTERNAL, "the locale %s", name);
	locale->before = uselocale(locale->made);
	return 0;
}

void tar_locale_leave(struct tar_locale *locale)
{
	if (!locale->made)
		return;
	(void)uselocale(locale->before);
	freelocale(locale->made);
}

int tar_failed(struct archive *archive, const char *what, struct bj_error *err)
{
	const char *why = archive_error_string(archive);
	int os = archive_errno(archive);
	(void)fail(err, os == ENOMEM ? BJ_INTERNAL : BJ_INVALID, "%s: %s", what,
		   show(why ? why : "unknown error").text);
	if (err)
		err->os_error = os > 0 ? os : 0;
	return -1;
}

/*
 * It writes the end of the archive when it is freed. Told that writing fails, it would not, and
 * would lose memory (3.6): so it is never told, and what comes after a failure goes nowhere.
 */
static void cleanup_out(struct out *o)
{
	o->cut = true;
	(void)archive_write_free(o->archive);
	archive_entry_free(o->entry);
	free(o->buffer);
}

static la_ssize_t write_out(struct archive *archive, void *user, const void *data, size_t size)
{
	struct out *o = user;
	(void)archive;
	if (!o->cut && live_write(o->to_fd, data, size) < 0) {
		o->os = errno;
		o->cut = true;
	}
	return (la_ssize_t)size;
}

/* After each call that may have written. */
static int wrote(const struct out *o, bool good, struct bj_error *err)
{
	if (!good)
		return tar_failed(o->archive, "write the tar archive", err);
	if (!o->os)
		return 0;
	errno = o->os;
	return fail_errno(err, BJ_INVALID, "write the tar archive");
}

static int open_out(struct out *o, struct bj_error *err)
{
	o->archive = archive_write_new();
	o->entry = archive_entry_new();
	o->buffer = malloc(SMALL);
	if (!o->archive || !o->entry || !o->buffer)
		return fail_errno(err, BJ_INTERNAL, "make a tar archive");
	if (archive_write_set_format_pax_restricted(o->archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(o->archive, BLOCK) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(o->archive, TAR_RECORD) != ARCHIVE_OK ||
	    archive_write_open(o->archive, o, NULL, write_out, NULL) != ARCHIVE_OK)
		return tar_failed(o->archive, "make a tar archive", err);
	return 0;
}

static int put_header(struct out *o, const char *path, mode_t mode, const struct stat *st,
		      uint64_t bytes, struct bj_error *err)
{
	archive_entry_clear(o->entry);
	archive_entry_set_pathname(o->entry, path);
	archive_entry_set_mode(o->entry, mode);
	archive_entry_set_size(o->entry, (la_int64_t)bytes);
	archive_entry_set_mtime(o->entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	/* It warns of names that are no UTF-8, and writes them as they are. */
	return wrote(o, archive_write_header(o->archive, o->entry) >= ARCHIVE_WARN, err);
}

static int put_data(struct out *o, const void *data, size_t size, struct bj_error *err)
{
	if (size == 0)
		return 0;
	return wrote(o, archive_write_data(o->archive, data, size) == (la_ssize_t)size, err);
}

static int put_copy(struct out *o, int copy, uint64_t size, const char *path, struct bj_error *err)
{
	for (uint64_t at = 0; at < size;) {
		ssize_t n = pread(copy, o->buffer, SMALL, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_errno(err, BJ_INTERNAL, "read the copy of %s", show(path).text);
		if (put_data(o, o->buffer, (size_t)n, err) < 0)
			return -1;
		at += (uint64_t)n;
	}
	return 0;
}

/* The size in a header is a promise: so the bytes are there before it is written. */
static int put_file(struct out *o, struct tree *tree, struct bj_error *err)
{
	const struct files_get_how how = {
		.most = o->list->bytes < o->caps->bytes ? o->caps->bytes - o->list->bytes : 0};
	struct moment m;
	struct bj_error why;
	if (moment_take(tree->fd, tree->path, &how, o->buffer, SMALL, &m, &why) < 0) {
		if (why.code != BJ_INTERNAL && why.os_error != EFBIG) {
			list_problem(o->list, tree->path, &why);
			return 0;
		}
		if (err)
			*err = why;
		return -1;
	}
	auto_close int copy = m.fd;
	mode_t mode = S_IFREG | (m.st.st_mode & 0100 ? 0755 : 0644);
	struct files_item item = {.type = FILES_FILE,
				  .bytes = m.bytes,
				  .risky = files_risky(tree->path, m.st.st_mode)};
	if (put_header(o, tree->path, mode, &m.st, m.bytes, err) < 0)
		return -1;
	int put = copy >= 0 ? put_copy(o, copy, m.bytes, tree->path, err)
			    : put_data(o, o->buffer, (size_t)m.bytes, err);
	return put < 0 ? -1 : list_add(o->list, tree->path, item, err);
}

static int put_directory(struct out *o, const struct tree *tree, struct bj_error *err)
{
	if (put_header(o, tree->path, S_IFDIR | 0755, &tree->st, 0, err) < 0)
		return -1;
	return list_add_directory(o->list, tree->path, err);
}

static int put_tree(struct out *o, struct tree *tree, struct bj_error *err)
{
	for (;;) {
		enum tree_event event;
		if (tree_next(tree, &event, err) < 0)
			return -1;
		switch (event) {
		case TREE_END:
			return 0;
		case TREE_FILE:
			if (put_file(o, tree, err) < 0)
				return -1;
			break;
		case TREE_ENTER:
			if (put_directory(o, tree, err) < 0)
				return -1;
			break;
		case TREE_LEAVE:
			break;
		case TREE_ODD:
			list_problem(o->list, tree->path, &tree->odd);
			break;
		}
	}
}

int files_tar_out(int workspace_fd, const char *name, const struct files_caps *caps, int to_fd,
		  struct files_list *list, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_out))) struct out o = {
		.to_fd = to_fd, .caps = caps, .list = list};
	auto_locale struct tar_locale locale = {0};
	auto_tree struct tree *tree = NULL;
	const struct tree_how how = {.resolve = BENEATH};
	int dir = -1;
	if (live_open_directory(workspace_fd, name, OPEN_TO_LIST, &dir, err) < 0 ||
	    tree_start(&tree, dir, "", how, &list->entries, caps->entries, err) < 0)
		return -1;
	if (tar_locale_enter(&locale, "C.UTF-8", err) < 0 || open_out(&o, err) < 0 ||
	    put_tree(&o, tree, err) < 0)
		return -1;
	return wrote(&o, archive_write_close(o.archive) == ARCHIVE_OK, err);
}
