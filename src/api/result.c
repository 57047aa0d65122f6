/* SPDX-License-Identifier: Apache-2.0 */
/* The accessors of a result: belljar.h says what they return. */
#include "run/result.h"

#include "api/result_json.h"
#include "base/cleanup.h"

static const char *const outcome_names[] = {
	[BJ_EXITED] = "exited",
	[BJ_SIGNALED] = "signaled",
	[BJ_TIME_LIMIT] = "time_limit",
	[BJ_CPU_LIMIT] = "cpu_limit",
	[BJ_MEMORY_LIMIT] = "memory_limit",
	[BJ_OUTPUT_LIMIT] = "output_limit",
	[BJ_CANCELLED] = "cancelled",
	[BJ_OUTCOME_REFUSED] = "refused",
	[BJ_NOT_STARTED] = "not_started",
	[BJ_SANDBOX_ERROR] = "sandbox_error",
};
_Static_assert(ARRAY_SIZE(outcome_names) == BJ_OUTCOME_COUNT, "a name for each outcome");

const char *bj_outcome_name(enum bj_outcome outcome)
{
	unsigned int id = (unsigned int)outcome;
	return id < BJ_OUTCOME_COUNT ? outcome_names[id] : NULL;
}

void bj_result_free(struct bj_result *res)
{
	result_free(res);
}

enum bj_outcome bj_result_outcome(const struct bj_result *res)
{
	return res->verdict.outcome;
}

bool bj_result_started(const struct bj_result *res)
{
	return res->verdict.started;
}

int bj_result_exit_code(const struct bj_result *res)
{
	return res->verdict.exit_code;
}

int bj_result_signal(const struct bj_result *res)
{
	return res->verdict.signal;
}

int bj_result_status(const struct bj_result *res)
{
	return res->verdict.status;
}

struct bj_output bj_result_output(const struct bj_result *res, enum bj_stream stream)
{
	if (stream != BJ_STDOUT && stream != BJ_STDERR)
		return (struct bj_output){0};
	return res->stream[stream].output;
}

struct bj_usage bj_result_usage(const struct bj_result *res)
{
	return res->usage;
}

const char *bj_result_hint(const struct bj_result *res)
{
	return res->hint;
}

const struct bj_error *bj_result_error(const struct bj_result *res)
{
	return &res->error;
}

const char *bj_result_json(const struct bj_result *res)
{
	char *have = __atomic_load_n(&res->cache->json, __ATOMIC_ACQUIRE);
	if (have)
		return have;
	/* Two threads may both make it; the first one's stays. */
	auto_free char *made = result_json(res);
	char *none = NULL;
	if (!made || !__atomic_compare_exchange_n(&res->cache->json, &none, made, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return none;
	return TAKE_PTR(made);
}
