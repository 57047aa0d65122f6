/* SPDX-License-Identifier: Apache-2.0 */
/* The one judge of names below a workspace. */
#include "files/files.h"

#include "base/child_code.h"

#include <string.h>

CHILD_CODE const char *files_name_check(const char *name, size_t size)
{
	if (size == 0)
		return "is empty";
	if (size > FILES_NAME_MAX)
		return "is longer than 4095 bytes";
	if (memchr(name, '\0', size))
		return "contains a NUL byte";
	if (name[0] == '/')
		return "is absolute; names are below the workspace";
	for (size_t start = 0; start <= size;) {
		const char *part = name + start;
		const char *slash = memchr(part, '/', size - start);
		size_t length = slash ? (size_t)(slash - part) : size - start;
		if (length == 0)
			return "has an empty component (a doubled or a last \"/\")";
		if (length > FILES_PART_MAX)
			return "has a component longer than 255 bytes";
		if (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')))
			return "has a component \".\" or \"..\"";
		start += length + 1;
	}
	return NULL;
}
