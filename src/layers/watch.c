/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers `deadline`, `output` and `monitor`, which the launcher keeps while the program runs
 * (run/supervise.c). Here is what can be read back of them before it starts.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timerfd.h>

/* The timer is armed, runs on CLOCK_MONOTONIC, once, and ends no later than the policy says. */
int deadline_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)posture;
	struct itimerspec left;
	if (STEP(fault, LAYER_DEADLINE, HOOK_VERIFY, "read the timer back",
		 timerfd_gettime(launch->deadline_fd, &left)) < 0)
		return -1;
	uint64_t ms =
		(uint64_t)left.it_value.tv_sec * 1000 + (uint64_t)left.it_value.tv_nsec / 1000000;
	bool armed = left.it_value.tv_sec > 0 || left.it_value.tv_nsec > 0;
	/* Where set-up took longer than the program may, its time is over: the run ends for that.
	 */
	struct pollfd over = {.fd = launch->deadline_fd, .events = POLLIN};
	bool ended = !armed && poll(&over, 1, 0) == 1 && (over.revents & POLLIN);
	return MUST(fault, LAYER_DEADLINE, "the timer runs and ends in time",
		    ended || (armed && ms <= launch->plan->time_ms)) < 0
		       ? -1
		       : 0;
}

/* Both pipes are ours to read, without blocking: a silent or flooding program holds up nothing. */
int output_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)posture;
	for (int i = 0; i < 2; i++) {
		int flags = fcntl(launch->output_fd[i], F_GETFL);
		if (MUST(fault, LAYER_OUTPUT, "output pipes do not block the launcher",
			 flags >= 0 && (flags & O_NONBLOCK)) < 0)
			return -1;
	}
	return 0;
}

int monitor_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)posture;
	(void)snprintf(launch->note[LAYER_MONITOR], sizeof(launch->note[0]),
		       "polls; can miss a fast burst");
	return MUST(fault, LAYER_MONITOR, "the run's processes can be read",
		    launch->inside_proc >= 0) < 0
		       ? -1
		       : 0;
}
