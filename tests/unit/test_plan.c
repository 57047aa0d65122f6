/* SPDX-License-Identifier: Apache-2.0 */
/* plan_check(): one change to a valid plan at a time, each refused for its own reason. */
#include "plan_case.h"
#include "run/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct builder b;
static size_t size;

static struct plan *fresh(void)
{
	struct bj_error err = {0};
	int fd = -1;
	builder_free(&b);
	assert_int_equal(builder_start(&b, &err), 0);
	plan_case(&b);
	assert_int_equal(builder_end(&b, &fd, &err), 0);
	(void)close(fd);
	size = b.size;
	return builder_plan(&b);
}

static void refused(const char *what)
{
	struct fault fault = {0};
	assert_int_equal(plan_check(b.data, size, &fault), -1);
	assert_int_equal(fault.code, BJ_INTERNAL);
	assert_int_equal(fault.hook, HOOK_PLAN);
	assert_string_equal(fault.what, what);
}

static struct plan_node *node_of(struct plan *plan, uint32_t i)
{
	return (struct plan_node *)(void *)((char *)plan + plan->nodes.offset) + i;
}

static void accepts_the_valid_one(void **state)
{
	struct fault fault = {0};
	(void)state;
	(void)fresh();
	assert_int_equal(plan_check(b.data, size, &fault), 0);
	assert_int_equal(fault.code, BJ_OK);
}

static void refuses_sizes_and_versions(void **state)
{
	(void)state;
	(void)fresh();
	size = sizeof(struct plan) - 1;
	refused("plan: size");
	(void)fresh();
	size -= 1;
	refused("plan: not one of this version");
	fresh()->magic ^= 1;
	refused("plan: not one of this version");
}

static void refuses_a_set_of_layers_that_is_not_whole(void **state)
{
	(void)state;
	/* Each layer left out of both lists. */
	for (int id = 0; id < LAYER_COUNT; id++) {
		struct plan *plan = fresh();
		plan->required &= ~LAYER_BIT(id);
		plan->missing &= ~LAYER_BIT(id);
		refused("plan: layers");
	}
	/* Each layer called missing: only landlock may be, and cgroup where monitor stands in. */
	for (int id = 0; id < LAYER_COUNT; id++) {
		struct fault fault = {0};
		struct plan *plan = fresh();
		plan->required &= ~LAYER_BIT(id);
		plan->missing |= LAYER_BIT(id);
		bool may = id == LAYER_LANDLOCK || id == LAYER_MONITOR;
		assert_int_equal(plan_check(b.data, size, &fault), may ? 0 : -1);
	}
	struct fault fault = {0};
	struct plan *plan = fresh();
	plan->missing = LAYER_BIT(LAYER_CGROUP);
	plan->required = LAYERS_ALL & ~plan->missing;
	refused("plan: layers"); /* but the plan still has a cgroup */
	plan->cgroup = CGROUP_NONE;
	plan->cgroup_base = 0;
	assert_int_equal(plan_check(b.data, size, &fault), 0);
	/* Required and missing at once. */
	fresh()->missing |= LAYER_BIT(LAYER_NET);
	refused("plan: layers");
}

static void refuses_paths_that_leave(void **state)
{
	static const char *const bad[] = {"/..", "/../x", "/a/..", "/./a", "//a",
					  "/a/", "/",	  "a",	   "",	   "/a//b"};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct plan *plan = fresh();
		/* The string of "/etc/file" has room for all of these. */
		strcpy(b.data + node_of(plan, 1)->target, bad[i]);
		refused("plan: a node");
		plan = fresh();
		const struct plan_copy *copies = plan_at(plan, plan->copies);
		const char *relative = bad[i][0] == '/' ? bad[i] + 1 : bad[i];
		strcpy(b.data + copies[0].name, relative);
		if (strcmp(relative, "a") != 0)
			refused("plan: a copy");
	}
}

