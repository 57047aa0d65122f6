/* SPDX-License-Identifier: Apache-2.0 */
/* Pages made from the tables. A build tool: it is not installed. */
#ifndef CLI_DOCGEN_H
#define CLI_DOCGEN_H

#include <stdio.h>

/* docgen_man.c: what stands for "@NAME@" or "@NAME ARGUMENT@" on a line of a man source. -1: no
 * such block. */
int man_block(FILE *to, const char *block);

/* docgen_bash.c */
void bash_completion(FILE *to);

/* docgen_pages.c */
struct page {
	const char *file;
	void (*write)(FILE *to);
};
extern const struct page pages[];
extern const size_t page_count;

#endif
