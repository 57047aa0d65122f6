/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that came from elsewhere, made fit for a message: one line, valid UTF-8, nothing in it that
 * a terminal acts on or that hides what is written (control characters, bidirectional overrides,
 * invisible characters). What does not fit is cut and marked by "...".
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for the value of an option or the name of a thing; and for a path. */
#define TEXT_VALUE_SIZE 96
#define TEXT_PATH_SIZE	200

/*
 * `s` in double quotes, with what is not printable, `"` and `\` escaped as in C ("\n", "\x1b").
 * `out` gets at most `size` bytes with its NUL; `size` is at least 8. NULL is written as (null).
 * Returns `out`.
 */
const char *text_quote(char *out, size_t size, const char *s);

/* The same without the quotes around it, for paths; `"` and `\` stay as they are. */
const char *text_escape(char *out, size_t size, const char *s);

/*
 * Bytes of the UTF-8 character at `s`, of which `size` bytes are there; 0 when there is none that
 * is whole and valid (overlong forms, surrogates and what is above U+10FFFF are not).
 */
size_t text_utf8(const char *s, size_t size, uint32_t *ret_point);

/* Whether a terminal shows the character as itself, where it stands, with nothing else done. */
bool text_printable(uint32_t point);

#endif
