/* SPDX-License-Identifier: Apache-2.0 */
/* From a report to a verdict, its kept output and its hint. */
#include "result_case.h"

#include "run/report_check.h"

/* ---- The decision ------------------------------------------------------------------------- */

struct verdict_case {
	const char *name;
	/* what the report says */
	uint32_t phase, end;
	int status;
	bool let_go, complete;
	uint64_t oom_kills, tasks_denied, cpu_ms;
	uint32_t disk_full, usage_by;
	uint64_t out_bytes, err_bytes;
	struct fault fault;
	/* what it means */
	enum bj_outcome outcome;
	bool started;
	int exit_code, signal, exit_status;
	uint32_t limits;
	enum retry retry;
};

#define LIMIT(name) LIMIT_BIT(LIMIT_##name)
#define DONE	    .phase = PHASE_DONE, .complete = true, .usage_by = 1
#define WENT	    DONE, .let_go = true
#define NO_EXIT	    .exit_code = -1
#define OUTPUT_MOST UINT64_C(4294967296) /* what the built-in profile allows */

static const struct verdict_case verdict_cases[] = {
	{"exit 0", WENT, .end = END_STATUS, .status = EXITED(0), .outcome = BJ_EXITED,
	 .started = true, .exit_code = 0, .retry = RETRY_NOT_NEEDED},
	{"exit 7", WENT, .end = END_STATUS, .status = EXITED(7), .outcome = BJ_EXITED,
	 .started = true, .exit_code = 7, .exit_status = 7, .retry = RETRY_CHANGE},
	{"exit 137 is no kill", WENT, .end = END_STATUS, .status = EXITED(137),
	 .outcome = BJ_EXITED, .started = true, .exit_code = 137, .exit_status = 137,
	 .retry = RETRY_CHANGE},
	{"exit 124 is no time limit", WENT, .end = END_STATUS, .status = EXITED(124),
	 .outcome = BJ_EXITED, .started = true, .exit_code = 124, .exit_status = 124,
	 .retry = RETRY_CHANGE},
	{"a child killed for memory, the parent exits 0", WENT, .end = END_STATUS,
	 .status = EXITED(0), .oom_kills = 2, .outcome = BJ_EXITED, .started = true, .exit_code = 0,
	 .limits = LIMIT(MEMORY), .retry = RETRY_NOT_NEEDED},
	{"killed for memory", WENT, .end = END_STATUS, .status = KILLED(SIGKILL), .oom_kills = 1,
	 .outcome = BJ_MEMORY_LIMIT, .started = true, NO_EXIT, .exit_status = 137,
	 .limits = LIMIT(MEMORY), .retry = RETRY_CHANGE},
	{"SIGKILL by itself", WENT, .end = END_STATUS, .status = KILLED(SIGKILL),
	 .outcome = BJ_SIGNALED, .started = true, NO_EXIT, .signal = SIGKILL, .exit_status = 137,
	 .retry = RETRY_CHANGE},
	{"SIGSEGV after a child was killed for memory", WENT, .end = END_STATUS,
	 .status = KILLED(SIGSEGV), .oom_kills = 1, .outcome = BJ_SIGNALED, .started = true,
	 NO_EXIT, .signal = SIGSEGV, .exit_status = 139, .limits = LIMIT(MEMORY),
	 .retry = RETRY_CHANGE},
	{"SIGABRT with a core flag", WENT, .end = END_STATUS, .status = KILLED(SIGABRT) | 0x80,
	 .outcome = BJ_SIGNALED, .started = true, NO_EXIT, .signal = SIGABRT, .exit_status = 134,
	 .retry = RETRY_CHANGE},
	{"a real-time signal", WENT, .end = END_STATUS, .status = KILLED(64),
	 .outcome = BJ_SIGNALED, .started = true, NO_EXIT, .signal = 64, .exit_status = 192,
	 .retry = RETRY_CHANGE},
	{"SIGXCPU with the CPU used up", WENT, .end = END_STATUS, .status = KILLED(SIGXCPU),
	 .cpu_ms = 5001, .outcome = BJ_CPU_LIMIT, .started = true, NO_EXIT, .exit_status = 124,
	 .limits = LIMIT(CPU), .retry = RETRY_CHANGE},
	{"SIGKILL with the CPU used up", WENT, .end = END_STATUS, .status = KILLED(SIGKILL),
	 .cpu_ms = 5000, .outcome = BJ_CPU_LIMIT, .started = true, NO_EXIT, .exit_status = 124,
	 .limits = LIMIT(CPU), .retry = RETRY_CHANGE},
	{"SIGXCPU sent by itself", WENT, .end = END_STATUS, .status = KILLED(SIGXCPU),
	 .cpu_ms = 4999, .outcome = BJ_SIGNALED, .started = true, NO_EXIT, .signal = SIGXCPU,
	 .exit_status = 152, .retry = RETRY_CHANGE},
	{"SIGXCPU where nobody counted", .complete = true, .phase = PHASE_DONE, .let_go = true,
	 .end = END_STATUS, .status = KILLED(SIGXCPU), .outcome = BJ_CPU_LIMIT, .started = true,
	 NO_EXIT, .exit_status = 124, .limits = LIMIT(CPU), .retry = RETRY_CHANGE},
	{"SIGTERM with the CPU used up", WENT, .end = END_STATUS, .status = KILLED(SIGTERM),
	 .cpu_ms = 9000, .outcome = BJ_SIGNALED, .started = true, NO_EXIT, .signal = SIGTERM,
	 .exit_status = 143, .retry = RETRY_CHANGE},
	{"memory before CPU", WENT, .end = END_STATUS, .status = KILLED(SIGKILL), .cpu_ms = 9000,
	 .oom_kills = 1, .outcome = BJ_MEMORY_LIMIT, .started = true, NO_EXIT, .exit_status = 137,
	 .limits = LIMIT(MEMORY), .retry = RETRY_CHANGE},
	{"tasks and disk touched", WENT, .end = END_STATUS, .status = EXITED(1), .tasks_denied = 3,
	 .disk_full = DISK_TMP, .outcome = BJ_EXITED, .started = true, .exit_code = 1,
	 .exit_status = 1, .limits = LIMIT(TASKS) | LIMIT(DISK), .retry = RETRY_CHANGE},
	{"output of both streams, just allowed", WENT, .end = END_STATUS, .status = EXITED(0),
	 .out_bytes = OUTPUT_MOST - 3, .err_bytes = 3, .outcome = BJ_EXITED, .started = true,
	 .exit_code = 0, .retry = RETRY_NOT_NEEDED},
	{"too much of both, and it ended by itself", WENT, .end = END_STATUS, .status = EXITED(0),
	 .out_bytes = OUTPUT_MOST - 3, .err_bytes = 4, .outcome = BJ_EXITED, .started = true,
	 .exit_code = 0, .limits = LIMIT(OUTPUT), .retry = RETRY_NOT_NEEDED},
	{"too much of one, and then its time was over", WENT, .end = END_TIME,
	 .status = KILLED(SIGKILL), .out_bytes = INT64_MAX, .err_bytes = INT64_MAX,
	 .outcome = BJ_TIME_LIMIT, .started = true, NO_EXIT, .exit_status = 124,
	 .limits = LIMIT(TIME) | LIMIT(OUTPUT), .retry = RETRY_CHANGE},
	{"tasks not known", WENT, .end = END_STATUS, .status = EXITED(0),
	 .tasks_denied = UINT64_MAX, .outcome = BJ_EXITED, .started = true, .exit_code = 0,
	 .retry = RETRY_NOT_NEEDED},
	{"time", WENT, .end = END_TIME, .status = KILLED(SIGKILL), .outcome = BJ_TIME_LIMIT,
	 .started = true, NO_EXIT, .exit_status = 124, .limits = LIMIT(TIME),
	 .retry = RETRY_CHANGE},
	{"time, while it exits 0", WENT, .end = END_TIME, .status = EXITED(0),
	 .outcome = BJ_TIME_LIMIT, .started = true, NO_EXIT, .exit_status = 124,
	 .limits = LIMIT(TIME), .retry = RETRY_CHANGE},
	{"time, with a child killed for memory", WENT, .end = END_TIME, .status = KILLED(SIGKILL),
	 .oom_kills = 1, .outcome = BJ_TIME_LIMIT, .started = true, NO_EXIT, .exit_status = 124,
	 .limits = LIMIT(TIME) | LIMIT(MEMORY), .retry = RETRY_CHANGE},
	{"CPU", WENT, .end = END_CPU, .outcome = BJ_CPU_LIMIT, .started = true, NO_EXIT,
	 .exit_status = 124, .limits = LIMIT(CPU), .retry = RETRY_CHANGE},
	{"memory by the monitor", WENT, .end = END_MEMORY, .outcome = BJ_MEMORY_LIMIT,
	 .started = true, NO_EXIT, .exit_status = 137, .limits = LIMIT(MEMORY),
	 .retry = RETRY_CHANGE},
	{"tasks by the monitor", WENT, .end = END_TASKS, .outcome = BJ_SIGNALED, .started = true,
	 NO_EXIT, .signal = SIGKILL, .exit_status = 137, .limits = LIMIT(TASKS),
	 .retry = RETRY_CHANGE},
	{"output", WENT, .end = END_OUTPUT, .outcome = BJ_OUTPUT_LIMIT, .started = true, NO_EXIT,
	 .exit_status = 123, .limits = LIMIT(OUTPUT), .retry = RETRY_CHANGE},
	{"cancelled", WENT, .end = END_CANCEL, .outcome = BJ_CANCELLED, .started = true, NO_EXIT,
	 .exit_status = 130, .retry = RETRY_SAME},
	{"cancelled during set-up", DONE, .end = END_CANCEL, .outcome = BJ_CANCELLED, NO_EXIT,
	 .exit_status = 130, .retry = RETRY_SAME},
	{"not found", DONE, .end = END_EXEC, .fault = {.code = BJ_EXEC, .os = ENOENT},
	 .outcome = BJ_NOT_STARTED, NO_EXIT, .exit_status = 127, .retry = RETRY_CHANGE},
	{"not executable", DONE, .end = END_EXEC, .fault = {.code = BJ_EXEC, .os = EACCES},
	 .outcome = BJ_NOT_STARTED, NO_EXIT, .exit_status = 126, .retry = RETRY_CHANGE},
	{"another architecture", DONE, .end = END_EXEC, .fault = {.code = BJ_EXEC, .os = ENOEXEC},
	 .outcome = BJ_NOT_STARTED, NO_EXIT, .exit_status = 126, .retry = RETRY_CHANGE},
	{"a step failed", DONE, .end = END_FAULT, .fault = {.code = BJ_SETUP, .os = ENOMEM},
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"a step that this host refuses", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_SETUP, .os = EPERM}, .outcome = BJ_SANDBOX_ERROR, NO_EXIT,
	 .exit_status = 125, .retry = RETRY_NEVER},
	{"a layer that this host has not", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_UNSUPPORTED, .os = ENOSYS}, .outcome = BJ_OUTCOME_REFUSED, NO_EXIT,
	 .exit_status = 125, .retry = RETRY_NEVER},
	{"a rule", DONE, .end = END_FAULT, .fault = {.code = BJ_REFUSED},
	 .outcome = BJ_OUTCOME_REFUSED, NO_EXIT, .exit_status = 125, .retry = RETRY_NEVER},
	{"a plan that is none", DONE, .end = END_FAULT, .fault = {.code = BJ_INVALID},
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"an input that cannot be read", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_INVALID, .layer = LAYER_MOUNT, .os = EIO, .input = 1},
	 .outcome = BJ_OUTCOME_REFUSED, NO_EXIT, .exit_status = 125, .retry = RETRY_CHANGE},
	{"set-up killed for memory", DONE, .end = END_FAULT, .oom_kills = 1,
	 .fault = {.code = BJ_SETUP, .os = EPIPE}, .outcome = BJ_SANDBOX_ERROR, NO_EXIT,
	 .exit_status = 125, .limits = LIMIT(MEMORY), .retry = RETRY_CHANGE},
	{"an input that does not fit", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_SETUP, .layer = LAYER_MOUNT, .os = ENOSPC},
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_CHANGE},
	{"an input in another's way", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_SETUP, .layer = LAYER_MOUNT, .os = ENOTDIR},
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_CHANGE},
	{"no room for another namespace", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_SETUP, .layer = LAYER_USER, .os = ENOSPC},
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_NEVER},
	{"a step of the mounts failed", DONE, .end = END_FAULT,
	 .fault = {.code = BJ_SETUP, .layer = LAYER_MOUNT, .os = EIO}, .outcome = BJ_SANDBOX_ERROR,
	 NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"output without having been let go", DONE, .end = END_OUTPUT, .outcome = BJ_SANDBOX_ERROR,
	 NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"a step failed, and the phase stayed", .phase = PHASE_SETUP, .complete = true,
	 .end = END_FAULT, .fault = {.code = BJ_SETUP, .os = EPERM}, .outcome = BJ_SANDBOX_ERROR,
	 NO_EXIT, .exit_status = 125, .retry = RETRY_NEVER},
	{"not found, and the phase stayed", .phase = PHASE_SETUP, .complete = true, .end = END_EXEC,
	 .fault = {.code = BJ_EXEC, .os = ENOENT}, .outcome = BJ_NOT_STARTED, NO_EXIT,
	 .exit_status = 127, .retry = RETRY_CHANGE},
	{"cancelled, and the phase stayed", .phase = PHASE_SETUP, .complete = true,
	 .end = END_CANCEL, .outcome = BJ_CANCELLED, NO_EXIT, .exit_status = 130,
	 .retry = RETRY_SAME},
	{"a fault while it ran", WENT, .end = END_FAULT,
	 .fault = {.code = BJ_UNSUPPORTED, .os = EIO}, .outcome = BJ_SANDBOX_ERROR, .started = true,
	 NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"ended without having been let go", DONE, .end = END_STATUS, .status = KILLED(SIGKILL),
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"time without having been let go", DONE, .end = END_TIME, .outcome = BJ_SANDBOX_ERROR,
	 NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"the launcher died at once", .phase = PHASE_NOTHING, .outcome = BJ_SANDBOX_ERROR, NO_EXIT,
	 .exit_status = 125, .retry = RETRY_SAME},
	{"the launcher died during set-up", .phase = PHASE_SETUP, .end = END_CANCEL,
	 .outcome = BJ_SANDBOX_ERROR, NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"the launcher died while it ran", .phase = PHASE_STARTED, .outcome = BJ_SANDBOX_ERROR,
	 .started = true, NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
	{"the launcher died after the end", .phase = PHASE_STARTED, .let_go = true,
	 .end = END_STATUS, .status = EXITED(0), .outcome = BJ_SANDBOX_ERROR, .started = true,
	 NO_EXIT, .exit_status = 125, .retry = RETRY_SAME},
};

