/* SPDX-License-Identifier: Apache-2.0 */
/* Layer `nnp`: no_new_privs, before landlock and seccomp, which need it or a capability. */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <sys/prctl.h>

CHILD_CODE int nnp_child(const struct child *child, struct fault *fault)
{
	(void)child;
	return STEP(fault, LAYER_NNP, HOOK_CHILD, "set no_new_privs",
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) < 0
		       ? -1
		       : 0;
}

int nnp_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)launch;
	return MUST(fault, LAYER_NNP, "no_new_privs is set", posture->no_new_privs == 1) < 0 ? -1
											     : 0;
}
