/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/step.h"

#include <errno.h>
#include <string.h>

CHILD_CODE int step_failed(struct fault *fault, const struct step *step, int os)
{
	/* The first fault is the one that counts; what follows from it does not. */
	if (fault->code != BJ_OK)
		return -1;
	memset(fault, 0, sizeof(*fault));
	fault->code = BJ_SETUP;
	fault->layer = step->layer;
	fault->hook = step->hook;
	fault->os = os;
	size_t size = strnlen(step->what, sizeof(fault->what) - 1);
	memcpy(fault->what, step->what, size);
	return -1;
}
