/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON Schema of a policy file, from the table of fields. It says what the decoder takes, but
 * for one thing a schema cannot say of text: the range of a value that is written with a unit.
 */
#include "policy/policy_file.h"

#include "base/cleanup.h"
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const patterns[] = {
	[UNIT_SIZE] = "^(0|[1-9][0-9]*)[kmgt]?$",
	[UNIT_TIME] = "^(0|[1-9][0-9]*)(\\.[0-9]+)?(ms|s|m|h)$",
	[UNIT_COUNT] = "^(0|[1-9][0-9]*)$",
	[UNIT_MILLI] = "^(0|[1-9][0-9]*)(\\.[0-9]{1,3}0*)?$",
};

/* A number without quotes; NULL for a time, which needs its unit. */
static json_t *bare_number(const struct field *field)
{
	switch (field->unit) {
	case UNIT_SIZE:
	case UNIT_COUNT:
		return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
				 (json_int_t)field->min, "maximum", (json_int_t)field->max);
	case UNIT_MILLI:
		return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum",
				 (double)field->min / 1000, "maximum", (double)field->max / 1000);
	case UNIT_TIME:
	case UNIT_LIST:
		break;
	}
	return NULL;
}

static json_t *number_schema(enum field_id id)
{
	const struct field *field = &policy_fields[id];
	char standard[32], range[96], text[512];

	(void)snprintf(text, sizeof(text), "%s; %s", field->text,
		       field_range(id, range, sizeof(range)));
	json_t *forms = json_pack("[{s:s, s:s}, o*]", "type", "string", "pattern",
				  patterns[field->unit], bare_number(field));
	return json_pack("{s:s, s:s, s:o}", "description", text, "default",
			 policy_format(field->unit, field->standard, standard), "anyOf", forms);
}

static json_t *list_schema(enum field_id id)
{
	json_t *items = id == FIELD_accept_missing
				? json_pack("{s:[s, s]}", "enum", "cgroup", "landlock")
				: json_pack("{s:s, s:s}", "type", "string", "pattern", "^/.*[^/]$");
	return json_pack("{s:s, s:s, s:b, s:i, s:o}", "description", policy_fields[id].text, "type",
			 "array", "uniqueItems", 1, "maxItems", POLICY_LIST_MAX, "items", items);
}

/* NULL when out of memory. */
static json_t *properties(bool with_ceiling_only)
{
	json_t *all = json_object();

	for (int id = 0; id < FIELD_COUNT; id++) {
		const struct field *field = &policy_fields[id];
		if (field->ceiling_only && !with_ceiling_only)
			continue;
		json_t *one = field->unit == UNIT_LIST ? list_schema((enum field_id)id)
						       : number_schema((enum field_id)id);
		if (json_object_set_new(all, field->name, one) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

int policy_schema(bool operator_file, char **ret_json, struct bj_error *err)
{
	json_t *profile = json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0,
				    "properties", properties(false));
	json_t *profiles = json_pack(
		"{s:s, s:s, s:i, s:{s:s}, s:o}", "description", "named policies, for --profile",
		"type", "object", "maxProperties", POLICY_PROFILES_MAX, "propertyNames", "pattern",
		"^(?!agent$)[a-z0-9][a-z0-9._-]{0,31}$", "additionalProperties", profile);
	json_t *all = properties(operator_file);
	int set = json_object_set_new(all, "profiles", profiles);
	json_auto_t *schema = json_pack(
		"{s:s, s:s, s:s, s:b, s:o}", "$schema",
		"https://json-schema.org/draft/2020-12/schema", "title",
		operator_file ? "Belljar: the operator's policy file" : "Belljar: a policy file",
		"type", "object", "additionalProperties", 0, "properties", all);
	char *text = schema && set == 0 ? json_dumps(schema, JSON_INDENT(2)) : NULL;

	if (!text)
		return fail(err, BJ_INTERNAL, "out of memory");
	*ret_json = text;
	return 0;
}
