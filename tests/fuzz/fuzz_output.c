/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launcher may leave behind, killed at any instruction: any report, any output. However it
 * looks, there is a result; its numbers agree with each other, and its JSON can be read.
 *
 * Input: a byte that says how much of the rest is damage, then patches of the report (offset,
 * length, bytes), then output.
 */
#include "run/result.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* An invariant that is checked with NDEBUG too. */
#define MUST_HOLD(condition)                                                                       \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#define ROOM 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t next(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static uint32_t next16(struct input *in)
{
	uint32_t high = next(in);
	return high << 8 | next(in);
}

/* A report that could be, before any damage. */
static void whole_report(struct report *r, struct input *in)
{
	r->magic = REPORT_MAGIC;
	r->size = sizeof(*r);
	r->phase = PHASE_DONE;
	r->end = END_STATUS;
	r->has_status = 1;
	r->wait_status = (int32_t)next16(in);
	r->keep_bytes = next16(in) % ROOM;
	for (size_t i = 0; i < STAGE_COUNT; i++)
		r->stage_ns[i] = 1000 + i;
	for (size_t i = 0; i < LAYER_MONITOR; i++)
		r->layer[i] = (struct report_layer){.required = 1, .proof = BY_KERNEL};
	for (size_t i = 0; i < 2; i++) {
		uint64_t head = r->keep_bytes / 2;
		r->stream[i].bytes = next16(in) % (3 * ROOM);
		r->stream[i].tail_bytes = r->stream[i].bytes > head ? r->stream[i].bytes - head : 0;
		if (r->keep_bytes - head == 0)
			r->stream[i].bytes = r->stream[i].tail_bytes = 0;
	}
}

static void damage(uint8_t *memory, size_t size, struct input *in)
{
	for (unsigned int patches = next(in) % 8; patches > 0; patches--) {
		size_t at = next16(in) % size;
		for (unsigned int n = 1 + next(in) % 16; n > 0 && at < size; n--)
			memory[at++] = next(in);
	}
}

static void check_stream(const struct bj_result *res, enum bj_stream stream)
{
	struct bj_output o = bj_result_output(res, stream);
	MUST_HOLD(o.omitted_bytes == o.bytes - o.size);
	MUST_HOLD(o.size <= o.bytes && o.omitted_at <= o.size);
	MUST_HOLD(o.omitted_bytes > 0 || o.omitted_at == o.size);
	MUST_HOLD(o.size == 0 || o.data);
	MUST_HOLD(!res->stream[stream].utf8 || utf8_valid(o.data, o.size));
}

static void check_result(const struct bj_result *res)
{
	enum bj_outcome outcome = bj_result_outcome(res);
	int status = bj_result_status(res);
	MUST_HOLD(outcome < BJ_OUTCOME_COUNT && status >= 0 && status <= 255);
	MUST_HOLD((bj_result_exit_code(res) >= 0) == (outcome == BJ_EXITED));
	MUST_HOLD((bj_result_signal(res) > 0) == (outcome == BJ_SIGNALED));
	MUST_HOLD((bj_result_error(res)->code != BJ_OK) == (outcome >= BJ_OUTCOME_REFUSED));
	MUST_HOLD(bj_result_hint(res) &&
		  utf8_valid(bj_result_hint(res), strlen(bj_result_hint(res))));
	check_stream(res, BJ_STDOUT);
	check_stream(res, BJ_STDERR);

	const char *text = bj_result_json(res);
	MUST_HOLD(text);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	MUST_HOLD(root);
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct policy policy;
	struct bj_result *res = NULL;
	struct bj_error err;
	bool raw = next(&in) & 1;
	/* Exactly as much memory as there is: a read beyond it is found. */
	size_t shared = raw ? in.left : sizeof(struct report) + 2 * (size_t)ROOM;
	uint8_t *memory = calloc(1, shared ? shared : 1);
	MUST_HOLD(memory);
	if (raw) {
		memcpy(memory, in.at, shared);
	} else {
		struct report whole = {0};
		whole_report(&whole, &in);
		memcpy(memory, &whole, sizeof(whole));
		damage(memory, sizeof(struct report), &in);
		uint8_t *kept = memory + sizeof(struct report);
		for (size_t i = 0; i < 2 * ROOM && in.left > 0; i++)
			kept[i] = next(&in);
	}
	policy_init(&policy);
	const struct result_input input = {
		.run_id = "fuzz",
		.policy = &policy,
		.program = "program",
		.required = LAYERS_ALL & ~LAYER_BIT(LAYER_MONITOR),
	};
	MUST_HOLD(result_from_report(memory, shared, &input, &res, &err) == 0);
	check_result(res);
	bj_result_free(res);
	policy_free(&policy);
	free(memory);
	return 0;
}
