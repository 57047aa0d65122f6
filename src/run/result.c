/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the launcher's report to the result: check, judge, copy. The launcher is trusted but may
 * have been killed at any instruction, so the report is copied once and every number of it is
 * looked at. Nothing is bent into range: a report that cannot be is `sandbox_error`.
 */
#include "run/result.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "files/files.h"
#include "run/explain.h"
#include "run/hints.h"
#include "run/report_check.h"
#include "run/verdict.h"

#include <errno.h>
#include <string.h>

#define NS_PER_MS 1000000.0

static void free_files(struct bj_result *res)
{
	for (size_t i = 0; i < res->file_count; i++)
		free(res->files[i].path);
	free(res->files);
}

void result_free(struct bj_result *res)
{
	if (!res)
		return;
	kept_free(&res->stream[0]);
	kept_free(&res->stream[1]);
	free_files(res);
	free(res->hint);
	if (res->cache)
		free(res->cache->json);
	free(res->cache);
	free(res);
}

static void cleanup_result(struct bj_result **res)
{
	result_free(*res);
}

#define auto_result __attribute__((cleanup(cleanup_result)))

static int no_memory(struct bj_error *err)
{
	return fail(err, BJ_INTERNAL, "no memory for the result");
}

static int copy_files(struct bj_result *res, const struct result_input *in, struct bj_error *err)
{
	if (in->file_count == 0)
		return 0;
	res->files = calloc(in->file_count, sizeof(*res->files));
	if (!res->files)
		return no_memory(err);
	for (size_t i = 0; i < in->file_count; i++) {
		res->files[i] = in->files[i];
		res->files[i].path = strdup(in->files[i].path);
		if (!res->files[i].path)
			return no_memory(err);
		res->file_count = i + 1;
	}
	return 0;
}

static struct bj_result *result_new(const struct result_input *in, struct bj_error *err)
{
	auto_result struct bj_result *res = calloc(1, sizeof(*res));
	if (!res || !(res->cache = calloc(1, sizeof(*res->cache)))) {
		(void)no_memory(err);
		return NULL;
	}
	if (in->run_id)
		(void)snprintf(res->run_id, sizeof(res->run_id), "%s", in->run_id);
	make_line(res->run_id);
	res->usage.by = "none";
	res->stream[0].utf8 = res->stream[1].utf8 = true;
	for (size_t i = 0; i < STAGE_COUNT; i++)
		res->stage_ms[i] = -1;
	if (copy_files(res, in, err) < 0)
		return NULL;
	return TAKE_PTR(res);
}

/* What was asked for and not copied out is an error of the run, whatever the program said. */
static void judge_files(struct bj_result *res, const struct result_input *in)
{
	struct verdict *v = &res->verdict;
	if (!in->files_error || res->error.code != BJ_OK)
		return;
	res->error = *in->files_error;
	if (v->outcome == BJ_EXITED && v->exit_code == 0) {
		v->status = 125;
		v->retry = RETRY_CHANGE;
	}
}

static int finish_result(struct bj_result **res, const struct report *report,
			 const struct result_input *in, struct bj_result **ret,
			 struct bj_error *err)
{
	judge_files(*res, in);
	make_line((*res)->error.layer);
	make_line((*res)->error.message);
	make_line((*res)->error.hint);
	(*res)->hint = hint_make(*res, report, in);
	if (!(*res)->hint)
		return no_memory(err);
	*ret = TAKE_PTR(*res);
	return 0;
}

static void take_usage(struct bj_result *res, const struct report *r)
{
	static const char *const by[] = {"none", "cgroup", "monitor"};
	res->usage = (struct bj_usage){
		.wall_ms = (double)r->wall_ns / NS_PER_MS,
		.cpu_ms = (double)r->cpu_ns / NS_PER_MS,
		.memory_peak_bytes = r->memory_peak,
		.tasks_peak = r->tasks_peak,
		.by = by[r->usage_by],
	};
}

static void take_counts(struct bj_result *res, const struct report *r)
{
	res->counted = report_complete(r);
	if (!res->counted)
		return;
	res->left_processes = r->left_processes;
	res->left_mounts = r->left_mounts;
	res->left_cgroups = r->left_cgroups;
	res->left_files = r->left_files;
}

