/* SPDX-License-Identifier: Apache-2.0 */
/* Actions against the layers fds and terminal. */
#include "deep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* ---- fds ---------------------------------------------------------------------------------------
 */

long other_descriptors(void)
{
	DIR *fds = opendir("/proc/self/fd");
	int seen = 0;
	if (!fds)
		return -1;
	for (struct dirent *entry; (entry = readdir(fds));) {
		int fd = atoi(entry->d_name);
		seen |= fd > 2 && fd != dirfd(fds);
	}
	(void)closedir(fds);
	return seen_or_hidden(seen);
}

long own_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return -1;
	return 0;
}

long reopen_callers(void)
{
	char path[48];
	if (!facts[FACT_FD])
		return UNTRIED;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", atoi(facts[FACT_FD]));
	return open_close(path, O_RDONLY);
}

long rewind_output(void)
{
	return lseek(1, 0, SEEK_SET);
}

long rewind_file(void)
{
	int fd = own_file();
	if (fd < 0)
		return -1;
	long got = lseek(fd, 0, SEEK_SET);
	(void)close(fd);
	return got;
}

long no_pipe(void)
{
	struct stat st;
	for (int fd = 0; fd < 3; fd++) {
		if (fstat(fd, &st) < 0)
			return -1;
		if (!S_ISFIFO(st.st_mode))
			return 0;
	}
	return HIDDEN;
}

long make_pipe(void)
{
	int fds[2];
	if (pipe(fds) < 0)
		return -1;
	return close(fds[0]) < 0 || close(fds[1]) < 0 ? -1 : 0;
}

/* ---- terminal ----------------------------------------------------------------------------------
 */

long callers_session(void)
{
	return seen_or_hidden(getsid(0) != getpid());
}

long own_group(void)
{
	return getpgid(0) == getpid() ? 0 : fail_with(EBADMSG);
}

long terminal_by_proc(void)
{
	char text[1024], state;
	int parent, group, session, terminal = -1;
	if (read_text("/proc/self/stat", text, sizeof(text)) < 0)
		return -1;
	const char *end = strrchr(text, ')');
	if (!end ||
	    sscanf(end, ") %c %d %d %d %d", &state, &parent, &group, &session, &terminal) != 5)
		return fail_with(EBADMSG);
	return seen_or_hidden(terminal != 0);
}

long read_own_stat(void)
{
	return open_close("/proc/self/stat", O_RDONLY);
}

long modes_of_output(void)
{
	struct termios modes;
	return tcgetattr(1, &modes);
}

long size_of_output(void)
{
	int size;
	return ioctl(1, FIONREAD, &size);
}
