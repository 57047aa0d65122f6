/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes of what a caller gave: a file, a pipe, or a socket, blocking or not. */
#include "files/live_parts.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A descriptor that does not block is waited for, as one that does would have been. */
static bool again(int fd, short events)
{
	struct pollfd wait = {.fd = fd, .events = events};
	if (errno == EINTR)
		return true;
	if (errno != EAGAIN)
		return false;
	int got = poll(&wait, 1, -1);
	return got > 0 || (got < 0 && errno == EINTR);
}

ssize_t live_read(int fd, void *data, size_t size)
{
	ssize_t n;
	do
		n = read(fd, data, size);
	while (n < 0 && again(fd, POLLIN));
	return n;
}

int live_write(int fd, const void *data, size_t size)
{
	bool is_socket = true;
	for (size_t done = 0; done < size;) {
		const char *from = (const char *)data + done;
		ssize_t n = is_socket ? send(fd, from, size - done, MSG_NOSIGNAL)
				      : write(fd, from, size - done);
		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (is_socket && errno == ENOTSOCK)
			is_socket = false;
		else if (!again(fd, POLLOUT))
			return -1;
	}
	return 0;
}
