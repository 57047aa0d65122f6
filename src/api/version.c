/* SPDX-License-Identifier: Apache-2.0 */
#include <belljar/belljar.h>

#include "config.h"

const char *bj_version(void)
{
	return BELLJAR_VERSION;
}
