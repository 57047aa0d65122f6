/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capability or a set-user-id bit would allow: the lab gives this file one of them.
 *
 *   capable root DIR      makes DIR its root directory
 *   capable trace-parent  attaches to its parent, which is init, as a debugger
 *   capable nothing       only shows itself
 */
#include "show.h"

#include <sys/ptrace.h>

static long attempt(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "root") == 0)
		return chroot(argv[2]);
	if (argc == 2 && strcmp(argv[1], "trace-parent") == 0)
		return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
	if (argc == 2 && strcmp(argv[1], "nothing") == 0)
		return 0;
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	return show(attempt(argc, argv));
}
