/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of policy files. One shape, for the user's file and the operator's:
 *
 *   {
 *     "memory": "512m",
 *     "cpus": 1.5,
 *     "accept_missing": ["landlock"],
 *     "profiles": {
 *       "research": { "time": "10m", "memory": "2g" }
 *     }
 *   }
 *
 * An object whose keys are names of fields (fields.def), and `profiles`: objects of fields by name.
 * A number means what the same text means on the command line, in quotes or without: bytes for a
 * size, whole CPUs for `cpus`; a time needs its unit and so its quotes. Nothing is guessed: unknown
 * and repeated keys, other types, signs, exponents, bad UTF-8 and NUL are refused with file, line
 * and column.
 *
 * jansson parses; it keeps no positions. So the decoder goes through the text a second time, in
 * step with jansson's objects, which list their members in the order of the text. The text is
 * known to be valid JSON by then, so the cursor needs no checks but of its bounds; should the two
 * ever disagree, the file is refused.
 */
#include "policy/policy_file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define WHERE_SIZE (TEXT_PATH_SIZE + 40)

struct decoder {
	const char *text;
	size_t size;
	size_t at; /* the cursor */
	const char *path;
	enum policy_file_kind kind;
};

/* ---- Places -------------------------------------------------------------------------------- */

/* "policy.json, line 3, column 5"; columns count characters, as editors do. */
static const char *place(const struct decoder *d, size_t offset, char out[WHERE_SIZE])
{
	char path[TEXT_PATH_SIZE];
	size_t line = 1, column = 1;

	for (size_t i = 0; i < offset && i < d->size; i++) {
		if (d->text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)d->text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	(void)snprintf(out, WHERE_SIZE, "%s, line %zu, column %zu",
		       text_escape(path, sizeof(path), d->path), line, column);
	return out;
}

static int wrong(const struct decoder *d, size_t offset, const char *name, const char *reason,
		 struct bj_error *err)
{
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE];
	return fail(err, BJ_INVALID, "%s: %s: %s", place(d, offset, where),
		    text_escape(shown, sizeof(shown), name), reason);
}

/* ---- The cursor ---------------------------------------------------------------------------- */

static bool one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

static char peek(const struct decoder *d)
{
	return d->at < d->size ? d->text[d->at] : '\0';
}

static void skip_any(struct decoder *d, const char *set)
{
	while (one_of(peek(d), set))
		d->at++;
}

/* To where the next key, value or closing bracket begins; returns that. */
static size_t next(struct decoder *d)
{
	skip_any(d, " \t\r\n,:");
	return d->at;
}

/* Over the string, bracket, separator or word that begins here. Also for text that is no JSON. */
static void skip_token(struct decoder *d)
{
	if (one_of(peek(d), "{}[],:")) {
		d->at++;
		return;
	}
	if (peek(d) != '"') {
		while (d->at < d->size && !one_of(peek(d), " \t\r\n{}[],:\""))
			d->at++;
		return;
	}
	d->at++;
	while (d->at < d->size && peek(d) != '"')
		d->at += peek(d) == '\\' ? 2 : 1;
	d->at = d->at < d->size ? d->at + 1 : d->size;
}

/* ---- What jansson refuses ------------------------------------------------------------------ */

struct token {
	size_t start, end;
};

static bool next_token(struct decoder *d, struct token *ret)
{
	skip_any(d, " \t\r\n");
	if (d->at >= d->size)
		return false;
	ret->start = d->at;
	skip_token(d);
	ret->end = d->at;
	return true;
}

static const char *token_text(const struct decoder *d, const struct token *token,
			      char out[TEXT_VALUE_SIZE])
{
	char raw[TEXT_VALUE_SIZE + 4];
	size_t start = token->start, length = token->end - token->start;

	if (d->text[start] == '"') {
		start++;
		length -= length > 1 && d->text[token->end - 1] == '"' ? 2 : 1;
	}
	(void)snprintf(raw, sizeof(raw), "%.*s", (int)(length > 200 ? 200 : length),
		       d->text + start);
	return text_quote(out, TEXT_VALUE_SIZE, raw);
}

