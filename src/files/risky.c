/* SPDX-License-Identifier: Apache-2.0 */
#include "files/files.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum where { IN, NAME, END };

static const struct {
	enum where where;
	const char *name;
	const char *why;
} rows[] = {
#define RISKY(where, name, why) {where, name, why},
#include "files/risky.def"
#undef RISKY
};

static bool is_in(const char *path, const char *name)
{
	size_t size = strlen(name);
	for (const char *part = path; *part;) {
		size_t length = strcspn(part, "/");
		if (length == size && strncasecmp(part, name, size) == 0)
			return true;
		part += length + (part[length] == '/');
	}
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), less = strlen(end);
	return size >= less && strcasecmp(text + size - less, end) == 0;
}

const char *files_risky(const char *path, uint32_t mode)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((rows[i].where == IN && is_in(path, rows[i].name)) ||
		    (rows[i].where == NAME && strcasecmp(last, rows[i].name) == 0) ||
		    (rows[i].where == END && ends_with(last, rows[i].name)))
			return rows[i].why;
	}
	return S_ISREG(mode) && (mode & 0100) ? "it is executable" : NULL;
}
