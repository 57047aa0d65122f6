/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `fds`: whatever is open beside the three pipes is closed. Last of all: the layers before it
 * need descriptors of their own. The pipes lie at 0 to 2 by then, and at 3 the socket to the
 * launcher, close-on-exec, which ends with a successful exec.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

CHILD_CODE int fds_child(const struct child *child, struct fault *fault)
{
	(void)child;
	return STEP(fault, LAYER_FDS, HOOK_CHILD, "close all others",
		    syscall(SYS_close_range, PROGRAM_CONTROL_FD + 1, ~0U, 0)) < 0
		       ? -1
		       : 0;
}

int fds_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)launch;
	if (MUST(fault, LAYER_FDS, "descriptors 0, 1, 2 and no other", posture->fds == 7) < 0 ||
	    MUST(fault, LAYER_FDS, "all three are pipes", posture->fds_are_pipes) < 0)
		return -1;
	return 0;
}
