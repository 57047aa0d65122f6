/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a plan. The launcher reads plans only from whoever started it, but a plan that is wrong
 * in any way is refused before anything is made of it: sizes, offsets, counts, strings, kinds.
 */
#include "layers/plan.h"

#include "layers/layer.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <sys/stat.h>

static int bad(struct fault *fault, const char *what)
{
	memset(fault, 0, sizeof(*fault));
	fault->code = BJ_INTERNAL;
	fault->layer = LAYER_COUNT;
	fault->hook = HOOK_PLAN;
	fault->os = EINVAL;
	memcpy(fault->what, what, strnlen(what, sizeof(fault->what) - 1));
	return -1;
}

/* A string that ends inside the plan; 0 is allowed where `optional`. */
static bool string_ok(const struct plan *plan, uint32_t offset, bool optional)
{
	if (offset == 0)
		return optional;
	if (offset < sizeof(*plan) || offset >= plan->size)
		return false;
	return memchr(plan_string(plan, offset), '\0', plan->size - offset) != NULL;
}

static bool path_ok(const struct plan *plan, uint32_t offset)
{
	return string_ok(plan, offset, false) && plan_string(plan, offset)[0] == '/' &&
	       strlen(plan_string(plan, offset)) < PLAN_PATH_MAX;
}

static bool span_ok(const struct plan *plan, struct plan_span span, size_t each, size_t align,
		    uint32_t most)
{
	if (span.count > most)
		return false;
	if (span.count == 0)
		return true;
	return span.offset >= sizeof(*plan) && span.offset % align == 0 &&
	       span.offset <= plan->size && span.count <= (plan->size - span.offset) / each;
}

static bool strings_ok(const struct plan *plan, struct plan_span span, uint32_t most, bool paths)
{
	if (!span_ok(plan, span, sizeof(uint32_t), alignof(uint32_t), most))
		return false;
	const uint32_t *offsets = plan_at(plan, span);
	for (uint32_t i = 0; i < span.count; i++) {
		if (paths ? !path_ok(plan, offsets[i]) : !string_ok(plan, offsets[i], false))
			return false;
	}
	return true;
}

/* No empty, "." or ".." component: such a path cannot leave the directory it is used in. */
static bool beneath(const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");
		if (size == 0 || (size == 1 && path[0] == '.') ||
		    (size == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += size;
		if (*path == '/' && *++path == '\0')
			return false;
	}
	return true;
}

static bool node_ok(const struct plan *plan, const struct plan_node *node)
{
	static const struct {
		bool source, data, size;
	} has[] = {
		[NODE_DIR] = {0},
		[NODE_FILE] = {.data = true},
		[NODE_LINK] = {.source = true},
		[NODE_BIND] = {.source = true},
		[NODE_DEVICE] = {.source = true},
		[NODE_TMPFS] = {.size = true},
		[NODE_PROC] = {0},
		[NODE_RO] = {0},
		[NODE_HIDE] = {0},
		[NODE_COVER] = {.data = true},
	};
	_Static_assert(sizeof(has) / sizeof(has[0]) == NODE_KIND_COUNT, "a row per kind");

	bool hides = node->kind == NODE_HIDE;
	if (node->kind >= NODE_KIND_COUNT ||
	    (hides ? node->mode != S_IFREG && node->mode != S_IFDIR : node->mode & ~07777U) ||
	    !path_ok(plan, node->target))
		return false;
	const char *target = plan_string(plan, node->target);
	if (target[1] == '\0' || !beneath(target + 1))
		return false;
	if (!string_ok(plan, node->source, !has[node->kind].source))
		return false;
	if (has[node->kind].source && node->kind != NODE_LINK && !path_ok(plan, node->source))
		return false;
	if (!span_ok(plan, node->data, 1, 1, has[node->kind].data ? PLAN_SIZE_MAX : 0))
		return false;
	return !has[node->kind].size || (node->size > 0 && node->number > 0);
}

static bool layers_ok(const struct plan *plan)
{
	uint32_t all = plan->required | plan->missing;
	uint32_t may =
		LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_MONITOR);
	bool no_cgroup = plan->missing & LAYER_BIT(LAYER_CGROUP);
	/* `monitor` stands in for a cgroup and only then. */
	if (no_cgroup != !(plan->missing & LAYER_BIT(LAYER_MONITOR)))
		return false;
	if ((plan->required & plan->missing) || all != LAYERS_ALL || (plan->missing & ~may))
		return false;
	return no_cgroup == (plan->cgroup == CGROUP_NONE);
}

