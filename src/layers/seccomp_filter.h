/* SPDX-License-Identifier: Apache-2.0 */
/* The filter, made at build time from seccomp_rules.def for the architecture built for. */
#ifndef LAYERS_SECCOMP_FILTER_H
#define LAYERS_SECCOMP_FILTER_H

#include <linux/filter.h>

extern const struct sock_filter seccomp_filter[];
extern const unsigned short seccomp_filter_size; /* instructions */

#endif
