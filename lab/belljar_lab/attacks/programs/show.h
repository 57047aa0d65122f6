/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an attack in C ends. The last word of its output is "done", or the name of the errno that
 * stopped it. Before it says "done" it takes the name "lab-done", by which the lab finds it, and
 * waits for the end of its input: until then the lab looks at what was done.
 */
#ifndef LAB_SHOW_H
#define LAB_SHOW_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What main() returns; `got` is what the attempt returned, with errno. */
static inline int show(long got)
{
	int os = errno;
	char byte;
	if (got >= 0) {
		(void)prctl(PR_SET_NAME, "lab-done", 0, 0, 0);
		while (read(STDIN_FILENO, &byte, 1) > 0)
			continue;
	}
	const char *name = strerrorname_np(os);
	(void)puts(got >= 0 ? "done" : name ? name : "an unknown errno");
	return fflush(stdout) ? 1 : 0;
}

#endif
