/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launcher of the lab or of the tests is to do differently is in the name it was started
 * under, because its environment and arguments are as empty as the product's:
 *
 *   lab-launch.KEY-VALUE.KEY-VALUE…
 *
 *   without-A+B   layers A and B are left out, and those that cannot be put up without them
 *   env-WORD      the launcher has the variable planted=WORD in its environment
 *   fd-WORD       the launcher has descriptor 100 open on a file that says WORD; no exec closes it
 *   dir-NAME      the launcher has descriptor 101 open on the directory NAME beside it
 *   tty-N         the launcher has /dev/pts/N as its controlling terminal
 *   fault-N-K     tests only: step N of the section "bj_steps" fails when reached the Kth time
 *   pause-N-K     tests only: that step waits for SIGUSR1, and goes on
 *   list-steps    tests only: prints the section as JSON and ends
 */
#ifndef LAB_NAME_H
#define LAB_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The value of `key` in that name and its length; NULL where it is not there. */
const char *lab_name_value(const char *key, size_t *ret_size);

/* Whether the name says KEY-VALUE. */
bool lab_name_says(const char *key, const char *value);

#endif
