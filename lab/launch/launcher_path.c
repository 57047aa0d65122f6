/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the product's launcher_path(): the command of the lab starts the launcher it is
 * told. */
#include "run/launcher_path.h"

#include <stdlib.h>

const char *launcher_path(void)
{
	const char *path = getenv("LAB_LAUNCHER");
	return path ? path : "/nonexistent/LAB_LAUNCHER-is-not-set";
}
