/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter. It is made at build time (compiling it takes a millisecond, loading it a
 * tenth of one) and loaded by the program's one thread, so that nothing of the program runs without
 * it. Loading needs no_new_privs, which `nnp` sets before. Only `fds` comes after, with calls that
 * the filter allows.
 *
 * Denials are not logged: a program could fill the host's log with them.
 */
#include "layers/seccomp_filter.h"

#include "base/io.h"
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

CHILD_CODE int seccomp_child(const struct child *child, struct fault *fault)
{
	(void)child;
	/* The kernel copies the filter and does not write to it, whatever its struct says. */
	struct sock_fprog program = {
		.len = seccomp_filter_size,
		.filter = (struct sock_filter *)(uintptr_t)seccomp_filter,
	};
	return STEP(fault, LAYER_SECCOMP, HOOK_CHILD, "load the system call filter",
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) < 0
		       ? -1
		       : 0;
}

/*
 * How many filters the launcher runs under itself, inside a container for one: the program has
 * inherited them, and must have one more. -1 with errno set.
 */
static int own_filters(int proc_fd)
{
	static const char key[] = "\nSeccomp_filters:";
	/* Mostly none, which is cheaper to ask for. */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
		return 0;
	static char text[1 << 16]; /* a user may be in thousands of groups */
	if (read_at(proc_fd, "self/status", text, sizeof(text)) < 0)
		return -1;
	const char *at = strstr(text, key);
	if (!at) {
		errno = ENOSYS; /* before Linux 5.9 */
		return -1;
	}
	return (int)strtol(at + sizeof(key) - 1, NULL, 10);
}

int seccomp_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	if (MUST(fault, LAYER_SECCOMP, "filter mode is in force",
		 posture->seccomp_mode == SECCOMP_MODE_FILTER) < 0)
		return -1;
	long own = STEP(fault, LAYER_SECCOMP, HOOK_VERIFY, "count the launcher's own filters",
			own_filters(launch->proc_fd));
	if (own < 0)
		return -1;
	return MUST(fault, LAYER_SECCOMP, "one filter more than the launcher has",
		    posture->seccomp_filters == own + 1) < 0
		       ? -1
		       : 0;
}
