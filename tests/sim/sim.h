/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp simulator: a filter's verdict without a kernel, and the table's without a filter. */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

struct filter {
	const char *arch;
	uint32_t token;	  /* AUDIT_ARCH_* */
	uint32_t seccomp; /* SCMP_ARCH_* */
	const struct sock_filter *code;
	const unsigned short *size; /* instructions */
};

enum { SIM_X86_64, SIM_AARCH64, SIM_COUNT };
extern const struct filter filters[SIM_COUNT];

/* What run() met, for coverage: by instruction, whether it ran and which ways it jumped. */
enum { RAN = 1, RAN_YES = 2, RAN_NO = 4 };

/*
 * What the filter returns; `steps` (or NULL) gets the number of instructions, `seen` (or NULL), of
 * the filter's size, what ran. 0xffffffff, no verdict of seccomp's, where the kernel would refuse
 * the code or this interpreter does not know it.
 */
#define SIM_BROKEN 0xffffffffU
uint32_t sim_run(const struct filter *filter, const struct seccomp_data *data, unsigned *steps,
		 uint8_t *seen);

/* What the table says of a call by name; NULL and names it lacks are unknown calls. */
uint32_t oracle_verdict(const char *call, const struct seccomp_data *data);

/* A number's name by libseccomp or by the table's own list, else NULL; static memory. */
const char *oracle_name(const struct filter *filter, int number);

/* The values that the rows of a call compare with. Returns how many. */
#define ORACLE_VALUES 256
size_t oracle_values(const char *call, uint32_t values[ORACLE_VALUES]);

#endif
