/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts commands and times them, with as little of its own in between as can be: vfork, exec,
 * wait4. Commands take turns, and who begins changes every round, so that what disturbs the machine
 * disturbs all of them alike.
 *
 *   spawn [-n ROUNDS] [-u UID] [-j JOBS] [-f LIST] -- COMMAND [ARG…] [::: COMMAND [ARG…]]…
 *
 * With -f a round of a command is one run for every line of LIST, put in place of {}, JOBS at a
 * time. Standard output: a JSON array with an object for each command.
 */
#include "samples.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMANDS_MAX = 8, JOBS_MAX = 16, ARGS_MAX = 256 };

struct command {
	char **argv;
	struct sample *samples; /* one for each run */
	uint64_t *round_ns;	/* one for each round */
	size_t count;
};

struct job {
	pid_t pid;
	uint64_t start_ns;
};

static size_t rounds = 100, jobs = 1, items = 1;
static long uid = -1;
static char **list;
static int null_fd;

/* Between vfork and exec: raw calls, since glibc's setuid speaks to the parent's threads. */
__attribute__((noreturn)) static void become(char *const argv[])
{
	if (dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0 || dup2(null_fd, 2) < 0)
		_exit(126);
	if (uid >= 0 &&
	    (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, uid, uid, uid) < 0 ||
	     syscall(SYS_setresuid, uid, uid, uid) < 0))
		_exit(126);
	(void)execv(argv[0], argv);
	_exit(127);
}

static struct job start(const struct command *command, const char *item)
{
	char *argv[ARGS_MAX];
	struct job job;
	size_t n = 0;

	for (; command->argv[n] && n < ARGS_MAX - 1; n++)
		argv[n] = item && strcmp(command->argv[n], "{}") == 0 ? (char *)(uintptr_t)item
								      : command->argv[n];
	argv[n] = NULL;
	job.start_ns = now_ns();
	job.pid = vfork();
	if (job.pid < 0)
		err(1, "vfork");
	if (job.pid == 0)
		become(argv);
	return job;
}

static void finish(struct command *command, struct job running[static JOBS_MAX])
{
	struct rusage usage;
	struct sample sample;
	int status;
	pid_t pid = wait4(-1, &status, 0, &usage);
	uint64_t end_ns = now_ns();

	if (pid < 0)
		err(1, "wait4");
	sample.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	sample.cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	for (size_t i = 0; i < jobs; i++) {
		if (running[i].pid != pid)
			continue;
		sample.wall_ns = end_ns - running[i].start_ns;
		command->samples[command->count++] = sample;
		running[i].pid = 0;
	}
}

static void run_round(struct command *command, size_t round)
{
	struct job running[JOBS_MAX] = {{0}};
	size_t before = command->count, next = 0;
	uint64_t begin_ns = now_ns();

	while (command->count < before + items) {
		size_t slot = 0;

		while (slot < jobs && running[slot].pid)
			slot++;
		if (slot < jobs && next < items) {
			running[slot] = start(command, list ? list[next] : NULL);
			next++;
		} else {
			finish(command, running);
		}
	}
	command->round_ns[round] = now_ns() - begin_ns;
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			printf("\\u%04x", (unsigned)(unsigned char)*text);
		else
			putchar(*text);
	putchar('"');
}

static void print_command(const struct command *command)
{
	printf("{\"argv\": [");
	for (size_t i = 0; command->argv[i]; i++) {
		printf("%s", i ? ", " : "");
		print_text(command->argv[i]);
	}
	printf("], ");
	print_samples(command->round_ns, rounds, command->samples, command->count);
	putchar('}');
}

static void read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+n:u:j:f:")) != -1) {
		if (option == 'n')
			rounds = strtoul(optarg, NULL, 10);
		else if (option == 'u')
			uid = strtol(optarg, NULL, 10);
		else if (option == 'j')
			jobs = strtoul(optarg, NULL, 10);
		else if (option == 'f')
			list = read_list(optarg, &items);
		else
			exit(2);
	}
	if (rounds == 0 || jobs == 0 || jobs > JOBS_MAX || optind >= argc)
		errx(2,
		     "usage: spawn [-n ROUNDS] [-u UID] [-j JOBS] [-f LIST] -- COMMAND… [::: …]");
}

/* Splits the rest of the command line at each `:::`. */
static size_t read_commands(char **rest, struct command commands[static COMMANDS_MAX])
{
	size_t count = 0;

	while (*rest) {
		if (count == COMMANDS_MAX)
			errx(2, "more than %d commands", COMMANDS_MAX);
		commands[count].argv = rest;
		commands[count].samples = calloc(rounds * items, sizeof(struct sample));
		commands[count].round_ns = calloc(rounds, sizeof(uint64_t));
		if (!commands[count].samples || !commands[count].round_ns)
			err(1, "samples");
		count++;
		while (*rest && strcmp(*rest, ":::") != 0)
			rest++;
		if (*rest)
			*rest++ = NULL;
	}
	return count;
}

int main(int argc, char **argv)
{
	struct command commands[COMMANDS_MAX] = {{0}};
	size_t count;

	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		err(1, "/dev/null");
	read_options(argc, argv);
	count = read_commands(argv + optind, commands);
	for (size_t round = 0; round < rounds; round++)
		for (size_t turn = 0; turn < count; turn++)
			run_round(&commands[(round + turn) % count], round);
	putchar('[');
	for (size_t i = 0; i < count; i++) {
		printf("%s", i ? ",\n" : "");
		print_command(&commands[i]);
	}
	puts("]");
	return fflush(stdout) == 0 ? 0 : 1;
}
