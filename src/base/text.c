/* SPDX-License-Identifier: Apache-2.0 */
/* Making foreign text fit for a message: see text.h. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

size_t text_utf8(const char *s, size_t size, uint32_t *ret_point)
{
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = {
		{0x80, 0x00, 0},
		{0xe0, 0xc0, 0x80},
		{0xf0, 0xe0, 0x800},
		{0xf8, 0xf0, 0x10000},
	};
	if (size == 0)
		return 0;
	uint8_t first = (uint8_t)s[0];
	for (size_t more = 0; more < 4; more++) {
		if ((first & forms[more].mask) != forms[more].lead)
			continue;
		if (more >= size)
			return 0;
		uint32_t point = first & (uint8_t)~forms[more].mask;
		for (size_t i = 1; i <= more; i++) {
			uint8_t byte = (uint8_t)s[i];
			if ((byte & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (byte & 0x3f);
		}
		if (point < forms[more].least || point > 0x10ffff ||
		    (point >= 0xd800 && point <= 0xdfff))
			return 0;
		*ret_point = point;
		return more + 1;
	}
	return 0;
}

bool text_printable(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x0000, 0x001f},    {0x007f, 0x009f}, /* controls, C0 and C1 */
		{0x00ad, 0x00ad},		       /* soft hyphen */
		{0x034f, 0x034f},		       /* grapheme joiner */
		{0x061c, 0x061c},		       /* Arabic letter mark */
		{0x115f, 0x1160},		       /* Hangul fillers */
		{0x17b4, 0x17b5},		       /* Khmer inherent vowels */
		{0x180b, 0x180f},		       /* Mongolian selectors */
		{0x200b, 0x200f},		       /* zero width, direction marks */
		{0x2028, 0x202e},		       /* separators, direction overrides */
		{0x2060, 0x206f},		       /* invisible operators, isolates */
		{0x3164, 0x3164},		       /* Hangul filler */
		{0xe000, 0xf8ff},		       /* private use */
		{0xfe00, 0xfe0f},		       /* variation selectors */
		{0xfeff, 0xfeff},    {0xffa0, 0xffa0}, /* byte order mark, filler */
		{0xfff0, 0xfffb},		       /* interlinear annotation */
		{0xfffe, 0xffff},		       /* no characters */
		{0x1d173, 0x1d17a},		       /* musical controls */
		{0xe0000, 0x10ffff},		       /* tags, private use */
	};
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (point >= hidden[i].first && point <= hidden[i].last)
			return false;
	}
	return true;
}

/* One character of `s`, as it is to be written: into `piece`. Returns the bytes read. */
static size_t next_piece(const char *s, bool quoted, char piece[20])
{
	static const char named[][2] = {{'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}};
	uint32_t point = 0;
	size_t length = text_utf8(s, strnlen(s, 4), &point);

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (s[0] == named[i][0]) {
			(void)snprintf(piece, 20, "\\%c", named[i][1]);
			return 1;
		}
	}
	if (quoted && (s[0] == '"' || s[0] == '\\')) {
		(void)snprintf(piece, 20, "\\%c", s[0]);
		return 1;
	}
	if (length && text_printable(point)) {
		memcpy(piece, s, length);
		piece[length] = '\0';
		return length;
	}
	size_t used = 0;
	for (size_t i = 0; i < (length ? length : 1); i++)
		used += (size_t)snprintf(piece + used, 20 - used, "\\x%02x", (uint8_t)s[i]);
	return length ? length : 1;
}

/* Escapes `s` to at most `room` bytes without the NUL. Returns the bytes written. */
static size_t escape(char *out, size_t room, const char *s, bool quoted, bool *ret_cut)
{
	size_t used = 0;
	while (*s) {
		char piece[20];
		size_t read = next_piece(s, quoted, piece);
		size_t length = strlen(piece);
		if (length > room - used) {
			*ret_cut = true;
			return used;
		}
		memcpy(out + used, piece, length);
		used += length;
		s += read;
	}
	*ret_cut = false;
	return used;
}

/* Where all fits but for the room kept for the mark, the mark is not needed: tried first. */
static const char *bounded(char *out, size_t size, const char *s, const char *quote)
{
	const size_t quotes = 2 * strlen(quote);
	const char *end = "";
	bool cut = false;

	if (size < 8) {
		if (size > 0)
			out[0] = '\0';
		return out;
	}
	if (!s) {
		(void)snprintf(out, size, "(null)");
		return out;
	}
	char *body = out + strlen(quote);
	memcpy(out, quote, strlen(quote));
	size_t used = escape(body, size - 1 - quotes, s, quotes > 0, &cut);
	if (cut) {
		end = "...";
		used = escape(body, size - 1 - quotes - strlen(end), s, quotes > 0, &cut);
	}
	(void)snprintf(body + used, size - used - strlen(quote), "%s%s", quote, end);
	return out;
}

const char *text_quote(char *out, size_t size, const char *s)
{
	return bounded(out, size, s, "\"");
}

const char *text_escape(char *out, size_t size, const char *s)
{
	return bounded(out, size, s, "");
}
