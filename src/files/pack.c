/* SPDX-License-Identifier: Apache-2.0 */
#include "files/pack.h"

#include "files/beneath.h"
#include "files/deliver.h"
#include "files/show.h"
#include "files/tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct pack {
	int fd;
	uint64_t bytes; /* of files, against the cap */
	const struct files_caps *caps;
	const char *path; /* the directory, for messages */
};

static int write_failed(const struct pack *pack, struct bj_error *err)
{
	return fail_errno(err, BJ_INTERNAL, "copy %s into memory", show(pack->path).text);
}

/* An entry's head. Its size in bytes is known, and written again, after they were copied. */
static int add_head(const struct pack *pack, uint32_t mode, const char *path, off_t *ret_at,
		    struct bj_error *err)
{
	struct pack_entry entry = {.mode = mode, .path_size = (uint32_t)strlen(path)};
	if (entry.path_size > FILES_NAME_MAX)
		return fail(err, BJ_INVALID, "%s: path too long", show(path).text);
	*ret_at = lseek(pack->fd, 0, SEEK_CUR);
	if (*ret_at < 0 || write_limited(pack->fd, &entry, sizeof(entry)) < 0 ||
	    write_limited(pack->fd, path, entry.path_size) < 0)
		return write_failed(pack, err);
	return 0;
}

static int add_file(struct pack *pack, const struct tree *tree, struct bj_error *err)
{
	uint32_t mode = S_IFREG | (tree->st.st_mode & 0100 ? 0755 : 0644);
	off_t at = 0;
	if (add_head(pack, mode, tree->path, &at, err) < 0)
		return -1;
	struct copied copied = {0};
	if (copy_counted(tree->fd, pack->fd, pack->caps->bytes - pack->bytes, false, tree->path,
			 &copied, err) < 0)
		return -1;
	pack->bytes += copied.bytes;
	struct pack_entry entry = {
		.mode = mode,
		.path_size = (uint32_t)strlen(tree->path),
		.bytes = copied.bytes,
	};
	if (pwrite(pack->fd, &entry, sizeof(entry), at) != sizeof(entry))
		return write_failed(pack, err);
	return 0;
}

static int add_tree(struct pack *pack, int dir_fd, struct bj_error *err)
{
	auto_tree struct tree *tree = NULL;
	struct tree_how how = {.resolve = BENEATH_HOST};
	uint64_t entries = 0;
	off_t at = 0;
	if (tree_start(&tree, dir_fd, "", how, &entries, pack->caps->entries, err) < 0)
		return -1;
	for (;;) {
		enum tree_event event;
		if (tree_next(tree, &event, err) < 0)
			return -1;
		switch (event) {
		case TREE_END:
			return 0;
		case TREE_FILE:
			if (add_file(pack, tree, err) < 0)
				return -1;
			break;
		case TREE_ENTER:
			if (add_head(pack, S_IFDIR | 0755, tree->path, &at, err) < 0)
				return -1;
			break;
		case TREE_LEAVE:
			break;
		case TREE_ODD:
			if (err)
				*err = tree->odd;
			return -1;
		}
	}
}

/* Nobody alters what was packed, whoever the descriptor reaches. */
static int seal(const struct pack *pack, struct bj_error *err)
{
	off_t size = lseek(pack->fd, 0, SEEK_CUR);
	struct pack_head head = {.magic = PACK_MAGIC, .size = (uint64_t)size};
	if (size < 0 || pwrite(pack->fd, &head, sizeof(head), 0) != sizeof(head) ||
	    fcntl(pack->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) <
		    0)
		return write_failed(pack, err);
	return 0;
}

int pack_directory(int dir_fd, const char *path, const struct files_caps *caps,
		   struct files_input *ret, struct bj_error *err)
{
	auto_close int fd = memfd_create("belljar-in", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct pack pack = {.fd = fd, .caps = caps, .path = path};
	struct pack_head head = {0};
	struct bj_error why;
	if (fd < 0 || write_limited(fd, &head, sizeof(head)) < 0)
		return write_failed(&pack, err);
	/* The tree takes its descriptor; the caller's stays the caller's. */
	int dir = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return write_failed(&pack, err);
	if (add_tree(&pack, dir, &why) < 0) {
		(void)fail(err, why.code, "%s: %s", show(path).text, why.message);
		if (err)
			err->os_error = why.os_error;
		return fail_hint(err, "%s", why.hint);
	}
	if (seal(&pack, err) < 0)
		return -1;
	*ret = (struct files_input){.fd = TAKE_FD(fd), .mode = S_IFDIR | 0755, .bytes = pack.bytes};
	return 0;
}