static void take_stages(struct bj_result *res, const struct report *r,
			const struct result_input *in)
{
	uint64_t begin = in->begin_ns ? in->begin_ns : r->stage_ns[STAGE_ENTER];
	for (size_t i = 0; i < STAGE_COUNT; i++)
		if (r->stage_ns[i] != 0 && r->stage_ns[i] >= begin)
			res->stage_ms[i] = (double)(r->stage_ns[i] - begin) / NS_PER_MS;
}

/* Where nothing was let go the rows are what was proven so far. */
static void take_layers(struct bj_result *res, const struct report *r)
{
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		struct result_layer *row = &res->layer[i];
		if (r->layer[i].missing)
			row->state = STATE_ACCEPTED_MISSING;
		else if (r->layer[i].required && r->layer[i].proof != PROOF_NONE)
			row->state = STATE_PROVEN;
		row->by = r->layer[i].proof;
		memcpy(row->note, r->layer[i].note, sizeof(row->note));
		make_line(row->note);
	}
}

static void sandbox_error(struct bj_result *res, bool started)
{
	uint32_t limits = res->verdict.limits;
	res->verdict = (struct verdict){
		.outcome = BJ_SANDBOX_ERROR, .started = started, .exit_code = -1, .limits = limits};
	verdict_finish(&res->verdict, 0);
}

/* The kept bytes, as far as the numbers about them can be. */
static int take_output(struct bj_result *res, const struct report *r, const uint8_t *kept,
		       struct bj_error *err)
{
	bool ended_by_kill = r->end != END_STATUS || !report_complete(r);
	for (size_t i = 0; i < 2; i++)
		if (kept_take(kept + i * r->keep_bytes, r->keep_bytes, &r->stream[i], ended_by_kill,
			      &res->stream[i], err) < 0)
			return -1;
	return 0;
}

static bool output_possible(const struct report *r, size_t size)
{
	if (size < sizeof(*r) || r->keep_bytes > (size - sizeof(*r)) / 2)
		return false;
	return kept_possible(r->keep_bytes, &r->stream[0], r->inflight) &&
	       kept_possible(r->keep_bytes, &r->stream[1], r->inflight);
}

/* The words are those of a fault; its mend stays. */
static void say_named(struct bj_error *error, const struct bj_error *named)
{
	struct bj_error own = *named;
	(void)fail_hint(&own, "%s", error->hint);
	*error = own;
}

static void name_input(const struct fault *fault, const struct plan_input *input,
		       struct bj_error *error)
{
	char shown[TEXT_PATH_SIZE];
	struct bj_error named = *error;
	bool reading = strcmp(fault->what, FILES_READ_STEP) == 0;
	(void)text_quote(shown, sizeof(shown), input->host ? input->host : input->name);
	errno = fault->os;
	(void)fail_errno(&named, BJ_INVALID, "%s%s %s%s", input->in ? "--in: " : "",
			 reading ? "read" : "copy", shown, reading ? "" : " into the workspace");
	say_named(error, &named);
}

static void name_cwd(const struct fault *fault, const char *cwd, struct bj_error *error)
{
	char shown[TEXT_PATH_SIZE];
	struct bj_error named = *error;
	(void)text_quote(shown, sizeof(shown), cwd);
	errno = fault->os;
	(void)fail_errno(&named, BJ_EXEC, "--cwd %s", shown);
	say_named(error, &named);
}

static bool is_no_directory(int os)
{
	return os == ENOENT || os == ENOTDIR || os == EACCES || os == ELOOP || os == ENAMETOOLONG;
}

/* A fault of the caller's is told by what the caller named, for which a fault has no room. */
static void name_named(const struct fault *fault, const struct result_input *in,
		       struct bj_error *error)
{
	if (fault->code == BJ_INVALID && fault->input && fault->input <= in->input_count)
		name_input(fault, &in->inputs[fault->input - 1], error);
	/* Of the program's process, before its exec: its only fault that is of `mount`. */
	if (fault->code == BJ_EXEC && fault->layer == LAYER_MOUNT && in->cwd &&
	    is_no_directory(fault->os))
		name_cwd(fault, in->cwd, error);
}