static void refuses_numbers_that_mean_no_limit(void **state)
{
	(void)state;
#define ZERO(member)                                                                               \
	do {                                                                                       \
		fresh()->member = 0;                                                               \
		refused("plan: a number out of range");                                            \
	} while (0)
	ZERO(memory_bytes);
	ZERO(pids);
	ZERO(cpu_quota_us);
	ZERO(cpu_period_us);
	ZERO(time_ms);
	ZERO(cpu_time_ms);
	ZERO(max_output_bytes);
	ZERO(nofile);
	ZERO(fsize);
	ZERO(nproc);
	ZERO(cpu_s);
	ZERO(stack);
	ZERO(cpus_seen);
	ZERO(keep_bytes);
#undef ZERO
	fresh()->keep_bytes = UINT64_MAX;
	refused("plan: a number out of range");
	fresh()->time_ms = UINT64_MAX;
	refused("plan: a number out of range");
	struct plan *plan = fresh();
	node_of(plan, 3)->size = 0;
	refused("plan: a node");
}

static void refuses_spans_outside(void **state)
{
	(void)state;
	struct plan *plan = fresh();
	plan->nodes.count = UINT32_MAX;
	refused("plan: records");
	plan = fresh();
	plan->nodes.offset = plan->size;
	refused("plan: records");
	plan = fresh();
	plan->nodes.offset += 1;
	refused("plan: records");
	plan = fresh();
	plan->argv.count = 0;
	refused("plan: arguments or environment");
	plan = fresh();
	plan->argv.offset = UINT32_MAX - 3;
	refused("plan: arguments or environment");
	plan = fresh();
	plan->execs.count = 0;
	refused("plan: program");
	plan = fresh();
	node_of(plan, 1)->data.count = plan->size;
	refused("plan: a node");
	plan = fresh();
	node_of(plan, 1)->kind = NODE_KIND_COUNT;
	refused("plan: a node");
	plan = fresh();
	node_of(plan, 2)->source = 0;
	refused("plan: a node");
	plan = fresh();
	plan->hostname = plan->size;
	refused("plan: host name or working directory");
	/* The builder's memory goes on behind the plan, with zeros. */
	plan = fresh();
	plan->hostname = plan->size + 8;
	refused("plan: host name or working directory");
}

static void refuses_run_ids_and_cgroups(void **state)
{
	(void)state;
	memcpy(fresh()->run_id, "../x", 5);
	refused("plan: ids");
	memcpy(fresh()->run_id, "../a", 5);
	refused("plan: ids");
	struct plan *plan = fresh();
	memset(plan->run_id, 'a', sizeof(plan->run_id));
	refused("plan: ids");
	fresh()->ids = IDS_CALLER + 1;
	refused("plan: ids");
	fresh()->cgroup = CGROUP_V1;
	refused("plan: cgroup");
	fresh()->cgroup_base = 0;
	refused("plan: cgroup");
}

/* A node's cover must not make the builder write beyond what it reserved. */
static void builder_refuses_too_much(void **state)
{
	(void)state;
	struct bj_error err = {0};
	int fd = -1;
	(void)fresh();
	char *large = calloc(1, PLAN_SIZE_MAX);
	assert_non_null(large);
	assert_int_equal(builder_bytes(&b, large, PLAN_SIZE_MAX).offset, 0);
	free(large);
	assert_int_equal(builder_end(&b, &fd, &err), -1);
	assert_int_equal(err.code, BJ_INVALID);
	assert_int_equal(fd, -1);
}

/* What a copy takes by its size is no sign that set-up hangs. */
static void set_up_has_time_for_its_copies(void **state)
{
	(void)state;
	const uint64_t second = 1000000000, own = setup_ns(0);
	assert_true(own == 20 * second);
	assert_true(setup_ns(1000) == own);
	/* Copied at ten MiB a second: three times as long as this is enough. */
	assert_true(setup_ns(UINT64_C(1) << 30) - own > 3 * 103 * second);
	/* A small file that does not come is told soon; no size wraps. */
	assert_true(setup_ns(1 << 20) < 22 * second);
	assert_true(setup_ns(UINT64_MAX) == setup_ns(UINT64_C(1) << 50));
	assert_true(setup_ns(UINT64_C(1) << 50) > UINT64_C(1) << 59);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_the_valid_one),
		cmocka_unit_test(refuses_sizes_and_versions),
		cmocka_unit_test(refuses_a_set_of_layers_that_is_not_whole),
		cmocka_unit_test(refuses_paths_that_leave),
		cmocka_unit_test(refuses_numbers_that_mean_no_limit),
		cmocka_unit_test(refuses_spans_outside),
		cmocka_unit_test(refuses_run_ids_and_cgroups),
		cmocka_unit_test(builder_refuses_too_much),
		cmocka_unit_test(set_up_has_time_for_its_copies),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	builder_free(&b);
	return failed;
}
