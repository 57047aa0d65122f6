/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the deep checks tried: most of them in three runs, the counterparts that belong outside in a
 * process there, and those that a limit must end in runs of their own.
 */
#include "base/cleanup.h"
#include "cli/doctor.h"
#include "cli/doctor_deep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX (BAIT_ARGS_MAX + 4)

/* What a run of the library says went wrong; BJ_OK: it ended as a program does. */
static void keep_error(struct deep *deep, const struct bj_result *res, const struct bj_error *err)
{
	if (deep->error.code != BJ_OK)
		return; /* the first says most */
	if (!res) {
		deep->error = *err;
		return;
	}
	if (bj_result_outcome(res) == BJ_EXITED && bj_result_exit_code(res) == 0)
		return;
	deep->error = *bj_result_error(res);
	if (deep->error.code == BJ_OK)
		(void)fail(&deep->error, BJ_INTERNAL, "the probe inside: %s", bj_result_hint(res));
}

static void hear_line(void *user, const char *line, size_t size)
{
	deep_hear(user, line, size);
}

/* "deep", the run's name, what the bait tells and one fact more; `args` has room for ARGS_MAX. */
static void make_args(const char *args[], const char *run, const struct bait *bait,
		      const char *fact)
{
	size_t count = 0;
	args[count++] = "deep";
	args[count++] = run;
	for (size_t i = 1; bait->argv[i]; i++)
		args[count++] = bait->argv[i];
	if (fact)
		args[count++] = fact;
	args[count] = NULL;
}

/* Whether the program was started: then what it said is heard, however the run is judged. */
static bool try_run(struct deep *deep, const char *run, const struct bait *bait, uint32_t without,
		    const struct doctor_field *fields)
{
	const char *args[ARGS_MAX];
	struct bj_error err = {0};
	bool cgroup = !(without & LAYER_BIT(LAYER_CGROUP));
	make_args(args, run, bait, cgroup ? "cgroup=1" : NULL);
	struct bj_result *res = doctor_run(without, args, fields, &err);
	keep_error(deep, res, &err);
	bool started = res && bj_result_started(res);
	if (started) {
		struct bj_output output = bj_result_output(res, BJ_STDOUT);
		for_each_line((const char *)output.data, output.size, hear_line, deep);
	}
	bj_result_free(res);
	return started;
}

/* ---- Runs that a limit ends --------------------------------------------------------------------
 */

static bool has_word(const char *pid, const char *word)
{
	char path[32], text[4096];
	(void)snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return size > 0 && memmem(text, (size_t)size, word, strlen(word)) != NULL;
}

/* Whether any process of the host that can be seen has this word among its arguments. */
static bool is_running(const char *word)
{
	DIR *proc = opendir("/proc");
	bool found = false;
	if (!proc)
		return false;
	for (struct dirent *entry; (entry = readdir(proc)) && !found;)
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			has_word(entry->d_name, word);
	(void)closedir(proc);
	return found;
}

static const char *outcome_of(const struct bj_result *res)
{
	return res ? bj_outcome_name(bj_result_outcome(res)) : "no run";
}

static bool exited_well(const struct bj_result *res)
{
	return res && bj_result_outcome(res) == BJ_EXITED && bj_result_exit_code(res) == 0;
}

static struct bj_result *run_row(const struct deep_row *row, const char *how, const char *word,
				 uint32_t without)
{
	const char *const args[] = {"end", row->action, how, word, NULL};
	bool much = strcmp(how, "much") == 0;
	const struct doctor_field fields[] = {{much ? row->field : NULL, row->value}, {0}};
	struct bj_error err = {0};
	return doctor_run(without, args, fields, &err);
}

static void try_ended(struct deep *deep, enum deep_id id, const char *word, uint32_t without)
{
	const struct deep_row *row = &deep_rows[id];
	struct bj_result *res = run_row(row, "much", word, without);
	(void)snprintf(deep->got[id], DEEP_GOT_SIZE, "%s", outcome_of(res));
	bj_result_free(res);
	res = run_row(row, "little", word, without);
	(void)snprintf(deep->other_got[id], DEEP_GOT_SIZE, "%s",
		       exited_well(res) ? "works" : outcome_of(res));
	bj_result_free(res);
}

static void look_for_word(void *user, const char *line, size_t size)
{
	const char **word = user;
	(void)line;
	(void)size;
	/* It has said that it runs, and waits for its input to end. */
	if (*word && is_running(*word))
		*word = NULL;
}

/* A process that would outlive its run, looked for on the host's side. */
static void try_outlive(struct deep *deep, const char *word, uint32_t without)
{
	const struct deep_row *row = &deep_rows[DEEP_pid_outlive];
	struct bj_result *res = run_row(row, "much", word, without);
	const char *got = outcome_of(res);
	if (exited_well(res)) {
		struct bj_output output = bj_result_output(res, BJ_STDOUT);
		bool lived = output.size >= 5 && memcmp(output.data, "alive", 5) == 0;
		got = !lived ? "never lived" : is_running(word) ? "alive" : "gone";
	}
	(void)snprintf(deep->got[DEEP_pid_outlive], DEEP_GOT_SIZE, "%s", got);
	bj_result_free(res);
	const char *const args[] = {"end", row->action, "little", word, NULL};
	const char *left = word;
	doctor_outside(args, look_for_word, &left);
	(void)snprintf(deep->other_got[DEEP_pid_outlive], DEEP_GOT_SIZE, "%s",
		       left ? "not seen" : "works");
}

void deep_try(struct deep *deep, const struct bait *bait, uint32_t without)
{
	static const struct doctor_field small[] = {
		{"memory", "32m"}, {"pids", "16"},	{"tmp", "256k"},  {"shm", "256k"},
		{"inodes", "64"},  {"workspace", "8m"}, {"nofile", "64"}, {0},
	};
	static const struct doctor_field as_it_is[] = {{0}};
	const char *args[ARGS_MAX];
	deep->started = try_run(deep, "inside", bait, without, as_it_is);
	if (!deep->started)
		return;
	(void)try_run(deep, "later", bait, without, as_it_is);
	(void)try_run(deep, "small", bait, without, small);
	make_args(args, "outside", bait, "outside=1");
	doctor_outside(args, hear_line, deep);
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		if (deep_rows[i].run != DEEP_RUN_ENDED)
			continue;
		if (i == DEEP_pid_outlive)
			try_outlive(deep, bait->word, without);
		else
			try_ended(deep, (enum deep_id)i, bait->word, without);
	}
}
