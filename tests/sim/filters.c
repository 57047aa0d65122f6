/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of both architectures, as the build made them; meson.build gives them these names. */
#include "sim.h"

#include <linux/audit.h>
#include <seccomp.h>

extern const struct sock_filter x86_64_filter[], aarch64_filter[];
extern const unsigned short x86_64_size, aarch64_size;

const struct filter filters[SIM_COUNT] = {
	[SIM_X86_64] = {"x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, x86_64_filter, &x86_64_size},
	[SIM_AARCH64] = {"aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, aarch64_filter,
			 &aarch64_size},
};