static bool cgroup_ok(const struct plan *plan)
{
	bool v1 = plan->cgroup == CGROUP_V1;
	if (plan->cgroup > CGROUP_V1 || plan->join_first > v1)
		return false;
	if (plan->cgroup == CGROUP_V2 ? !path_ok(plan, plan->cgroup_base)
				      : plan->cgroup_base && !path_ok(plan, plan->cgroup_base))
		return false;
	for (int i = 0; i < V1_COUNT; i++) {
		if (v1 && !path_ok(plan, plan->cgroup_v1[i]))
			return false;
	}
	return true;
}

static bool numbers_ok(const struct plan *plan)
{
	return plan->memory_bytes && plan->pids && plan->cpu_quota_us && plan->cpu_period_us &&
	       plan->time_ms && plan->cpu_time_ms && plan->max_output_bytes && plan->nofile >= 4 &&
	       plan->fsize && plan->nproc && plan->cpu_s && plan->stack && plan->cpus_seen &&
	       plan->keep_bytes >= 2 && plan->keep_bytes <= (UINT64_C(64) << 20) &&
	       plan->time_ms <= UINT64_C(1) << 40 && plan->cpu_time_ms <= UINT64_C(1) << 40;
}

static bool run_id_ok(const struct plan *plan)
{
	size_t size = strnlen(plan->run_id, sizeof(plan->run_id));
	return size > 0 && size < sizeof(plan->run_id) &&
	       strspn(plan->run_id, "0123456789abcdef") == size;
}

int plan_check(const void *data, size_t size, struct fault *fault)
{
	const struct plan *plan = data;
	if (size < sizeof(*plan) || size > PLAN_SIZE_MAX)
		return bad(fault, "plan: size");
	if (plan->magic != PLAN_MAGIC || plan->size != size)
		return bad(fault, "plan: not one of this version");
	if (!layers_ok(plan))
		return bad(fault, "plan: layers");
	if (!run_id_ok(plan) || plan->ids > IDS_CALLER)
		return bad(fault, "plan: ids");
	if (!cgroup_ok(plan))
		return bad(fault, "plan: cgroup");
	if (!numbers_ok(plan))
		return bad(fault, "plan: a number out of range");
	if (!string_ok(plan, plan->hostname, false) || !path_ok(plan, plan->cwd))
		return bad(fault, "plan: host name or working directory");
	if (plan->argv.count == 0 || !strings_ok(plan, plan->argv, PLAN_ARGS_MAX, false) ||
	    !strings_ok(plan, plan->env, PLAN_ENV_MAX, false))
		return bad(fault, "plan: arguments or environment");
	if (plan->execs.count == 0 || !strings_ok(plan, plan->execs, PLAN_EXECS_MAX, true))
		return bad(fault, "plan: program");
	if (!span_ok(plan, plan->nodes, sizeof(struct plan_node), alignof(struct plan_node),
		     PLAN_NODES_MAX) ||
	    !span_ok(plan, plan->copies, sizeof(struct plan_copy), alignof(struct plan_copy),
		     PLAN_COPIES_MAX))
		return bad(fault, "plan: records");
	const struct plan_node *nodes = plan_at(plan, plan->nodes);
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		if (!node_ok(plan, &nodes[i]))
			return bad(fault, "plan: a node");
	}
	const struct plan_copy *copies = plan_at(plan, plan->copies);
	for (uint32_t i = 0; i < plan->copies.count; i++) {
		if (!string_ok(plan, copies[i].name, false) ||
		    plan_string(plan, copies[i].name)[0] == '\0' ||
		    !beneath(plan_string(plan, copies[i].name)))
			return bad(fault, "plan: a copy");
	}
	return 0;
}
