/* SPDX-License-Identifier: Apache-2.0 */
/* Names as text and back: see live.h. */
#include "files/live.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

size_t files_name_text(const char *name, size_t size, char *text)
{
	static const char digit[] = "0123456789abcdef";
	char *out = text;
	for (size_t at = 0; at < size;) {
		uint32_t point = 0;
		size_t length = text_utf8(name + at, size - at, &point);
		if (name[at] == '\\') {
			*out++ = '\\';
			*out++ = '\\';
			at++;
			continue;
		}
		if (length && text_printable(point)) {
			memcpy(out, name + at, length);
			out += length;
			at += length;
			continue;
		}
		/* The whole of a character that is not printable: none of its bytes is one alone.
		 */
		for (size_t end = at + (length ? length : 1); at < end; at++) {
			*out++ = '\\';
			*out++ = 'x';
			*out++ = digit[(uint8_t)name[at] >> 4];
			*out++ = digit[(uint8_t)name[at] & 15];
		}
	}
	*out = '\0';
	return (size_t)(out - text);
}

static int value_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int files_text_name(const char *text, size_t size, char *name, size_t *ret_size,
		    struct bj_error *err)
{
	char *out = name;
	for (size_t at = 0; at < size;) {
		if (text[at] != '\\') {
			*out++ = text[at++];
			continue;
		}
		if (size - at >= 2 && text[at + 1] == '\\') {
			*out++ = '\\';
			at += 2;
			continue;
		}
		int high = size - at >= 4 && text[at + 1] == 'x' ? value_of(text[at + 2]) : -1;
		int low = high >= 0 ? value_of(text[at + 3]) : -1;
		if (low < 0) {
			(void)fail(err, BJ_INVALID,
				   "the name has a \"\\\" at byte %zu that begins neither \"\\\\\" "
				   "nor \"\\xNN\"",
				   at);
			return fail_hint(err, "A backslash itself is written \"\\\\\".");
		}
		*out++ = (char)(high * 16 + low);
		at += 4;
	}
	*out = '\0';
	*ret_size = (size_t)(out - name);
	return 0;
}
