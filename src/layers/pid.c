/* SPDX-License-Identifier: Apache-2.0 */
/* Layer `pid`: a pid namespace; the program is its second process. The fresh proc is `mount`'s. */
#include "layers/pid.h"

#include "layers/hooks.h"
#include "layers/step.h"

#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * What proc says of a pidfd of this process: "NSpid:" and its number in the namespace of that proc,
 * then one for each namespace further in. Exactly one, ours: it is this one. The link `self` alone
 * would not do: numbers of two namespaces may be the same. Of this thread, since a caller's may
 * have descriptors of its own, and its first one may have ended, which leaves `self` without any.
 */
int pid_own_proc(int proc_fd)
{
	static const char key[] = "\nNSpid:\t";
	char name[32], text[512], want[16];
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "thread-self/fdinfo/%d", pidfd);
	ssize_t size = read_at(proc_fd, name, text, sizeof(text));
	int os = errno;
	(void)close(pidfd);
	errno = os;
	/* Where this process is not to be seen, `thread-self` leads nowhere. */
	if (size < 0 && errno != ENOENT)
		return -1;
	const char *at = size < 0 ? NULL : strstr(text, key);
	int digits = snprintf(want, sizeof(want), "%d\n", getpid());
	if (at && strncmp(at + sizeof(key) - 1, want, (size_t)digits) == 0)
		return 0;
	errno = EXDEV;
	return -1;
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
