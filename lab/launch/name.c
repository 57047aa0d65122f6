/* SPDX-License-Identifier: Apache-2.0 */
/* See name.h. Used between clone and exec too: nothing here allocates. */
#include "name.h"

#include "base/child_code.h"

#include <string.h>
#include <sys/auxv.h>

CHILD_CODE const char *lab_name_value(const char *key, size_t *ret_size)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	const char *word = path ? strrchr(path, '/') : NULL;
	size_t size = strlen(key);
	while (word && (word = strchr(word, '.'))) {
		word++;
		if (strncmp(word, key, size) == 0 && word[size] == '-') {
			word += size + 1;
			*ret_size = strcspn(word, ".");
			return word;
		}
	}
	return NULL;
}

bool lab_name_says(const char *key, const char *value)
{
	size_t size;
	const char *got = lab_name_value(key, &size);
	return got && size == strlen(value) && memcmp(got, value, size) == 0;
}
