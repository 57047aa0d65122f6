/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the judge of names against a second, plainer one.
 */
#include "files/files.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same rules, read one byte at a time. */
static bool plainly_good(const char *name, size_t size)
{
	size_t length = 0, dots = 0;
	if (size > FILES_NAME_MAX)
		return false;
	for (size_t i = 0; i <= size; i++) {
		if (i < size && name[i] == '\0')
			return false;
		if (i < size && name[i] != '/') {
			length++;
			dots += name[i] == '.';
			continue;
		}
		if (length == 0 || length > FILES_PART_MAX || (dots == length && length <= 2))
			return false;
		length = dots = 0;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of its own, so that reading past the end is seen. */
	char *name = malloc(size ? size : 1);
	if (!name)
		abort();
	memcpy(name, data, size);
	const char *why = files_name_check(name, size);
	if ((why == NULL) != plainly_good(name, size) || (why && !*why))
		abort();
	free(name);
	return 0;
}