/* The field whose key and colon these two tokens are, or FIELD_COUNT. */
static enum field_id field_of(const struct decoder *d, const struct token *key,
			      const struct token *colon)
{
	if (colon->end == 0 || d->text[colon->start] != ':' || d->text[key->start] != '"')
		return FIELD_COUNT;
	for (int id = 0; id < FIELD_COUNT; id++) {
		const char *name = policy_fields[id].name;
		if (key->end - key->start == strlen(name) + 2 &&
		    memcmp(d->text + key->start + 1, name, strlen(name)) == 0)
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
static int syntax_error(struct decoder *d, const json_error_t *error, struct bj_error *err)
{
	size_t stop = error->position > 0 ? (size_t)error->position : 0;
	bool ended = json_error_code(error) == json_error_premature_end_of_input;
	char text[JSON_ERROR_TEXT_LENGTH], where[WHERE_SIZE], shown[TEXT_VALUE_SIZE], range[96];
	struct token key = {0}, colon = {0}, token = {0};
	bool found = false;

	for (d->at = 0; !ended && !found && next_token(d, &token);) {
		found = token.end >= stop;
		if (!found) {
			key = colon;
			colon = token;
		}
	}
	const char *reason = reason_of(error, text);
	if (!found)
		return fail(err, BJ_INVALID, "%s: %s", place(d, d->size, where), reason);
	(void)place(d, token.start, where);
	(void)token_text(d, &token, shown);
	enum field_id id = field_of(d, &key, &colon);
	if (id == FIELD_COUNT)
		return fail(err, BJ_INVALID, "%s: %s: %s", where, shown, reason);
	if (policy_fields[id].unit == UNIT_LIST)
		return fail(err, BJ_INVALID, "%s: %s %s: %s", where, policy_fields[id].name, shown,
			    reason);
	return fail(err, BJ_INVALID, "%s: %s %s: %s; %s", where, policy_fields[id].name, shown,
		    reason, field_range(id, range, sizeof(range)));
}

/* ---- Fields -------------------------------------------------------------------------------- */

/* The cursor over the key, which must be jansson's, to its value. */
static int enter_member(struct decoder *d, const char *key, size_t *ret_key_at,
			struct bj_error *err)
{
	size_t start = next(d);
	bool is_string = peek(d) == '"';

	skip_token(d);
	const char *raw = d->text + start + 1;
	size_t length = is_string ? d->at - start - 2 : 0;
	bool same = is_string && (memchr(raw, '\\', length) ||
				  (length == strlen(key) && memcmp(raw, key, length) == 0));
	if (!same)
		return wrong(d, start, key, "the decoder lost its place in the file", err);
	(void)next(d);
	*ret_key_at = start;
	return 0;
}

static void leave(struct decoder *d)
{
	(void)next(d);
	skip_token(d);
}

static int wrong_type(const struct decoder *d, enum field_id id, size_t key_at,
		      struct bj_error *err)
{
	char where[WHERE_SIZE], range[96];
	return fail(err, BJ_INVALID, "%s: %s: the value must be a number or a string; %s",
		    place(d, key_at, where), policy_fields[id].name,
		    field_range(id, range, sizeof(range)));
}

static int decode_number(struct decoder *d, enum field_id id, size_t key_at, const json_t *value,
			 struct overlay *overlay, struct bj_error *err)
{
	struct token token = {0};
	char where[WHERE_SIZE];
	auto_free char *raw = NULL;

	(void)next_token(d, &token);
	if (json_is_string(value))
		raw = strdup(json_string_value(value));
	else if (json_is_number(value))
		raw = strndup(d->text + token.start, token.end - token.start);
	else
		return wrong_type(d, id, key_at, err);
	if (!raw)
		return fail(err, BJ_INTERNAL, "out of memory");
	if (field_parse(id, raw, "", &overlay->number[id], NULL) == 0)
		return 0;
	return field_parse(id, raw, place(d, key_at, where), &overlay->number[id], err);
}

/* NULL when the item may be in the list. */
static const char *refuse_item(enum field_id id, const char *item)
{
	if (id == FIELD_accept_missing)
		return acceptable_layer(item) == LAYER_COUNT
			       ? "only cgroup and landlock may be accepted as missing"
			       : NULL;
	if (!path_is_canonical(item))
		return "a directory is an absolute path without empty, \".\" or \"..\" parts "
		       "and without \"/\" at its end";
	if (item[1] == '\0')
		return "the whole host is no prefix: name directories";
	return strlen(item) < POLICY_PATH_MAX ? NULL : "too long";
}

static int wrong_item(const struct decoder *d, size_t at, enum field_id id, const char *item,
		      const char *reason, struct bj_error *err)
{
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE];
	const char *meant = id == FIELD_accept_missing ? acceptable_meant(item) : NULL;

	(void)fail(err, BJ_INVALID, "%s: %s %s: %s", place(d, at, where), policy_fields[id].name,
		   text_quote(shown, sizeof(shown), item), reason);
	return meant ? fail_hint(err, "did you mean %s?", meant) : -1;
}

static int decode_items(struct decoder *d, enum field_id id, const json_t *array, char **items,
			struct bj_error *err)
{
	size_t index = 0;
	json_t *value = NULL;

	skip_token(d); /* [ */
	json_array_foreach (array, index, value) {
		size_t at = next(d);
		const char *item = json_string_value(value);
		if (!item)
			return wrong(d, at, policy_fields[id].name, "a list holds strings", err);
		const char *reason = refuse_item(id, item);
		for (size_t i = 0; !reason && i < index; i++) {
			if (strcmp(items[i], item) == 0)
				reason = "repeated";
		}
		if (reason)
			return wrong_item(d, at, id, item, reason, err);
		items[index] = strdup(item);
		if (!items[index])
			return fail(err, BJ_INTERNAL, "out of memory");
		skip_token(d);
	}
	leave(d);
	return 0;
}

/* Some lists are the operator's alone, and no profile's. */
static bool may_set(const struct decoder *d, enum field_id id, bool in_profile)
{
	return !policy_fields[id].ceiling_only || (d->kind == FILE_OF_OPERATOR && !in_profile);
}

static int decode_list(struct decoder *d, enum field_id id, size_t key_at, const json_t *value,
		       bool in_profile, struct overlay *overlay, struct bj_error *err)
{
	const char *name = policy_fields[id].name;

	if (!may_set(d, id, in_profile)) {
		(void)wrong(d, key_at, name,
			    "only the operator may set it, at the top of " OPERATOR_FILE, err);
		if (err)
			err->code = BJ_REFUSED;
		return -1;
	}
	if (!json_is_array(value))
		return wrong(d, key_at, name, "the value must be a list of strings", err);
	if (json_array_size(value) > POLICY_LIST_MAX)
		return wrong(d, key_at, name, "more than 64 in the list", err);
	overlay->list[id] = calloc(json_array_size(value) + 1, sizeof(char *));
	if (!overlay->list[id])
		return fail(err, BJ_INTERNAL, "out of memory");
	return decode_items(d, id, value, overlay->list[id], err);
}

static enum field_id exact_field(const char *key)
{
	enum field_id id = field_by_name(key);
	return id != FIELD_COUNT && strcmp(policy_fields[id].name, key) == 0 ? id : FIELD_COUNT;
}

static int unknown_key(const struct decoder *d, size_t at, const char *key, bool in_profile,
		       struct bj_error *err)
{
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE], known[400];
	const char *meant = field_meant(key, !in_profile);
	size_t used = 0;

	(void)fail(err, BJ_INVALID, "%s: unknown key %s", place(d, at, where),
		   text_quote(shown, sizeof(shown), key));
	if (meant)
		return fail_hint(err, "did you mean %s?", meant);
	for (int id = 0; id < FIELD_COUNT && used < sizeof(known); id++) {
		if (!may_set(d, (enum field_id)id, in_profile))
			continue;
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", id ? ", " : "",
					 policy_fields[id].name);
	}
	return fail_hint(err, "keys: %s%s", known, in_profile ? "" : ", profiles");
}

