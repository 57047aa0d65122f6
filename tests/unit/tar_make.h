/* SPDX-License-Identifier: Apache-2.0 */
/* Archives as no honest tar writes them: a header a call, with what the test wants in it. */
#ifndef TESTS_TAR_MAKE_H
#define TESTS_TAR_MAKE_H

#include <stddef.h>
#include <stdint.h>

struct tar_made {
	char data[64 * 1024];
	size_t size;
	char pax[2048]; /* records for the entry that comes next */
	size_t pax_size;
};

/* One ustar entry; `size` of `data` and what the header says may differ. */
struct tar_entry {
	const char *name, *link;
	char type;	  /* '0' file, '5' directory, … ; 0: '0' */
	unsigned mode;	  /* 0: 0644 */
	const void *data; /* a text, where `size` is 0 */
	size_t size;
	uint64_t says; /* 0: the true size */
};

void tar_add(struct tar_made *tar, struct tar_entry entry);
/* A pax record for the entry that follows; `value` may have NUL bytes where `size` is not 0. */
void tar_add_pax(struct tar_made *tar, const char *key, const char *value, size_t size);
void tar_end(struct tar_made *tar);

#endif
