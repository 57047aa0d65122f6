/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor tries: belljar-probe in real sandboxes, or, where none can be made, outside. */
#include "cli/doctor.h"

#include "base/cleanup.h"
#include "config.h"
#include "run/host_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE BELLJAR_LIBEXECDIR "/belljar-probe"

void doctor_add(struct doctor *doctor, enum layer_id layer, bool denied, bool ok, const char *text,
		const char *got)
{
	if (layer >= LAYER_COUNT || doctor->trial_count >= CHECKS_MAX)
		return;
	struct trial *trial = &doctor->trials[doctor->trial_count++];
	*trial = (struct trial){.layer = layer, .denied = denied, .ok = ok};
	(void)snprintf(trial->text, sizeof(trial->text), "%s", text);
	(void)snprintf(trial->got, sizeof(trial->got), "%s", got);
}

/* ---- What the probe says ------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static void add_line(struct doctor *doctor, const char *line, size_t size)
{
	json_auto_t *root = json_loadb(line, size, 0, NULL);
	const char *got = text_of(root, "errno");
	if (json_is_true(json_object_get(root, "hidden")))
		got = "hidden";
	enum layer_id layer = layer_by_name(text_of(root, "layer"));
	/* What a cgroup would bound, `monitor` does. */
	if (layer == LAYER_CGROUP && doctor->receipt[LAYER_MONITOR])
		layer = LAYER_MONITOR;
	doctor_add(doctor, layer, strcmp(text_of(root, "expect"), "denied") == 0,
		   json_is_true(json_object_get(root, "ok")), text_of(root, "check"), got);
}

static void add_lines(struct doctor *doctor, const char *text, size_t size)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t len = end ? (size_t)(end - text) : size;
		add_line(doctor, text, len);
		size -= len + (end != NULL);
		text += len + (end != NULL);
	}
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* A policy file that accepts the absence of these layers, in memory; -1: none is needed. */
static int accepting(uint32_t without, char path[32], struct bj_error *err)
{
	if (!without)
		return -1;
	json_t *names = json_array();
	for (size_t i = 0; i < LAYER_COUNT; i++)
		if (without & LAYER_BIT(i))
			(void)json_array_append_new(names, json_string(layers[i].name));
	json_auto_t *root = json_pack("{s:o}", "accept_missing", names);
	auto_close int fd = memfd_create("belljar-doctor", MFD_CLOEXEC);
	if (!root || fd < 0 || json_dumpfd(root, fd, 0) < 0) {
		(void)fail_errno(err, BJ_INTERNAL, "make a policy file in memory (memfd_create)");
		return -1;
	}
	(void)snprintf(path, 32, "/proc/self/fd/%d", fd);
	return TAKE_FD(fd);
}

/* The probe with these arguments and one value of the policy changed (NULL: none). */
static struct bj_result *run_probe(uint32_t without, const char *const args[], const char *field,
				   const char *value, struct bj_error *err)
{
	char policy[32];
	struct bj_result *res = NULL;
	struct bj_request *req = bj_request_new();
	auto_close int policy_fd = accepting(without, policy, err);
	if (!req) {
		(void)fail(err, BJ_INTERNAL, "out of memory");
		return NULL;
	}
	if ((policy_fd < 0 || bj_request_policy_file(req, policy, err) == 0) &&
	    (!field || bj_request_set(req, field, value, err) == 0) &&
	    bj_request_env(req, "BELLJAR_DOCTOR_GIVEN=1", err) == 0 &&
	    bj_request_source(req, PROBE, "program", args, err) == 0)
		(void)bj_run(req, -1, &res, err);
	bj_request_free(req);
	return res;
}

static void read_receipt(struct doctor *doctor, const struct bj_result *res)
{
	json_auto_t *root = json_loads(bj_result_json(res), 0, NULL);
	size_t index;
	json_t *row;
	json_array_foreach (json_object_get(root, "layers"), index, row) {
		enum layer_id id = layer_by_name(text_of(row, "name"));
		if (id == LAYER_COUNT)
			continue;
		doctor->receipt[id] = true;
		doctor->layer[id] = strcmp(text_of(row, "state"), "proven") == 0
					    ? DIAGNOSIS_PROVEN
					    : DIAGNOSIS_ACCEPTED_MISSING;
		(void)snprintf(doctor->by[id], sizeof(doctor->by[0]), "%s", text_of(row, "by"));
		(void)snprintf(doctor->note[id], sizeof(doctor->note[0]), "%s",
			       text_of(row, "note"));
	}
}

/*
 * The run whose program tries the walls. Where the host lacks a layer that a policy file may accept
 * as missing, once more without it: the others are to be seen as well.
 */
