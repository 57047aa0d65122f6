/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of files, each content once, under its hash. */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/deliver.h"
#include "files/show.h"

#include "base/cleanup.h"

#include <errno.h>
#include <sha2.h>
#include <unistd.h>

#define BLOCK 4096

struct object_name object_name(const uint8_t sha256[SAVE_SHA_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	struct object_name name;
	char *to = name.text;
	for (size_t i = 0; i < SAVE_SHA_SIZE; i++) {
		if (i == 1)
			*to++ = '/';
		*to++ = digits[sha256[i] >> 4];
		*to++ = digits[sha256[i] & 15];
	}
	*to = '\0';
	return name;
}

static ssize_t read_at_most(int fd, void *data, size_t size, uint64_t at)
{
	ssize_t n;
	do
		n = pread(fd, data, size, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n;
}

/* All of `size`; a file that ends before is -1 with EUCLEAN. */
static int read_all(int fd, unsigned char *data, size_t size, uint64_t at)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = read_at_most(fd, data + got, size - got, at + got);
		if (n == 0)
			errno = EUCLEAN;
		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	return 0;
}

int object_check(const struct save_store *store, const struct save_entry *entry)
{
	struct stat st;
	if (fstatat(store->objects_fd, object_name(entry->sha256).text, &st, AT_SYMLINK_NOFOLLOW) <
	    0)
		return -1;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == entry->bytes)
		return 0;
	errno = EUCLEAN;
	return -1;
}

/* -1 with errno; its size is right. */
static int open_object(const struct save_store *store, const struct save_entry *entry)
{
	struct stat st;
	auto_close int fd = open_beneath(store->objects_fd, object_name(entry->sha256).text,
					 OPEN_WARILY, 0, BENEATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == entry->bytes)
		return TAKE_FD(fd);
	errno = EUCLEAN;
	return -1;
}

/* Otherwise false with errno EUCLEAN. */
static bool is_named(SHA2_CTX *sha, const struct save_entry *entry)
{
	uint8_t sha256[SAVE_SHA_SIZE];
	SHA256Final(sha256, sha);
	if (memcmp(sha256, entry->sha256, sizeof(sha256)) == 0)
		return true;
	errno = EUCLEAN;
	return false;
}

static size_t next_part(uint64_t size, uint64_t at)
{
	return size - at < SAVE_BUFFER ? (size_t)(size - at) : SAVE_BUFFER;
}

enum object_match object_compare(const struct save_store *store, const struct save_entry *entry,
				 int fd, bool verify)
{
	auto_close int object = open_object(store, entry);
	bool same = true;
	SHA2_CTX sha;
	if (object < 0)
		return OBJECT_BAD;
	SHA256Init(&sha);
	for (uint64_t at = 0; at < entry->bytes && (same || verify);) {
		size_t size = next_part(entry->bytes, at);
		if (read_all(object, store->buffer[0], size, at) < 0)
			return OBJECT_BAD;
		if (verify)
			SHA256Update(&sha, store->buffer[0], size);
		same = same && read_all(fd, store->buffer[1], size, at) == 0 &&
		       memcmp(store->buffer[0], store->buffer[1], size) == 0;
		at += size;
	}
	if (verify && !is_named(&sha, entry))
		return OBJECT_BAD;
	return same ? OBJECT_SAME : OBJECT_DIFFERS;
}

int object_damaged(const struct save_entry *entry, const char *path, struct bj_error *err)
{
	/* Not to be read is not to be damaged. */
	if (errno != ENOENT && errno != EUCLEAN)
		return fail_errno(err, BJ_INTERNAL, "%s: read what the store holds of it",
				  show(path).text);
	(void)fail(err, BJ_INTERNAL, "%s: what the store holds of it is damaged (object %s)",
		   show(path).text, object_name(entry->sha256).text);
	return fail_hint(err, "Restore another save point. Taking a new one mends the object where "
			      "the workspace still has that content.");
}

/* ---- In ---------------------------------------------------------------------------------- */

static int changed(const char *path, struct bj_error *err)
{
	(void)fail(err, BJ_INVALID, "%s changed while it was saved", show(path).text);
	return fail_hint(err, "Nothing may write to the workspace meanwhile: stop what runs there, "
			      "or try again.");
}

/* Hashes exactly entry->bytes of `fd`, and writes them to `to` unless that is -1. */
static int read_in(const struct save_store *store, int fd, int to, const char *path,
		   struct save_entry *entry, struct bj_error *err)
{
	SHA2_CTX sha;
	uint64_t at = 0;
	SHA256Init(&sha);
	for (;;) {
		/* One read more than there should be, which must find the end. */
		ssize_t n = read_at_most(fd, store->buffer[0], SAVE_BUFFER, at);
		if (n < 0)
			return fail_errno(err, BJ_INVALID, "read %s", show(path).text);
		if ((uint64_t)n > entry->bytes - at || (n == 0 && at != entry->bytes))
			return changed(path, err);
		if (n == 0)
			break;
		SHA256Update(&sha, store->buffer[0], (size_t)n);
		if (to >= 0 && write_limited(to, store->buffer[0], (size_t)n) < 0)
			return fail_errno(err, BJ_INTERNAL, "write %s into the store",
					  show(path).text);
		at += (uint64_t)n;
	}
	SHA256Final(entry->sha256, &sha);
	return 0;
}

