/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `ipc`: an IPC namespace, and a session keyring of its own: keyrings belong to no
 * namespace, and one that is inherited would hold the caller's keys.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

CHILD_CODE int ipc_child(const struct child *child, struct fault *fault)
{
	long made = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0);
	if (made < 0 && errno == ENOSYS) {
		child->proof->keyring = 2; /* a kernel without keyrings has none to share */
		return 0;
	}
	if (STEP(fault, LAYER_IPC, HOOK_CHILD, "join a new session keyring", made) < 0)
		return -1;
	long now =
		STEP(fault, LAYER_IPC, HOOK_CHILD, "read the session keyring back",
		     syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0, 0, 0));
	if (now < 0)
		return -1;
	child->proof->keyring = now == made;
	return 0;
}

int ipc_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	if (launch->program_proof.keyring == 2)
		memcpy(launch->note[LAYER_IPC], "this kernel has no keyrings", 28);
	if (MUST(fault, LAYER_IPC, "an IPC namespace of its own",
		 posture->ns[NS_IPC] != posture->ns_host[NS_IPC]) < 0 ||
	    MUST(fault, LAYER_IPC, "a session keyring of its own",
		 launch->program_proof.keyring != 0) < 0)
		return -1;
	return 0;
}