/* Why the launcher's word is no result, for a report that can be. */
static void explain_end(struct bj_result *res, const struct report *r,
			const struct result_input *in)
{
	struct bj_error *error = &res->error;
	if (r->end == END_FAULT || r->end == END_EXEC) {
		fault_explain(&r->fault, in->program, error);
		name_named(&r->fault, in, error);
	} else if (!report_complete(r)) {
		(void)fail(error, BJ_INTERNAL, "the launcher died %s",
			   res->verdict.started ? "while the program ran" : "during set-up");
		(void)fail_hint(error,
				"Something on this host killed it: look at the kernel's log for "
				"its OOM killer, and try again.");
	} else {
		(void)fail(error, BJ_INTERNAL, "the run ended before the program was let go");
		(void)fail_hint(error,
				"If it happens again, ask for more `memory` and `time`: set-up "
				"counts too.");
	}
	if (!res->verdict.started && r->oom_kills > 0)
		(void)fail_hint(error,
				"Set-up itself ran into the run's memory limit: ask for more "
				"`memory`, or copy in less.");
}

/* Judges a report whose numbers can all be. */
static void judge(struct bj_result *res, const struct report *r, const struct result_input *in)
{
	res->verdict = verdict(r, in);
	take_usage(res, r);
	take_counts(res, r);
	take_stages(res, r, in);
	take_layers(res, r);
	enum layer_id bare =
		res->verdict.started ? report_unproven(r, in->required, in->missing) : LAYER_COUNT;
	if (bare != LAYER_COUNT) {
		sandbox_error(res, true);
		(void)fail(&res->error, BJ_SETUP,
			   "layer %s: the program was let go without its proof", layers[bare].name);
		(void)fail_layer(&res->error, layers[bare].name);
		return;
	}
	enum bj_outcome outcome = res->verdict.outcome;
	if (outcome == BJ_SANDBOX_ERROR || outcome == BJ_OUTCOME_REFUSED ||
	    outcome == BJ_NOT_STARTED)
		explain_end(res, r, in);
}

int result_from_report(const void *memory, size_t size, const struct result_input *in,
		       struct bj_result **ret, struct bj_error *err)
{
	auto_result struct bj_result *res = result_new(in, err);
	if (!res)
		return -1;
	struct report r = {0};
	if (size >= sizeof(r))
		memcpy(&r, memory, sizeof(r));
	bool written = r.magic == REPORT_MAGIC && r.size == sizeof(r);
	if (!written) {
		/* An untouched report is a launcher that did nothing; of another, assume the worst.
		 */
		sandbox_error(res, r.magic != 0);
		(void)fail(&res->error, BJ_INTERNAL, "the launcher left no report");
		return finish_result(&res, NULL, in, ret, err);
	}
	bool output = output_possible(&r, size);
	if (output && take_output(res, &r, (const uint8_t *)memory + sizeof(r), err) < 0)
		return -1;
	const char *what = output ? report_impossible(&r) : "output that cannot be";
	if (what) {
		sandbox_error(res, r.phase != PHASE_NOTHING && r.phase != PHASE_SETUP);
		(void)fail(&res->error, BJ_INTERNAL, "the launcher's report is damaged: it has %s",
			   what);
		return finish_result(&res, NULL, in, ret, err);
	}
	judge(res, &r, in);
	return finish_result(&res, &r, in, ret, err);
}

int result_from_error(const struct bj_error *why, const struct result_input *in,
		      struct bj_result **ret, struct bj_error *err)
{
	auto_result struct bj_result *res = result_new(in, err);
	if (!res)
		return -1;
	res->verdict.exit_code = -1;
	res->counted = true; /* nothing was made, nothing is left */
	if (in->cancelled) {
		res->verdict.outcome = BJ_CANCELLED;
	} else if (why) {
		res->error = *why;
		res->verdict.outcome = outcome_of_code(why->code);
	} else {
		res->verdict.outcome = BJ_SANDBOX_ERROR;
		(void)fail(&res->error, BJ_INTERNAL, "the run ended before it began");
	}
	verdict_finish(&res->verdict, res->error.os_error);
	/* A wrong request can be put right; what a rule or this host refuses cannot. */
	if (res->error.code == BJ_INVALID)
		res->verdict.retry = RETRY_CHANGE;
	return finish_result(&res, NULL, in, ret, err);
}
