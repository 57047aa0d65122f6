/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs Python programs through the C API, JOBS threads at a time, each with requests of its own:
 *
 *   humaneval JOBS LIST POLICY|- [FIELD=VALUE]…
 *
 * LIST holds a path a line. Standard output: the object that bench/spawn prints for a command.
 */
#include <belljar/belljar.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JOBS_MAX = 16, LIST_MAX = 100000 };

struct item {
	char *path;
	uint64_t wall_ns;
	double cpu_ms;
	int status;
};

static struct item *items;
static size_t count;
static atomic_size_t next;
static const char *policy_file;
static char **fields;

static uint64_t now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		err(1, "clock_gettime");
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

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

static void run(struct item *item)
{
	struct bj_error error = {.code = BJ_OK};
	struct bj_request *req = bj_request_new();
	struct bj_result *res = NULL;
	uint64_t start_ns = now_ns();

	if (!req)
		errx(1, "out of memory");
	if (fill(req, item->path, &error) < 0 || bj_run(req, -1, &res, &error) < 0)
		errx(1, "%s: %s", item->path, error.message);
	item->wall_ns = now_ns() - start_ns;
	item->status = bj_result_status(res);
	item->cpu_ms = bj_result_usage(res).cpu_ms;
	bj_result_free(res);
	bj_request_free(req);
}

static void *work(void *unused)
{
	for (size_t i; (i = atomic_fetch_add(&next, 1)) < count;)
		run(&items[i]);
	return unused;
}

static void read_list(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!file)
		err(1, "%s", path);
	while (count < LIST_MAX && (length = getline(&line, &room, file)) > 0) {
		line[length - (line[length - 1] == '\n')] = '\0';
		items = reallocarray(items, count + 1, sizeof(*items));
		if (!items)
			err(1, "list");
		items[count] = (struct item){.path = strdup(line)};
		if (!items[count++].path)
			err(1, "list");
	}
	free(line);
	(void)fclose(file);
}

int main(int argc, char **argv)
{
	pthread_t threads[JOBS_MAX];
	size_t jobs;
	uint64_t begin_ns;

	if (argc < 4 || (jobs = strtoul(argv[1], NULL, 10)) < 1 || jobs > JOBS_MAX)
		errx(2, "usage: humaneval JOBS LIST POLICY|- [FIELD=VALUE]…");
	read_list(argv[2]);
	policy_file = strcmp(argv[3], "-") == 0 ? NULL : argv[3];
	fields = argv + 4;

	begin_ns = now_ns();
	for (size_t i = 0; i < jobs; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			errx(1, "pthread_create");
	for (size_t i = 0; i < jobs; i++)
		if (pthread_join(threads[i], NULL) != 0)
			errx(1, "pthread_join");
	printf("[{\"round_ns\": [%lu], \"wall_ns\": [", now_ns() - begin_ns);
	for (size_t i = 0; i < count; i++)
		printf("%s%lu", i ? ", " : "", items[i].wall_ns);
	printf("], \"cpu_us\": [");
	for (size_t i = 0; i < count; i++)
		printf("%s%.0f", i ? ", " : "", items[i].cpu_ms * 1000);
	printf("], \"status\": [");
	for (size_t i = 0; i < count; i++)
		printf("%s%d", i ? ", " : "", items[i].status);
	puts("]}]");
	return fflush(stdout) == 0 ? 0 : 1;
}
