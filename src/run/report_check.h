/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at the copy of a report before anything is made of it. The launcher may have been killed
 * at any instruction; nothing is bent into range.
 */
#ifndef RUN_REPORT_CHECK_H
#define RUN_REPORT_CHECK_H

#include "run/report.h"

/* Whether the program's first instruction may have run. */
bool report_started(const struct report *report);

/* Whether the launcher lived to the end of its work, whatever came of it. */
bool report_complete(const struct report *report);

/* What about the report cannot be, or NULL. Its output is not looked at. */
const char *report_impossible(const struct report *report);

/*
 * For a run that started: a layer of the plan without its proof, or one that is missing where the
 * plan does not say so, or the other way round. LAYER_COUNT: none.
 */
enum layer_id report_unproven(const struct report *report, uint32_t required, uint32_t missing);

#endif
