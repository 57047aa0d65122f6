/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table's own verdict: each row as a C condition, row after row. It shares nothing with the
 * build tool but the table, so what both say alike is what the table says.
 */
#include "layers/seccomp_values.h"
#include "sim.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAYS_ALLOW	     SECCOMP_RET_ALLOW
#define SAYS_SUCCESS	     (SECCOMP_RET_ERRNO | 0)
#define SAYS_EPERM	     (SECCOMP_RET_ERRNO | EPERM)
#define SAYS_ENOSYS	     (SECCOMP_RET_ERRNO | ENOSYS)
#define SAYS_EINVAL	     (SECCOMP_RET_ERRNO | EINVAL)
#define SAYS_ENOMEM	     (SECCOMP_RET_ERRNO | ENOMEM)
#define SAYS_ENOTTY	     (SECCOMP_RET_ERRNO | ENOTTY)
#define SAYS_EAFNOSUPPORT    (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define SAYS_EPROTONOSUPPORT (SECCOMP_RET_ERRNO | EPROTONOSUPPORT)

#define ARG(n) ((uint32_t)data->args[n])

static bool all(const bool *holds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!holds[i])
			return false;
	return true;
}

#define SECTION(title)
#define NEWER(number, name)
#define IS(n, value)	       ARG(n) == (uint32_t)(value)
#define MASKED(n, mask, value) (ARG(n) & (uint32_t)(mask)) == (uint32_t)(value)
#define HAS(n, mask)	       (ARG(n) & (uint32_t)(mask)) != 0
#define NIL(n)		       data->args[n] == UINT64_C(0)
#define RULE(name, verdict, why, ...)                                                              \
	if (strcmp(call, #name) == 0) {                                                            \
		const bool holds[] = {true, ##__VA_ARGS__};                                        \
		if (all(holds, sizeof(holds) / sizeof(holds[0])))                                  \
			return SAYS_##verdict;                                                     \
	}

uint32_t oracle_verdict(const char *call, const struct seccomp_data *data)
{
	if (call) {
#include "layers/seccomp_rules.def"
	}
	return SAYS_ENOSYS;
}

#undef IS
#undef MASKED
#undef HAS
#undef NIL
#undef RULE
#define IS(n, value)	       (uint32_t)(value)
#define MASKED(n, mask, value) (uint32_t)(value)
#define HAS(n, mask)	       (uint32_t)(mask)
#define NIL(n)		       0
#define RULE(name, verdict, why, ...)                                                              \
	if (strcmp(call, #name) == 0) {                                                            \
		const uint32_t row[] = {0, ##__VA_ARGS__};                                         \
		for (size_t i = 1; i < sizeof(row) / sizeof(row[0]) && count < ORACLE_VALUES; i++) \
			values[count++] = row[i];                                                  \
	}

size_t oracle_values(const char *call, uint32_t values[ORACLE_VALUES])
{
	size_t count = 0;
	if (call) {
#include "layers/seccomp_rules.def"
	}
	return count;
}

#undef NEWER
#undef RULE
#define NEWER(n, call)                                                                             \
	if (number == (n))                                                                         \
		return #call;
#define RULE(name, verdict, why, ...)

const char *oracle_name(const struct filter *filter, int number)
{
	static char name[64];
#include "layers/seccomp_rules.def"
	char *known = seccomp_syscall_resolve_num_arch(filter->seccomp, number);
	if (!known)
		return NULL;
	(void)snprintf(name, sizeof(name), "%s", known);
	free(known);
	return name;
}