static void report_of_case(const struct verdict_case *c, struct report *r)
{
	r->phase = c->phase;
	r->end = c->end;
	r->wait_status = c->status;
	r->has_status = c->end == END_STATUS || c->end == END_TIME;
	r->stage_ns[STAGE_GO] = c->let_go ? r->stage_ns[STAGE_PROVEN] + 1 : 0;
	if (!c->complete)
		r->stage_ns[STAGE_CLEAN] = 0;
	r->oom_kills = c->oom_kills;
	r->tasks_denied = c->tasks_denied;
	r->cpu_ns = c->cpu_ms * 1000000;
	r->disk_full = c->disk_full;
	r->usage_by = c->usage_by;
	const uint64_t written[] = {c->out_bytes, c->err_bytes}, head = r->keep_bytes / 2;
	for (int i = 0; i < 2; i++) {
		r->stream[i].bytes = written[i];
		r->stream[i].tail_bytes = written[i] > head ? written[i] - head : 0;
	}
	r->fault = c->fault;
	if (r->fault.code == BJ_EXEC)
		r->fault.layer = LAYER_COUNT;
}

static void every_end_has_its_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(verdict_cases); i++) {
		const struct verdict_case *c = &verdict_cases[i];
		auto_shared struct shared s = shared_new(64);
		report_of_case(c, s.report);
		print_message("# %s\n", c->name);
		assert_null(report_impossible(s.report));
		auto_put struct bj_result *res = result_of(&s);
		assert_int_equal(bj_result_outcome(res), c->outcome);
		assert_int_equal(bj_result_started(res), c->started);
		assert_int_equal(bj_result_exit_code(res), c->exit_code);
		assert_int_equal(bj_result_signal(res), c->signal);
		assert_int_equal(bj_result_status(res), c->exit_status);
		assert_int_equal(res->verdict.limits, c->limits);
		assert_int_equal(res->verdict.retry, c->retry);
		assert_int_equal(res->counted, c->complete);
		bool failed = c->outcome >= BJ_OUTCOME_REFUSED;
		assert_int_equal(bj_result_error(res)->code != BJ_OK, failed);
		bool plain = c->outcome == BJ_EXITED && c->exit_code == 0 && !c->limits;
		assert_int_equal(bj_result_hint(res)[0] == '\0', plain);
		assert_null(strpbrk(bj_result_hint(res), "{}\n"));
	}
}

