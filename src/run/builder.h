/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a plan: strings and records are appended, offsets handed out. */
#ifndef RUN_BUILDER_H
#define RUN_BUILDER_H

#include "layers/plan.h"

/*
 * Grows by itself. After a failure (no memory, larger than PLAN_SIZE_MAX) every call does nothing
 * and gives 0, and builder_end() fails: callers need not check each one.
 */
struct builder {
	char *data;
	size_t size, room;
	bool failed;
	struct plan_node nodes[PLAN_NODES_MAX];
	uint32_t node_count;
	struct plan_copy copies[PLAN_COPIES_MAX];
	uint32_t copy_count;
};

int builder_start(struct builder *b, struct bj_error *err);
void builder_free(struct builder *b);

/* The header, valid until the next call that appends. */
struct plan *builder_plan(struct builder *b);

uint32_t builder_string(struct builder *b, const char *text);
struct plan_span builder_bytes(struct builder *b, const void *data, size_t size);
struct plan_span builder_strings(struct builder *b, const char *const *list, size_t count);
struct plan_node *builder_node(struct builder *b, enum node_kind kind, const char *target,
			       uint32_t mode);
void builder_copy(struct builder *b, uint32_t fd, const char *name, uint32_t mode);

/* Seals it into a memfd, checked as the launcher will check it. */
int builder_end(struct builder *b, int *ret_fd, struct bj_error *err);

#endif
