/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the product's launcher_path(): the command of the tests starts the launcher it is
 * told. */
#include "run/launcher_path.h"

#include <stdlib.h>

const char *launcher_path(void)
{
	const char *path = getenv("SEAM_LAUNCHER");
	return path ? path : "/nonexistent/SEAM_LAUNCHER-is-not-set";
}
