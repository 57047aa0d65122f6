/* SPDX-License-Identifier: Apache-2.0 */
/* See builder.h. */
#include "run/builder.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN 8

int builder_start(struct builder *b, struct bj_error *err)
{
	/* The tables stay as they are until they are filled: touching them costs 0.03 ms. */
	b->node_count = b->copy_count = 0;
	b->failed = false;
	b->room = 1 << 16;
	b->data = calloc(1, b->room);
	if (!b->data)
		return fail(err, BJ_INTERNAL, "out of memory for the plan");
	b->size = sizeof(struct plan);
	return 0;
}

void builder_free(struct builder *b)
{
	free(b->data);
	b->data = NULL;
}

struct plan *builder_plan(struct builder *b)
{
	return (struct plan *)(void *)b->data;
}

/* Room for `size` bytes at the next aligned offset, or 0. */
static size_t reserve(struct builder *b, size_t size)
{
	size_t at = (b->size + ALIGN - 1) / ALIGN * ALIGN;
	if (b->failed || size > PLAN_SIZE_MAX || at + size > PLAN_SIZE_MAX) {
		b->failed = true;
		return 0;
	}
	while (at + size > b->room) {
		char *more = realloc(b->data, b->room * 2);
		if (!more) {
			b->failed = true;
			return 0;
		}
		memset(more + b->room, 0, b->room);
		b->data = more;
		b->room *= 2;
	}
	b->size = at + size;
	return at;
}

struct plan_span builder_bytes(struct builder *b, const void *data, size_t size)
{
	struct plan_span span = {0};
	size_t at = size ? reserve(b, size) : 0;
	if (at) {
		memcpy(b->data + at, data, size);
		span.offset = (uint32_t)at;
		span.count = (uint32_t)size;
	}
	return span;
}

uint32_t builder_string(struct builder *b, const char *text)
{
	return builder_bytes(b, text, strlen(text) + 1).offset;
}

struct plan_span builder_strings(struct builder *b, const char *const *list, size_t count)
{
	struct plan_span span = {0};
	size_t at = count ? reserve(b, count * sizeof(uint32_t)) : 0;
	if (!at)
		return span;
	for (size_t i = 0; i < count; i++) {
		uint32_t offset = builder_string(b, list[i]);
		/* builder_string may have moved the data. */
		memcpy(b->data + at + i * sizeof(offset), &offset, sizeof(offset));
	}
	span.offset = (uint32_t)at;
	span.count = (uint32_t)count;
	return span;
}

struct plan_node *builder_node(struct builder *b, enum node_kind kind, const char *target,
			       uint32_t mode)
{
	if (b->node_count == PLAN_NODES_MAX) {
		b->failed = true;
		return &b->nodes[0];
	}
	struct plan_node *node = &b->nodes[b->node_count++];
	memset(node, 0, sizeof(*node));
	node->kind = kind;
	node->mode = mode;
	node->target = builder_string(b, target);
	return node;
}

void builder_copy(struct builder *b, uint32_t fd, const char *name, uint32_t mode)
{
	if (b->copy_count == PLAN_COPIES_MAX) {
		b->failed = true;
		return;
	}
	struct plan_copy *copy = &b->copies[b->copy_count++];
	copy->fd = fd;
	copy->mode = mode;
	copy->name = builder_string(b, name);
}

int builder_end(struct builder *b, int *ret_fd, struct bj_error *err)
{
	struct plan_span nodes = builder_bytes(b, b->nodes, b->node_count * sizeof(b->nodes[0]));
	struct plan_span copies = builder_bytes(b, b->copies, b->copy_count * sizeof(b->copies[0]));
	if (b->failed)
		return fail(err, BJ_INVALID,
			    "the request is larger than a plan can be (%u MiB): fewer or shorter "
			    "arguments and variables are needed",
			    PLAN_SIZE_MAX >> 20);
	struct plan *plan = builder_plan(b);
	plan->magic = PLAN_MAGIC;
	plan->size = (uint32_t)b->size;
	plan->nodes = (struct plan_span){nodes.offset, b->node_count};
	plan->copies = (struct plan_span){copies.offset, b->copy_count};
	struct fault fault = {0};
	if (plan_check(plan, b->size, &fault) < 0)
		return fail(err, BJ_INTERNAL, "the plan made from this request is not valid: %s",
			    fault.what);
	auto_close int fd = memfd_create("belljar-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || write_whole(fd, b->data, b->size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return fail_errno(err, BJ_INTERNAL, "make the plan");
	*ret_fd = TAKE_FD(fd);
	return 0;
}
