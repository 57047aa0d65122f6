/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of many short runs: the clock, the list of what to run, and how bench.py reads them. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sample {
	uint64_t wall_ns;
	uint64_t cpu_us; /* of the command and all it waited for */
	int status;	 /* of its exit, or a signal's number below 0 */
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		err(1, "clock_gettime");
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A path a line, at least one. */
static inline char **read_list(const char *path, size_t *ret_count)
{
	FILE *file = fopen(path, "re");
	char **list = NULL, *line = NULL;
	size_t room = 0, count = 0;
	ssize_t length;

	if (!file)
		err(1, "%s", path);
	while ((length = getline(&line, &room, file)) > 0) {
		line[length - (line[length - 1] == '\n')] = '\0';
		list = reallocarray(list, count + 1, sizeof(*list));
		if (!list)
			err(1, "list");
		list[count] = strdup(line);
		if (!list[count++])
			err(1, "list");
	}
	free(line);
	(void)fclose(file);
	if (count == 0)
		errx(1, "%s: empty", path);
	*ret_count = count;
	return list;
}

/* Members of a JSON object: times of whole rounds, then a number for each run. */
static inline void print_samples(const uint64_t *round_ns, size_t rounds,
				 const struct sample *samples, size_t count)
{
	printf("\"round_ns\": [");
	for (size_t i = 0; i < rounds; i++)
		printf("%s%" PRIu64, i ? ", " : "", round_ns[i]);
	printf("], \"wall_ns\": [");
	for (size_t i = 0; i < count; i++)
		printf("%s%" PRIu64, i ? ", " : "", samples[i].wall_ns);
	printf("], \"cpu_us\": [");
	for (size_t i = 0; i < count; i++)
		printf("%s%" PRIu64, i ? ", " : "", samples[i].cpu_us);
	printf("], \"status\": [");
	for (size_t i = 0; i < count; i++)
		printf("%s%d", i ? ", " : "", samples[i].status);
	printf("]");
}

#endif
