/* SPDX-License-Identifier: Apache-2.0 */
/* The one decision: from the facts of a report to the outcome. See verdict() at the end. */
#include "run/verdict.h"

#include "base/cleanup.h"
#include "run/report_check.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* What each end means; END_STATUS and END_FAULT are looked at more closely. */
static const struct {
	enum bj_outcome outcome;
	uint32_t limits;
} by_end[] = {
	[END_NONE] = {BJ_SANDBOX_ERROR, 0},
	[END_STATUS] = {BJ_EXITED, 0},
	[END_TIME] = {BJ_TIME_LIMIT, LIMIT_BIT(LIMIT_TIME)},
	[END_CPU] = {BJ_CPU_LIMIT, LIMIT_BIT(LIMIT_CPU)},
	[END_MEMORY] = {BJ_MEMORY_LIMIT, LIMIT_BIT(LIMIT_MEMORY)},
	[END_TASKS] = {BJ_SIGNALED, LIMIT_BIT(LIMIT_TASKS)},
	[END_OUTPUT] = {BJ_OUTPUT_LIMIT, LIMIT_BIT(LIMIT_OUTPUT)},
	[END_CANCEL] = {BJ_CANCELLED, 0},
	[END_EXEC] = {BJ_NOT_STARTED, 0},
	[END_FAULT] = {BJ_SANDBOX_ERROR, 0},
};
_Static_assert(ARRAY_SIZE(by_end) == END_COUNT, "a row for each end");

static const struct {
	int status; /* of `belljar run`; -1: depends on the program */
	enum retry retry;
} by_outcome[] = {
	[BJ_EXITED] = {-1, RETRY_CHANGE},	   [BJ_SIGNALED] = {-1, RETRY_CHANGE},
	[BJ_TIME_LIMIT] = {124, RETRY_CHANGE},	   [BJ_CPU_LIMIT] = {124, RETRY_CHANGE},
	[BJ_MEMORY_LIMIT] = {137, RETRY_CHANGE},   [BJ_OUTPUT_LIMIT] = {123, RETRY_CHANGE},
	[BJ_CANCELLED] = {130, RETRY_SAME}, /* the command knows which signal it was */
	[BJ_OUTCOME_REFUSED] = {125, RETRY_NEVER}, [BJ_NOT_STARTED] = {126, RETRY_CHANGE},
	[BJ_SANDBOX_ERROR] = {125, RETRY_SAME},
};
_Static_assert(ARRAY_SIZE(by_outcome) == BJ_OUTCOME_COUNT, "a row for each outcome");

/*
 * RLIMIT_CPU, soft = hard, kills by SIGKILL; by SIGXCPU where the program lowered its own soft
 * limit. Either only counts when that much was used: a program may send itself any signal.
 */
static bool ran_out_of_cpu(int sig, const struct report *r, const struct result_input *in)
{
	if (sig != SIGXCPU && sig != SIGKILL)
		return false;
	if (r->usage_by == 0 || !in->policy)
		return sig == SIGXCPU;
	return r->cpu_ns / 1000000 >= in->policy->number[FIELD_cpu_time];
}

/* What the end of the program's first process means, where that ended the run. */
static void judge_status(struct verdict *v, const struct report *r, const struct result_input *in)
{
	if (WIFEXITED(r->wait_status)) {
		v->exit_code = WEXITSTATUS(r->wait_status);
		return;
	}
	int sig = WTERMSIG(r->wait_status);
	if (sig == SIGKILL && r->oom_kills > 0) {
		v->outcome = BJ_MEMORY_LIMIT;
	} else if (ran_out_of_cpu(sig, r, in)) {
		v->outcome = BJ_CPU_LIMIT;
		v->limits |= LIMIT_BIT(LIMIT_CPU);
	} else {
		v->outcome = BJ_SIGNALED;
		v->signal = sig;
	}
}

enum bj_outcome outcome_of_code(enum bj_code code)
{
	switch (code) {
	case BJ_INVALID:
	case BJ_REFUSED:
	case BJ_UNSUPPORTED:
		return BJ_OUTCOME_REFUSED;
	case BJ_EXEC:
		return BJ_NOT_STARTED;
	case BJ_OK:
	case BJ_SETUP:
	case BJ_INTERNAL:
	default:
		return BJ_SANDBOX_ERROR;
	}
}

/*
 * A fault before the start may be a refusal: of a layer, by a rule, of an input. After it, and a
 * bad plan, are our own fault.
 */
static enum bj_outcome outcome_of_fault(const struct fault *fault, bool started)
{
	if (started || (fault->code == BJ_INVALID && !fault->input))
		return BJ_SANDBOX_ERROR;
	return outcome_of_code(fault->code);
}

