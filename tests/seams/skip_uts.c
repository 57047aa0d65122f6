/* SPDX-License-Identifier: Apache-2.0 */
/* In place of a hook of the layer `uts` (the linker's --wrap): it does nothing and says that it did,
 * as a defect would. */
#include "base/child_code.h"
#include "layers/hooks.h"

int __wrap_uts_settle(const struct child *child, struct fault *fault);

CHILD_CODE int __wrap_uts_settle(const struct child *child, struct fault *fault)
{
	(void)child;
	(void)fault;
	return 0;
}
