/* SPDX-License-Identifier: Apache-2.0 */
/* See io.h. Everything here allocates nothing and is used on both sides of clone. */
#include "base/io.h"

#include "base/child_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

CHILD_CODE uint64_t clock_ns(void)
{
	struct timespec now;
	/* Cannot fail: the clock id is valid and the pointer is ours. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

CHILD_CODE ssize_t read_whole(int fd, void *data, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t n = read(fd, (char *)data + got, size - got);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

CHILD_CODE int write_whole(int fd, const void *data, size_t size)
{
	size_t put = 0;
	while (put < size) {
		ssize_t n = write(fd, (const char *)data + put, size - put);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		put += (size_t)n;
	}
	return 0;
}

/* The kernel takes such a file's value from one write(2); a short write is a refusal. */
CHILD_CODE static int write_once(int fd, const char *text)
{
	size_t size = strlen(text);
	ssize_t n = write(fd, text, size);
	if (n >= 0 && n != (ssize_t)size)
		errno = EIO;
	return n == (ssize_t)size ? 0 : -1;
}

CHILD_CODE static ssize_t read_text(int fd, char *text, size_t size)
{
	ssize_t n = read_whole(fd, text, size);
	if (n >= 0 && (size_t)n == size)
		errno = EFBIG;
	if (n < 0 || (size_t)n == size)
		return -1;
	text[n] = '\0';
	return n;
}

/* What a failed step left in errno is not close's to change. */
CHILD_CODE static ssize_t close_after(int fd, ssize_t result)
{
	int os = errno;
	(void)close(fd);
	errno = os;
	return result;
}

CHILD_CODE int write_at(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -1 : (int)close_after(fd, write_once(fd, text));
}

CHILD_CODE ssize_t read_at(int dir_fd, const char *name, char *text, size_t size)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : close_after(fd, read_text(fd, text, size));
}

/* One open for both. The write left the position behind what is to be read. */
CHILD_CODE ssize_t set_at(int dir_fd, const char *name, const char *text, char *back, size_t size)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	bool written = write_once(fd, text) == 0 && lseek(fd, 0, SEEK_SET) == 0;
	return close_after(fd, written ? read_text(fd, back, size) : -1);
}

union control {
	char space[CMSG_SPACE(sizeof(int) * SEND_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr align;
};

CHILD_CODE int send_packet(int socket, const void *data, size_t size, const int *fds,
			   size_t fd_count)
{
	union control control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd_count > SEND_FDS_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (fd_count) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	ssize_t n;
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : -1;
}

/* Takes descriptors and credentials out of `msg`; what does not fit is closed. */
CHILD_CODE static int take_control(struct msghdr *msg, int *fds, size_t *fd_count, pid_t *pid)
{
	size_t room = fds ? *fd_count : 0, count = 0;
	bool too_many = msg->msg_flags & (MSG_CTRUNC | MSG_TRUNC);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && pid) {
			struct ucred who;
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			*pid = who.pid;
		}
		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (count < room) {
				fds[count++] = fd;
			} else {
				(void)close(fd);
				too_many = true;
			}
		}
	}
	if (too_many) {
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
		errno = EMSGSIZE;
		return -1;
	}
	if (fd_count)
		*fd_count = count;
	return 0;
}

CHILD_CODE ssize_t recv_packet(int socket, void *data, size_t size, int *fds, size_t *fd_count,
			       pid_t *pid)
{
	union control control;
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	ssize_t n;
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (pid)
		*pid = 0;
	if (n < 0)
		return -1;
	if (take_control(&msg, fds, fd_count, pid) < 0)
		return -1;
	return n;
}
