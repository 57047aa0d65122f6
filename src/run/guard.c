/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a process beside the launcher that touches nothing the program can hold. Reading a
 * pipe takes that pipe's lock, which a writer keeps while write(2) faults in the pages that it
 * writes: a program whose writer has the lowest priority among its busy others can keep it for
 * seconds, and the launcher waits for it uninterruptibly. So the deadline and the caller's end are
 * watched here too; whoever sees them first ends init, and with it whoever holds the lock.
 */
#include "layers/step.h"
#include "run/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

CHILD_CODE __attribute__((noreturn)) static void guard_main(const struct run *run, int launcher)
{
	/* Of the cgroups it has none: their locks are to end with the launcher. */
	const int keep[] = {run->control, run->launch.deadline_fd, run->launch.init_pidfd,
			    launcher};
	if (prctl(PR_SET_NAME, "belljar-guard", 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    keep_only(keep, sizeof(keep) / sizeof(keep[0])) < 0)
		_exit(125);
	for (;;) {
		struct pollfd polled[] = {{.fd = launcher, .events = POLLIN},
					  {.fd = run->launch.deadline_fd, .events = POLLIN},
					  {.fd = run->control, .events = POLLIN}};
		if (poll(polled, 3, -1) < 0 && errno != EINTR)
			_exit(125);
		if (polled[0].revents)
			_exit(0);
		if (polled[1].revents || polled[2].revents)
			break;
	}
	(void)syscall(SYS_pidfd_send_signal, run->launch.init_pidfd, SIGKILL, NULL, 0);
	_exit(0);
}

static int start(struct run *run)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	run->guard = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (run->guard == 0)
		guard_main(run, pair[1]);
	(void)close(pair[1]);
	run->guard_socket = pair[0];
	return run->guard < 0 ? -1 : 0;
}

int guard_start(struct run *run, struct fault *fault)
{
	return STEP(fault, LAYER_DEADLINE, HOOK_PARENT, "start the guard", start(run)) < 0 ? -1 : 0;
}

void guard_stop(const struct run *run)
{
	if (run->guard > 0)
		(void)kill(run->guard, SIGKILL);
}

void guard_reap(struct run *run)
{
	int status;
	if (run->guard <= 0)
		return;
	while (waitpid(run->guard, &status, 0) < 0 && errno == EINTR)
		continue;
	(void)close(run->guard_socket);
	run->guard = 0;
}