static void no_two_cases_have_one_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(verdict_cases); i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(verdict_cases[i].name, verdict_cases[k].name);
}

/* ---- Reports that cannot be --------------------------------------------------------------- */

static void break_magic(struct report *r)
{
	r->magic ^= 1;
}
static void break_size(struct report *r)
{
	r->size--;
}
static void break_phase(struct report *r)
{
	r->phase = PHASE_DONE + 1;
}
static void break_end(struct report *r)
{
	r->end = END_COUNT;
}
static void break_no_end(struct report *r)
{
	r->end = END_NONE;
}
static void break_has_status(struct report *r)
{
	r->has_status = 2;
}
static void break_no_status(struct report *r)
{
	r->has_status = 0;
}
static void break_stopped(struct report *r)
{
	r->wait_status = 0x137f;
}
static void break_inflight(struct report *r)
{
	r->inflight = 2;
}
static void break_usage_by(struct report *r)
{
	r->usage_by = 3;
}
static void break_disk(struct report *r)
{
	r->disk_full = 8;
}
static void break_oom(struct report *r)
{
	r->oom_kills = UINT64_MAX;
}
static void break_denied(struct report *r)
{
	r->tasks_denied = UINT64_MAX - 1;
}
static void break_wall(struct report *r)
{
	r->wall_ns = UINT64_C(1) << 63;
}
static void break_left(struct report *r)
{
	r->left_files = UINT64_MAX - 1;
}
static void break_stage(struct report *r)
{
	r->stage_ns[STAGE_READY] = 1;
}
static void break_fault_code(struct report *r)
{
	r->fault.code = BJ_INTERNAL + 1;
}
static void break_fault_layer(struct report *r)
{
	r->fault.layer = LAYER_COUNT + 1;
}
static void break_fault_hook(struct report *r)
{
	r->fault.hook = HOOK_COUNT;
}
static void break_fault_os(struct report *r)
{
	r->fault.os = -1;
}
static void break_fault_what(struct report *r)
{
	memset(r->fault.what, 'x', sizeof(r->fault.what));
}
static void break_fault_input(struct report *r)
{
	r->fault.input = UINT16_MAX;
}
static void break_fault_none(struct report *r)
{
	r->end = END_FAULT;
}
static void break_exec_none(struct report *r)
{
	r->end = END_EXEC;
	r->stage_ns[STAGE_GO] = 0;
}
static void break_exec_started(struct report *r)
{
	r->end = END_EXEC;
	r->fault.code = BJ_EXEC;
}
static void break_proof(struct report *r)
{
	r->layer[LAYER_NET].proof = BY_LAUNCHER + 1;
}
static void break_required(struct report *r)
{
	r->layer[LAYER_NET].required = 2;
}
static void break_note(struct report *r)
{
	memset(r->layer[LAYER_NET].note, 'x', sizeof(r->layer[LAYER_NET].note));
}
static void break_missing_net(struct report *r)
{
	r->layer[LAYER_NET] = (struct report_layer){.missing = 1};
}
static void break_missing_proven(struct report *r)
{
	r->layer[LAYER_CGROUP].missing = 1;
}
static void break_keep(struct report *r)
{
	r->keep_bytes++;
}
static void break_keep_huge(struct report *r)
{
	r->keep_bytes = UINT64_MAX / 2 + 1;
}
static void break_bytes(struct report *r)
{
	r->stream[0].bytes = 1000;
}
static void break_tail(struct report *r)
{
	r->stream[1].tail_bytes = 1;
}
static void break_bytes_huge(struct report *r)
{
	r->stream[0].bytes = UINT64_MAX;
	r->stream[0].tail_bytes = UINT64_MAX - 32;
}

