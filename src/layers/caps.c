/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `caps`: all five capability sets empty, securebits locked so that no id change and no
 * exec gives any back. The bounding set goes first: dropping from it needs a capability.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECUREBITS                                                                                 \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |   \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* Up to 63: the kernel may know more capabilities than the headers; EINVAL ends the list. */
CHILD_CODE static int empty_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		return errno == EINVAL && cap > 0 ? 0 : -1;
	}
	return 0;
}

CHILD_CODE int caps_child(const struct child *child, struct fault *fault)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2];
	memset(none, 0, sizeof(none));
	if (STEP(fault, LAYER_CAPS, HOOK_CHILD, "empty the bounding set", empty_bounding_set()) <
		    0 ||
	    STEP(fault, LAYER_CAPS, HOOK_CHILD, "clear the ambient set",
		 prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)) < 0 ||
	    STEP(fault, LAYER_CAPS, HOOK_CHILD, "lock the securebits",
		 prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0)) < 0 ||
	    STEP(fault, LAYER_CAPS, HOOK_CHILD, "empty the other sets",
		 syscall(SYS_capset, &head, none)) < 0)
		return -1;
	long bits = STEP(fault, LAYER_CAPS, HOOK_CHILD, "read the securebits back",
			 prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	if (bits < 0)
		return -1;
	child->proof->securebits = (uint32_t)bits;
	return 0;
}

int caps_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	for (int set = 0; set < CAP_SET_COUNT; set++) {
		if (MUST(fault, LAYER_CAPS, "all five capability sets are empty",
			 posture->caps[set] == 0) < 0)
			return -1;
	}
	return MUST(fault, LAYER_CAPS, "securebits locked",
		    launch->program_proof.securebits == SECUREBITS) < 0
		       ? -1
		       : 0;
}
