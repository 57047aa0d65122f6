/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions for runs of their own, which a limit must end, and a little of each, which none ends. All
 * of them end by themselves after some seconds or bytes, should no limit do it.
 */
#include "deep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEBI	  (1UL << 20)
#define PATIENCE  3 /* seconds */
#define MUCH_TEXT (32 * MEBI)

static void nap(time_t seconds, long nanoseconds)
{
	struct timespec rest = {seconds, nanoseconds};
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		;
}

static int share_memory(int much)
{
	size_t size = (much ? 96 : 4) * MEBI;
	volatile char *block =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return 3;
	for (size_t i = 0; i < size; i += 4096)
		block[i] = 1;
	/* Long enough for whoever polls. */
	if (much)
		nap(PATIENCE, 0);
	return 0;
}

/* `much`: a process that nobody waits for, with the output in its hands. Else one that is seen. */
static int linger(int much)
{
	int fds[2];
	char byte;
	if (!much) { /* until the doctor has seen it */
		(void)puts("alive");
		(void)fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
		return 0;
	}
	if (pipe(fds) < 0)
		return 3;
	pid_t pid = fork();
	if (pid == 0) {
		if (setsid() < 0 || fork() != 0)
			_exit(0);
		(void)signal(SIGHUP, SIG_IGN);
		(void)signal(SIGTERM, SIG_IGN);
		if (write(fds[1], "a", 1) == 1)
			nap(2L * PATIENCE, 0);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid || read(fds[0], &byte, 1) != 1)
		return 3;
	(void)puts("alive");
	return fflush(stdout) == 0 ? 0 : 3;
}

static int is_stopped(pid_t pid)
{
	char path[32], text[512];
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_text(path, text, sizeof(text)) < 0)
		return 1;
	const char *end = strrchr(text, ')');
	return end && strncmp(end, ") T", 3) == 0;
}

static int stop_itself(int much)
{
	for (int i = 1; i < NSIG; i++)
		if (i != SIGCHLD)
			(void)signal(i, SIG_IGN);
	pid_t self = getpid(), pid = fork();
	if (pid < 0)
		return 3;
	if (pid == 0) {
		for (int i = 0; i < 1000 * PATIENCE && !is_stopped(self); i++)
			nap(0, 1000000);
		if (much)
			nap(PATIENCE, 0);
		_exit(kill(self, SIGCONT) < 0);
	}
	if (kill(self, SIGSTOP) < 0)
		return 3;
	return waitpid(pid, NULL, 0) == pid ? 0 : 3;
}

static int spin(int much)
{
	struct timespec used;
	do {
		if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0)
			return 3;
	} while (much ? used.tv_sec < PATIENCE : used.tv_nsec < 5000000 && used.tv_sec == 0);
	return 0;
}

static int spin_children(int much)
{
	pid_t pids[2];
	for (size_t i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(spin(much));
		if (pids[i] < 0)
			return 3;
	}
	for (size_t i = 0; i < 2; i++)
		if (waitpid(pids[i], NULL, 0) != pids[i])
			return 3;
	return 0;
}

static int flood(int fd, int much)
{
	static char block[65536];
	memset(block, 'x', sizeof(block));
	size_t most = much ? MUCH_TEXT : 100;
	for (size_t done = 0; done < most;) {
		size_t size = most - done < sizeof(block) ? most - done : sizeof(block);
		ssize_t got = write(fd, block, size);
		if (got < 0)
			return 3;
		done += (size_t)got;
	}
	return 0;
}

static int flood_error(int much)
{
	return flood(2, much);
}

static int flood_child(int much)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(flood(1, much));
	return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 3;
}

int probe_end(const char *action, int much)
{
	static const struct {
		const char *name;
		int (*act)(int much);
	} actions[] = {
		{"memory", share_memory},     {"linger", linger},
		{"stubborn", stop_itself},    {"children", spin_children},
		{"flood-error", flood_error}, {"flood-child", flood_child},
	};
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, action) == 0)
			return actions[i].act(much);
	return 2;
}
