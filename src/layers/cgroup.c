/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `cgroup`: memory, tasks and CPU of all processes of the run together, and the one sure way
 * to count and kill them. v2: init is born in it (CLONE_INTO_CGROUP). v1: init enters each
 * controller's by itself, through files that the launcher opened, before it can fork.
 *
 * A launcher holds a lock on its cgroup's directory for as long as it lives; one whose lock can be
 * had belongs to nobody and is swept by the next start.
 */
#include "layers/cgroup.h"

#include "base/io.h"
#include "layers/hooks.h"
#include "layers/step.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_PREFIX   "belljar-"
#define TASKS_OF_INIT 1
#define TCP_SHARE     8 /* of the run's memory, besides it */

/* "max" is no number, and no limit. */
static int number_is(const char *text, uint64_t value, uint64_t slack)
{
	uint64_t got = strtoull(text, NULL, 10);
	if (text[0] >= '0' && text[0] <= '9' && got <= value && value - got <= slack)
		return 0;
	errno = EBADMSG;
	return -1;
}

/* Writes a number and reads it back: a kernel may round, or not have the file. */
static int set_number(int dir, const char *name, uint64_t value, uint64_t slack)
{
	char want[64], got[64];
	(void)snprintf(want, sizeof(want), "%" PRIu64, value);
	if (set_at(dir, name, want, got, sizeof(got)) < 0)
		return -1;
	return number_is(got, value, slack);
}

static bool host_has_swap(void)
{
	char text[4096];
	if (read_at(AT_FDCWD, "/proc/swaps", text, sizeof(text)) < 0)
		return true;
	const char *second = strchr(text, '\n');
	return second && second[1] != '\0';
}

/*
 * Buffers of TCP are no part of what v1 calls memory; without a limit of their own the run's
 * loopback takes them from all of the host. A kernel without this file has no such buffers there.
 */
static int limit_tcp(int dir, uint64_t memory)
{
	if (set_number(dir, "memory.kmem.tcp.limit_in_bytes", memory / TCP_SHARE, 4095) == 0)
		return 0;
	return errno == ENOENT ? 0 : -1;
}

/* Without swap accounting a limit on memory means little, unless there is no swap. */
static int no_swap(int dir, const char *name, uint64_t value)
{
	if (set_number(dir, name, value, 4095) == 0)
		return 0;
	return errno == ENOENT && !host_has_swap() ? 0 : -1;
}

/* A quota means nothing without its period: both are in that line. */
static int cpu_max_is(char *got, const char *want)
{
	got[strcspn(got, "\n")] = '\0';
	if (strcmp(want, got) == 0)
		return 0;
	errno = EBADMSG;
	return -1;
}

static int set_cpu_max(int dir, uint64_t quota, uint64_t period)
{
	char want[64], got[64];
	(void)snprintf(want, sizeof(want), "%" PRIu64 " %" PRIu64, quota, period);
	return set_at(dir, "cpu.max", want, got, sizeof(got)) < 0 ? -1 : cpu_max_is(got, want);
}

/*
 * Makes one cgroup and locks it; mode 0700, so that no other user can hold the lock. A sweep of
 * another launcher may come between the two and remove it: then the lock is on a directory that is
 * gone, nothing in it can be opened, and it is made again.
 */
static int make_locked(int parent, const char *name)
{
	for (int attempt = 0; attempt < 32; attempt++) {
		if (mkdirat(parent, name, 0700) < 0)
			return -1;
		int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		bool swept = dir < 0 && errno == ENOENT;
		if (dir >= 0 && flock(dir, LOCK_EX) == 0) {
			if (faccessat(dir, "cgroup.procs", F_OK, 0) == 0)
				return dir;
			swept = errno == ENOENT;
		}
		int os = errno;
		if (dir >= 0)
			(void)close(dir);
		if (!swept) {
			(void)unlinkat(parent, name, AT_REMOVEDIR);
			errno = os;
			return -1;
		}
	}
	errno = EBUSY;
	return -1;
}

static int make_one(struct launch *launch, int which, uint32_t base)
{
	const char *path = plan_string(launch->plan, base);
	launch->cgroup_parent[which] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (launch->cgroup_parent[which] < 0)
		return -1;
	launch->cgroup[which] = make_locked(launch->cgroup_parent[which], launch->cgroup_name);
	launch->cgroup_made[which] = launch->cgroup[which] >= 0;
	return launch->cgroup[which] < 0 ? -1 : 0;
}

/* Controllers mounted together share a directory. */
static int make_v1(struct launch *launch)
{
	const struct plan *plan = launch->plan;
	for (int i = 0; i < V1_COUNT; i++) {
		const char *path = plan_string(plan, plan->cgroup_v1[i]);
		/* A v2 cgroup counts CPU time too, whatever its controllers. */
		if (i == V1_CPUACCT && launch->cgroup[CG_V2] >= 0)
			continue;
		for (int j = 0; j < i && launch->cgroup[i] < 0; j++) {
			if (strcmp(path, plan_string(plan, plan->cgroup_v1[j])) == 0)
				launch->cgroup[i] = launch->cgroup[j];
		}
		if (launch->cgroup[i] < 0 && make_one(launch, i, plan->cgroup_v1[i]) < 0)
			return -1;
	}
	return 0;
}

