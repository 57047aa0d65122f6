/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs Python programs through the C API, JOBS threads at a time, each with requests of its own:
 *
 *   humaneval JOBS LIST POLICY|- [FIELD=VALUE]…
 *
 * LIST holds a path a line. Standard output: the object that bench/spawn prints for a command.
 */
#include "samples.h"

#include <belljar/belljar.h>
#include <pthread.h>
#include <stdatomic.h>

enum { JOBS_MAX = 16 };

static char **list;
static struct sample *samples; /* one for each of the list */
static size_t count;
static atomic_size_t next;
static const char *policy_file;
static char **fields;

static int fill(struct bj_request *req, const char *path, struct bj_error *error)
{
	if (policy_file && bj_request_policy_file(req, policy_file, error) < 0)
		return -1;
	for (char **field = fields; *field; field++) {
		char name[64];
		const char *equals = strchr(*field, '=');

		if (!equals || (size_t)(equals - *field) >= sizeof(name))
			errx(2, "%s: FIELD=VALUE", *field);
		(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - *field), *field);
		if (bj_request_set(req, name, equals + 1, error) < 0)
			return -1;
	}
	return bj_request_source(req, path, "python", NULL, error);
}

static struct sample run(const char *path)
{
	struct bj_error error = {.code = BJ_OK};
	struct bj_request *req = bj_request_new();
	struct bj_result *res = NULL;
	struct sample sample;
	uint64_t start_ns = now_ns();

	if (!req)
		errx(1, "out of memory");
	if (fill(req, path, &error) < 0 || bj_run(req, -1, &res, &error) < 0)
		errx(1, "%s: %s", path, error.message);
	sample.wall_ns = now_ns() - start_ns;
	sample.status = bj_result_status(res);
	sample.cpu_us = (uint64_t)(bj_result_usage(res).cpu_ms * 1000);
	bj_result_free(res);
	bj_request_free(req);
	return sample;
}

static void *work(void *unused)
{
	for (size_t i; (i = atomic_fetch_add(&next, 1)) < count;)
		samples[i] = run(list[i]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[JOBS_MAX];
	size_t jobs;
	uint64_t begin_ns, round_ns;

	if (argc < 4 || (jobs = strtoul(argv[1], NULL, 10)) < 1 || jobs > JOBS_MAX)
		errx(2, "usage: humaneval JOBS LIST POLICY|- [FIELD=VALUE]…");
	list = read_list(argv[2], &count);
	samples = calloc(count, sizeof(*samples));
	if (!samples)
		err(1, "samples");
	policy_file = strcmp(argv[3], "-") == 0 ? NULL : argv[3];
	fields = argv + 4;

	begin_ns = now_ns();
	for (size_t i = 0; i < jobs; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			errx(1, "pthread_create");
	for (size_t i = 0; i < jobs; i++)
		if (pthread_join(threads[i], NULL) != 0)
			errx(1, "pthread_join");
	round_ns = now_ns() - begin_ns;
	printf("[{");
	print_samples(&round_ns, 1, samples, count);
	puts("}]");
	return fflush(stdout) == 0 ? 0 : 1;
}
