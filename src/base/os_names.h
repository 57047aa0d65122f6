/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BELLJAR_BASE_OS_NAMES_H
#define BELLJAR_BASE_OS_NAMES_H

/* The words for errno values and the short names of signals ("KILL"), the same with every C
 * library: glibc's, collected at build time by os_names_gen.c. NULL: it knows none. */
const char *errno_words(int os);
const char *signal_name(int sig);

#endif
