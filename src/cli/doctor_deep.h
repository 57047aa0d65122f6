/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `belljar doctor --deep`: the checks of probe/deep.def. doctor_deep.c judges what was said of
 * each, doctor_deep_try.c has it tried, doctor_deep_say.c prints it.
 */
#ifndef CLI_DOCTOR_DEEP_H
#define CLI_DOCTOR_DEEP_H

#include "layers/layer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum deep_id {
#define DEEP(id, layer, run, text, sign, act, where, other, may)  DEEP_##id,
#define ENDED(id, layer, text, sign, action, field, value, other) DEEP_##id,
#include "cli/probe/deep.def"
#undef DEEP
#undef ENDED
	DEEP_COUNT,
};

enum deep_run {
	DEEP_RUN_INSIDE,
	DEEP_RUN_SMALL,
	DEEP_RUN_LATER,
	DEEP_RUN_OUTSIDE, /* no run: of counterparts only */
	DEEP_RUN_ENDED,	  /* one of its own */
};

struct deep_row {
	const char *id;
	enum layer_id layer;
	enum deep_run run, where;
	const char *text, *sign, *other;
	const char *action, *field, *value; /* of DEEP_RUN_ENDED */
};

extern const struct deep_row deep_rows[DEEP_COUNT];

#define DEEP_GOT_SIZE 24

struct deep {
	/* "works", "hidden", an errno, a signal, an outcome, "untried"; "" where nothing was said.
	 */
	char got[DEEP_COUNT][DEEP_GOT_SIZE];
	char other_got[DEEP_COUNT][DEEP_GOT_SIZE];
	bool started;	       /* a sandbox, to try them in */
	struct bj_error error; /* what went wrong with a run; BJ_OK: nothing */
};

enum deep_state { DEEP_AS_EXPECTED, DEEP_FAILED, DEEP_NOT_TRIED, DEEP_STATE_COUNT };

/* A line of the probe. What cannot be understood, or is said twice, fails. */
void deep_hear(struct deep *deep, const char *line, size_t size);

/* `without`: bits of the layers that a policy file accepts as missing here. */
enum deep_state deep_judge(const struct deep *deep, enum deep_id id, uint32_t without);
/* The layer that a check is about: `monitor` does some of what `cgroup` cannot. */
enum layer_id deep_layer(enum deep_id id, uint32_t without);

struct doctor;
struct bait;
void deep_try(struct deep *deep, const struct bait *bait, uint32_t without);
void deep_print(const struct deep *deep, uint32_t without);
json_t *deep_json(const struct deep *deep, uint32_t without);

#endif
