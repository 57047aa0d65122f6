/* SPDX-License-Identifier: Apache-2.0 */
/* Where belljar-probe is installed. A file of its own: tests link another in its place. */
#include "cli/doctor.h"
#include "config.h"

const char *doctor_probe(void)
{
	return BELLJAR_LIBEXECDIR "/belljar-probe";
}
