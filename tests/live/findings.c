/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills memory that counts for no process, as a process that is smaller than init: linked without
 * the C library's start, so it maps next to nothing, and what it writes lies in memfds that it does
 * not map. First it takes back what makes the OOM killer prefer it.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

void _start(void);
void _start(void)
{
	static const char page[4096] = "x";
	long adjust = syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY);
	(void)syscall(SYS_write, adjust, "0", 1);
	for (;;) {
		long fd = syscall(SYS_memfd_create, "memory", 0);
		for (int i = 0; i < 4096; i++)
			(void)syscall(SYS_write, fd, page, sizeof(page));
	}
}
