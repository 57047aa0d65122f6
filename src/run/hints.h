/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hint of a result: one or two sentences for a model, which say what happened, with the number
 * that was hit, and what to do next.
 */
#ifndef RUN_HINTS_H
#define RUN_HINTS_H

#include "run/result.h"

/*
 * Allocated; NULL when out of memory. `res` is complete but for its hint. `report` has the facts
 * that a result does not carry, or is NULL.
 */
char *hint_make(const struct bj_result *res, const struct report *report,
		const struct result_input *in);

#endif
