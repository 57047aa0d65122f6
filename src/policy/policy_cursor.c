/* SPDX-License-Identifier: Apache-2.0 */
/* See policy_cursor.h. */
#include "policy/policy_cursor.h"

#include <stdio.h>
#include <string.h>

/* ---- Places -------------------------------------------------------------------------------- */

const char *cursor_place(const struct cursor *c, size_t offset, char out[WHERE_SIZE])
{
	char path[TEXT_PATH_SIZE];
	size_t line = 1, column = 1;

	for (size_t i = 0; i < offset && i < c->size; i++) {
		if (c->text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)c->text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	(void)snprintf(out, WHERE_SIZE, "%s, line %zu, column %zu",
		       text_escape(path, sizeof(path), c->path), line, column);
	return out;
}

int cursor_wrong(const struct cursor *c, size_t offset, const char *name, const char *reason,
		 struct bj_error *err)
{
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE];
	return fail(err, BJ_INVALID, "%s: %s: %s", cursor_place(c, offset, where),
		    text_escape(shown, sizeof(shown), name), reason);
}

/* ---- The cursor ---------------------------------------------------------------------------- */

static bool one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

static char peek(const struct cursor *c)
{
	return c->at < c->size ? c->text[c->at] : '\0';
}

static void skip_any(struct cursor *c, const char *set)
{
	while (one_of(peek(c), set))
		c->at++;
}

size_t cursor_next(struct cursor *c)
{
	skip_any(c, " \t\r\n,:");
	return c->at;
}

void cursor_skip(struct cursor *c)
{
	if (one_of(peek(c), "{}[],:")) {
		c->at++;
		return;
	}
	if (peek(c) != '"') {
		while (c->at < c->size && !one_of(peek(c), " \t\r\n{}[],:\""))
			c->at++;
		return;
	}
	c->at++;
	while (c->at < c->size && peek(c) != '"')
		c->at += peek(c) == '\\' ? 2 : 1;
	c->at = c->at < c->size ? c->at + 1 : c->size;
}

bool cursor_token(struct cursor *c, struct token *ret)
{
	skip_any(c, " \t\r\n");
	if (c->at >= c->size)
		return false;
	ret->start = c->at;
	cursor_skip(c);
	ret->end = c->at;
	return true;
}

int cursor_enter(struct cursor *c, const char *key, size_t *ret_key_at, struct bj_error *err)
{
	size_t start = cursor_next(c);
	bool is_string = peek(c) == '"';

	cursor_skip(c);
	const char *raw = c->text + start + 1;
	size_t length = is_string ? c->at - start - 2 : 0;
	bool same = is_string && (memchr(raw, '\\', length) ||
				  (length == strlen(key) && memcmp(raw, key, length) == 0));
	if (!same)
		return cursor_wrong(c, start, key, "the decoder lost its place in the file", err);
	(void)cursor_next(c);
	*ret_key_at = start;
	return 0;
}

void cursor_leave(struct cursor *c)
{
	(void)cursor_next(c);
	cursor_skip(c);
}

/* ---- What is no JSON ------------------------------------------------------------------------ */

int cursor_check(const struct cursor *c, struct bj_error *err)
{
	char where[WHERE_SIZE];

	if (c->size > POLICY_FILE_MAX)
		return fail(err, BJ_INVALID, "%s: larger than 1 MiB",
			    text_escape(where, sizeof(where), c->path));
	for (size_t i = 0; i < c->size;) {
		uint32_t point = 0;
		size_t length = text_utf8(c->text + i, c->size - i, &point);
		if (length == 0)
			return fail(err, BJ_INVALID, "%s: the byte \\x%02x is not UTF-8",
				    cursor_place(c, i, where), (unsigned char)c->text[i]);
		if (point == 0)
			return fail(err, BJ_INVALID, "%s: a NUL byte", cursor_place(c, i, where));
		i += length;
	}
	return 0;
}

static const char *token_text(const struct cursor *c, const struct token *token,
			      char out[TEXT_VALUE_SIZE])
{
	char raw[TEXT_VALUE_SIZE + 4];
	size_t start = token->start, length = token->end - token->start;

	if (c->text[start] == '"') {
		start++;
		length -= length > 1 && c->text[token->end - 1] == '"' ? 2 : 1;
	}
	(void)snprintf(raw, sizeof(raw), "%.*s", (int)(length > 200 ? 200 : length),
		       c->text + start);
	return text_quote(out, TEXT_VALUE_SIZE, raw);
}

/* The field whose key and colon these two tokens are, or FIELD_COUNT. */
static enum field_id field_of(const struct cursor *c, const struct token *key,
			      const struct token *colon)
{
	if (colon->end == 0 || c->text[colon->start] != ':' || c->text[key->start] != '"')
		return FIELD_COUNT;
	for (int id = 0; id < FIELD_COUNT; id++) {
		const char *name = policy_fields[id].name;
		if (key->end - key->start == strlen(name) + 2 &&
		    memcmp(c->text + key->start + 1, name, strlen(name)) == 0)
			return (enum field_id)id;
	}
	return FIELD_COUNT;
}

/* Without its end, which quotes the text of the file as it is. */
static const char *reason_of(const json_error_t *error, char out[JSON_ERROR_TEXT_LENGTH])
{
	enum json_error_code code = json_error_code(error);
	if (code == json_error_duplicate_key)
		return "this key is repeated";
	if (code == json_error_numeric_overflow)
		return "too large a number";
	if (code == json_error_null_character || code == json_error_null_byte_in_key)
		return "NUL is not allowed";
	char raw[JSON_ERROR_TEXT_LENGTH];
	(void)snprintf(raw, sizeof(raw), "%s", error->text);
	char *near = strstr(raw, " near '");
	if (near)
		*near = '\0';
	return text_escape(out, JSON_ERROR_TEXT_LENGTH, raw);
}

/* Finds the token at which jansson stopped, and the field that it was to be the value of. */
int cursor_syntax_error(struct cursor *c, const json_error_t *error, struct bj_error *err)
{
	size_t stop = error->position > 0 ? (size_t)error->position : 0;
	bool ended = json_error_code(error) == json_error_premature_end_of_input;
	char text[JSON_ERROR_TEXT_LENGTH], where[WHERE_SIZE], shown[TEXT_VALUE_SIZE], range[96];
	struct token key = {0}, colon = {0}, token = {0};
	bool found = false;

	for (c->at = 0; !ended && !found && cursor_token(c, &token);) {
		found = token.end >= stop;
		if (!found) {
			key = colon;
			colon = token;
		}
	}
	const char *reason = reason_of(error, text);
	if (!found)
		return fail(err, BJ_INVALID, "%s: %s", cursor_place(c, c->size, where), reason);
	(void)cursor_place(c, token.start, where);
	(void)token_text(c, &token, shown);
	enum field_id id = field_of(c, &key, &colon);
	if (id == FIELD_COUNT)
		return fail(err, BJ_INVALID, "%s: %s: %s", where, shown, reason);
	if (policy_fields[id].unit == UNIT_LIST)
		return fail(err, BJ_INVALID, "%s: %s %s: %s", where, policy_fields[id].name, shown,
			    reason);
	return fail(err, BJ_INVALID, "%s: %s %s: %s; %s", where, policy_fields[id].name, shown,
		    reason, field_range(id, range, sizeof(range)));
}
