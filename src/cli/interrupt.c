/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP as a descriptor, which ends the run. They stay blocked until the run
 * is reaped, so that a second one ends nothing too early.
 */
#include "base/error.h"
#include "cli/run.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* A signal that was ignored when belljar started (nohup, a shell's background) stays ignored. */
static bool is_ignored(int sig)
{
	struct sigaction action;
	return sigaction(sig, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
	       action.sa_handler == SIG_IGN;
}

int interrupt_init(struct interrupt *interrupt, struct bj_error *err)
{
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!is_ignored(signals[i]))
			(void)sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return fail_errno(err, BJ_INTERNAL, "block signals");
	interrupt->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (interrupt->fd < 0)
		return fail_errno(err, BJ_INTERNAL, "wait for signals by a descriptor (signalfd)");
	return 0;
}

int interrupt_signal(const struct interrupt *interrupt)
{
	struct signalfd_siginfo info;
	if (read(interrupt->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

void interrupt_close(struct interrupt *interrupt)
{
	(void)close(interrupt->fd);
}
