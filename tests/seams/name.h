/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launcher of the tests is to do differently is in the name it was started under, because
 * its environment and arguments are as empty as the product's:
 *
 *   seam-launch.KEY-VALUE.KEY-VALUE…
 *
 *   without-A+B   layers A and B are left out, and those that cannot be put up without them
 *   fault-N-K     step N of the section "bj_steps" fails when it is reached for the Kth time
 *   list-steps    prints the section as JSON and ends
 *   plant-env     the launcher has a variable in its environment
 *   plant-fd      the launcher has a descriptor open that an exec does not close
 *   tty-N         the launcher has /dev/pts/N as its controlling terminal
 */
#ifndef SEAMS_NAME_H
#define SEAMS_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The value of `key` in that name and its length; NULL where it is not there. */
const char *name_value(const char *key, size_t *ret_size);

/* Whether the name says KEY-VALUE. */
bool name_says(const char *key, const char *value);

#endif