static bool try_walls(struct doctor *doctor, const struct bait *bait)
{
	for (;;) {
		struct bj_error err = {0};
		struct bj_result *res = run_probe(doctor->without, bait->argv, NULL, NULL, &err);
		bool ran =
			res && bj_result_outcome(res) == BJ_EXITED && bj_result_exit_code(res) == 0;
		if (ran) {
			struct bj_output output = bj_result_output(res, BJ_STDOUT);
			read_receipt(doctor, res);
			add_lines(doctor, (const char *)output.data, output.size);
			doctor_add(doctor, LAYER_OUTPUT, false, output.omitted_bytes == 0,
				   "write within the limit", "");
			doctor_add(doctor, LAYER_DEADLINE, false, true, "end in its own time", "");
		} else if (res) {
			err = *bj_result_error(res);
			if (err.code == BJ_OK)
				(void)fail(&err, BJ_INTERNAL, "the probe inside: %s",
					   bj_result_hint(res));
		}
		bj_result_free(res);
		if (ran)
			return true;
		enum layer_id id = layer_by_name(err.layer);
		if (id == LAYER_COUNT || !layers[id].may_be_missing ||
		    (doctor->without & LAYER_BIT(id))) {
			doctor->error = err;
			return false;
		}
		doctor->fault[id] = err;
		doctor->without |= LAYER_BIT(id);
	}
}

/* Runs that a limit must end. */
static void try_limits(struct doctor *doctor)
{
	bool cgroup = doctor->layer[LAYER_CGROUP] == DIAGNOSIS_PROVEN;
	const struct {
		enum layer_id layer;
		const char *text, *arg, *field, *value;
		enum bj_outcome outcome;
	} runs[] = {
		{cgroup ? LAYER_CGROUP : LAYER_MONITOR, "take more memory than allowed", "memory",
		 "memory", "32m", BJ_MEMORY_LIMIT},
		{LAYER_DEADLINE, "run past its time", "sleep", "time", "300ms", BJ_TIME_LIMIT},
		{LAYER_DEADLINE, "use more CPU time than allowed", "spin", "cpu_time", "100ms",
		 BJ_CPU_LIMIT},
		{LAYER_OUTPUT, "write more than allowed", "flood", "max_output", "64k",
		 BJ_OUTPUT_LIMIT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		const char *const args[] = {runs[i].arg, NULL};
		struct bj_error err = {0};
		struct bj_result *res =
			run_probe(doctor->without, args, runs[i].field, runs[i].value, &err);
		enum bj_outcome outcome = res ? bj_result_outcome(res) : BJ_SANDBOX_ERROR;
		doctor_add(doctor, runs[i].layer, true, outcome == runs[i].outcome, runs[i].text,
			   bj_outcome_name(outcome));
		bj_result_free(res);
	}
}

/* More processes than allowed: the program goes on, and says what it was refused with. */
static void try_tasks(struct doctor *doctor)
{
	const char *const args[] = {"tasks", NULL};
	struct bj_error err = {0};
	struct bj_result *res = run_probe(doctor->without, args, "pids", "16", &err);
	struct bj_output output = {0};
	if (res)
		output = bj_result_output(res, BJ_STDOUT);
	json_auto_t *line =
		output.size ? json_loadb((const char *)output.data, output.size, 0, NULL) : NULL;
	json_int_t started = json_integer_value(json_object_get(line, "started"));
	const char *got = text_of(line, "errno");
	enum layer_id layer =
		doctor->layer[LAYER_CGROUP] == DIAGNOSIS_PROVEN ? LAYER_CGROUP : LAYER_RLIMIT;
	doctor_add(doctor, layer, false, started >= 8, "start some processes", "");
	doctor_add(doctor, layer, true, strcmp(got, "EAGAIN") == 0 && started < 16,
		   "start more processes than allowed", got);
	bj_result_free(res);
}

/* ---- Outside ----------------------------------------------------------------------------------
 */

/* Too large for a stack. */
static void find_cgroup(struct doctor *doctor)
{
	auto_free struct host_cgroup *found = calloc(1, sizeof(*found));
	if (!found)
		return;
	host_cgroup_find(found);
	doctor_add(doctor, LAYER_CGROUP, false, found->kind != CGROUP_NONE,
		   "find a cgroup for runs", "");
	if (found->kind == CGROUP_NONE)
		(void)snprintf(doctor->note[LAYER_CGROUP], sizeof(doctor->note[0]), "%.90s",
			       found->why);
}

static void try_outside(struct doctor *doctor)
{
	int pipe_fds[2];
	pid_t pid;
	const char *argv[] = {PROBE, "host", NULL};
	posix_spawn_file_actions_t actions;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return;
	auto_close int from = pipe_fds[0];
	auto_close int to = pipe_fds[1];
	if (posix_spawn_file_actions_init(&actions) != 0)
		return;
	int got = posix_spawn_file_actions_adddup2(&actions, to, 1);
	if (got == 0)
		got = posix_spawn(&pid, PROBE, &actions, NULL, (char *const *)(uintptr_t)argv,
				  environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (got != 0)
		return;
	(void)close(TAKE_FD(to));
	auto_fclose FILE *file = fdopen(from, "re");
	if (file) {
		(void)TAKE_FD(from);
		char line[512];
		while (fgets(line, sizeof(line), file))
			add_line(doctor, line, strlen(line));
	}
	(void)waitpid(pid, NULL, 0);
}

void doctor_try(struct doctor *doctor)
{
	struct bait bait;
	if (bait_set(&bait, &doctor->error) == 0 && try_walls(doctor, &bait)) {
		try_limits(doctor);
		try_tasks(doctor);
	} else {
		find_cgroup(doctor);
		try_outside(doctor);
	}
	bait_take_away(&bait);
}
