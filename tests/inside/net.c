/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on sockets. */
#include "inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void do_socket(int argc, char **argv)
{
	(void)argc;
	int fd = socket((int)number(argv[0]), (int)number(argv[1]), (int)number(argv[2]));

	say("socket", fd);
	if (fd >= 0)
		close(fd);
}

/* socket(2) with rubbish in the upper half of its arguments, which the kernel does not look at. */
static void do_socket_high(int argc, char **argv)
{
	long high = 1L << 32;
	long fd = syscall(SYS_socket, number(argv[0]) | high, number(argv[1]) | high,
			  number(argv[2]) | high);

	(void)argc;
	say("socket_high", fd);
	if (fd >= 0)
		close((int)fd);
}

static socklen_t address(struct sockaddr_storage *to, const char *host, const char *port)
{
	struct sockaddr_in *in4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, host, &in4->sin_addr) == 1) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons((uint16_t)number(port));
		return sizeof(*in4);
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)number(port));
		return sizeof(*in6);
	}
	fprintf(stderr, "inside: not an address: %s\n", host);
	exit(99);
}

/* connect TYPE HOST PORT TEXT: connects, then sends TEXT for a listener on the host to see. */
static void do_connect(int argc, char **argv)
{
	struct sockaddr_storage to;
	socklen_t size = address(&to, argv[1], argv[2]);
	int type = !strcmp(argv[0], "udp") ? SOCK_DGRAM : SOCK_STREAM;
	int fd = socket(to.ss_family, type, 0);
	long got = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, size);

	(void)argc;
	if (got == 0)
		got = send(fd, argv[3], strlen(argv[3]), MSG_NOSIGNAL);
	say("connect", got);
	if (fd >= 0)
		close(fd);
}

/* TCP without connect(2): data in the SYN. */
static void do_fastopen(int argc, char **argv)
{
	struct sockaddr_storage to;
	socklen_t size = address(&to, argv[0], argv[1]);
	int fd = socket(to.ss_family, SOCK_STREAM, 0);

	(void)argc;
	say("fastopen", fd < 0 ? -1
			       : sendto(fd, argv[2], strlen(argv[2]), MSG_FASTOPEN | MSG_NOSIGNAL,
					(struct sockaddr *)&to, size));
	if (fd >= 0)
		close(fd);
}

/* Path sockets, or abstract ones when the name starts with "@"; stream or dgram. */
static void do_unix(int argc, char **argv)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t size = strlen(argv[1]);
	int fd = socket(AF_UNIX, !strcmp(argv[0], "dgram") ? SOCK_DGRAM : SOCK_STREAM, 0);

	(void)argc;
	if (size >= sizeof(to.sun_path))
		exit(99);
	memcpy(to.sun_path, argv[1], size);
	if (argv[1][0] == '@')
		to.sun_path[0] = 0;
	else
		size++;
	long got = fd < 0 ? -1
			  : connect(fd, (struct sockaddr *)&to,
				    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
	if (got == 0)
		got = send(fd, argv[2], strlen(argv[2]), MSG_NOSIGNAL);
	say("unix", got);
	if (fd >= 0)
		close(fd);
}

static void do_vsock(int argc, char **argv)
{
	struct sockaddr_vm to = {.svm_family = AF_VSOCK,
				 .svm_cid = (unsigned)number(argv[0]),
				 .svm_port = (unsigned)number(argv[1])};
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	(void)argc;
	say("vsock", fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to)));
	if (fd >= 0)
		close(fd);
}

/* listen PORT: binds to every address and says so, then waits to be connected to. */
static void do_listen(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)number(argv[0])),
				 .sin_addr.s_addr = htonl(INADDR_ANY)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	long got = fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));

	(void)argc;
	if (got == 0)
		got = bind(fd, (struct sockaddr *)&at, sizeof(at));
	if (got == 0)
		got = listen(fd, 8);
	if (!say("listen", got))
		return;
	say("accept", accept(fd, NULL, NULL));
}

/* A socket of this namespace's own that talks to itself by loopback. */
static void do_loopback(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	char text[8] = "";
	long got = bind(server, (struct sockaddr *)&at, sizeof(at));

	(void)argc;
	(void)argv;
	if (got == 0)
		got = listen(server, 1);
	if (got == 0)
		got = getsockname(server, (struct sockaddr *)&at, &size);
	if (got == 0)
		got = connect(client, (struct sockaddr *)&at, size);
	if (got == 0)
		got = send(client, "echo", 4, 0);
	if (got >= 0)
		got = recv(accept(server, NULL, NULL), text, sizeof(text), 0);
	say_text("loopback", got, text, got < 0 ? 0 : got);
}

static void do_setsockopt(int argc, char **argv)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)argc;
	say("setsockopt", setsockopt(fd, (int)number(argv[0]), (int)number(argv[1]), argv[2],
				     (socklen_t)strlen(argv[2])));
}

const struct verb verbs_net[] = {
	{"socket", 3, 3, do_socket},
	{"socket_high", 3, 3, do_socket_high},
	{"connect", 4, 4, do_connect},
	{"fastopen", 3, 3, do_fastopen},
	{"unix", 3, 3, do_unix},
	{"vsock", 2, 2, do_vsock},
	{"listen", 1, 1, do_listen},
	{"loopback", 0, 0, do_loopback},
	{"setsockopt", 3, 3, do_setsockopt},
	{0},
};
