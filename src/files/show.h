/* SPDX-License-Identifier: Apache-2.0 */
/* Names, which are any bytes, in messages, which are one line on somebody's terminal. */
#ifndef FILES_SHOW_H
#define FILES_SHOW_H

#include "base/text.h"

#include <sys/types.h>

/* text_quote() by value, for the arguments of a message. */
struct shown {
	char text[TEXT_PATH_SIZE];
};

struct shown show(const char *name);

/* "a symbolic link", "a FIFO", … */
const char *show_kind(mode_t mode);

#endif
