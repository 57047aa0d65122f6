/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a report can be what a launcher leaves: see report_check.h. */
#include "run/report_check.h"

#include "base/cleanup.h"
#include "layers/plan.h"

#include <string.h>
#include <sys/wait.h>

bool report_started(const struct report *r)
{
	return r->phase == PHASE_STARTED || (r->phase == PHASE_DONE && r->stage_ns[STAGE_GO] != 0);
}

bool report_complete(const struct report *r)
{
	return r->phase == PHASE_DONE ||
	       (r->phase != PHASE_NOTHING && r->end != END_NONE && r->stage_ns[STAGE_CLEAN] != 0);
}

/* UINT64_MAX is what nobody knows. */
static bool numbers_possible(const struct report *r)
{
	const uint64_t known[] = {r->oom_kills, r->wall_ns, r->cpu_ns, r->memory_peak,
				  r->tasks_peak};
	const uint64_t perhaps[] = {r->tasks_denied, r->left_processes, r->left_mounts,
				    r->left_cgroups, r->left_files};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] > INT64_MAX)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(perhaps); i++)
		if (perhaps[i] > INT64_MAX && perhaps[i] != UINT64_MAX)
			return false;
	return true;
}

static bool stages_possible(const struct report *r)
{
	for (size_t i = 0; i < STAGE_COUNT; i++) {
		uint64_t at = r->stage_ns[i];
		if (at > INT64_MAX || (at != 0 && at < r->stage_ns[STAGE_ENTER]))
			return false;
	}
	return true;
}

static bool fault_possible(const struct fault *fault)
{
	return fault->code <= BJ_INTERNAL && fault->layer <= LAYER_COUNT &&
	       fault->input <= PLAN_COPIES_MAX && fault->hook < HOOK_COUNT && fault->os >= 0 &&
	       fault->os < 4096 && memchr(fault->what, '\0', sizeof(fault->what));
}

static bool end_possible(const struct report *r)
{
	if (!report_complete(r))
		return true;
	if (r->end == END_NONE)
		return false;
	if (r->has_status && !WIFEXITED(r->wait_status) && !WIFSIGNALED(r->wait_status))
		return false;
	if (r->end == END_STATUS)
		return r->has_status == 1;
	if (r->end == END_EXEC)
		return r->fault.code != BJ_OK && !report_started(r);
	return r->end != END_FAULT || r->fault.code != BJ_OK;
}

static bool layers_possible(const struct report *r)
{
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		const struct report_layer *row = &r->layer[i];
		if (row->required > 1 || row->missing > 1 || row->proof > BY_LAUNCHER ||
		    !memchr(row->note, '\0', sizeof(row->note)))
			return false;
		if (row->missing && (row->proof != PROOF_NONE || !layers[i].may_be_missing))
			return false;
	}
	return true;
}

const char *report_impossible(const struct report *r)
{
	if (r->phase > PHASE_DONE || r->end >= END_COUNT || r->has_status > 1 || r->inflight > 1 ||
	    r->usage_by > 2 || r->disk_full > (DISK_TMP | DISK_WORKSPACE | DISK_SHM))
		return "a value out of its range";
	if (!numbers_possible(r))
		return "a number out of its range";
	if (!stages_possible(r))
		return "a time before the launcher's start";
	if (!fault_possible(&r->fault))
		return "a fault that is none";
	if (!end_possible(r))
		return "an end that is none";
	if (!layers_possible(r))
		return "a layer's row that is none";
	return NULL;
}

enum layer_id report_unproven(const struct report *r, uint32_t required, uint32_t missing)
{
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		const struct report_layer *row = &r->layer[i];
		bool absent = missing & LAYER_BIT(i);
		bool proven = row->required && row->proof != PROOF_NONE;
		bool wanted = (required & LAYER_BIT(i)) && !absent;
		if (row->missing != absent || (wanted && !proven))
			return (enum layer_id)i;
	}
	return LAYER_COUNT;
}
