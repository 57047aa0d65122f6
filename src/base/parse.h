/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people write them. Strict: digits from the first byte to the unit, no sign, space,
 * exponent or leading zero, nothing after it, no overflow. Every value has one reading.
 *
 * A failure is BJ_INVALID, and its message is only the reason ("too large"): the caller knows the
 * name, the range and the origin of the value, and puts them around it. Of a size or a time that is
 * merely spelled as elsewhere ("64MB", "10 sec") it also says what would be right.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include "base/error.h"

#include <stdint.h>

/* "65536", "64k", "256m", "4g", "1t": 1024-based; a bare number is bytes. */
int parse_size(const char *text, uint64_t *ret_bytes, struct bj_error *err);

/* "500ms", "10s", "1.5s", "2m", "1h": the unit must be given, the value exact in milliseconds. */
int parse_time(const char *text, uint64_t *ret_ms, struct bj_error *err);

/* "64" */
int parse_count(const char *text, uint64_t *ret_count, struct bj_error *err);

/* "2", "0.5", "0.125": in thousandths, so at most three decimals. */
int parse_milli(const char *text, uint64_t *ret_milli, struct bj_error *err);

#endif
