/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor tries: belljar-probe in real sandboxes, or, where none can be made, outside. */
#include "cli/doctor.h"

#include "base/cleanup.h"
#include "cli/doctor_deep.h"
#include "run/host_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void add_line(void *user, const char *line, size_t size)
{
	struct doctor *doctor = user;
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

void for_each_line(const char *text, size_t size, line_fn hear, void *user)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t len = end ? (size_t)(end - text) : size;
		hear(user, text, len);
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

static int set_fields(struct bj_request *req, const struct doctor_field *fields,
		      struct bj_error *err)
{
	for (; fields->name; fields++)
		if (bj_request_set(req, fields->name, fields->value, err) < 0)
			return -1;
	return 0;
}

struct bj_result *doctor_run(uint32_t without, const char *const args[],
			     const struct doctor_field *fields, struct bj_error *err)
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
	    set_fields(req, fields, err) == 0 &&
	    bj_request_env(req, "BELLJAR_DOCTOR_GIVEN=1", err) == 0 &&
	    bj_request_source(req, doctor_probe(), "program", args, err) == 0)
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
	static const struct doctor_field as_it_is[] = {{0}};
	for (;;) {
		struct bj_error err = {0};
		struct bj_result *res = doctor_run(doctor->without, bait->argv, as_it_is, &err);
		bool ran =
			res && bj_result_outcome(res) == BJ_EXITED && bj_result_exit_code(res) == 0;
		if (ran) {
			struct bj_output output = bj_result_output(res, BJ_STDOUT);
			read_receipt(doctor, res);
			for_each_line((const char *)output.data, output.size, add_line, doctor);
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
		const struct doctor_field fields[] = {{runs[i].field, runs[i].value}, {0}};
		struct bj_error err = {0};
		struct bj_result *res = doctor_run(doctor->without, args, fields, &err);
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
	static const struct doctor_field fields[] = {{"pids", "16"}, {0}};
	struct bj_result *res = doctor_run(doctor->without, args, fields, &err);
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

/* The probe with its input from and its output to these; -1: it could not be started. */
static pid_t start_outside(const char *const args[], int input, int output)
{
	const char *argv[BAIT_ARGS_MAX + 6] = {doctor_probe()};
	pid_t pid;
	posix_spawn_file_actions_t actions;
	for (size_t i = 0; args[i] && i + 2 < ARRAY_SIZE(argv); i++)
		argv[i + 1] = args[i];
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	int got = posix_spawn_file_actions_adddup2(&actions, input, 0);
	if (got == 0)
		got = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (got == 0)
		got = posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
				  environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return got == 0 ? pid : -1;
}

void doctor_outside(const char *const args[], line_fn hear, void *user)
{
	int input[2], output[2];
	if (pipe2(input, O_CLOEXEC) < 0)
		return;
	auto_close int ours = input[1];
	auto_close int theirs = input[0];
	if (pipe2(output, O_CLOEXEC) < 0)
		return;
	auto_close int from = output[0];
	auto_close int to = output[1];
	pid_t pid = start_outside(args, theirs, to);
	(void)close(TAKE_FD(to));
	if (pid < 0)
		return;
	auto_fclose FILE *file = fdopen(from, "re");
	if (file) {
		(void)TAKE_FD(from);
		char line[512];
		while (fgets(line, sizeof(line), file)) {
			hear(user, line, strlen(line));
			if (ours >= 0)
				(void)close(TAKE_FD(ours));
		}
	}
	if (ours >= 0)
		(void)close(TAKE_FD(ours));
	(void)waitpid(pid, NULL, 0);
}

static void try_outside(struct doctor *doctor)
{
	static const char *const args[] = {"host", NULL};
	doctor_outside(args, add_line, doctor);
}

/* What failed counts against its layer. */
static void try_deep(struct doctor *doctor, const struct bait *bait)
{
	deep_try(doctor->deep, bait, doctor->without);
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		enum deep_id id = (enum deep_id)i;
		if (deep_judge(doctor->deep, id, doctor->without) == DEEP_FAILED)
			doctor_add(doctor, deep_layer(id, doctor->without), true, false,
				   deep_rows[i].text, doctor->deep->got[i]);
	}
}

void doctor_try(struct doctor *doctor)
{
	struct bait bait;
	bool laid = bait_set(&bait, &doctor->error) == 0;
	if (laid && try_walls(doctor, &bait)) {
		try_limits(doctor);
		try_tasks(doctor);
	} else {
		find_cgroup(doctor);
		try_outside(doctor);
	}
	if (laid && doctor->deep)
		try_deep(doctor, &bait);
	bait_take_away(&bait);
}
