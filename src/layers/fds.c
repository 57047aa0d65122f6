/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `fds`: exactly three pipes. Last of all: the layers before it need descriptors of their
 * own. The socket to the launcher moves to 3, close-on-exec, and ends with a successful exec.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

CHILD_CODE int fds_child(const struct child *child, struct fault *fault)
{
	for (int i = 0; i < 3; i++) {
		if (STEP(fault, LAYER_FDS, HOOK_CHILD, "place a pipe",
			 dup3(child->stdio[i], i, 0)) < 0)
			return -1;
	}
	if (child->control != PROGRAM_CONTROL_FD &&
	    STEP(fault, LAYER_FDS, HOOK_CHILD, "place the control socket",
		 dup3(child->control, PROGRAM_CONTROL_FD, O_CLOEXEC)) < 0)
		return -1;
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