static void (*const breaks[])(struct report *) = {
	break_magic,	    break_size,		  break_phase,	    break_end,
	break_no_end,	    break_has_status,	  break_no_status,  break_stopped,
	break_inflight,	    break_usage_by,	  break_disk,	    break_oom,
	break_denied,	    break_wall,		  break_left,	    break_stage,
	break_fault_code,   break_fault_layer,	  break_fault_hook, break_fault_os,
	break_fault_what,   break_fault_input,	  break_fault_none, break_exec_none,
	break_exec_started, break_proof,	  break_required,   break_note,
	break_missing_net,  break_missing_proven, break_keep,	    break_keep_huge,
	break_bytes,	    break_tail,		  break_bytes_huge,
};

static void a_report_that_cannot_be_is_a_sandbox_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		auto_shared struct shared s = shared_ended(EXITED(0));
		auto_put struct bj_result *good = result_of(&s);
		assert_int_equal(bj_result_outcome(good), BJ_EXITED);
		breaks[i](s.report);
		auto_put struct bj_result *bad = result_of(&s);
		assert_int_equal(bj_result_outcome(bad), BJ_SANDBOX_ERROR);
		assert_int_equal(bj_result_status(bad), 125);
		assert_int_equal(bj_result_error(bad)->code, BJ_INTERNAL);
		assert_true(bj_result_started(bad)); /* at worst */
		assert_non_null(bj_result_json(bad));
	}
}

