/* SPDX-License-Identifier: Apache-2.0 */
/* What an analyser must find: a gate that finds nothing here finds nothing anywhere. Not built. */
#include <stdlib.h>

int control(int deep);
int control(int deep)
{
	int *p = deep ? malloc(sizeof(*p)) : NULL;

	if (deep && !p)
		return -1;
	*p = 1;
	free(p);
	return *p;
}
