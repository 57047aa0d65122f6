/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors. Two kinds:
 *
 *  struct bj_error  the public one (belljar.h): a sentence and a mend, made where memory and
 *                   stdio may be used. Functions that can fail return 0 or -1 and take it last;
 *                   it is untouched on success, outputs are untouched on failure.
 *  struct fault     64 bytes without pointers, for code between clone and exec, which may not
 *                   allocate. It crosses a socket in one piece; fault_explain() (src/run) turns it
 *                   into a sentence.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <belljar/belljar.h>
#include <stdint.h>

/* Fills `err` (which may be NULL) and returns -1, so that callers write `return fail(...)`. */
__attribute__((format(printf, 3, 4))) int fail(struct bj_error *err, enum bj_code code,
					       const char *format, ...);

/* The same for a system call: appends ": " and the text of errno, and keeps it in os_error. */
__attribute__((format(printf, 3, 4))) int fail_errno(struct bj_error *err, enum bj_code code,
						     const char *format, ...);

/* Puts before the message of an error just made where it came from, as "--in". Returns -1. */
int fail_from(struct bj_error *err, const char *where);

/* Names the layer at fault, and the mend, of an error just made. Both return -1. */
int fail_layer(struct bj_error *err, const char *layer);
__attribute__((format(printf, 2, 3))) int fail_hint(struct bj_error *err, const char *format, ...);

struct fault {
	uint16_t code;	/* enum bj_code; 0 means no fault */
	uint8_t layer;	/* enum layer_id, or LAYER_COUNT where no layer is at fault */
	uint8_t hook;	/* enum hook_id */
	int32_t os;	/* errno, or 0 */
	char what[54];	/* the step that failed, NUL-terminated, a literal */
	uint16_t input; /* 1 + the number of the input that it is about, or 0 */
};
_Static_assert(sizeof(struct fault) == 64, "a fault is one small packet");

#endif
