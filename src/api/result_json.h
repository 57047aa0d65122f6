/* SPDX-License-Identifier: Apache-2.0 */
/* A result as JSON, schema belljar.result/1 (docs/result.md). */
#ifndef API_RESULT_JSON_H
#define API_RESULT_JSON_H

#include "run/result.h"

/* Allocated, compact, without a newline at its end; NULL when out of memory. */
char *result_json(const struct bj_result *res);

#endif
