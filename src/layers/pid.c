/* SPDX-License-Identifier: Apache-2.0 */
/* Layer `pid`: a pid namespace; the program is its second process. The fresh proc is `mount`'s. */
#include "layers/pid.h"

#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * What proc says of this thread: "NSpid:" and its number in the namespace of that proc, then one
 * for each namespace further in. Exactly one, ours: it is this one. The link `thread-self` alone
 * would not do: numbers of two namespaces may be the same. Not `self`: a caller's first thread may
 * have ended. Before that line comes one of groups, of which there may be 65,536.
 */
int pid_own_proc(int proc_fd)
{
	char want[32], text[4096];
	size_t size = (size_t)snprintf(want, sizeof(want), "\nNSpid:\t%ld\n", syscall(SYS_gettid));
	/* Where this process is not to be seen, the link leads nowhere. */
	int fd = openat(proc_fd, "thread-self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		return -1;
	bool found = false;
	ssize_t n = 0;
	for (size_t kept = 0; fd >= 0 && !found;) {
		n = read(fd, text + kept, sizeof(text) - kept);
		if (n <= 0)
			break;
		size_t all = kept + (size_t)n;
		found = memmem(text, all, want, size) != NULL;
		/* The line may lie across two reads. */
		kept = all < size ? all : size;
		memmove(text, text + all - kept, kept);
	}
	int os = n < 0 ? errno : EXDEV;
	if (fd >= 0)
		(void)close(fd);
	errno = os;
	return found ? 0 : -1;
}

int pid_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)launch;
	if (MUST(fault, LAYER_PID, "a pid namespace of its own",
		 posture->ns[NS_PID] != posture->ns_host[NS_PID]) < 0 ||
	    MUST(fault, LAYER_PID, "process 2 of that namespace", posture->ns_pid == 2) < 0 ||
	    MUST(fault, LAYER_PID, "one thread", posture->threads == 1) < 0)
		return -1;
	return 0;
}
