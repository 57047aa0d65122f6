/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fields, and their values as text. */
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "base/text.h"
#include "policy/policy_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(id_, name_, unit_, standard_, min_, max_, ceiling_, layer_, metavar_, text_)        \
	[FIELD_##id_] = {.name = (name_),                                                          \
			 .unit = UNIT_##unit_,                                                     \
			 .standard = UINT64_C(standard_),                                          \
			 .min = UINT64_C(min_),                                                    \
			 .max = UINT64_C(max_),                                                    \
			 .ceiling = (ceiling_),                                                    \
			 .layer = LAYER_##layer_,                                                  \
			 .metavar = (metavar_),                                                    \
			 .text = (text_)},
#define LIST(id_, name_, who_, layer_, text_)                                                      \
	[FIELD_##id_] = {.name = (name_),                                                          \
			 .unit = UNIT_LIST,                                                        \
			 .ceiling_only = WHO_##who_,                                               \
			 .layer = LAYER_##layer_,                                                  \
			 .text = (text_)},
#define WHO_POLICY  false
#define WHO_CEILING true
const struct field policy_fields[FIELD_COUNT] = {
#include "policy/fields.def"
};
#undef NUMBER
#undef LIST

/* 0 never means unlimited, and every default may be used where the operator says nothing. */
#define NUMBER(id_, name_, unit_, standard_, min_, max_, ceiling_, ...)                            \
	static_assert((min_) > 0 && (min_) <= (standard_) && (standard_) <= (max_), name_);        \
	static_assert((ceiling_) == CEILING_CPUS ||                                                \
			      ((standard_) <= (ceiling_) && (ceiling_) <= (max_)),                 \
		      name_);
#define LIST(...)
#include "policy/fields.def"
#undef NUMBER
#undef LIST

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
			return false;
	}
	return *a == *b;
}

enum field_id field_by_name(const char *name)
{
	for (int id = 0; id < FIELD_COUNT; id++) {
		if (same_name(name, policy_fields[id].name))
			return (enum field_id)id;
	}
	return FIELD_COUNT;
}

const char *field_meant(const char *key, bool at_top)
{
	struct suggestion suggestion = {.meant = key};
	for (int id = 0; id < FIELD_COUNT; id++)
		suggest_add(&suggestion, policy_fields[id].name);
	if (at_top)
		suggest_add(&suggestion, "profiles");
	return suggest_best(&suggestion);
}

/* The largest unit of which the value is a whole number. */
static const char *format_size(uint64_t value, char text[32])
{
	static const char units[] = "\0kmgt";
	size_t unit = 0;

	while (unit + 1 < sizeof(units) - 1 && value != 0 && value % 1024 == 0) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(text, 32, "%" PRIu64 "%.1s", value, units + unit);
	return text;
}

/* value / 1000, without zeros at its end. */
static const char *format_thousandths(uint64_t value, const char *unit, char text[32])
{
	unsigned part = (unsigned)(value % 1000);
	int places = 3;

	while (places > 0 && part % 10 == 0) {
		part /= 10;
		places--;
	}
	if (places == 0)
		(void)snprintf(text, 32, "%" PRIu64 "%s", value / 1000, unit);
	else
		(void)snprintf(text, 32, "%" PRIu64 ".%0*u%s", value / 1000, places, part, unit);
	return text;
}

static const char *format_time(uint64_t value, char text[32])
{
	if (value < 1000)
		(void)snprintf(text, 32, "%" PRIu64 "ms", value);
	else if (value % 3600000 == 0)
		(void)snprintf(text, 32, "%" PRIu64 "h", value / 3600000);
	else if (value % 60000 == 0)
		(void)snprintf(text, 32, "%" PRIu64 "m", value / 60000);
	else
		(void)format_thousandths(value, "s", text);
	return text;
}

const char *policy_format(enum field_unit unit, uint64_t value, char text[32])
{
	switch (unit) {
	case UNIT_SIZE:
		return format_size(value, text);
	case UNIT_TIME:
		return format_time(value, text);
	case UNIT_MILLI:
		return format_thousandths(value, "", text);
	case UNIT_COUNT:
	case UNIT_LIST:
		break;
	}
	(void)snprintf(text, 32, "%" PRIu64, value);
	return text;
}

const char *field_range(enum field_id id, char *out, size_t size)
{
	const struct field *field = &policy_fields[id];
	char min[32], max[32];

	(void)snprintf(out, size, "the range is %s to %s",
		       policy_format(field->unit, field->min, min),
		       policy_format(field->unit, field->max, max));
	return out;
}

static int parse_unit(enum field_unit unit, const char *text, uint64_t *ret, struct bj_error *err)
{
	switch (unit) {
	case UNIT_SIZE:
		return parse_size(text, ret, err);
	case UNIT_TIME:
		return parse_time(text, ret, err);
	case UNIT_MILLI:
		return parse_milli(text, ret, err);
	case UNIT_COUNT:
		return parse_count(text, ret, err);
	case UNIT_LIST:
		break;
	}
	return fail(err, BJ_INVALID, "a list, not a number");
}

int field_parse(enum field_id id, const char *text, const char *where, uint64_t *ret,
		struct bj_error *err)
{
	const struct field *field = &policy_fields[id];
	const char *reason = NULL;
	struct bj_error form;
	uint64_t value = 0;

	if (parse_unit(field->unit, text, &value, &form) < 0)
		reason = form.message;
	else if (value == 0)
		reason = "0 never means unlimited";
	else if (value < field->min)
		reason = "too small";
	else if (value > field->max)
		reason = "too large";
	if (!reason) {
		*ret = value;
		return 0;
	}
	char place[TEXT_PATH_SIZE + 40], shown[TEXT_VALUE_SIZE], range[96];
	return fail(err, BJ_INVALID, "%s: %s %s: %s; %s", text_escape(place, sizeof(place), where),
		    field->name, text_quote(shown, sizeof(shown), text), reason,
		    field_range(id, range, sizeof(range)));
}