static int decode_field(struct decoder *d, const char *key, size_t key_at, const json_t *value,
			bool in_profile, struct overlay *overlay, struct bj_error *err)
{
	enum field_id id = exact_field(key);

	if (id == FIELD_COUNT)
		return unknown_key(d, key_at, key, in_profile, err);
	overlay->has[id] = true;
	if (policy_fields[id].unit == UNIT_LIST)
		return decode_list(d, id, key_at, value, in_profile, overlay, err);
	return decode_number(d, id, key_at, value, overlay, err);
}

/* ---- Profiles ------------------------------------------------------------------------------ */

static const char *refuse_profile_name(const char *name)
{
	size_t length = strlen(name);

	if (strcmp(name, "agent") == 0)
		return "the profile agent is built in and cannot be changed";
	if (length == 0 || length > PROFILE_NAME_MAX || one_of(name[0], "._-") ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != length)
		return "the name of a profile is 1 to 32 of a-z, 0-9, '.', '_', '-', the first a "
		       "letter or digit";
	return NULL;
}

static int decode_profile(struct decoder *d, const char *name, size_t name_at, json_t *object,
			  struct overlay *profile, struct bj_error *err)
{
	const char *key = NULL, *reason = refuse_profile_name(name);
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE];
	json_t *value = NULL;

	if (!reason && !json_is_object(object))
		reason = "a profile is an object of fields";
	if (reason)
		return fail(err, BJ_INVALID, "%s: profile %s: %s", place(d, name_at, where),
			    text_quote(shown, sizeof(shown), name), reason);
	profile->name = strdup(name);
	if (!profile->name)
		return fail(err, BJ_INTERNAL, "out of memory");
	skip_token(d); /* { */
	json_object_foreach (object, key, value) {
		size_t key_at = 0;
		if (enter_member(d, key, &key_at, err) < 0 ||
		    decode_field(d, key, key_at, value, true, profile, err) < 0)
			return -1;
	}
	leave(d);
	return 0;
}

