/* SPDX-License-Identifier: Apache-2.0 */
/* A report as a launcher leaves it, for the tests of what is made of it. */
#ifndef TESTS_RESULT_CASE_H
#define TESTS_RESULT_CASE_H

#include "base/cleanup.h"
#include "run/result.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define EXITED(code) ((code) << 8)
#define KILLED(sig)  (sig)

#define EVERY_LAYER (LAYERS_ALL & ~LAYER_BIT(LAYER_MONITOR))

/* The shared memory: a report and room for the kept bytes. */
struct shared {
	struct report *report;
	uint8_t *kept;
	size_t size;
};

static inline struct shared shared_new(uint64_t keep_bytes)
{
	struct shared s = {.size = sizeof(struct report) + 2 * keep_bytes};
	s.report = calloc(1, s.size);
	assert_non_null(s.report);
	s.kept = (uint8_t *)(s.report + 1);
	struct report *r = s.report;
	r->magic = REPORT_MAGIC;
	r->size = sizeof(*r);
	r->phase = PHASE_DONE;
	r->keep_bytes = keep_bytes;
	r->usage_by = 1;
	for (size_t i = 0; i < STAGE_COUNT; i++)
		r->stage_ns[i] = 1000000000 + i * 250000;
	for (size_t i = 0; i < LAYER_COUNT; i++)
		if (i != LAYER_MONITOR)
			r->layer[i] = (struct report_layer){.required = 1, .proof = BY_KERNEL};
	return s;
}

/* Ended by its first process, with `wait_status`. */
static inline struct shared shared_ended(int wait_status)
{
	struct shared s = shared_new(64);
	s.report->end = END_STATUS;
	s.report->has_status = 1;
	s.report->wait_status = wait_status;
	return s;
}

static inline void shared_free(struct shared *s)
{
	free(s->report);
}

#define auto_shared __attribute__((cleanup(shared_free)))

static inline void result_put(struct bj_result **res)
{
	bj_result_free(*res);
}

#define auto_put __attribute__((cleanup(result_put)))

/* Writes as the launcher does: the head first, then the ring. */
static inline void launcher_writes(struct shared *s, enum bj_stream stream, const void *data,
				   size_t size)
{
	uint64_t keep = s->report->keep_bytes, head = keep / 2, ring = keep - head;
	uint8_t *at = s->kept + stream * keep;
	struct report_stream *counts = &s->report->stream[stream];
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = ((const uint8_t *)data)[i];
		if (counts->bytes < head)
			at[counts->bytes] = byte;
		else
			at[head + counts->tail_bytes++ % ring] = byte;
		counts->bytes++;
	}
}

/* The built-in policy, for a whole group of tests. */
static struct policy usual_policy;

static inline int usual_setup(void **state)
{
	(void)state;
	policy_init(&usual_policy);
	return 0;
}

static inline int usual_teardown(void **state)
{
	(void)state;
	policy_free(&usual_policy);
	return 0;
}

/* That policy, and every layer required. */
static inline struct result_input usual_input(void)
{
	return (struct result_input){
		.run_id = "0123456789abcdef",
		.policy = &usual_policy,
		.program = "python3",
		.required = EVERY_LAYER,
	};
}

static inline struct bj_result *result_with(const struct shared *s, const struct result_input *in)
{
	struct bj_result *res = NULL;
	struct bj_error err = {0};
	assert_int_equal(result_from_report(s->report, s->size, in, &res, &err), 0);
	assert_non_null(res);
	return res;
}

/* Of a run that no launcher was started for. */
static inline struct bj_result *result_of_error(const struct bj_error *why)
{
	const struct result_input in = {0};
	struct bj_result *res = NULL;
	struct bj_error err = {0};
	assert_int_equal(result_from_error(why, &in, &res, &err), 0);
	return res;
}

static inline struct bj_result *result_of(const struct shared *s)
{
	const struct result_input in = usual_input();
	return result_with(s, &in);
}

#endif