static int limit_v1(struct launch *launch, struct fault *fault)
{
	const struct plan *plan = launch->plan;
	const int *dir = launch->cgroup;
	/* memsw may not be below memory, so memory comes first. */
	if (STEP(fault, LAYER_CGROUP, HOOK_JOIN, "set memory.limit_in_bytes",
		 set_number(dir[V1_MEMORY], "memory.limit_in_bytes", plan->memory_bytes, 4095)) <
		    0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_JOIN, "set memory.memsw.limit_in_bytes",
		 no_swap(dir[V1_MEMORY], "memory.memsw.limit_in_bytes", plan->memory_bytes)) < 0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_JOIN, "set memory.kmem.tcp.limit_in_bytes",
		 limit_tcp(dir[V1_MEMORY], plan->memory_bytes)) < 0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_JOIN, "set pids.max (v1)",
		 set_number(dir[V1_PIDS], "pids.max", plan->pids + TASKS_OF_INIT, 0)) < 0 ||
	    /* The quota is checked against the period that is in force. */
	    STEP(fault, LAYER_CGROUP, HOOK_JOIN, "set cpu.cfs_period_us",
		 set_number(dir[V1_CPU], "cpu.cfs_period_us", plan->cpu_period_us, 0)) < 0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_JOIN, "set cpu.cfs_quota_us",
		 set_number(dir[V1_CPU], "cpu.cfs_quota_us", plan->cpu_quota_us, 0)) < 0)
		return -1;
	return 0;
}

static int limit_v2(struct launch *launch, struct fault *fault)
{
	const struct plan *plan = launch->plan;
	int dir = launch->cgroup[CG_V2];
	if (STEP(fault, LAYER_CGROUP, HOOK_PREPARE, "set memory.max",
		 set_number(dir, "memory.max", plan->memory_bytes, 4095)) < 0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_PREPARE, "set memory.swap.max",
		 no_swap(dir, "memory.swap.max", 0)) < 0 ||
	    /* A child that is killed for memory must not take its parent along: that is a result.
	     */
	    STEP(fault, LAYER_CGROUP, HOOK_PREPARE, "set memory.oom.group",
		 set_number(dir, "memory.oom.group", 0, 0)) < 0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_PREPARE, "set pids.max (v2)",
		 set_number(dir, "pids.max", plan->pids + TASKS_OF_INIT, 0)) < 0 ||
	    STEP(fault, LAYER_CGROUP, HOOK_PREPARE, "set cpu.max",
		 set_cpu_max(dir, plan->cpu_quota_us, plan->cpu_period_us)) < 0)
		return -1;
	return 0;
}

