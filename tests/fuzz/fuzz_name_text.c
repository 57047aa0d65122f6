/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes names as text and back: as a name, and as a text that somebody wrote. */
#include "base/text.h"
#include "files/live.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of its exact size, so that reading or writing past the end is seen. */
static char *buffer(size_t size)
{
	char *made = malloc(size ? size : 1);
	if (!made)
		abort();
	return made;
}

static void there_and_back(const char *name, size_t size)
{
	struct bj_error err;
	size_t back_size = 0;
	uint32_t point = 0;
	char *text = buffer(4 * size + 1);
	size_t length = files_name_text(name, size, text);
	if (length > 4 * size || text[length] != '\0' || strlen(text) != length)
		abort();
	for (size_t at = 0, step; at < length; at += step) {
		step = text_utf8(text + at, length - at, &point);
		if (step == 0 || !text_printable(point))
			abort();
	}
	char *back = buffer(length + 1);
	if (files_text_name(text, length, back, &back_size, &err) < 0 || back_size != size ||
	    (size && memcmp(back, name, size) != 0))
		abort();
	free(back);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bj_error err = {0};
	size_t name_size = 0;
	if (size > FILES_NAME_MAX)
		return 0;
	char *given = buffer(size), *name = buffer(size + 1);
	if (size)
		memcpy(given, data, size);
	there_and_back(given, size);
	if (files_text_name(given, size, name, &name_size, &err) == 0)
		there_and_back(name, name_size);
	else if (err.code != BJ_INVALID)
		abort();
	free(name);
	free(given);
	return 0;
}
