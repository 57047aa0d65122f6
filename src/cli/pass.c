/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passing the program's output through, all of it, to wherever belljar's own goes. A reader that is
 * slow makes the program wait; one that went away ends the run. Waiting for a reader never keeps
 * belljar from seeing that the run is to end.
 */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHOLE SIZE_MAX

/*
 * O_NONBLOCK belongs to the open file, which others share, so it is not set on what belljar was
 * given. A pipe can be opened anew; where it cannot (it is another user's), POLLOUT promises room
 * for PIPE_BUF.
 */
static int open_anew(int fd)
{
	char path[32];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void pass_init(struct pass *pass, int cancel_fd)
{
	*pass = (struct pass){.cancel_fd = cancel_fd};
	for (int i = 0; i < 2; i++) {
		struct stat st;
		int fd = i + 1, anew = -1;
		bool slow = fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
		if (slow && S_ISFIFO(st.st_mode))
			anew = open_anew(fd);
		pass->to[i].fd = anew >= 0 ? anew : fd;
		pass->to[i].chunk = slow && anew < 0 ? PIPE_BUF : WHOLE;
	}
}

void pass_close(struct pass *pass)
{
	for (int i = 0; i < 2; i++)
		if (pass->to[i].fd > 2)
			(void)close(pass->to[i].fd);
}

/* 0 when `fd` may be written, -1 when the run is to end meanwhile. */
static int wait_writable(const struct pass *pass, int fd)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLOUT},
			       {.fd = pass->cancel_fd, .events = POLLIN}};
	for (;;) {
		int got = poll(fds, 2, -1);
		if (got < 0 && errno != EINTR)
			return -1;
		if (got > 0 && fds[0].revents)
			return 0;
		if (got > 0 && fds[1].revents)
			return -1;
	}
}

int pass_output(void *user, enum bj_stream stream, const void *data, size_t size)
{
	struct pass *pass = user;
	int fd = pass->to[stream].fd;
	size_t chunk = pass->to[stream].chunk;
	const char *at = data;
	/* Another's O_NONBLOCK on a shared file is why EAGAIN is expected everywhere. */
	bool wait = chunk != WHOLE;
	while (size > 0) {
		if (wait && wait_writable(pass, fd) < 0)
			return -1;
		ssize_t got = write(fd, at, size < chunk ? size : chunk);
		if (got >= 0) {
			at += got;
			size -= (size_t)got;
			wait = chunk != WHOLE;
		} else if (errno == EAGAIN) {
			wait = true;
		} else if (errno != EINTR) {
			pass->error = errno;
			return -1;
		}
	}
	return 0;
}
