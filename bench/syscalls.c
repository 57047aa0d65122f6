/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the system calls of a command and its descendants, by generation: 0 is the command, 1 its
 * children and so on.
 *
 *   syscalls DEPTH COMMAND [ARG…]
 *
 * strace -fc cannot do this to Belljar: it traces the program too, and the launcher, which proves
 * the program by tracing it itself, then rightly refuses. Descendants deeper than DEPTH are let go
 * here before their first instruction. Standard output: a JSON object.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { TASKS_MAX = 256, DEPTH_MAX = 8, CALLS_MAX = 512 };

struct task {
	pid_t pid;
	unsigned depth;
	bool begun; /* its first stop was seen */
};

static struct task tasks[TASKS_MAX];
static pid_t early[TASKS_MAX]; /* stopped before the event of its parent that names it */
static uint32_t calls[DEPTH_MAX][CALLS_MAX];
static unsigned deepest;

static struct task *find(pid_t pid)
{
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (tasks[i].pid == pid)
			return &tasks[i];
	return NULL;
}

static struct task *add(pid_t pid, unsigned depth)
{
	struct task *task = find(0);

	if (!task)
		errx(1, "too many tasks");
	*task = (struct task){.pid = pid, .depth = depth};
	return task;
}

static bool was_early(pid_t pid)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		if (early[i] != pid)
			continue;
		early[i] = 0;
		return true;
	}
	return false;
}

static void remember_early(pid_t pid)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		if (early[i] == 0) {
			early[i] = pid;
			return;
		}
	}
	errx(1, "too many tasks");
}

/* A new child waits for its tracer: it is counted on, or let go while its parent still stands. */
static void take_child(const struct task *parent)
{
	unsigned long message;
	pid_t pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &message) < 0)
		err(1, "PTRACE_GETEVENTMSG");
	pid = (pid_t)message;
	bool stopped = was_early(pid);
	if (parent->depth + 1 <= deepest) {
		struct task *task = add(pid, parent->depth + 1);

		task->begun = stopped;
		if (stopped && ptrace(PTRACE_SYSCALL, pid, NULL, 0) < 0)
			err(1, "go on with %d", (int)pid);
		return;
	}
	if ((!stopped && waitpid(pid, NULL, __WALL) < 0) || ptrace(PTRACE_DETACH, pid, NULL, 0) < 0)
		err(1, "let go of %d", (int)pid);
}

static void count_call(const struct task *task)
{
	struct ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, task->pid, sizeof(info), &info) < 0)
		return; /* it was killed meanwhile */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr < CALLS_MAX)
		calls[task->depth][info.entry.nr]++;
}

/* What is passed on to the task that stopped: a signal, or nothing for a stop of the tracer's. */
static int signal_of(struct task *task, int status)
{
	int signal = WSTOPSIG(status);

	switch (status >> 16) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		take_child(task);
		return 0;
	case PTRACE_EVENT_EXEC:
		return 0;
	default:
		break;
	}
	if (signal == (SIGTRAP | 0x80)) {
		count_call(task);
		return 0;
	}
	if (signal == SIGSTOP && !task->begun) {
		task->begun = true;
		return 0;
	}
	return signal;
}

static int follow(pid_t command)
{
	int result = 1;

	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);
		struct task *task;

		if (pid < 0 && errno == ECHILD)
			return result;
		if (pid < 0)
			err(1, "waitpid");
		task = find(pid);
		if (!WIFSTOPPED(status)) {
			if (pid == command)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
			if (task)
				task->pid = 0;
			continue;
		}
		if (!task) {
			remember_early(pid);
			continue;
		}
		(void)ptrace(PTRACE_SYSCALL, pid, NULL, signal_of(task, status));
	}
}

static void print(int result)
{
	printf("{\"exit\": %d, \"depth\": [", result);
	for (unsigned depth = 0; depth <= deepest; depth++) {
		uint64_t total = 0;
		bool first = true;

		printf("%s{\"calls\": {", depth ? ", " : "");
		for (int nr = 0; nr < CALLS_MAX; nr++) {
			char *name;

			if (!calls[depth][nr])
				continue;
			total += calls[depth][nr];
			name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);
			printf("%s\"%s\": %u", first ? "" : ", ", name ? name : "unknown",
			       calls[depth][nr]);
			free(name);
			first = false;
		}
		printf("}, \"total\": %lu}", total);
	}
	puts("]}");
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t pid;
	int status;

	if (argc < 3 || (deepest = (unsigned)strtoul(argv[1], NULL, 10)) >= DEPTH_MAX)
		errx(2, "usage: syscalls DEPTH COMMAND [ARG…]");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null_fd < 0 || dup2(null_fd, 1) < 0 || ptrace(PTRACE_TRACEME, 0, NULL, 0) < 0 ||
		    raise(SIGSTOP) != 0)
			_exit(126);
		(void)execv(argv[2], argv + 2);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0 || ptrace(PTRACE_SETOPTIONS, pid, NULL, options) < 0)
		err(1, "trace %s", argv[2]);
	add(pid, 0)->begun = true;
	(void)ptrace(PTRACE_SYSCALL, pid, NULL, 0);
	print(follow(pid));
	return fflush(stdout) == 0 ? 0 : 1;
}
