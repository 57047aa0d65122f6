/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's decoder of plans. The input is a list of patches, each 3 bytes of offset and one
 * of value, on a plan that is valid: so most of what is tried passes the first checks. Whatever
 * plan_check() accepts must be readable to its last string, and its paths must stay beneath.
 */
#include "../unit/plan_case.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *valid;
static size_t valid_size;

static void make_valid(void)
{
	struct builder *b = malloc(sizeof(*b));
	struct bj_error err;
	int fd;
	if (!b || builder_start(b, &err) < 0)
		abort();
	plan_case(b);
	if (builder_end(b, &fd, &err) < 0)
		abort();
	valid_size = b->size;
	valid = malloc(valid_size);
	if (!valid || pread(fd, valid, valid_size, 0) != (ssize_t)valid_size)
		abort();
	(void)close(fd);
	builder_free(b);
	free(b);
}

static size_t walk_strings(const struct plan *plan, struct plan_span span)
{
	const uint32_t *offsets = plan_at(plan, span);
	size_t sum = 0;
	for (uint32_t i = 0; i < span.count; i++)
		sum += strlen(plan_string(plan, offsets[i]));
	return sum;
}

static void walk(const struct plan *plan)
{
	volatile size_t sum = walk_strings(plan, plan->argv) + walk_strings(plan, plan->env) +
			      walk_strings(plan, plan->execs);
	const struct plan_node *nodes = plan_at(plan, plan->nodes);
	const struct plan_copy *copies = plan_at(plan, plan->copies);
	sum += strlen(plan_string(plan, plan->hostname)) + strlen(plan_string(plan, plan->cwd));
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		const char *target = plan_string(plan, nodes[i].target);
		if (target[0] != '/' || strstr(target, "/../"))
			abort();
		if (nodes[i].source)
			sum += strlen(plan_string(plan, nodes[i].source));
		const uint8_t *bytes = plan_at(plan, nodes[i].data);
		for (uint32_t j = 0; j < nodes[i].data.count; j++)
			sum += bytes[j];
	}
	for (uint32_t i = 0; i < plan->copies.count; i++) {
		const char *name = plan_string(plan, copies[i].name);
		if (name[0] == '/' || strncmp(name, "../", 3) == 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault fault = {0};
	if (!valid)
		make_valid();
	/* Its own allocation of exactly that size: one byte beyond is seen. */
	size_t cut = size % 4 == 1 && data[0] < valid_size ? data[0] : 0;
	char *plan = malloc(valid_size - cut);
	if (!plan)
		return 0;
	memcpy(plan, valid, valid_size - cut);
	for (size_t i = 0; i + 4 <= size; i += 4) {
		size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16;
		plan[at % (valid_size - cut)] = (char)data[i + 3];
	}
	if (plan_check(plan, valid_size - cut, &fault) == 0)
		walk((const struct plan *)(void *)plan);
	else if (fault.code == BJ_OK)
		abort();
	free(plan);
	return 0;
}
