/* SPDX-License-Identifier: Apache-2.0 */
/* under_filter PROGRAM [ARGUMENT…]: runs it under the product's filter, and nothing else. */
#include "layers/seccomp_filter.h"

#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_fprog program = {
		.len = seccomp_filter_size,
		.filter = (struct sock_filter *)(uintptr_t)seccomp_filter,
	};
	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		perror("under_filter: load");
		return 125;
	}
	(void)execvp(argv[1], argv + 1);
	perror("under_filter: exec");
	return 127;
}
