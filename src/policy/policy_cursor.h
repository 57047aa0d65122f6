/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the text of a policy file a value is. jansson keeps no positions, so its decoder goes
 * through the text a second time, in step with jansson's objects, which list their members in the
 * order of the text. That text is known to be valid JSON by then, so the cursor needs no checks but
 * of its bounds; should the two ever disagree, the file is refused.
 */
#ifndef POLICY_POLICY_CURSOR_H
#define POLICY_POLICY_CURSOR_H

#include "base/text.h"
#include "policy/policy_file.h"

#include <jansson.h>

struct cursor {
	const char *text;
	size_t size;
	size_t at;
	const char *path; /* for messages */
	enum policy_file_kind kind;
};

struct token {
	size_t start, end;
};

#define WHERE_SIZE (TEXT_PATH_SIZE + 40)

/* "policy.json, line 3, column 5"; columns count characters, as editors do. */
const char *cursor_place(const struct cursor *c, size_t offset, char out[WHERE_SIZE]);

/* Refuses what is at `offset`: place, name and reason. Returns -1. */
int cursor_wrong(const struct cursor *c, size_t offset, const char *name, const char *reason,
		 struct bj_error *err);

/* To where the next key, value or closing bracket begins; returns that. */
size_t cursor_next(struct cursor *c);

/* Over the string, bracket, separator or word that begins here. Also for text that is no JSON. */
void cursor_skip(struct cursor *c);

/* The same after white space, and where it was; false at the end. */
bool cursor_token(struct cursor *c, struct token *ret);

/* Over the key, which must be jansson's, to its value. */
int cursor_enter(struct cursor *c, const char *key, size_t *ret_key_at, struct bj_error *err);

/* Over the closing bracket that comes next. */
void cursor_leave(struct cursor *c);

/* Before jansson: the size, UTF-8 and no NUL. */
int cursor_check(const struct cursor *c, struct bj_error *err);

/* What jansson refused, at the token where it stopped. Returns -1. */
int cursor_syntax_error(struct cursor *c, const json_error_t *error, struct bj_error *err);

#endif
