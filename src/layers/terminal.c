/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `terminal`: a session of its own without a controlling terminal, default signal actions,
 * no blocked signals, a plain umask. Before seccomp: a filter may refuse what is set here.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Raw calls: glibc's sigaction refuses the two signals that it keeps for its threads, and an
 * ignored one of them would be inherited.
 */
CHILD_CODE int default_actions(void)
{
	struct { /* the kernel's struct sigaction: all zeros is the default action */
		uint64_t handler, flags, restorer, mask;
	} action = {0};
	for (int signal = 1; signal < NSIG; signal++) {
		if (signal == SIGKILL || signal == SIGSTOP)
			continue;
		if (syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof(action.mask)) < 0)
			return -1;
	}
	return 0;
}

CHILD_CODE static int default_signals(void)
{
	uint64_t none = 0;
	if (default_actions() < 0)
		return -1;
	return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

CHILD_CODE int terminal_child(const struct child *child, struct fault *fault)
{
	(void)child;
	if (STEP(fault, LAYER_TERMINAL, HOOK_CHILD, "start a session", setsid()) < 0 ||
	    STEP(fault, LAYER_TERMINAL, HOOK_CHILD, "reset signals", default_signals()) < 0)
		return -1;
	(void)umask(022);
	return 0;
}

int terminal_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	if (MUST(fault, LAYER_TERMINAL, "leader of a session of its own",
		 posture->session == (uint32_t)launch->program) < 0 ||
	    MUST(fault, LAYER_TERMINAL, "no controlling terminal", posture->tty == 0) < 0 ||
	    MUST(fault, LAYER_TERMINAL, "no signal blocked, ignored or caught",
		 (posture->sig_blocked | posture->sig_ignored | posture->sig_caught) == 0) < 0 ||
	    MUST(fault, LAYER_TERMINAL, "umask 022", posture->umask == 022) < 0)
		return -1;
	return 0;
}
