/* SPDX-License-Identifier: Apache-2.0 */
/* "HOST:NAME" and the like, in two. */
#ifndef CLI_COLON_H
#define CLI_COLON_H

#include "base/error.h"

/*
 * Splits at the last colon that has no backslash before it; "\:" stands for a colon that is part
 * of a name. Without a colon, or with nothing after it, *ret_right is NULL. Nothing before it is an
 * error. Both are the caller's. `option` names the option in messages.
 */
int colon_split(const char *option, const char *text, char **ret_left, char **ret_right,
		struct bj_error *err);

#endif
