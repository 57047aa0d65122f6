/* SPDX-License-Identifier: Apache-2.0 */
/* What came of the deep checks, for people and for programs. */
#include "base/cleanup.h"
#include "cli/doctor_deep.h"
#include "cli/say.h"

#include <string.h>

static const char *const state_names[] = {
	[DEEP_AS_EXPECTED] = "ok",
	[DEEP_FAILED] = "failed",
	[DEEP_NOT_TRIED] = "not_tried",
};
_Static_assert(ARRAY_SIZE(state_names) == DEEP_STATE_COUNT, "a name for each state");

static const char *mark(enum deep_state state)
{
	static const char *const plain[] = {"ok", "NO", "--"};
	static const char *const fancy[] = {"✔", "✘", "–"};
	return say_unicode() ? fancy[state] : plain[state];
}

static const char *or_nothing(const char *got)
{
	return got[0] ? got : "nothing";
}

static const char *how(const struct deep *deep, enum deep_id id, enum deep_state state, char *text,
		       size_t size)
{
	const struct deep_row *row = &deep_rows[id];
	if (state == DEEP_NOT_TRIED)
		(void)snprintf(text, size, "%s: not tried here", row->text);
	else if (state == DEEP_AS_EXPECTED)
		(void)snprintf(text, size, "%s (%s). works: %s", row->text, deep->got[id],
			       row->other);
	else
		(void)snprintf(text, size, "FAILED: %s (%s; must be %s). %s (%s; must work)",
			       row->text, or_nothing(deep->got[id]), row->sign, row->other,
			       or_nothing(deep->other_got[id]));
	return text;
}

static size_t widest_id(void)
{
	size_t width = 0;
	for (size_t i = 0; i < DEEP_COUNT; i++)
		if (strlen(deep_rows[i].id) > width)
			width = strlen(deep_rows[i].id);
	return width;
}

/* One layer's checks; `count` takes the numbers of each state. */
static void print_layer(const struct deep *deep, uint32_t without, enum layer_id layer,
			size_t count[DEEP_STATE_COUNT])
{
	bool any = false;
	size_t width = widest_id(), mark_width = say_unicode() ? 1 : 2;
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		char text[256];
		enum deep_id id = (enum deep_id)i;
		if (deep_layer(id, without) != layer)
			continue;
		if (!any)
			(void)printf("%s%s%s\n", colour_on(stdout, BOLD), layers[layer].name,
				     colour_off(stdout));
		any = true;
		enum deep_state state = deep_judge(deep, id, without);
		count[state]++;
		(void)printf("%s  %-*s  ", mark(state), (int)width, deep_rows[i].id);
		say_wrapped(stdout, how(deep, id, state, text, sizeof(text)),
			    mark_width + width + 4, mark_width + width + 4);
	}
}

void deep_print(const struct deep *deep, uint32_t without)
{
	size_t count[DEEP_STATE_COUNT] = {0};
	if (!deep->started) {
		(void)printf("\nNo deep check could be tried: ");
		say_wrapped(stdout, deep->error.message, 31, 2);
		return;
	}
	(void)printf("\nDeep checks: what was tried (what came of it), and what must work.\n\n");
	for (size_t i = 0; i < LAYER_COUNT; i++)
		print_layer(deep, without, (enum layer_id)i, count);
	if (deep->error.code != BJ_OK) {
		(void)printf("\nA run of the deep checks went wrong: ");
		say_wrapped(stdout, deep->error.message, 38, 2);
	}
	(void)printf("\n%zu deep checks: %zu as they must be, %zu failed, %zu not tried here.\n",
		     (size_t)DEEP_COUNT, count[DEEP_AS_EXPECTED], count[DEEP_FAILED],
		     count[DEEP_NOT_TRIED]);
}

static json_t *check_json(const struct deep *deep, enum deep_id id, uint32_t without)
{
	const struct deep_row *row = &deep_rows[id];
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", row->id, "layer",
			 layers[deep_layer(id, without)].name, "state",
			 state_names[deep_judge(deep, id, without)], "tried", row->text, "expect",
			 row->sign, "got", deep->got[id], "counterpart", row->other, "where",
			 row->where == DEEP_RUN_OUTSIDE || id == DEEP_pid_outlive ? "outside"
										  : "inside",
			 "counterpart_got", deep->other_got[id]);
}

json_t *deep_json(const struct deep *deep, uint32_t without)
{
	json_t *checks = json_array();
	for (size_t i = 0; i < DEEP_COUNT; i++)
		(void)json_array_append_new(checks, check_json(deep, (enum deep_id)i, without));
	return json_pack("{s:o, s:o}", "checks", checks, "error",
			 deep->error.code == BJ_OK ? json_null() : error_json(&deep->error));
}
