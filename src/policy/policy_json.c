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
 * jansson parses; where in the text a value is, a cursor knows (policy_cursor.h).
 */
#include "policy/policy_cursor.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- Fields -------------------------------------------------------------------------------- */

static int wrong_type(const struct cursor *c, enum field_id id, size_t key_at, struct bj_error *err)
{
	char where[WHERE_SIZE], range[96];
	return fail(err, BJ_INVALID, "%s: %s: the value must be a number or a string; %s",
		    cursor_place(c, key_at, where), policy_fields[id].name,
		    field_range(id, range, sizeof(range)));
}

static int decode_number(struct cursor *c, enum field_id id, size_t key_at, const json_t *value,
			 struct overlay *overlay, struct bj_error *err)
{
	struct token token = {0};
	char where[WHERE_SIZE];
	auto_free char *raw = NULL;

	(void)cursor_token(c, &token);
	if (json_is_string(value))
		raw = strdup(json_string_value(value));
	else if (json_is_number(value))
		raw = strndup(c->text + token.start, token.end - token.start);
	else
		return wrong_type(c, id, key_at, err);
	if (!raw)
		return fail(err, BJ_INTERNAL, "out of memory");
	if (field_parse(id, raw, "", &overlay->number[id], NULL) == 0)
		return 0;
	return field_parse(id, raw, cursor_place(c, key_at, where), &overlay->number[id], err);
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

static int wrong_item(const struct cursor *c, size_t at, enum field_id id, const char *item,
		      const char *reason, struct bj_error *err)
{
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE];
	const char *meant = id == FIELD_accept_missing ? acceptable_meant(item) : NULL;

	(void)fail(err, BJ_INVALID, "%s: %s %s: %s", cursor_place(c, at, where),
		   policy_fields[id].name, text_quote(shown, sizeof(shown), item), reason);
	return meant ? fail_hint(err, "did you mean %s?", meant) : -1;
}

static int decode_items(struct cursor *c, enum field_id id, const json_t *array, char **items,
			struct bj_error *err)
{
	size_t index = 0;
	json_t *value = NULL;

	cursor_skip(c); /* [ */
	json_array_foreach (array, index, value) {
		size_t at = cursor_next(c);
		const char *item = json_string_value(value);
		if (!item)
			return cursor_wrong(c, at, policy_fields[id].name, "a list holds strings",
					    err);
		const char *reason = refuse_item(id, item);
		for (size_t i = 0; !reason && i < index; i++) {
			if (strcmp(items[i], item) == 0)
				reason = "repeated";
		}
		if (reason)
			return wrong_item(c, at, id, item, reason, err);
		items[index] = strdup(item);
		if (!items[index])
			return fail(err, BJ_INTERNAL, "out of memory");
		cursor_skip(c);
	}
	cursor_leave(c);
	return 0;
}

/* Some lists are the operator's alone, and no profile's. */
static bool may_set(const struct cursor *c, enum field_id id, bool in_profile)
{
	return !policy_fields[id].ceiling_only || (c->kind == FILE_OF_OPERATOR && !in_profile);
}

static int decode_list(struct cursor *c, enum field_id id, size_t key_at, const json_t *value,
		       bool in_profile, struct overlay *overlay, struct bj_error *err)
{
	const char *name = policy_fields[id].name;

	if (!may_set(c, id, in_profile)) {
		(void)cursor_wrong(c, key_at, name,
				   "only the operator may set it, at the top of " OPERATOR_FILE,
				   err);
		if (err)
			err->code = BJ_REFUSED;
		return -1;
	}
	if (!json_is_array(value))
		return cursor_wrong(c, key_at, name, "the value must be a list of strings", err);
	if (json_array_size(value) > POLICY_LIST_MAX)
		return cursor_wrong(c, key_at, name, "more than 64 in the list", err);
	overlay->list[id] = calloc(json_array_size(value) + 1, sizeof(char *));
	if (!overlay->list[id])
		return fail(err, BJ_INTERNAL, "out of memory");
	return decode_items(c, id, value, overlay->list[id], err);
}

static enum field_id exact_field(const char *key)
{
	enum field_id id = field_by_name(key);
	return id != FIELD_COUNT && strcmp(policy_fields[id].name, key) == 0 ? id : FIELD_COUNT;
}

static int unknown_key(const struct cursor *c, size_t at, const char *key, bool in_profile,
		       struct bj_error *err)
{
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE], known[400];
	const char *meant = field_meant(key, !in_profile);
	size_t used = 0;

	(void)fail(err, BJ_INVALID, "%s: unknown key %s", cursor_place(c, at, where),
		   text_quote(shown, sizeof(shown), key));
	if (meant)
		return fail_hint(err, "did you mean %s?", meant);
	for (int id = 0; id < FIELD_COUNT && used < sizeof(known); id++) {
		if (!may_set(c, (enum field_id)id, in_profile))
			continue;
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", id ? ", " : "",
					 policy_fields[id].name);
	}
	return fail_hint(err, "keys: %s%s", known, in_profile ? "" : ", profiles");
}

