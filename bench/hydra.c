/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that is hardest to kill one by one: TASKS tasks, each of which replaces itself again
 * and again by a child in a session of its own. Whoever walks a list of processes is always late.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Work enough that the CPU quota is used up, little enough that heads change often. */
static void spin(void)
{
	for (volatile unsigned i = 0; i < 200000; i++)
		;
}

__attribute__((noreturn)) static void live_on(void)
{
	for (;;) {
		pid_t pid;

		spin();
		pid = fork();
		if (pid > 0)
			_exit(0);
		if (pid == 0)
			(void)setsid();
		/* At the limit of tasks: the old head stays until there is room for a new one. */
	}
}

int main(int argc, char **argv)
{
	long tasks = argc > 1 ? strtol(argv[1], NULL, 10) : 38;

	/* At the limit of tasks there is room again a moment later: each head is two for so long.
	 */
	for (long i = 0; i < tasks;) {
		pid_t pid = fork();

		if (pid == 0)
			live_on();
		if (pid > 0)
			i++;
	}
	for (;;) {
		(void)wait(NULL);
		(void)usleep(10000);
	}
}