static int status_of(const struct verdict *v, int os_error)
{
	if (v->outcome == BJ_EXITED)
		return v->exit_code;
	if (v->outcome == BJ_SIGNALED)
		return 128 + v->signal;
	if (v->outcome == BJ_NOT_STARTED)
		return os_error == ENOENT ? 127 : 126;
	return by_outcome[v->outcome].status;
}

/*
 * A fault may come again: this host cannot, or does not do what it says, or what was asked for does
 * not fit into a mount of the run, or inputs stand in each other's way.
 */
static enum retry retry_of_fault(const struct fault *fault)
{
	static const int host[] = {EPERM, EACCES, ENOSYS, EOPNOTSUPP, EINVAL, EBADMSG};
	static const int request[] = {ENOSPC, EEXIST, ENOTDIR, ENAMETOOLONG};
	if (fault->code != BJ_SETUP)
		return RETRY_SAME;
	for (size_t i = 0; i < ARRAY_SIZE(request); i++)
		if (fault->layer == LAYER_MOUNT && fault->os == request[i])
			return RETRY_CHANGE;
	if (fault->layer == LAYER_USER && fault->os == ENOSPC) /* max_user_namespaces */
		return RETRY_NEVER;
	for (size_t i = 0; i < ARRAY_SIZE(host); i++)
		if (fault->os == host[i])
			return RETRY_NEVER;
	return RETRY_SAME;
}

void verdict_finish(struct verdict *v, int os_error)
{
	v->status = status_of(v, os_error);
	v->retry = by_outcome[v->outcome].retry;
	if (v->outcome == BJ_EXITED && v->exit_code == 0)
		v->retry = RETRY_NOT_NEEDED;
	/* Set-up that was killed for memory will be killed again. */
	if (v->outcome == BJ_SANDBOX_ERROR && !v->started && (v->limits & LIMIT_BIT(LIMIT_MEMORY)))
		v->retry = RETRY_CHANGE;
}

static uint32_t touched(const struct report *r, const struct result_input *in)
{
	uint32_t limits = 0;
	if (r->oom_kills > 0)
		limits |= LIMIT_BIT(LIMIT_MEMORY);
	if (r->tasks_denied > 0 && r->tasks_denied != UINT64_MAX)
		limits |= LIMIT_BIT(LIMIT_TASKS);
	if (r->disk_full)
		limits |= LIMIT_BIT(LIMIT_DISK);
	/* What was still in the pipes when it ended by itself counts as well. */
	if (in->policy) {
		uint64_t most = in->policy->number[FIELD_max_output];
		if (r->stream[0].bytes > most || r->stream[1].bytes > most - r->stream[0].bytes)
			limits |= LIMIT_BIT(LIMIT_OUTPUT);
	}
	return limits;
}

/* Ends that only a program which was let go can have. */
static bool needs_start(uint32_t end)
{
	return end >= END_STATUS && end <= END_OUTPUT;
}

/*
 * The decision. Our own kill first, then the kernel's events, then the status; never the number
 * 137 alone.
 *
 *   end      and                                 outcome
 *   any      the report is not complete          sandbox_error: the launcher died
 *   STATUS   exited N                            exited N
 *            SIGKILL, oom_kills > 0              memory_limit
 *            SIGXCPU or SIGKILL, CPU used up     cpu_limit
 *            any other signal                    signaled
 *   TIME     CPU, MEMORY, OUTPUT likewise        time_limit … output_limit
 *   TASKS                                        signaled, limits_hit tasks
 *   the six above, but never let go              sandbox_error
 *   CANCEL                                       cancelled
 *   EXEC                                         not_started
 *   FAULT    UNSUPPORTED, REFUSED, not started   refused
 *            INVALID, of an input, not started   refused
 *            EXEC, not started                   not_started
 *            else                                sandbox_error
 *
 * SIGKILL sent by the program to itself after one of its children was killed for memory looks like
 * memory_limit: the kernel does not say whom its OOM killer took.
 */
struct verdict verdict(const struct report *r, const struct result_input *in)
{
	struct verdict v = {
		.outcome = BJ_SANDBOX_ERROR,
		.started = report_started(r),
		.exit_code = -1,
		.limits = touched(r, in),
	};
	if (!report_complete(r) || (needs_start(r->end) && !v.started)) {
		verdict_finish(&v, 0);
		return v;
	}
	v.outcome = by_end[r->end].outcome;
	v.limits |= by_end[r->end].limits;
	if (r->end == END_STATUS)
		judge_status(&v, r, in);
	else if (r->end == END_TASKS)
		v.signal = SIGKILL;
	else if (r->end == END_FAULT)
		v.outcome = outcome_of_fault(&r->fault, v.started);
	verdict_finish(&v, r->fault.os);
	if (v.outcome == BJ_OUTCOME_REFUSED && r->fault.code == BJ_INVALID)
		v.retry = RETRY_CHANGE;
	if (v.outcome == BJ_SANDBOX_ERROR && v.retry == RETRY_SAME)
		v.retry = retry_of_fault(&r->fault);
	return v;
}
