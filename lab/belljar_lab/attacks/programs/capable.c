/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capability would allow: the lab gives this file all of them. The last word says what came
 * of it: "done", or the name of the errno.
 *
 *   capable host-name NAME     names the host
 *   capable trace PID          attaches to a process as a debugger
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

static int attempt(const char *verb, const char *what)
{
	if (strcmp(verb, "host-name") == 0)
		return sethostname(what, strlen(what));
	if (strcmp(verb, "trace") == 0)
		return (int)ptrace(PTRACE_SEIZE, atoi(what), NULL, NULL);
	errno = ENOSYS;
	return -1;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	puts(attempt(argv[1], argv[2]) < 0 ? strerrorname_np(errno) : "done");
	return fflush(stdout) ? 1 : 0;
}
