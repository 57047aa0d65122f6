/* SPDX-License-Identifier: Apache-2.0 */
/* Layer `uts`: a host name that is not the host's. */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

CHILD_CODE int uts_settle(const struct child *child, struct fault *fault)
{
	const char *name = plan_string(child->plan, child->plan->hostname);
	if (STEP(fault, LAYER_UTS, HOOK_CHILD, "set the host name",
		 sethostname(name, strlen(name))) < 0 ||
	    STEP(fault, LAYER_UTS, HOOK_CHILD, "set the domain name", setdomainname("", 0)) < 0)
		return -1;
	return 0;
}

int uts_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)launch;
	return MUST(fault, LAYER_UTS, "a UTS namespace of its own",
		    posture->ns[NS_UTS] != posture->ns_host[NS_UTS]) < 0
		       ? -1
		       : 0;
}