/* The other side of each bound: what is allowed to be, is. */
static void the_extremes_of_a_report_are_possible(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(255));
	struct report *r = s.report;
	r->inflight = 1;
	r->disk_full = DISK_TMP | DISK_WORKSPACE | DISK_SHM;
	r->usage_by = 2;
	r->oom_kills = r->wall_ns = r->cpu_ns = r->memory_peak = r->tasks_peak = INT64_MAX;
	r->tasks_denied = r->left_processes = INT64_MAX;
	r->left_mounts = r->left_cgroups = r->left_files = UINT64_MAX;
	r->stage_ns[STAGE_CLEAN] = INT64_MAX;
	r->fault = (struct fault){BJ_INTERNAL, LAYER_COUNT, HOOK_COUNT - 1, 4095, ""};
	memset(r->fault.what, 'x', sizeof(r->fault.what) - 1);
	memset(r->layer[LAYER_NET].note, 'x', sizeof(r->layer[0].note) - 1);
	assert_null(report_impossible(r));
	auto_put struct bj_result *res = result_of(&s);
	assert_int_equal(bj_result_status(res), 255);
	assert_non_null(bj_result_json(res));

	/* No output at all, and no room for any. */
	auto_shared struct shared none = shared_new(0);
	none.report->end = END_CANCEL;
	auto_put struct bj_result *empty = result_of(&none);
	assert_int_equal(bj_result_outcome(empty), BJ_CANCELLED);
}

