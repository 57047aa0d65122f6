/* SPDX-License-Identifier: Apache-2.0 */
/* What the command writes: lines, tables and objects. Only the command prints; no library does. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include "cli/cli.h"

enum colour { PLAIN, BOLD, RED, GREEN, DIM };

/* The escape that turns `colour` on, or "" where `to` is no terminal or does not want any. */
const char *colour_on(FILE *to, enum colour colour);
const char *colour_off(FILE *to);

/* Whether `to` can show characters beyond ASCII. */
bool say_unicode(void);

/* "belljar: WORD: TEXT" on stderr, one line, whatever `text` holds. `word` may be NULL. */
void say_line(const char *word, const char *text);

/*
 * An error that no run came of: one line, or with --json one object on stdout, for `run` a
 * result with outcome `refused`. Returns STATUS_REFUSED.
 */
int say_refused(const struct invocation *invocation, const struct bj_error *err);

/* The result as JSON. Returns `status`, or what a stdout that takes nothing more calls for. */
int say_result(const struct bj_result *res, int status);

/* {code, layer, message, hint} */
json_t *error_json(const struct bj_error *err);

/* Prints an object and drops the reference. Returns STATUS_OK, or STATUS_REFUSED when it cannot. */
int say_json(json_t *object);

/* stdout to its end. Returns `status`, or what a stdout that takes nothing more calls for. */
int say_flush(int status);

/*
 * Rows of cells, `columns` in a row, padded; the last column is wrapped at the terminal's width.
 * `cells[i]` NULL is empty. With `header` the first row is bold.
 */
void say_table(FILE *to, const char *const *cells, size_t rows, size_t columns, bool header);

/* `text` wrapped, each line but the first after `indent` spaces; `at` is where the first begins. */
void say_wrapped(FILE *to, const char *text, size_t at, size_t indent);

#endif
