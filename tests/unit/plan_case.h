/* SPDX-License-Identifier: Apache-2.0 */
/* A small plan that is valid, for tests of what makes it invalid. */
#ifndef UNIT_PLAN_CASE_H
#define UNIT_PLAN_CASE_H

#include "layers/layer.h"
#include "run/builder.h"

#include <string.h>

/* Fills everything but what builder_end() fills. */
static inline void plan_case(struct builder *b)
{
	static const char *const argv[] = {"true", "one"};
	static const char *const env[] = {"PATH=/bin", "HOME=/"};
	static const char *const execs[] = {"/bin/true", "/usr/bin/true"};
	(void)builder_node(b, NODE_DIR, "/etc", 0755);
	struct plan_span data = builder_bytes(b, "text", 4);
	builder_node(b, NODE_FILE, "/etc/file", 0444)->data = data;
	uint32_t source = builder_string(b, "/usr");
	builder_node(b, NODE_BIND, "/usr", 0)->source = source;
	struct plan_node *tmp = builder_node(b, NODE_TMPFS, "/tmp", 0);
	tmp->size = 1 << 20;
	tmp->number = 100;
	builder_copy(b, 0, "dir/input", 0644);
	struct plan_span args = builder_strings(b, argv, 2), variables = builder_strings(b, env, 2),
			 paths = builder_strings(b, execs, 2);
	uint32_t host = builder_string(b, "belljar"), cwd = builder_string(b, "/workspace");
	uint32_t base = builder_string(b, "/sys/fs/cgroup");
	struct plan *plan = builder_plan(b);
	plan->argv = args;
	plan->env = variables;
	plan->execs = paths;
	plan->hostname = host;
	plan->cwd = cwd;
	plan->cgroup = CGROUP_V2;
	plan->cgroup_base = base;
	plan->missing = LAYER_BIT(LAYER_MONITOR);
	plan->required = LAYERS_ALL & ~plan->missing;
	memcpy(plan->run_id, "0123abcd", 9);
	plan->memory_bytes = plan->pids = plan->cpu_quota_us = plan->cpu_period_us = 1000;
	plan->time_ms = plan->cpu_time_ms = plan->keep_bytes = plan->max_output_bytes = 1000;
	plan->nofile = plan->fsize = plan->nproc = plan->cpu_s = plan->stack = 1000;
	plan->cpus_seen = 1;
}

#endif
