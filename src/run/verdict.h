/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include "run/result.h"

/* What the facts of a report that can be mean. Pure. */
struct verdict verdict(const struct report *report, const struct result_input *in);

/* What an error before any launcher means. */
enum bj_outcome outcome_of_code(enum bj_code code);

/* Exit status and retry, which follow from the rest. */
void verdict_finish(struct verdict *v, int os_error);

#endif
