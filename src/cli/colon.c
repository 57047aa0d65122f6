/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments with two halves: see colon.h. */
#include "cli/colon.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

static char *unescaped(const char *from, size_t len)
{
	char *text = malloc(len + 1);
	if (!text)
		return NULL;
	size_t used = 0;
	for (size_t i = 0; i < len; i++) {
		if (from[i] == '\\' && i + 1 < len && from[i + 1] == ':')
			continue;
		text[used++] = from[i];
	}
	text[used] = '\0';
	return text;
}

int colon_split(const char *option, const char *text, char **ret_left, char **ret_right,
		struct bj_error *err)
{
	const char *colon = NULL;
	for (const char *c = text; *c; c++)
		if (*c == ':' && (c == text || c[-1] != '\\'))
			colon = c;
	size_t left_len = colon ? (size_t)(colon - text) : strlen(text);
	char quoted[TEXT_VALUE_SIZE];
	if (left_len == 0)
		return fail(err, BJ_INVALID, "--%s %s: it names nothing", option,
			    text_quote(quoted, sizeof(quoted), text));
	auto_free char *left = unescaped(text, left_len);
	auto_free char *right = NULL;
	if (colon && colon[1])
		right = unescaped(colon + 1, strlen(colon + 1));
	if (!left || (colon && colon[1] && !right))
		return fail(err, BJ_INTERNAL, "out of memory");
	*ret_left = TAKE_PTR(left);
	*ret_right = TAKE_PTR(right);
	return 0;
}
