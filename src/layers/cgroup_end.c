/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run's cgroups: kill, facts, removal. See cgroup.h. */
#include "layers/cgroup.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The number after `key` in a "key value" file, or alone in the file where `key` is "". */
static uint64_t number(int dir, const char *name, const char *key)
{
	char text[4096];
	size_t size = strlen(key);
	if (dir < 0 || read_at(dir, name, text, sizeof(text)) < 0)
		return UNKNOWN;
	for (const char *line = text; line && *line;) {
		if (strncmp(line, key, size) == 0 && (size == 0 || line[size] == ' ')) {
			char *end;
			const char *digits = line + size + (size ? 1 : 0);
			uint64_t value = strtoull(digits, &end, 10);
			return end == digits ? UNKNOWN : value;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return UNKNOWN;
}

static uint64_t or_zero(uint64_t value)
{
	return value == UNKNOWN ? 0 : value;
}

int cgroup_clone_fd(const struct launch *launch)
{
	return launch->cgroup[CG_V2];
}

uint64_t cgroup_cpu_ns(const struct launch *launch)
{
	if (launch->cgroup[CG_V2] < 0)
		return number(launch->cgroup[V1_CPUACCT], "cpuacct.usage", "");
	uint64_t us = number(launch->cgroup[CG_V2], "cpu.stat", "usage_usec");
	return us == UNKNOWN ? UNKNOWN : us * 1000;
}

void cgroup_kill(const struct launch *launch)
{
	if (launch->plan->cgroup == CGROUP_V1 && launch->cgroup[V1_CPU] >= 0)
		(void)write_at(launch->cgroup[V1_CPU], "cpu.cfs_quota_us", "-1");
	if (launch->plan->cgroup == CGROUP_V2 && launch->cgroup[CG_V2] >= 0)
		(void)write_at(launch->cgroup[CG_V2], "cpu.max", "max");
	/* Linux 5.14. On v1 alone init's death, which the caller brings about, kills all. */
	if (launch->cgroup[CG_V2] >= 0)
		(void)write_at(launch->cgroup[CG_V2], "cgroup.kill", "1");
}

void cgroup_facts(const struct launch *launch, struct cgroup_facts *facts)
{
	const int *dir = launch->cgroup;
	memset(facts, 0, sizeof(*facts));
	facts->cpu_ns = or_zero(cgroup_cpu_ns(launch));
	if (launch->plan->cgroup == CGROUP_V1) {
		facts->oom_kills =
			or_zero(number(dir[V1_MEMORY], "memory.oom_control", "oom_kill"));
		facts->memory_peak =
			or_zero(number(dir[V1_MEMORY], "memory.max_usage_in_bytes", ""));
		facts->tasks_denied = number(dir[V1_PIDS], "pids.events", "max");
		facts->tasks_peak = or_zero(number(dir[V1_PIDS], "pids.peak", ""));
	} else {
		facts->oom_kills = or_zero(number(dir[CG_V2], "memory.events", "oom_kill"));
		facts->memory_peak = or_zero(number(dir[CG_V2], "memory.peak", ""));
		facts->tasks_denied = number(dir[CG_V2], "pids.events", "max");
		facts->tasks_peak = or_zero(number(dir[CG_V2], "pids.peak", ""));
	}
	if (facts->tasks_peak > 0)
		facts->tasks_peak -= 1; /* init */
}

uint64_t cgroup_processes(const struct launch *launch)
{
	char text[65536];
	int dir = launch->cgroup[CG_V2] >= 0 ? launch->cgroup[CG_V2] : launch->cgroup[V1_PIDS];
	if (dir < 0 || read_at(dir, "cgroup.procs", text, sizeof(text)) < 0)
		return UNKNOWN;
	uint64_t lines = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

/* The last task's exit may be a moment behind init's: wait for it, at most a second in all. */
static int remove_one(int parent, const char *name, uint64_t until_ns)
{
	while (unlinkat(parent, name, AT_REMOVEDIR) < 0) {
		struct timespec moment = {.tv_nsec = 200000};
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || clock_ns() > until_ns)
			return -1;
		(void)nanosleep(&moment, NULL);
	}
	return 0;
}

uint64_t cgroup_remove(struct launch *launch)
{
	uint64_t left = 0, until_ns = clock_ns() + UINT64_C(1000000000);
	/* What a sweep finds the others by goes last: the v2 one, else memory's. */
	static const int order[CG_COUNT] = {V1_CPUACCT, V1_CPU, V1_PIDS, V1_MEMORY, CG_V2};
	for (int n = 0; n < CG_COUNT; n++) {
		int i = order[n];
		if (launch->cgroup_made[i] &&
		    remove_one(launch->cgroup_parent[i], launch->cgroup_name, until_ns) < 0)
			left++;
		launch->cgroup_made[i] = false;
	}
	return left;
}
