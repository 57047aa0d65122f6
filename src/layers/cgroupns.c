/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `cgroupns`: a cgroup namespace rooted at the run's own cgroup. Not a flag of clone3: that
 * would root it at the launcher's cgroup, even with CLONE_INTO_CGROUP.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <sched.h>

CHILD_CODE int cgroupns_child(const struct child *child, struct fault *fault)
{
	(void)child;
	return STEP(fault, LAYER_CGROUPNS, HOOK_CHILD, "unshare the cgroup namespace",
		    unshare(CLONE_NEWCGROUP)) < 0
		       ? -1
		       : 0;
}

int cgroupns_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)launch;
	return MUST(fault, LAYER_CGROUPNS, "a cgroup namespace of its own",
		    posture->ns[NS_CGROUP] != posture->ns_host[NS_CGROUP]) < 0
		       ? -1
		       : 0;
}