/* Whether `line` of /proc/PID/cgroup, "N:controllers:path", is about `controller` ("": v2). */
static bool line_is(const char *line, const char *controller)
{
	const char *at = strchr(line, ':');
	if (!at)
		return false;
	const char *end = strchr(++at, ':');
	size_t size = strlen(controller);
	if (!end)
		return false;
	if (size == 0)
		return at == end;
	while (at < end) {
		size_t n = strcspn(at, ",:");
		if (n == size && memcmp(at, controller, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* Whether the path of that controller's line ends in the run's own directory. */
static bool is_in(const struct launch *launch, const char *text, const char *controller)
{
	size_t size = strlen(launch->cgroup_name);
	for (const char *line = text; *line;) {
		const char *end = strchr(line, '\n');
		end = end ? end : line + strlen(line);
		if (line_is(line, controller))
			return (size_t)(end - line) > size && end[-(ptrdiff_t)size - 1] == '/' &&
			       memcmp(end - size, launch->cgroup_name, size) == 0;
		line = *end ? end + 1 : end;
	}
	return false;
}

static bool file_is(int dir, const char *name, uint64_t value, uint64_t slack)
{
	char text[64];
	return read_at(dir, name, text, sizeof(text)) > 0 && number_is(text, value, slack) == 0;
}

/* The three limits once more, now that the program is in: what a host's agent may have changed. */
static bool still_limited(const struct launch *launch)
{
	const struct plan *plan = launch->plan;
	const int *dir = launch->cgroup;
	char want[64], got[64];
	(void)snprintf(want, sizeof(want), "%" PRIu64 " %" PRIu64, plan->cpu_quota_us,
		       plan->cpu_period_us);
	if (plan->cgroup == CGROUP_V2)
		return file_is(dir[CG_V2], "memory.max", plan->memory_bytes, 4095) &&
		       file_is(dir[CG_V2], "pids.max", plan->pids + TASKS_OF_INIT, 0) &&
		       read_at(dir[CG_V2], "cpu.max", got, sizeof(got)) > 0 &&
		       cpu_max_is(got, want) == 0;
	return file_is(dir[V1_MEMORY], "memory.limit_in_bytes", plan->memory_bytes, 4095) &&
	       file_is(dir[V1_PIDS], "pids.max", plan->pids + TASKS_OF_INIT, 0) &&
	       file_is(dir[V1_CPU], "cpu.cfs_quota_us", plan->cpu_quota_us, 0) &&
	       file_is(dir[V1_CPU], "cpu.cfs_period_us", plan->cpu_period_us, 0);
}

int cgroup_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	static const char *const names[CG_COUNT] = {
		[V1_MEMORY] = "memory",	  [V1_PIDS] = "pids", [V1_CPU] = "cpu",
		[V1_CPUACCT] = "cpuacct", [CG_V2] = "",
	};
	bool v2 = launch->plan->cgroup == CGROUP_V2;
	for (int i = 0; i < CG_COUNT; i++) {
		if (launch->cgroup[i] < 0)
			continue;
		if (MUST(fault, LAYER_CGROUP, "in the run's own cgroup",
			 is_in(launch, posture->cgroup, names[i])) < 0)
			return -1;
	}
	if (MUST(fault, LAYER_CGROUP, "memory, tasks and CPU are limited as planned",
		 still_limited(launch)) < 0)
		return -1;
	(void)snprintf(launch->note[LAYER_CGROUP], sizeof(launch->note[0]), "%s",
		       v2			    ? "v2"
		       : launch->cgroup[CG_V2] >= 0 ? "v1, killed by v2"
						    : "v1");
	return 0;
}

/*
 * Kills what is left in a dead launcher's cgroup and removes it everywhere. The locked one goes
 * last, and only after the others: it is what a sweep finds them by.
 */
static void sweep_one(const struct launch *launch, int primary, int dir, const char *name)
{
	bool alone = true;
	(void)write_at(dir, "cgroup.kill", "1");
	for (int i = 0; i < CG_COUNT; i++) {
		if (i != primary && launch->cgroup_parent[i] >= 0 &&
		    unlinkat(launch->cgroup_parent[i], name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			alone = false;
	}
	/* One that something still dies in goes at the next sweep. */
	if (alone)
		(void)unlinkat(launch->cgroup_parent[primary], name, AT_REMOVEDIR);
}

void cgroup_sweep(const struct launch *launch)
{
	int primary = launch->cgroup_parent[CG_V2] >= 0 ? CG_V2 : V1_MEMORY;
	int parent = launch->cgroup_parent[primary];
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	if (!list) {
		if (copy >= 0)
			(void)close(copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));) {
		if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 ||
		    strcmp(entry->d_name, launch->cgroup_name) == 0)
			continue;
		int dir = openat(parent, entry->d_name,
				 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Whoever cannot be locked lives. */
		if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
			sweep_one(launch, primary, dir, entry->d_name);
		if (dir >= 0)
			(void)close(dir);
	}
	(void)closedir(list);
}

/* Before clone: a v2 cgroup, with the controllers or beside those of v1, is one init is born in. */
int cgroup_prepare(struct launch *launch, struct fault *fault)
{
	const struct plan *plan = launch->plan;
	(void)snprintf(launch->cgroup_name, sizeof(launch->cgroup_name), NAME_PREFIX "%s",
		       plan->run_id);
	if (plan->cgroup_base && STEP(fault, LAYER_CGROUP, HOOK_PREPARE, "make a cgroup (v2)",
				      make_one(launch, CG_V2, plan->cgroup_base)) < 0)
		return -1;
	if (plan->cgroup != CGROUP_V2)
		return 0;
	cgroup_sweep(launch);
	return limit_v2(launch, fault);
}

/*
 * Whoever moves another process takes a lock of all cgroups and waits for every CPU to notice, 10
 * ms on a busy host. A thread that moves itself, by v1's `tasks`, does not. What counts for the
 * right to it is who opened the file.
 */
static int open_doors(struct launch *launch)
{
	for (int i = 0; i < V1_COUNT; i++) {
		if (!launch->cgroup_made[i])
			continue;
		int fd = openat(launch->cgroup[i], "tasks", O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return -1;
		launch->join_fd[launch->join_count++] = fd;
	}
	return 0;
}

/*
 * v1: made while init builds its tree, which costs no time that way. Nothing of the caller's is in
 * memory yet: inputs are copied, and the program's process is forked, once init has entered.
 */
int cgroup_join(struct launch *launch, struct fault *fault)
{
	if (launch->plan->cgroup != CGROUP_V1)
		return 0;
	if (STEP(fault, LAYER_CGROUP, HOOK_JOIN, "make the cgroups (v1)", make_v1(launch)) < 0)
		return -1;
	cgroup_sweep(launch);
	if (limit_v1(launch, fault) < 0)
		return -1;
	return STEP(fault, LAYER_CGROUP, HOOK_JOIN, "open the cgroups for init",
		    open_doors(launch)) < 0
		       ? -1
		       : 0;
}