static void set_up_that_met_its_memory_limit_says_so(void **state)
{
	(void)state;
	for (uint64_t kills = 0; kills < 2; kills++) {
		auto_shared struct shared s = shared_new(64);
		s.report->end = END_FAULT;
		s.report->stage_ns[STAGE_GO] = 0;
		s.report->oom_kills = kills;
		s.report->fault = (struct fault){BJ_SETUP, LAYER_INIT, HOOK_PARENT, EPIPE, "init"};
		auto_put struct bj_result *res = result_of(&s);
		assert_int_equal(strstr(bj_result_error(res)->hint, "memory limit") != NULL, kills);
	}
}

static void before_the_start_only_what_was_proven_has_a_row(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_new(64);
	s.report->end = END_FAULT;
	s.report->stage_ns[STAGE_GO] = 0;
	s.report->fault = (struct fault){BJ_SETUP, LAYER_NET, HOOK_CHILD, EIO, "loopback"};
	s.report->layer[LAYER_NET].proof = PROOF_NONE;
	auto_put struct bj_result *res = result_of(&s);
	assert_int_equal(bj_result_outcome(res), BJ_SANDBOX_ERROR);
	assert_int_equal(res->layer[LAYER_NET].state, STATE_NONE);
	assert_int_equal(res->layer[LAYER_MOUNT].state, STATE_PROVEN);
	assert_int_equal(res->layer[LAYER_MONITOR].state, STATE_NONE);
}

/* Whoever ended it, the output is text; that of a program that ended by itself is its own. */
static void a_limit_is_a_cut_and_an_exit_is_none(void **state)
{
	(void)state;
	static const struct {
		uint32_t phase, end;
		size_t size;
	} cases[] = {
		{PHASE_DONE, END_STATUS, 4},
		{PHASE_DONE, END_TIME, 2},
		{PHASE_DONE, END_OUTPUT, 2},
		{PHASE_STARTED, END_NONE, 2},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_shared struct shared s = shared_ended(EXITED(0));
		s.report->phase = cases[i].phase;
		s.report->end = cases[i].end;
		if (cases[i].end == END_NONE)
			s.report->stage_ns[STAGE_CLEAN] = 0;
		launcher_writes(&s, BJ_STDOUT, "ok\xe2\x82", 4);
		auto_put struct bj_result *res = result_of(&s);
		assert_int_equal(bj_result_output(res, BJ_STDOUT).size, cases[i].size);
		assert_int_equal(res->stream[BJ_STDOUT].utf8, cases[i].size == 2);
	}
}

