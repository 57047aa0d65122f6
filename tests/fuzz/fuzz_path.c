/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the judge of names against a second, plainer one, and the text that shows names: one
 * bounded line without control characters, whatever the bytes.
 */
#include "files/files.h"
#include "files/show.h"

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

static void check_shown(const char *name)
{
	struct shown shown = show(name);
	size_t size = strnlen(shown.text, sizeof(shown.text));
	if (size < 2 || size >= sizeof(shown.text) || shown.text[0] != '"' ||
	    shown.text[size - 1] != '"')
		abort();
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)shown.text[i];
		if (c < 0x20 || c == 0x7f)
			abort();
		/* C1 controls, as UTF-8. */
		if (c == 0xc2 && (unsigned char)shown.text[i + 1] < 0xa0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of its own, so that reading past the end is seen. */
	char *name = malloc(size + 1);
	char *exact = malloc(size ? size : 1);
	if (!name || !exact)
		abort();
	memcpy(name, data, size);
	memcpy(exact, data, size);
	name[size] = '\0';
	const char *why = files_name_check(exact, size);
	if ((why == NULL) != plainly_good(exact, size) || (why && !*why))
		abort();
	check_shown(name);
	free(name);
	free(exact);
	return 0;
}
