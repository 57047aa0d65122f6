/* SPDX-License-Identifier: Apache-2.0 */
#include "run/launcher_path.h"

#include "config.h"

const char *launcher_path(void)
{
	return BELLJAR_LIBEXECDIR "/belljar-launch";
}