static void an_untouched_or_short_report_started_nothing(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(0));
	for (size_t size = 0; size < sizeof(struct report); size += 37) {
		struct shared cut = {.report = s.report, .size = size};
		auto_put struct bj_result *res = result_of(&cut);
		assert_int_equal(bj_result_outcome(res), BJ_SANDBOX_ERROR);
		assert_false(bj_result_started(res));
	}
	memset(s.report, 0, s.size);
	auto_put struct bj_result *res = result_of(&s);
	assert_int_equal(bj_result_outcome(res), BJ_SANDBOX_ERROR);
	assert_false(bj_result_started(res));
	assert_string_equal(bj_result_error(res)->message, "the launcher left no report");
}

static void a_layer_let_go_without_its_proof_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < LAYER_MONITOR; i++) {
		auto_shared struct shared s = shared_ended(EXITED(0));
		s.report->layer[i].proof = PROOF_NONE;
		auto_put struct bj_result *res = result_of(&s);
		assert_int_equal(bj_result_outcome(res), BJ_SANDBOX_ERROR);
		assert_true(bj_result_started(res));
		assert_string_equal(bj_result_error(res)->layer, layers[i].name);
	}
}

static void a_layer_is_missing_only_where_the_plan_says_so(void **state)
{
	(void)state;
	struct result_input in = usual_input();
	auto_shared struct shared s = shared_ended(EXITED(0));
	s.report->layer[LAYER_CGROUP] = (struct report_layer){.required = 1, .missing = 1};
	auto_put struct bj_result *refused = result_with(&s, &in);
	assert_int_equal(bj_result_outcome(refused), BJ_SANDBOX_ERROR);
	assert_string_equal(bj_result_error(refused)->layer, "cgroup");

	in.missing = LAYER_BIT(LAYER_CGROUP);
	in.required |= LAYER_BIT(LAYER_MONITOR);
	auto_put struct bj_result *unwatched = result_with(&s, &in);
	assert_int_equal(bj_result_outcome(unwatched), BJ_SANDBOX_ERROR);
	assert_string_equal(bj_result_error(unwatched)->layer, "monitor");

	s.report->layer[LAYER_MONITOR] = (struct report_layer){.required = 1, .proof = BY_LAUNCHER};
	auto_put struct bj_result *accepted = result_with(&s, &in);
	assert_int_equal(bj_result_outcome(accepted), BJ_EXITED);
	assert_int_equal(accepted->layer[LAYER_CGROUP].state, STATE_ACCEPTED_MISSING);
	assert_int_equal(accepted->layer[LAYER_MONITOR].state, STATE_PROVEN);
}

static void a_dead_launcher_leaves_its_output(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_new(64);
	s.report->phase = PHASE_STARTED;
	s.report->end = END_NONE;
	launcher_writes(&s, BJ_STDOUT, "so far", 6);
	auto_put struct bj_result *res = result_of(&s);
	struct bj_output out = bj_result_output(res, BJ_STDOUT);
	assert_int_equal(bj_result_outcome(res), BJ_SANDBOX_ERROR);
	assert_true(bj_result_started(res));
	assert_int_equal(out.size, 6);
	assert_memory_equal(out.data, "so far", 6);
	assert_int_equal(bj_result_output(res, BJ_STDERR).size, 0);
}

/* ---- Before any launcher ------------------------------------------------------------------- */

