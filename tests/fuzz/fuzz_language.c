/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what reads languages: the first byte chooses between a path with a file's first bytes
 * (split at the first NUL) and the text of a languages.json.
 */
#include "base/cleanup.h"
#include "run/languages.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void detect(struct languages *languages, const char *data, size_t size)
{
	auto_free char *path = strndup(data, size);
	if (!path)
		return;
	size_t len = strlen(path);
	size_t skip = len < size ? len + 1 : len;
	const struct language *row = NULL;
	struct bj_error err = {0};
	const char *const args[] = {"a", NULL};
	auto_free const char **argv = NULL;
	if (language_detect(languages, path, data + skip, size - skip, &row, &err) < 0) {
		if (err.code == BJ_OK || !err.message[0])
			abort();
		return;
	}
	if (language_argv(row, path, args, &argv, &err) == 0 && !argv[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct languages languages;
	struct bj_error err = {0};
	if (languages_builtin(&languages, &err) < 0)
		return 0;
	const char *text = (const char *)data + 1;
	if (data[0] & 1)
		detect(&languages, text, size - 1);
	else if (languages_add(&languages, "fuzz", text, size - 1, &err) == 0)
		detect(&languages, "a.lua", 5);
	else if (languages.count != LANGUAGE_COUNT)
		abort();
	languages_free(&languages);
	return 0;
}
