/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RUNS runs in a row by one process, of every outcome in turn, each judged:
 *
 *   soak RUNS POLICY|-
 *
 * Standard output: a JSON object with the outcomes, and this process' descriptors and memory before
 * and after. Whoever starts it counts what is to be counted on the host.
 */
#include <belljar/belljar.h>
#include <dirent.h>
#include <err.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct kind {
	const char *argv[4];
	const char *field, *value; /* a policy field of its own */
	enum bj_outcome outcome;
	int exit_code;
	bool cancel; /* cancelled from the start */
};

static const struct kind kinds[] = {
	{.argv = {"/bin/true"}, .outcome = BJ_EXITED},
	{.argv = {"/bin/sh", "-c", "exit 3"}, .outcome = BJ_EXITED, .exit_code = 3},
	{.argv = {"/bin/sh", "-c", "echo a >/tmp/a; echo b >/workspace/b"}, .outcome = BJ_EXITED},
	{.argv = {"/bin/sh", "-c", "sleep 99 & sleep 99 & exit 0"}, .outcome = BJ_EXITED},
	{.argv = {"/bin/sh", "-c", "kill -SEGV $$"}, .outcome = BJ_SIGNALED, .exit_code = -1},
	{.argv = {"/bin/sleep", "99"},
	 .field = "time",
	 .value = "20ms",
	 .outcome = BJ_TIME_LIMIT,
	 .exit_code = -1},
	{.argv = {"/usr/bin/tail", "/dev/zero"},
	 .field = "memory",
	 .value = "16m",
	 .outcome = BJ_MEMORY_LIMIT,
	 .exit_code = -1},
	{.argv = {"/usr/bin/yes"},
	 .field = "max_output",
	 .value = "100k",
	 .outcome = BJ_OUTPUT_LIMIT,
	 .exit_code = -1},
	{.argv = {"/bin/sleep", "99"}, .outcome = BJ_CANCELLED, .exit_code = -1, .cancel = true},
	{.argv = {"/not/there"}, .outcome = BJ_NOT_STARTED, .exit_code = -1},
	{.argv = {"/bin/true"},
	 .field = "time",
	 .value = "100h",
	 .outcome = BJ_OUTCOME_REFUSED,
	 .exit_code = -1},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static unsigned long outcomes[BJ_OUTCOME_COUNT];
static unsigned long wrong, left;

static long count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long count = 0;

	if (!dir)
		err(1, "/proc/self/fd");
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 3; /* ., .. and the directory itself */
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		err(1, "/proc/self/statm");
	(void)fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void judge(const struct kind *kind, const struct bj_result *res)
{
	enum bj_outcome outcome = bj_result_outcome(res);
	json_t *root = json_loads(bj_result_json(res), 0, NULL);
	json_t *count, *counts = json_object_get(root, "left_behind");
	const char *name;

	outcomes[outcome]++;
	if (outcome != kind->outcome || bj_result_exit_code(res) != kind->exit_code) {
		if (wrong++ < 5)
			warnx("%s %s: %s, %s", kind->argv[0], kind->argv[1] ? kind->argv[1] : "",
			      bj_outcome_name(outcome), bj_result_json(res));
	}
	if (!counts)
		errx(1, "result without left_behind");
	/* null where no launcher ran: nothing was made that could be left. */
	json_object_foreach (counts, name, count) {
		if (json_integer_value(count) != 0 && left++ < 5)
			warnx("%s: %s left behind", kind->argv[0], name);
	}
	json_decref(root);
}

static void run(const struct kind *kind, const char *policy_file)
{
	struct bj_error error = {.code = BJ_OK};
	struct bj_request *req = bj_request_new();
	struct bj_result *res = NULL;
	int cancel_fd = kind->cancel ? eventfd(1, EFD_CLOEXEC) : -1;

	if (!req || (kind->cancel && cancel_fd < 0))
		err(1, "request");
	if ((policy_file && bj_request_policy_file(req, policy_file, &error) < 0) ||
	    (kind->field && bj_request_set(req, kind->field, kind->value, &error) < 0) ||
	    bj_request_program(req, kind->argv, &error) < 0 ||
	    bj_run(req, cancel_fd, &res, &error) < 0)
		errx(1, "%s: %s", kind->argv[0], error.message);
	judge(kind, res);
	bj_result_free(res);
	bj_request_free(req);
	if (cancel_fd >= 0)
		(void)close(cancel_fd);
}

int main(int argc, char **argv)
{
	const char *policy_file;
	unsigned long runs;
	long fds, kib;

	if (argc != 3)
		errx(2, "usage: soak RUNS POLICY|-");
	runs = strtoul(argv[1], NULL, 10);
	policy_file = strcmp(argv[2], "-") == 0 ? NULL : argv[2];

	/* Caches of libc fill in the first few; what grows after that is ours. */
	for (unsigned long i = 0; i < 10 * KINDS; i++)
		run(&kinds[i % KINDS], policy_file);
	memset(outcomes, 0, sizeof(outcomes));
	fds = count_fds();
	kib = resident_kib();
	for (unsigned long i = 0; i < runs; i++)
		run(&kinds[i % KINDS], policy_file);

	printf("{\"runs\": %lu, \"wrong\": %lu, \"left_behind\": %lu, ", runs, wrong, left);
	printf("\"descriptors\": [%ld, %ld], \"resident_kib\": [%ld, %ld], \"outcomes\": {", fds,
	       count_fds(), kib, resident_kib());
	for (int i = 0; i < BJ_OUTCOME_COUNT; i++)
		printf("%s\"%s\": %lu", i ? ", " : "", bj_outcome_name((enum bj_outcome)i),
		       outcomes[i]);
	puts("}}");
	return fflush(stdout) == 0 && wrong == 0 && left == 0 ? 0 : 1;
}