static void an_error_before_the_launcher_is_a_result(void **state)
{
	(void)state;
	static const struct {
		enum bj_code code;
		int os;
		enum bj_outcome outcome;
		int status;
		enum retry retry;
	} cases[] = {
		{BJ_INVALID, 0, BJ_OUTCOME_REFUSED, 125, RETRY_CHANGE},
		{BJ_REFUSED, 0, BJ_OUTCOME_REFUSED, 125, RETRY_NEVER},
		{BJ_UNSUPPORTED, ENOSYS, BJ_OUTCOME_REFUSED, 125, RETRY_NEVER},
		{BJ_SETUP, EIO, BJ_SANDBOX_ERROR, 125, RETRY_SAME},
		{BJ_EXEC, ENOENT, BJ_NOT_STARTED, 127, RETRY_CHANGE},
		{BJ_EXEC, EACCES, BJ_NOT_STARTED, 126, RETRY_CHANGE},
		{BJ_INTERNAL, ENOMEM, BJ_SANDBOX_ERROR, 125, RETRY_SAME},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bj_error why = {.code = cases[i].code, .os_error = cases[i].os};
		(void)snprintf(why.message, sizeof(why.message), "memory: 8g is above\n\x1b[1m 4g");
		auto_put struct bj_result *res = result_of_error(&why);
		assert_int_equal(bj_result_outcome(res), cases[i].outcome);
		assert_int_equal(bj_result_status(res), cases[i].status);
		assert_int_equal(res->verdict.retry, cases[i].retry);
		assert_false(bj_result_started(res));
		assert_non_null(strstr(bj_result_hint(res), "memory: 8g is above??[1m 4g."));
		assert_int_equal(bj_result_output(res, BJ_STDOUT).size, 0);
	}
}

/* Hints are sentences, or go on where the message ends. */
static void message_and_mend_are_joined_as_text(void **state)
{
	(void)state;
	static const struct {
		const char *message, *hint, *expected;
	} cases[] = {
		{"no cgroup", "Use systemd-run.", "Nothing ran: no cgroup. Use systemd-run."},
		{"8g is above 4g", "ask for at most 4g",
		 "Nothing ran: 8g is above 4g; ask for at most 4g."},
		{"no such file.", "", "Nothing ran: no such file."},
		{"no such file", "", "Nothing ran: no such file."},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bj_error why = {.code = BJ_REFUSED};
		(void)snprintf(why.message, sizeof(why.message), "%s", cases[i].message);
		(void)snprintf(why.hint, sizeof(why.hint), "%s", cases[i].hint);
		auto_put struct bj_result *res = result_of_error(&why);
		assert_string_equal(bj_result_hint(res), cases[i].expected);
	}
}

static void what_is_said_before_the_launcher_stays(void **state)
{
	(void)state;
	const struct bj_error why = {.code = BJ_UNSUPPORTED, .layer = "cgroup", .hint = "Mend it."};
	auto_put struct bj_result *res = result_of_error(&why);
	assert_string_equal(bj_result_error(res)->layer, "cgroup");
	assert_string_equal(bj_result_error(res)->hint, "Mend it.");
	assert_true(res->counted); /* nothing was made */
	auto_put struct bj_result *unsaid = result_of_error(NULL);
	assert_int_equal(bj_result_outcome(unsaid), BJ_SANDBOX_ERROR);
	assert_string_equal(bj_result_error(unsaid)->message, "the run ended before it began");
}

static void a_run_cancelled_before_its_launcher_is_cancelled(void **state)
{
	(void)state;
	struct result_input in = {.cancelled = true};
	auto_put struct bj_result *res = NULL;
	struct bj_error err;
	assert_int_equal(result_from_error(NULL, &in, &res, &err), 0);
	assert_int_equal(bj_result_outcome(res), BJ_CANCELLED);
	assert_int_equal(bj_result_status(res), 130);
	assert_false(bj_result_started(res));
	assert_int_equal(bj_result_error(res)->code, BJ_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_end_has_its_outcome),
		cmocka_unit_test(no_two_cases_have_one_name),
		cmocka_unit_test(a_report_that_cannot_be_is_a_sandbox_error),
		cmocka_unit_test(the_extremes_of_a_report_are_possible),
		cmocka_unit_test(set_up_that_met_its_memory_limit_says_so),
		cmocka_unit_test(before_the_start_only_what_was_proven_has_a_row),
		cmocka_unit_test(a_limit_is_a_cut_and_an_exit_is_none),
		cmocka_unit_test(an_untouched_or_short_report_started_nothing),
		cmocka_unit_test(a_layer_let_go_without_its_proof_is_named),
		cmocka_unit_test(a_layer_is_missing_only_where_the_plan_says_so),
		cmocka_unit_test(a_dead_launcher_leaves_its_output),
		cmocka_unit_test(an_error_before_the_launcher_is_a_result),
		cmocka_unit_test(message_and_mend_are_joined_as_text),
		cmocka_unit_test(what_is_said_before_the_launcher_stays),
		cmocka_unit_test(a_run_cancelled_before_its_launcher_is_cancelled),
	};
	return cmocka_run_group_tests(tests, usual_setup, usual_teardown);
}
