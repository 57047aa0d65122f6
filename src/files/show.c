/* SPDX-License-Identifier: Apache-2.0 */
#include "files/show.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* How many bytes at `s` are one character that may be shown as it is; 0: escape this byte. */
static size_t printable(const unsigned char *s, size_t size)
{
	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f && s[0] != '"' && s[0] != '\\';
	size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
	if (length == 0 || s[0] > 0xf4 || length > size)
		return 0;
	uint32_t c = s[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fU);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	bool valid = c >= least[length] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
	/* C1 controls; soft hyphen; zero-width, direction, line and paragraph marks; fillers. */
	bool hidden = c < 0xa0 || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
		      (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
		      (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
	return valid && !hidden ? length : 0;
}

/* One character or escaped byte into `out`; returns bytes taken from `s`. */
static size_t show_one(char out[8], const unsigned char *s, size_t size)
{
	size_t n = printable(s, size);
	if (n) {
		memcpy(out, s, n);
		out[n] = '\0';
		return n;
	}
	if (s[0] == '\n')
		(void)snprintf(out, 8, "\\n");
	else if (s[0] == '\t')
		(void)snprintf(out, 8, "\\t");
	else if (s[0] == '"' || s[0] == '\\')
		(void)snprintf(out, 8, "\\%c", s[0]);
	else
		(void)snprintf(out, 8, "\\x%02x", s[0]);
	return 1;
}

/* Appends what fits below `limit`; returns how much of `name` was shown. */
static size_t append(char *text, size_t *used, size_t limit, const char *name, size_t size)
{
	size_t at = 0;
	while (at < size) {
		char one[8];
		size_t n = show_one(one, (const unsigned char *)name + at, size - at);
		size_t length = strlen(one);
		if (*used + length > limit)
			break;
		memcpy(text + *used, one, length);
		*used += length;
		at += n;
	}
	return at;
}

struct shown show(const char *name)
{
	enum { TAIL = 30 }; /* bytes kept of the end of a long name; escaped at most 4 times that */
	struct shown shown = {{0}};
	size_t size = strlen(name), used = 0;
	shown.text[used++] = '"';
	size_t at = append(shown.text, &used, SHOW_SIZE - 2, name, size);
	if (at < size) {
		used = 1;
		at = append(shown.text, &used, SHOW_SIZE - 2 - 3 - (size_t)4 * TAIL, name, size);
		memcpy(shown.text + used, "...", 3);
		used += 3;
		size_t tail = size - at > TAIL ? size - TAIL : at;
		/* Not from the middle of a character. */
		while (tail < size && ((unsigned char)name[tail] & 0xc0) == 0x80)
			tail++;
		(void)append(shown.text, &used, SHOW_SIZE - 2, name + tail, size - tail);
	}
	shown.text[used++] = '"';
	shown.text[used] = '\0';
	return shown;
}

const char *show_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "of an unknown kind";
	}
}