/* Gives the temporary file its name, unless a good object has it. */
static int publish(const struct save_store *store, const char *temp, const char *path,
		   const uint8_t *doubted, const struct save_entry *entry, bool *ret_new,
		   struct bj_error *err)
{
	struct object_name name = object_name(entry->sha256);
	char folder[3] = {name.text[0], name.text[1], '\0'};
	bool trusted = !doubted || memcmp(doubted, entry->sha256, SAVE_SHA_SIZE) != 0;
	int found = object_check(store, entry);
	if (found == 0 && trusted) {
		*ret_new = false;
		return 0;
	}
	bool was_there = found == 0 || errno != ENOENT;
	if (mkdirat(store->objects_fd, folder, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, BJ_INTERNAL, "make a directory of the store for %s",
				  show(path).text);
	if (renameat(store->temp_fd, temp, store->objects_fd, name.text) < 0)
		return fail_errno(err, BJ_INTERNAL, "put %s into the store", show(path).text);
	*ret_new = !was_there;
	return 0;
}

static int no_room(const char *path, const struct object_limits *limits, struct bj_error *err)
{
	(void)fail(err, BJ_INVALID, "%s: the store would hold more than its %llu bytes",
		   show(path).text, (unsigned long long)limits->cap);
	return fail_hint(err, "Remove a save point.");
}

int object_put(const struct save_store *store, int fd, const char *path,
	       const struct object_limits *limits, const uint8_t *doubted, struct save_entry *entry,
	       bool *ret_new, struct bj_error *err)
{
	char temp[TEMP_SIZE];
	auto_close int to = -1;
	if (store_charge(entry->bytes) > limits->room) {
		/* Only what is there already still fits; nothing is written to find that out. */
		if (read_in(store, fd, -1, path, entry, err) < 0)
			return -1;
		if (object_check(store, entry) < 0 ||
		    (doubted && memcmp(doubted, entry->sha256, SAVE_SHA_SIZE) == 0))
			return no_room(path, limits, err);
		*ret_new = false;
		return 0;
	}
	if (store_temp(store, temp, &to, err) < 0)
		return -1;
	int result = read_in(store, fd, to, path, entry, err);
	/* Some file systems report a failed write only at the close. */
	if (result == 0 && close(TAKE_FD(to)) < 0)
		result = fail_errno(err, BJ_INTERNAL, "write %s into the store", show(path).text);
	if (result == 0)
		result = publish(store, temp, path, doubted, entry, ret_new, err);
	/* It is gone where it became the object. */
	(void)unlinkat(store->temp_fd, temp, 0);
	return result;
}

/* ---- Out --------------------------------------------------------------------------------- */

static bool is_zero(const unsigned char *data, size_t size)
{
	return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

/*
 * Blocks of zeros become holes: what was a sparse file may be larger than what the workspace
 * holds.
 */
static int write_sparse(int to, const unsigned char *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t end = at;
		bool hole = is_zero(data + at, size - at < BLOCK ? size - at : BLOCK);
		while (end < size &&
		       is_zero(data + end, size - end < BLOCK ? size - end : BLOCK) == hole)
			end += size - end < BLOCK ? size - end : BLOCK;
		if (hole ? lseek(to, (off_t)(end - at), SEEK_CUR) < 0
			 : write_limited(to, data + at, end - at) < 0)
			return -1;
		at = end;
	}
	return 0;
}

int object_write_out(const struct save_store *store, const struct save_entry *entry, int to,
		     const char *path, struct bj_error *err)
{
	auto_close int object = open_object(store, entry);
	SHA2_CTX sha;
	if (object < 0)
		return object_damaged(entry, path, err);
	SHA256Init(&sha);
	for (uint64_t at = 0; at < entry->bytes;) {
		size_t size = next_part(entry->bytes, at);
		if (read_all(object, store->buffer[0], size, at) < 0)
			return object_damaged(entry, path, err);
		SHA256Update(&sha, store->buffer[0], size);
		if (write_sparse(to, store->buffer[0], size) < 0)
			return fail_errno(err, BJ_INVALID, "write %s", show(path).text);
		at += size;
	}
	if (!is_named(&sha, entry))
		return object_damaged(entry, path, err);
	if (ftruncate(to, (off_t)entry->bytes) < 0)
		return fail_errno(err, BJ_INVALID, "write %s", show(path).text);
	return 0;
}
