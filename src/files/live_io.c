/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes of what a caller gave: a file, a pipe, or a socket, blocking or not. */
#include "files/live_parts.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEND_BUFFER (256 * 1024)
#define SEND_MOST   (1 << 30)

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

static int send_by_hand(int to, int copy, uint64_t size)
{
	auto_free char *buffer = malloc(SEND_BUFFER);
	for (uint64_t at = 0; buffer && at < size;) {
		ssize_t n = pread(copy, buffer, SEND_BUFFER, (off_t)at);
		if (n == 0)
			errno = EIO;
		if (n <= 0 || live_write(to, buffer, (size_t)n) < 0)
			return -1;
		at += (uint64_t)n;
	}
	return buffer ? 0 : -1;
}

int live_send(int to, int copy, uint64_t size)
{
	struct stat st;
	off_t at = 0;
	/* Of a socket nobody reads, sendfile makes SIGPIPE; where a file only grows, it is EINVAL.
	 */
	if (fstat(to, &st) < 0)
		return -1;
	if (S_ISSOCK(st.st_mode))
		return send_by_hand(to, copy, size);
	while ((uint64_t)at < size) {
		uint64_t left = size - (uint64_t)at;
		ssize_t n = sendfile(to, copy, &at, left < SEND_MOST ? (size_t)left : SEND_MOST);
		if (n < 0 && errno == EINVAL && at == 0)
			return send_by_hand(to, copy, size);
		if (n == 0)
			errno = EIO;
		if (n == 0 || (n < 0 && !again(to, POLLOUT)))
			return -1;
	}
	return 0;
}
