/* SPDX-License-Identifier: Apache-2.0 */
/* From rules to a filter: the part of the build tool that knows classic BPF. */
#ifndef LAYERS_SECCOMP_COMPILE_H
#define LAYERS_SECCOMP_COMPILE_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum test_kind { TEST_NONE, TEST_MASKED, TEST_HAS, TEST_NIL };

struct rule_test {
	enum test_kind kind;
	unsigned arg;
	uint32_t mask, value;
};

#define RULE_TESTS_MAX 3

struct rule {
	const char *section; /* a heading; then nothing else is set */
	const char *call;
	const char *verdict;
	uint32_t returns; /* what the filter returns */
	const char *why;
	const char *when; /* the conditions as written */
	struct rule_test test[RULE_TESTS_MAX];
};

/* The rules of one system call: they stand together, and the last has no conditions. */
struct call {
	uint32_t number;
	const struct rule *rules;
	unsigned count;
};

struct arch {
	const char *name;
	uint32_t token; /* AUDIT_ARCH_* as in seccomp_data */
	bool has_x32;
};

#define FILTER_MAX 2048 /* instructions; the kernel's limit is 4096 */

/*
 * Compiles `calls`, sorted by number. Returns the number of instructions put into `filter`, or -1
 * when they are more than FILTER_MAX.
 */
int seccomp_compile(const struct arch *arch, const struct call *calls, unsigned count,
		    struct sock_filter filter[FILTER_MAX]);

#endif
