/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody who mistyped a name probably meant. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

/* The nearest of what was added to what was meant. */
struct suggestion {
	const char *meant;
	const char *best;
	size_t distance;
};

void suggest_add(struct suggestion *suggestion, const char *candidate);
/* NULL when nothing is near. */
const char *suggest_best(const struct suggestion *suggestion);

#endif
