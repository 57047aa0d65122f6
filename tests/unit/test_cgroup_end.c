/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run's cgroups, on directories that stand for them: what is written for the kill,
 * what is read for the result, and that what could not be removed is counted.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "layers/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME "belljar-0123"

enum { V2, V1, HYBRID, KINDS };

static char place[] = "/tmp/belljar-cgroup-XXXXXX";
static int top = -1;
static struct plan plan;
static struct launch launch;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(place))
		return -1;
	top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -1 : 0;
}

static void remove_all(int dir, const char *name)
{
	static const char *const files[] = {"cpu.max",
					    "cpu.cfs_quota_us",
					    "cgroup.kill",
					    "cgroup.procs",
					    "cpu.stat",
					    "cpuacct.usage",
					    "memory.events",
					    "memory.peak",
					    "pids.events",
					    "pids.peak",
					    "memory.max_usage_in_bytes",
					    "memory.oom_control",
					    "what holds it here"};
	auto_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlinkat(fd, files[i], 0);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

static int teardown(void **state)
{
	(void)state;
	(void)close(top);
	return rmdir(place);
}

static void put(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_whole(fd, text, strlen(text)), 0);
}

static const char *get(int dir, const char *name)
{
	static char text[256];
	assert_true(read_at(dir, name, text, sizeof(text)) >= 0);
	return text;
}

/* One directory for all controllers of that kind, as where they are mounted together. */
static int make(int kind)
{
	memset(&plan, 0, sizeof(plan));
	memset(&launch, 0, sizeof(launch));
	launch.plan = &plan;
	plan.cgroup = kind == V2 ? CGROUP_V2 : CGROUP_V1;
	(void)snprintf(launch.cgroup_name, sizeof(launch.cgroup_name), NAME);
	assert_int_equal(mkdirat(top, NAME, 0700), 0);
	int dir = openat(top, NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	for (int i = 0; i < CG_COUNT; i++) {
		bool has = i == CG_V2 ? kind != V1 : kind != V2;
		launch.cgroup[i] = has ? dir : -1;
		launch.cgroup_parent[i] = has ? top : -1;
	}
	launch.cgroup_made[kind == V2 ? CG_V2 : V1_MEMORY] = true;
	return dir;
}

static void unmake(int dir)
{
	(void)close(dir);
	remove_all(top, NAME);
}

static void the_kill_lifts_the_quota_and_then_kills(void **state)
{
	(void)state;
	static const struct {
		const char *quota, *max, *kill;
	} after[KINDS] = {[V2] = {"50000", "max", "1"},
			  [V1] = {"-1", "50000", "0"},
			  [HYBRID] = {"-1", "50000", "1"}};
	for (int kind = 0; kind < KINDS; kind++) {
		int dir = make(kind);
		put(dir, "cpu.cfs_quota_us", "50000");
		put(dir, "cpu.max", "50000");
		put(dir, "cgroup.kill", "0");
		cgroup_kill(&launch);
		/* A file keeps what was longer, a control file does not: the beginning counts. */
		assert_memory_equal(get(dir, "cpu.cfs_quota_us"), after[kind].quota,
				    strlen(after[kind].quota));
		assert_memory_equal(get(dir, "cpu.max"), after[kind].max, strlen(after[kind].max));
		assert_string_equal(get(dir, "cgroup.kill"), after[kind].kill);
		unmake(dir);
	}
}

static void facts_are_read_by_their_names(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		struct cgroup_facts facts;
		int dir = make(kind);
		put(dir, "cpu.stat", "usage_usec 1234\nuser_usec 1\nsystem_usec 2\n");
		put(dir, "cpuacct.usage", "567000\n");
		put(dir, "memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\n");
		put(dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n");
		put(dir, "memory.peak", "7000\n");
		put(dir, "memory.max_usage_in_bytes", "8000\n");
		put(dir, "pids.events", "max 9\n");
		put(dir, "pids.peak", "11\n");
		put(dir, "cgroup.procs", "1\n2\n3\n");
		cgroup_facts(&launch, &facts);
		assert_int_equal(facts.cpu_ns, kind == V1 ? 567000 : 1234000);
		assert_int_equal(facts.oom_kills, kind == V2 ? 5 : 6);
		assert_int_equal(facts.memory_peak, kind == V2 ? 7000 : 8000);
		assert_int_equal(facts.tasks_denied, 9);
		assert_int_equal(facts.tasks_peak, 10); /* init is not counted */
		assert_int_equal(cgroup_processes(&launch), 3);
		unmake(dir);
	}
}

static void what_a_kernel_does_not_have_is_not_known(void **state)
{
	(void)state;
	struct cgroup_facts facts;
	int dir = make(V2);
	put(dir, "memory.events", "oom_kill_of_others 5\n");
	cgroup_facts(&launch, &facts);
	assert_int_equal(facts.oom_kills, 0);
	assert_int_equal(facts.tasks_peak, 0);
	assert_int_equal(facts.tasks_denied, UNKNOWN);
	assert_int_equal(cgroup_cpu_ns(&launch), UNKNOWN);
	assert_int_equal(cgroup_processes(&launch), UNKNOWN);
	unmake(dir);
}

static void what_cannot_be_removed_is_counted(void **state)
{
	(void)state;
	int dir = make(V2);
	put(dir, "what holds it here", "");
	assert_int_equal(cgroup_remove(&launch), 1);
	unmake(dir);
	dir = make(V2);
	assert_int_equal(cgroup_remove(&launch), 0);
	assert_int_equal(faccessat(top, NAME, F_OK, 0), -1);
	assert_int_equal(errno, ENOENT);
	/* Removed by somebody else, or not made by this run: neither is left. */
	launch.cgroup_made[CG_V2] = true;
	assert_int_equal(cgroup_remove(&launch), 0);
	unmake(dir);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Setting the host's clock moves no bound of a run. */
static void bounds_are_counted_by_the_clock_that_nobody_sets(void **state)
{
	(void)state;
	uint64_t before = monotonic_ns(), now = clock_ns(), after = monotonic_ns();
	assert_true(before <= now && now <= after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kill_lifts_the_quota_and_then_kills),
		cmocka_unit_test(facts_are_read_by_their_names),
		cmocka_unit_test(what_a_kernel_does_not_have_is_not_known),
		cmocka_unit_test(what_cannot_be_removed_is_counted),
		cmocka_unit_test(bounds_are_counted_by_the_clock_that_nobody_sets),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
