/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pack: a directory of the host in a sealed memfd, for init to unpack. struct pack_head, then
 * for each entry a struct pack_entry, its path below the directory (no NUL), and its bytes.
 * A directory comes before what is in it.
 */
#ifndef FILES_PACK_H
#define FILES_PACK_H

#include "files/files.h"

#include <stdint.h>

#define PACK_MAGIC UINT64_C(0x31304b4341504a42) /* "BJPACK01" */

struct pack_head {
	uint64_t magic;
	uint64_t size; /* of the whole pack */
};

struct pack_entry {
	uint32_t mode; /* S_IFREG | 0644 or 0755, S_IFDIR | 0755 */
	uint32_t path_size;
	uint64_t bytes; /* 0 for a directory */
};

/* Packs what is in the directory `dir_fd`; `path` is its name for messages. */
int pack_directory(int dir_fd, const char *path, const struct files_caps *caps,
		   struct files_input *ret, struct bj_error *err);

#endif
