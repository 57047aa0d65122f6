/* SPDX-License-Identifier: Apache-2.0 */
/* The main program: runs the checks, or one action that a limit must end. */
#include "deep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE     10	 /* seconds */
#define FLOOD_BLOCKS 512 /* 32 MiB */

const char *facts[FACT_COUNT];

static const char *const fact_names[] = {
	[FACT_PID] = "pid",	      [FACT_PATH] = "path",	      [FACT_PORT] = "port",
	[FACT_ABSTRACT] = "abstract", [FACT_SHM_KEY] = "shm_key",     [FACT_FD] = "fd",
	[FACT_NS_PID] = "ns_pid",     [FACT_NS_IPC] = "ns_ipc",	      [FACT_NS_UTS] = "ns_uts",
	[FACT_NS_NET] = "ns_net",     [FACT_NS_CGROUP] = "ns_cgroup", [FACT_SEM_KEY] = "sem_key",
	[FACT_MSG_KEY] = "msg_key",   [FACT_QUEUE] = "queue",	      [FACT_LEFT_KEY] = "left_key",
	[FACT_NAME] = "name",	      [FACT_HOME] = "home",	      [FACT_CGROUP] = "cgroup",
	[FACT_OUTSIDE] = "outside",
};
_Static_assert(sizeof(fact_names) / sizeof(fact_names[0]) == FACT_COUNT, "a name for every fact");

void print_check(const char *layer, const char *text, enum expect expect, int ok, int os, long got)
{
	const char *name = os ? strerrorname_np(os) : NULL;
	(void)printf("{\"layer\":\"%s\",\"check\":\"%s\",\"expect\":\"%s\",\"ok\":%s,\"errno\":",
		     layer, text, expect == DENIED ? "denied" : "works", ok ? "true" : "false");
	if (name)
		(void)printf("\"%s\"", name);
	else
		(void)printf("null");
	(void)printf(",\"hidden\":%s}\n", got == HIDDEN ? "true" : "false");
}

static void run_check(const struct check *check)
{
	errno = 0;
	long got = check->act();
	int os = got == -1 ? errno : 0;
	if (got == UNTRIED)
		return;
	int ok = got >= 0;
	if (check->expect == DENIED)
		ok = got == HIDDEN ||
		     (got == -1 && os && (os == check->errnos[0] || os == check->errnos[1]));
	print_check(check->layer, check->text, check->expect, ok, os, got);
}

static void run_checks(const struct check *checks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		run_check(&checks[i]);
}

long in_child(long (*act)(void))
{
	struct shared {
		long got;
		int os;
	} *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	if (shared == MAP_FAILED)
		return -1;
	shared->got = UNTRIED;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		errno = 0;
		long got = act();
		shared->os = errno;
		shared->got = got;
		_exit(0);
	}
	int status;
	long got = waitpid(pid, &status, 0) == pid ? shared->got : -1;
	int os = shared->os;
	/* It did not come back: killed on the way. */
	if (got == UNTRIED && WIFSIGNALED(status)) {
		got = -1;
		os = WTERMSIG(status) == SIGSYS ? ENOSYS : EINTR;
	}
	(void)munmap(shared, sizeof(*shared));
	errno = os;
	return got;
}

/* ---- Actions that a limit must end ------------------------------------------------------------
 */

/*
 * Four times what the run may have, held for longer than `monitor` needs to see it. Each of these
 * ends by itself, should no limit do it.
 */
static int take_memory(void)
{
	for (size_t mib = 0; mib < 128; mib += 4) {
		char *block = malloc(4 << 20);
		if (!block)
			return 3;
		/* Touched, or it costs nothing. */
		for (size_t i = 0; i < (4 << 20); i += 4096)
			((volatile char *)block)[i] = 1;
	}
	(void)sleep(PATIENCE);
	return 0;
}

static int sleep_on(void)
{
	(void)sleep(PATIENCE);
	return 3;
}

static int spin(void)
{
	struct timespec used;
	while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 && used.tv_sec < PATIENCE)
		;
	return 3;
}

static int flood(void)
{
	static char block[65536];
	memset(block, 'x', sizeof(block));
	for (size_t i = 0; i < FLOOD_BLOCKS; i++)
		if (write(1, block, sizeof(block)) < 0)
			return 3;
	return 3;
}

/* Starts processes until it is refused, and says with what. */
static int take_tasks(void)
{
	int started = 0;
	pid_t pid = 0;
	for (; started < 512; started++) {
		pid = fork();
		if (pid == 0)
			return sleep_on();
		if (pid < 0)
			break;
	}
	int os = pid < 0 ? errno : 0;
	(void)printf("{\"started\":%d,\"errno\":\"%s\"}\n", started, os ? strerrorname_np(os) : "");
	(void)fflush(stdout);
	return 0; /* init ends the rest */
}

/* ---- Which ---------------------------------------------------------------------------------- */

static void read_facts(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char *equal = strchr(argv[i], '=');
		for (size_t j = 0; equal && j < FACT_COUNT; j++)
			if (strlen(fact_names[j]) == (size_t)(equal - argv[i]) &&
			    strncmp(fact_names[j], argv[i], (size_t)(equal - argv[i])) == 0)
				facts[j] = equal + 1;
	}
}

static int inside(void)
{
	run_checks(checks_walls, checks_walls_count);
	run_checks(checks_limits, checks_limits_count);
	return fflush(stdout) == 0 ? 0 : 3;
}

/* Whether no_new_privs outlived an exec. */
static int tell_nnp(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? NNP_SET : NNP_NOT_SET;
}

static int host(void)
{
	probe_host();
	return fflush(stdout) == 0 ? 0 : 3;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*act)(void);
	} actions[] = {
		{"memory", take_memory}, {"tasks", take_tasks}, {"sleep", sleep_on}, {"spin", spin},
		{"flood", flood},	 {"host", host},	{"nnp", tell_nnp},
	};
	if (argc >= 2)
		read_facts(argc - 2, argv + 2);
	if (argc >= 2 && strcmp(argv[1], "inside") == 0)
		return inside();
	if (argc >= 3 && strcmp(argv[1], "deep") == 0)
		return probe_deep(argv[2]);
	if (argc >= 4 && strcmp(argv[1], "end") == 0)
		return probe_end(argv[2], strcmp(argv[3], "much") == 0);
	for (size_t i = 0; argc == 2 && i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(argv[1], actions[i].name) == 0)
			return actions[i].act();
	(void)fprintf(stderr, "belljar-probe: started by `belljar doctor`\n");
	return 2;
}