static int decode_field(struct cursor *c, const char *key, size_t key_at, const json_t *value,
			bool in_profile, struct overlay *overlay, struct bj_error *err)
{
	enum field_id id = exact_field(key);

	if (id == FIELD_COUNT)
		return unknown_key(c, key_at, key, in_profile, err);
	overlay->has[id] = true;
	if (policy_fields[id].unit == UNIT_LIST)
		return decode_list(c, id, key_at, value, in_profile, overlay, err);
	return decode_number(c, id, key_at, value, overlay, err);
}

/* ---- Profiles ------------------------------------------------------------------------------ */

static const char *refuse_profile_name(const char *name)
{
	size_t length = strlen(name);

	if (strcmp(name, "agent") == 0)
		return "the profile agent is built in and cannot be changed";
	if (length == 0 || length > PROFILE_NAME_MAX || strchr("._-", name[0]) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != length)
		return "the name of a profile is 1 to 32 of a-z, 0-9, '.', '_', '-', the first a "
		       "letter or digit";
	return NULL;
}

static int decode_profile(struct cursor *c, const char *name, size_t name_at, json_t *object,
			  struct overlay *profile, struct bj_error *err)
{
	const char *key = NULL, *reason = refuse_profile_name(name);
	char where[WHERE_SIZE], shown[TEXT_VALUE_SIZE];
	json_t *value = NULL;

	if (!reason && !json_is_object(object))
		reason = "a profile is an object of fields";
	if (reason)
		return fail(err, BJ_INVALID, "%s: profile %s: %s", cursor_place(c, name_at, where),
			    text_quote(shown, sizeof(shown), name), reason);
	profile->name = strdup(name);
	if (!profile->name)
		return fail(err, BJ_INTERNAL, "out of memory");
	cursor_skip(c); /* { */
	json_object_foreach (object, key, value) {
		size_t key_at = 0;
		if (cursor_enter(c, key, &key_at, err) < 0 ||
		    decode_field(c, key, key_at, value, true, profile, err) < 0)
			return -1;
	}
	cursor_leave(c);
	return 0;
}

static int decode_profiles(struct cursor *c, size_t key_at, json_t *object,
			   struct policy_file *file, struct bj_error *err)
{
	const char *name = NULL;
	json_t *value = NULL;

	if (!json_is_object(object))
		return cursor_wrong(c, key_at, "profiles",
				    "the value must be an object of profiles", err);
	if (json_object_size(object) > POLICY_PROFILES_MAX)
		return cursor_wrong(c, key_at, "profiles", "more than 64 of them", err);
	file->profiles = calloc(json_object_size(object) + 1, sizeof(*file->profiles));
	if (!file->profiles)
		return fail(err, BJ_INTERNAL, "out of memory");
	cursor_skip(c); /* { */
	json_object_foreach (object, name, value) {
		size_t name_at = 0;
		struct overlay *profile = &file->profiles[file->profile_count++];
		if (cursor_enter(c, name, &name_at, err) < 0 ||
		    decode_profile(c, name, name_at, value, profile, err) < 0)
			return -1;
	}
	cursor_leave(c);
	return 0;
}

/* ---- The file ------------------------------------------------------------------------------ */

static int decode_top(struct cursor *c, json_t *object, struct policy_file *file,
		      struct bj_error *err)
{
	const char *key = NULL;
	json_t *value = NULL;
	char where[WHERE_SIZE];

	c->at = 0;
	size_t start = cursor_next(c);
	if (!json_is_object(object))
		return fail(err, BJ_INVALID, "%s: a policy file is an object, { ... }",
			    cursor_place(c, start, where));
	cursor_skip(c); /* { */
	json_object_foreach (object, key, value) {
		size_t key_at = 0;
		if (cursor_enter(c, key, &key_at, err) < 0)
			return -1;
		int done = strcmp(key, "profiles") == 0
				   ? decode_profiles(c, key_at, value, file, err)
				   : decode_field(c, key, key_at, value, false, &file->top, err);
		if (done < 0)
			return -1;
	}
	return 0;
}

int policy_file_decode(const char *text, size_t size, const char *path, enum policy_file_kind kind,
		       struct policy_file **ret, struct bj_error *err)
{
	struct cursor c = {.text = text, .size = size, .path = path, .kind = kind};
	json_error_t error = {0};

	if (cursor_check(&c, err) < 0)
		return -1;
	json_auto_t *object =
		json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
	if (!object)
		return cursor_syntax_error(&c, &error, err);

	auto_policy_file struct policy_file *file = calloc(1, sizeof(*file));
	if (!file)
		return fail(err, BJ_INTERNAL, "out of memory");
	file->references = 1;
	file->path = strdup(path);
	if (!file->path)
		return fail(err, BJ_INTERNAL, "out of memory");
	if (decode_top(&c, object, file, err) < 0)
		return -1;
	*ret = TAKE_PTR(file);
	return 0;
}
