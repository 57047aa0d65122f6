/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar policy show` and `belljar policy check` */
#include "policy/policy.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/say.h"
#include "config.h"

#include <string.h>

#define CEILING_FILE BELLJAR_SYSCONFDIR "/policy.json"

#define auto_policy __attribute__((cleanup(policy_free)))

/* ---- show -------------------------------------------------------------------------------- */

static const char *value_text(const struct policy *policy, enum field_id id, char *text,
			      size_t size)
{
	const struct field *field = &policy_fields[id];
	if (field->unit != UNIT_LIST) {
		char number[32];
		(void)snprintf(text, size, "%s",
			       policy_format(field->unit, policy->number[id], number));
		return text;
	}
	size_t used = 0;
	(void)snprintf(text, size, "none");
	for (char **item = policy->list[id]; item && *item && used < size; item++) {
		char shown[TEXT_PATH_SIZE];
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 text_escape(shown, sizeof(shown), *item));
	}
	return text;
}

static json_t *list_json(char **list)
{
	json_t *array = json_array();
	for (; list && *list; list++)
		(void)json_array_append_new(array, json_string(*list));
	return array;
}

static json_t *value_json(const struct policy *policy, enum field_id id)
{
	char text[32];
	if (policy_fields[id].unit == UNIT_LIST)
		return list_json(policy->list[id]);
	return json_string(policy_format(policy_fields[id].unit, policy->number[id], text));
}

/* Raw, for programs: bytes, milliseconds, thousandths, a plain count. */
static json_t *number_json(const struct policy *policy, enum field_id id)
{
	if (policy_fields[id].unit == UNIT_LIST)
		return json_null();
	return json_integer((json_int_t)policy->number[id]);
}

static int show_json(const struct policy *policy, const struct policy *ceiling,
		     const struct bj_error *refused)
{
	json_t *fields = json_object();
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		enum field_id id = (enum field_id)i;
		const struct policy *shown = policy_fields[i].ceiling_only ? ceiling : policy;
		char origin[TEXT_PATH_SIZE], limit[TEXT_PATH_SIZE];
		(void)policy_origin_text(shown, id, origin, sizeof(origin));
		(void)policy_origin_text(ceiling, id, limit, sizeof(limit));
		json_t *row = json_pack("{s:o, s:o, s:s}", "value", value_json(shown, id), "number",
					number_json(shown, id), "origin", origin);
		if (policy_fields[i].unit != UNIT_LIST)
			(void)json_object_update_new(
				row, json_pack("{s:o, s:o, s:s}", "ceiling",
					       value_json(ceiling, id), "ceiling_number",
					       number_json(ceiling, id), "ceiling_origin", limit));
		(void)json_object_set_new(fields, policy_fields[i].name, row);
	}
	int status = say_json(json_pack("{s:s, s:b, s:o?, s:o}", "schema", "belljar.policy/1",
					"allowed", refused->code == BJ_OK, "error",
					refused->code == BJ_OK ? NULL : error_json(refused),
					"fields", fields));
	return status == STATUS_OK && refused->code != BJ_OK ? STATUS_REFUSED : status;
}

static int show_table(const struct policy *policy, const struct policy *ceiling)
{
	enum { COLUMNS = 4 };
	static char values[FIELD_COUNT][512], limits[FIELD_COUNT][32];
	static char origins[FIELD_COUNT][TEXT_PATH_SIZE];
	const char *cells[(FIELD_COUNT + 1) * COLUMNS] = {"field", "value", "ceiling", "from"};
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		enum field_id id = (enum field_id)i;
		const char **row = &cells[(i + 1) * COLUMNS];
		const struct policy *shown = policy_fields[i].ceiling_only ? ceiling : policy;
		row[0] = policy_fields[i].name;
		row[1] = value_text(shown, id, values[i], sizeof(values[i]));
		row[2] = policy_fields[i].unit == UNIT_LIST
				 ? ""
				 : value_text(ceiling, id, limits[i], sizeof(limits[i]));
		row[3] = policy_origin_text(shown, id, origins[i], sizeof(origins[i]));
	}
	say_table(stdout, cells, FIELD_COUNT + 1, COLUMNS, true);
	return say_flush(STATUS_OK);
}

static int show_schema(const struct invocation *invocation)
{
	struct bj_error err = {0};
	auto_free char *text = NULL;
	if (policy_schema(false, &text, &err) < 0)
		return say_refused(invocation, &err);
	(void)puts(text);
	return say_flush(STATUS_OK);
}

int policy_show_verb(const struct invocation *invocation)
{
	struct bj_error err = {0};
	auto_policy struct policy policy = {0};
	auto_policy struct policy ceiling = {0};
	if (option_given(invocation, OPT_SCHEMA))
		return show_schema(invocation);
	policy_init(&policy);
	policy_init(&ceiling);
	if (policy_from(invocation, &policy, &err) < 0 || ceiling_load(&ceiling, &err) < 0)
		return say_refused(invocation, &err);
	struct bj_error refused = {0};
	(void)ceiling_check(&policy, &ceiling, &refused);
	if (invocation->json)
		return show_json(&policy, &ceiling, &refused);
	int status = show_table(&policy, &ceiling);
	if (status != STATUS_OK || refused.code == BJ_OK)
		return status;
	return say_refused(invocation, &refused);
}

/* ---- check ------------------------------------------------------------------------------- */

/* The file at its top, and with each of its profiles, under the ceiling. */
static int check_user_file(const char *path, struct bj_error *err)
{
	auto_policy struct policy ceiling = {0};
	auto_policy struct policy policy = {0};
	policy_init(&ceiling);
	policy_init(&policy);
	if (ceiling_load(&ceiling, err) < 0 || policy_load(&policy, path, err) < 0 ||
	    ceiling_check(&policy, &ceiling, err) < 0)
		return -1;
	json_auto_t *root = json_load_file(path, 0, NULL);
	json_t *profiles = json_object_get(root, "profiles");
	const char *name = NULL;
	json_t *value = NULL;
	json_object_foreach (profiles, name, value) {
		auto_policy struct policy with = {0};
		policy_init(&with);
		if (policy_load(&with, path, err) < 0 || policy_profile(&with, name, err) < 0 ||
		    ceiling_check(&with, &ceiling, err) < 0)
			return -1;
	}
	return 0;
}

static int check_operator_file(struct bj_error *err)
{
	auto_policy struct policy ceiling = {0};
	policy_init(&ceiling);
	return ceiling_load(&ceiling, err);
}

int policy_check_verb(const struct invocation *invocation)
{
	struct bj_error err = {0};
	if (invocation->arg_count != 1) {
		(void)fail(&err, BJ_INVALID, "belljar policy check takes one FILE");
		return say_refused(invocation, &err);
	}
	const char *path = invocation->args[0];
	int got = strcmp(path, CEILING_FILE) == 0 ? check_operator_file(&err)
						  : check_user_file(path, &err);
	if (invocation->json) {
		json_t *error = got < 0 ? error_json(&err) : json_null();
		int status =
			say_json(json_pack("{s:s, s:b, s:o}", "schema", "belljar.policy_check/1",
					   "ok", got == 0, "error", error));
		return status == STATUS_OK && got < 0 ? STATUS_NO : status;
	}
	if (got < 0) {
		(void)say_refused(invocation, &err);
		return STATUS_NO;
	}
	char shown[TEXT_PATH_SIZE];
	(void)printf("%s: good, and within the ceiling\n", text_escape(shown, sizeof(shown), path));
	return say_flush(STATUS_OK);
}
