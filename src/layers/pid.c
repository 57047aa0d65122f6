/* SPDX-License-Identifier: Apache-2.0 */
/* Layer `pid`: a pid namespace; the program is its second process. The fresh proc is `mount`'s. */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>

int pid_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)launch;
	if (MUST(fault, LAYER_PID, "a pid namespace of its own",
		 posture->ns[NS_PID] != posture->ns_host[NS_PID]) < 0 ||
	    MUST(fault, LAYER_PID, "process 2 of that namespace", posture->ns_pid == 2) < 0 ||
	    MUST(fault, LAYER_PID, "one thread", posture->threads == 1) < 0)
		return -1;
	return 0;
}
