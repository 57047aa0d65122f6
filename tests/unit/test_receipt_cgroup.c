/* SPDX-License-Identifier: Apache-2.0 */
/* The receipt of `cgroup`, v2 and v1: where the program is, and three limits read back. */
#include "receipt_case.h"

#include "base/cleanup.h"

#include <stdio.h>

#define INSIDE	"in the run's own cgroup"
#define LIMITED "memory, tasks and CPU are limited as planned"
#define OWN	"/a/belljar-0123\n"

enum { V2, V1, HYBRID };

static void planned_for(int kind)
{
	static const char *const lines[] = {
		[V2] = "0::" OWN,
		[V1] = "4:memory:" OWN "3:pids:" OWN "2:cpu,cpuacct:" OWN
		       "1:name=systemd:/\n0::/\n",
		[HYBRID] = "4:memory:" OWN "3:pids:" OWN "2:cpu,cpuacct:" OWN "0::" OWN,
	};
	as_planned();
	struct launch *launch = &facts.launch;
	int dir = launch->cgroup[CG_V2];
	plan->cgroup = kind == V2 ? CGROUP_V2 : CGROUP_V1;
	for (int i = 0; i < V1_COUNT; i++)
		launch->cgroup[i] = kind == V2 ? -1 : dir;
	launch->cgroup[CG_V2] = kind == V1 ? -1 : dir;
	(void)snprintf(facts.posture.cgroup, sizeof(facts.posture.cgroup), "%s", lines[kind]);
	accepts(LAYER_CGROUP);
}

static void each_kind_passes_as_planned(void **state)
{
	(void)state;
	static const char *const notes[] = {
		[V2] = "v2", [V1] = "v1", [HYBRID] = "v1, killed by v2"};
	for (int kind = V2; kind <= HYBRID; kind++) {
		planned_for(kind);
		assert_string_equal(facts.launch.note[LAYER_CGROUP], notes[kind]);
	}
}

static void another_cgroup_is_refused(void **state)
{
	(void)state;
	static const struct {
		int kind;
		const char *lines;
	} cases[] = {
		{V2, ""},
		{V2, "0::/\n"},
		{V2, "0::/a\n"},
		{V2, "0::/a/belljar-0124\n"},
		{V2, "0::/a/belljar-01234\n"},
		{V2, "0::/a/xbelljar-0123\n"},
		{V2, "0::/a/belljar-0123/x\n"},
		{V2, "0::/a/belljar-0123 (deleted)\n"},
		{V2, "1:name=systemd:" OWN},
		{V2, "1:memory:" OWN "0::/\n"},
		{V2, "0:" OWN},
		{V1, "3:pids:" OWN "2:cpu,cpuacct:" OWN},
		{V1, "4:memory:" OWN "2:cpu,cpuacct:" OWN},
		{V1, "4:memory:" OWN "3:pids:" OWN},
		{V1, "4:memory:" OWN "3:pids:" OWN "2:cpu:" OWN},
		{V1, "4:memory:" OWN "3:pids:" OWN "2:cpuacct:" OWN},
		{V1, "4:memory:/\n3:pids:" OWN "2:cpu,cpuacct:" OWN},
		{V1, "4:memory:" OWN "3:pids:/\n2:cpu,cpuacct:" OWN},
		{V1, "4:memory:" OWN "3:pids:" OWN "2:cpu,cpuacct:/\n"},
		{V1, "4:memoryx:" OWN "3:pids:" OWN "2:cpu,cpuacct:" OWN},
		{V1, "0::" OWN},
		{HYBRID, "4:memory:" OWN "3:pids:" OWN "2:cpu,cpuacct:" OWN "0::/\n"},
		{HYBRID, "4:memory:" OWN "3:pids:" OWN "2:cpu,cpuacct:" OWN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		planned_for(cases[i].kind);
		(void)snprintf(facts.posture.cgroup, sizeof(facts.posture.cgroup), "%s",
			       cases[i].lines);
		refuses(LAYER_CGROUP, INSIDE);
	}
}

static void another_limit_is_refused(void **state)
{
	(void)state;
	static const struct {
		int kind;
		const char *file, *text;
	} cases[] = {
		{V2, "memory.max", "max\n"},
		{V2, "memory.max", "1048577\n"},
		{V2, "memory.max", "1044480\n"}, /* a page less */
		{V2, "memory.max", ""},
		{V2, "memory.max", "-1\n"},
		{V2, "memory.max", NULL},
		{V2, "pids.max", "max\n"},
		{V2, "pids.max", "66\n"},
		{V2, "pids.max", "64\n"},
		{V2, "pids.max", NULL},
		{V2, "cpu.max", "max 10000\n"},
		{V2, "cpu.max", "5001 10000\n"},
		{V2, "cpu.max", "4999 10000\n"},
		{V2, "cpu.max", "5000 1000\n"},
		{V2, "cpu.max", "5000\n"},
		{V2, "cpu.max", NULL},
		{V1, "memory.limit_in_bytes", "9223372036854771712\n"},
		{V1, "memory.limit_in_bytes", "1048577\n"},
		{V1, "memory.limit_in_bytes", NULL},
		{V1, "pids.max", "max\n"},
		{V1, "pids.max", "66\n"},
		{V1, "pids.max", NULL},
		{V1, "cpu.cfs_quota_us", "-1\n"},
		{V1, "cpu.cfs_quota_us", "5001\n"},
		{V1, "cpu.cfs_quota_us", NULL},
		{V1, "cpu.cfs_period_us", "1000\n"},
		{V1, "cpu.cfs_period_us", NULL},
		{HYBRID, "memory.limit_in_bytes", "1048577\n"},
		{HYBRID, "pids.max", "66\n"},
		{HYBRID, "cpu.cfs_quota_us", "5001\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		planned_for(cases[i].kind);
		put(cases[i].file, cases[i].text);
		refuses(LAYER_CGROUP, LIMITED);
	}
}

static void a_limit_rounded_down_to_a_page_is_accepted(void **state)
{
	(void)state;
	planned_for(V2);
	plan->memory_bytes += 4095;
	accepts(LAYER_CGROUP);
	plan->memory_bytes += 1;
	refuses(LAYER_CGROUP, LIMITED);
}

/* Nor is it 0, however small the limit. */
static void a_limit_that_is_no_number_is_refused(void **state)
{
	(void)state;
	planned_for(V2);
	plan->memory_bytes = 1;
	put("memory.max", "1\n");
	accepts(LAYER_CGROUP);
	put("memory.max", "max\n");
	refuses(LAYER_CGROUP, LIMITED);
}

static void a_run_without_a_cgroup_is_refused(void **state)
{
	(void)state;
	for (int kind = V2; kind <= HYBRID; kind++) {
		planned_for(kind);
		for (int i = 0; i < CG_COUNT; i++)
			facts.launch.cgroup[i] = -1;
		refuses(LAYER_CGROUP, LIMITED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_passes_as_planned),
		cmocka_unit_test(another_cgroup_is_refused),
		cmocka_unit_test(another_limit_is_refused),
		cmocka_unit_test(a_limit_rounded_down_to_a_page_is_accepted),
		cmocka_unit_test(a_limit_that_is_no_number_is_refused),
		cmocka_unit_test(a_run_without_a_cgroup_is_refused),
	};
	return cmocka_run_group_tests(tests, receipt_setup, receipt_teardown);
}
