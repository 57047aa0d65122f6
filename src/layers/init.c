/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `init`: pid 1 inside has the program's own id, so it must be out of its reach: not
 * dumpable (no ptrace, no /proc/1/{environ,mem,fd,root}), without capabilities and unable to gain
 * any. Its hook runs last in init, after the program's process was forked, which stays dumpable
 * until the launcher has seized it. The launcher started with an empty environment and no
 * arguments, so neither process has anything to tell.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

CHILD_CODE int init_child(const struct child *child, struct fault *fault)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2], left[2];
	memset(none, 0, sizeof(none));
	memset(left, 0xff, sizeof(left));
	if (STEP(fault, LAYER_INIT, HOOK_CHILD, "no new privileges for init",
		 prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) < 0 ||
	    STEP(fault, LAYER_INIT, HOOK_CHILD, "drop init's capabilities",
		 syscall(SYS_capset, &head, none)) < 0 ||
	    STEP(fault, LAYER_INIT, HOOK_CHILD, "read init's capabilities back",
		 syscall(SYS_capget, &head, left)) < 0 ||
	    STEP(fault, LAYER_INIT, HOOK_CHILD, "make init non-dumpable",
		 prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) < 0)
		return -1;
	long dumpable = STEP(fault, LAYER_INIT, HOOK_CHILD, "read dumpable back",
			     prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	if (dumpable < 0)
		return -1;
	child->proof->init_dumpable = (uint32_t)dumpable;
	child->proof->init_caps = left[0].effective | left[0].permitted | left[0].inheritable |
				  left[1].effective | left[1].permitted | left[1].inheritable;
	return 0;
}

int init_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)posture;
	if (MUST(fault, LAYER_INIT, "init is not dumpable", launch->init_proof.init_dumpable == 0) <
		    0 ||
	    MUST(fault, LAYER_INIT, "init has no capabilities", launch->init_proof.init_caps == 0) <
		    0)
		return -1;
	return 0;
}