static int decode_profiles(struct decoder *d, size_t key_at, json_t *object,
			   struct policy_file *file, struct bj_error *err)
{
	const char *name = NULL;
	json_t *value = NULL;

	if (!json_is_object(object))
		return wrong(d, key_at, "profiles", "the value must be an object of profiles", err);
	if (json_object_size(object) > POLICY_PROFILES_MAX)
		return wrong(d, key_at, "profiles", "more than 64 of them", err);
	file->profiles = calloc(json_object_size(object) + 1, sizeof(*file->profiles));
	if (!file->profiles)
		return fail(err, BJ_INTERNAL, "out of memory");
	skip_token(d); /* { */
	json_object_foreach (object, name, value) {
		size_t name_at = 0;
		struct overlay *profile = &file->profiles[file->profile_count++];
		if (enter_member(d, name, &name_at, err) < 0 ||
		    decode_profile(d, name, name_at, value, profile, err) < 0)
			return -1;
	}
	leave(d);
	return 0;
}

/* ---- The file ------------------------------------------------------------------------------ */

static int check_bytes(const struct decoder *d, struct bj_error *err)
{
	char where[WHERE_SIZE];

	if (d->size > POLICY_FILE_MAX)
		return fail(err, BJ_INVALID, "%s: larger than 1 MiB",
			    text_escape(where, sizeof(where), d->path));
	for (size_t i = 0; i < d->size;) {
		uint32_t point = 0;
		size_t length = text_utf8(d->text + i, d->size - i, &point);
		if (length == 0)
			return fail(err, BJ_INVALID, "%s: the byte \\x%02x is not UTF-8",
				    place(d, i, where), (unsigned char)d->text[i]);
		if (point == 0)
			return fail(err, BJ_INVALID, "%s: a NUL byte", place(d, i, where));
		i += length;
	}
	return 0;
}

static int decode_top(struct decoder *d, json_t *object, struct policy_file *file,
		      struct bj_error *err)
{
	const char *key = NULL;
	json_t *value = NULL;
	char where[WHERE_SIZE];

	d->at = 0;
	size_t start = next(d);
	if (!json_is_object(object))
		return fail(err, BJ_INVALID, "%s: a policy file is an object, { ... }",
			    place(d, start, where));
	skip_token(d); /* { */
	json_object_foreach (object, key, value) {
		size_t key_at = 0;
		if (enter_member(d, key, &key_at, err) < 0)
			return -1;
		int done = strcmp(key, "profiles") == 0
				   ? decode_profiles(d, key_at, value, file, err)
				   : decode_field(d, key, key_at, value, false, &file->top, err);
		if (done < 0)
			return -1;
	}
	return 0;
}

int policy_file_decode(const char *text, size_t size, const char *path, enum policy_file_kind kind,
		       struct policy_file **ret, struct bj_error *err)
{
	struct decoder d = {.text = text, .size = size, .path = path, .kind = kind};
	json_error_t error = {0};

	if (check_bytes(&d, err) < 0)
		return -1;
	json_auto_t *object =
		json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
	if (!object)
		return syntax_error(&d, &error, err);

	auto_policy_file struct policy_file *file = calloc(1, sizeof(*file));
	if (!file)
		return fail(err, BJ_INTERNAL, "out of memory");
	file->references = 1;
	file->path = strdup(path);
	if (!file->path)
		return fail(err, BJ_INTERNAL, "out of memory");
	if (decode_top(&d, object, file, err) < 0)
		return -1;
	*ret = TAKE_PTR(file);
	return 0;
}
