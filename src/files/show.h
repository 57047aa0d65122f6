/* SPDX-License-Identifier: Apache-2.0 */
/* Names, which are any bytes, in messages, which are one line on somebody's terminal. */
#ifndef FILES_SHOW_H
#define FILES_SHOW_H

#include <sys/types.h>

#define SHOW_SIZE 192

struct shown {
	char text[SHOW_SIZE];
};

/*
 * The name in double quotes: control characters, what reorders or hides text, and bytes that are
 * no UTF-8 are escaped as in C; of a long name the middle is left out.
 */
struct shown show(const char *name);

/* "a symbolic link", "a FIFO", … */
const char *show_kind(mode_t mode);

#endif
