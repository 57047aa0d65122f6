/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `env`: the program's environment is the plan's list and nothing else; execve is given no
 * other. The launcher itself was started with an empty one.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <string.h>

static bool environment_is(const struct plan *plan, const struct posture *posture)
{
	const uint32_t *offsets = plan_at(plan, plan->env);
	uint32_t at = 0;
	for (uint32_t i = 0; i < plan->env.count; i++) {
		const char *want = plan_string(plan, offsets[i]);
		uint32_t size = (uint32_t)strlen(want) + 1;
		if (posture->environment_size - at < size ||
		    memcmp(posture->environment + at, want, size) != 0)
			return false;
		at += size;
	}
	return at == posture->environment_size;
}

int env_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	return MUST(fault, LAYER_ENV, "exactly the planned environment",
		    environment_is(launch->plan, posture)) < 0
		       ? -1
		       : 0;
}
