/* SPDX-License-Identifier: Apache-2.0 */
/* The table of deep checks, and the judgement: exactly what the table says, or it failed. */
#include "cli/doctor_deep.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

/* Rows say INSIDE, SMALL, … */
#define RUN(name) DEEP_RUN_##name

const struct deep_row deep_rows[DEEP_COUNT] = {
#define DEEP(id_, layer_, run_, text_, sign_, act_, where_, other_, may_)                          \
	[DEEP_##id_] = {.id = #id_,                                                                \
			.layer = LAYER_##layer_,                                                   \
			.run = RUN(run_),                                                          \
			.where = RUN(where_),                                                      \
			.text = (text_),                                                           \
			.sign = (sign_),                                                           \
			.other = (other_)},
#define ENDED(id_, layer_, text_, sign_, action_, field_, value_, other_)                          \
	[DEEP_##id_] = {.id = #id_,                                                                \
			.layer = LAYER_##layer_,                                                   \
			.run = DEEP_RUN_ENDED,                                                     \
			.where = DEEP_RUN_ENDED,                                                   \
			.text = (text_),                                                           \
			.sign = (sign_),                                                           \
			.other = (other_),                                                         \
			.action = (action_),                                                       \
			.field = (field_),                                                         \
			.value = (value_)},
#include "cli/probe/deep.def"
#undef DEEP
#undef ENDED
};
_Static_assert(DEEP_COUNT >= 40, "enough to be called deep");

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

void deep_hear(struct deep *deep, const char *line, size_t size)
{
	json_auto_t *root = json_loadb(line, size, 0, NULL);
	const char *id = text_of(root, "id"), *part = text_of(root, "part");
	size_t i = 0;
	while (i < DEEP_COUNT && strcmp(deep_rows[i].id, id) != 0)
		i++;
	if (i == DEEP_COUNT) {
		(void)fail(&deep->error, BJ_INTERNAL, "the probe says what was not asked: %.*s",
			   (int)(size < 80 ? size : 80), line);
		return;
	}
	char *got = strcmp(part, "tried") == 0 ? deep->got[i] : deep->other_got[i];
	(void)snprintf(got, DEEP_GOT_SIZE, "%s", got[0] ? "said twice" : text_of(root, "got"));
}

enum layer_id deep_layer(enum deep_id id, uint32_t without)
{
	const struct deep_row *row = &deep_rows[id];
	bool monitored = row->layer == LAYER_CGROUP && row->run == DEEP_RUN_ENDED;
	return monitored && (without & LAYER_BIT(LAYER_CGROUP)) ? LAYER_MONITOR : row->layer;
}

enum deep_state deep_judge(const struct deep *deep, enum deep_id id, uint32_t without)
{
	const char *got = deep->got[id], *other_got = deep->other_got[id];
	if (!deep->started || (without & LAYER_BIT(deep_layer(id, without))))
		return DEEP_NOT_TRIED;
	if (strcmp(got, "untried") == 0 || strcmp(other_got, "untried") == 0)
		return DEEP_NOT_TRIED;
	bool good = strcmp(got, deep_rows[id].sign) == 0 && strcmp(other_got, "works") == 0;
	return good ? DEEP_AS_EXPECTED : DEEP_FAILED;
}
