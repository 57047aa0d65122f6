/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of the product's step_fault(): the step that the launcher's name says fails, with an
 * errno that no kernel gives there, or waits for SIGUSR1. Nobody lists the steps: they are found in
 * their section.
 */
#include "layers/step.h"

#include "name.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

extern const struct step __start_bj_steps[], __stop_bj_steps[];

CHILD_CODE static const char *number(const char *at, long *ret)
{
	for (*ret = 0; *at >= '0' && *at <= '9'; at++)
		*ret = *ret * 10 + (*at - '0');
	return at;
}

/* Whether the name says KEY-N-K, of this step and this time that it is reached. */
CHILD_CODE static bool now(const struct step *step, const char *key)
{
	static long reached; /* each process has its own, and each step its process */
	size_t size;
	long index, turn;
	const char *at = lab_name_value(key, &size);
	if (!at)
		return false;
	at = number(at, &index);
	(void)number(at + 1, &turn);
	return step == __start_bj_steps + index && ++reached == turn;
}

CHILD_CODE int step_fault(const struct step *step)
{
	if (now(step, "pause")) {
		/* Init takes no signal that stops it; one that it waits for reaches it. */
		sigset_t go_on;
		(void)sigemptyset(&go_on);
		(void)sigaddset(&go_on, SIGUSR1);
		(void)sigprocmask(SIG_BLOCK, &go_on, NULL);
		(void)sigwaitinfo(&go_on, NULL);
		(void)sigprocmask(SIG_UNBLOCK, &go_on, NULL);
	}
	return now(step, "fault") ? EUCLEAN : 0;
}

static const char *const hooks[] = {
	[HOOK_NONE] = "",	    [HOOK_PLAN] = "plan",     [HOOK_PREPARE] = "prepare",
	[HOOK_PARENT] = "parent",   [HOOK_JOIN] = "join",     [HOOK_CHILD] = "child",
	[HOOK_STOPPED] = "stopped", [HOOK_VERIFY] = "verify", [HOOK_WATCH] = "watch",
};
_Static_assert(sizeof(hooks) / sizeof(hooks[0]) == HOOK_COUNT, "a name for each hook");

__attribute__((constructor)) static void list(void)
{
	if (!lab_name_says("list", "steps"))
		return;
	for (const struct step *step = __start_bj_steps; step < __stop_bj_steps; step++)
		(void)printf("{\"layer\": \"%s\", \"hook\": \"%s\", \"what\": \"%s\"}\n",
			     step->layer < LAYER_COUNT ? layers[step->layer].name : "",
			     hooks[step->hook], step->what);
	_exit(fflush(stdout) ? 1 : 0);
}
