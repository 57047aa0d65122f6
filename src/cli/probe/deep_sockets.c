/* SPDX-License-Identifier: Apache-2.0 */
/* Actions against the layer seccomp: sockets. */
#include "deep.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

static long make_socket(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);
	return fd < 0 ? -1 : close(fd);
}

long packet_socket(void)
{
	return make_socket(AF_PACKET, SOCK_RAW, 0);
}

/* Only where a family that every kernel has is refused: to ask for this one may load a module. */
long vsock(void)
{
	if (packet_socket() == 0 || errno != EAFNOSUPPORT)
		return fail_with(EBADMSG);
	return make_socket(AF_VSOCK, SOCK_STREAM, 0);
}

long tcp_socket(void)
{
	return make_socket(AF_INET, SOCK_STREAM, 0);
}

long hear_events(void)
{
	return make_socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
}

long ask_interfaces(void)
{
	return make_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}

long mptcp(void)
{
	return make_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
}

static long set_option(int level, int option, const void *value, socklen_t size)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_with(EBADMSG);
	long got = setsockopt(fd, level, option, value, size);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

/* The socket is not connected: the kernel would say ENOTCONN. */
long kernel_tls(void)
{
	return set_option(IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls"));
}

/* Without a filter: the kernel would say EINVAL. */
long socket_filter(void)
{
	return set_option(SOL_SOCKET, SO_ATTACH_FILTER, NULL, 0);
}

long set_nodelay(void)
{
	int on = 1;
	return set_option(IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
