/* SPDX-License-Identifier: Apache-2.0 */
/* From a policy and a command to a sealed plan: everything that can be decided before clone. */
#ifndef RUN_PLAN_BUILD_H
#define RUN_PLAN_BUILD_H

#include "policy/policy.h"
#include "run/image.h"

struct plan_input {
	const char *name; /* below /workspace */
	uint32_t mode;
	/* For messages: the file of the host, NULL where there is none; whether --in named it. */
	const char *host;
	bool in;
};

struct plan_request {
	const struct policy *policy;
	const char *run_id;
	const char *const *argv; /* NULL-terminated, not empty */
	const char *const *env;	 /* what the caller names, NULL-terminated, or NULL */
	const char *cwd;	 /* or NULL: /workspace */
	const struct image_bind *binds;
	size_t bind_count;
	const struct plan_input *inputs; /* in the order of their descriptors */
	size_t input_count;
};

struct plan_result {
	int fd;		   /* the sealed memfd */
	uint32_t required; /* as in the plan */
	uint32_t missing;
};

int plan_build(const struct plan_request *request, struct plan_result *ret, struct bj_error *err);

#endif
