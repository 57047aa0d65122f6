/* SPDX-License-Identifier: Apache-2.0 */
/* Actions against the layer net. None sends anything: to connect UDP is to ask for a route. */
#include "deep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- Interfaces and routes ---------------------------------------------------------------------
 */

/* Lines after the first `skip` in which `wanted` says yes; -1: the file cannot be read. */
static long count_lines(const char *path, int skip, int (*wanted)(const char *line))
{
	FILE *file = fopen(path, "re");
	char line[512];
	long count = 0;
	if (!file)
		return -1;
	for (int i = 0; fgets(line, sizeof(line), file); i++)
		count += i >= skip && wanted(line);
	(void)fclose(file);
	return count;
}

static long any_line(const char *path, int skip, int (*wanted)(const char *line))
{
	long count = count_lines(path, skip, wanted);
	return count < 0 ? -1 : seen_or_hidden(count > 0);
}

static long some_line(const char *path, int skip, int (*wanted)(const char *line))
{
	long count = count_lines(path, skip, wanted);
	return count ? count : fail_with(ENOENT);
}

static int every(const char *line)
{
	(void)line;
	return 1;
}

static int is_lo(const char *line)
{
	return strncmp(line + strspn(line, " "), "lo:", 3) == 0;
}

/* Tunnels that a module makes in every network namespace are down, and of no use without rights. */
static int is_other(const char *line)
{
	static const char *const tunnels[] = {
		"tunl0:",    "gre0:", "gretap0:", "erspan0:", "ip_vti0:",
		"ip6_vti0:", "sit0:", "ip6tnl0:", "ip6gre0:"};
	const char *name = line + strspn(line, " ");
	for (size_t i = 0; i < sizeof(tunnels) / sizeof(tunnels[0]); i++)
		if (strncmp(name, tunnels[i], strlen(tunnels[i])) == 0)
			return 0;
	return !is_lo(line);
}

long other_interfaces(void)
{
	return any_line("/proc/self/net/dev", 2, is_other);
}

long find_lo(void)
{
	return some_line("/proc/self/net/dev", 2, is_lo);
}

long find_route(void)
{
	return any_line("/proc/self/net/route", 1, every);
}

long read_routes(void)
{
	return some_line("/proc/self/net/route", 0, every);
}

/* ---- Addresses ---------------------------------------------------------------------------------
 */

static long aim(const struct sockaddr *address, socklen_t size)
{
	int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno == EAFNOSUPPORT ? UNTRIED : -1;
	long got = connect(fd, address, size);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

static long aim_4(const char *host, unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return fail_with(EBADMSG);
	return aim((const struct sockaddr *)&address, sizeof(address));
}

static long aim_6(const char *host, unsigned port)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	if (inet_pton(AF_INET6, host, &address.sin6_addr) != 1)
		return fail_with(EBADMSG);
	return aim((const struct sockaddr *)&address, sizeof(address));
}

/* Addresses for documentation, which nobody has. */
long udp_away(void)
{
	return aim_4("192.0.2.1", 53);
}

long udp_here(void)
{
	return aim_4("127.0.0.1", 53);
}

/* A host without IPv6 has no such loopback to show that it is there. */
static int has_ipv6(void)
{
	return access("/proc/self/net/if_inet6", F_OK) == 0 && aim_6("::1", 53) == 0;
}

long udp6_away(void)
{
	return has_ipv6() ? aim_6("2001:db8::1", 53) : UNTRIED;
}

long udp6_here(void)
{
	return has_ipv6() ? 0 : UNTRIED;
}

long metadata(void)
{
	return aim_4("169.254.169.254", 80);
}

/* ---- What is listed ----------------------------------------------------------------------------
 */

static char wanted_text[64];

static int has_text(const char *line)
{
	return wanted_text[0] && strstr(line, wanted_text) != NULL;
}

long host_port(void)
{
	if (!facts[FACT_PORT])
		return UNTRIED;
	(void)snprintf(wanted_text, sizeof(wanted_text), ":%04X 00000000:0000 0A",
		       (unsigned)atoi(facts[FACT_PORT]));
	return any_line("/proc/self/net/tcp", 1, has_text);
}

static int listen_on(unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
			listen(fd, 1) < 0)) {
		int os = errno;
		(void)close(fd);
		errno = os;
		return -1;
	}
	return fd;
}

static int is_listening(const char *line)
{
	return strstr(line, " 00000000:0000 0A ") != NULL;
}

long own_port(void)
{
	int fd = listen_on(0);
	if (fd < 0)
		return -1;
	long got = some_line("/proc/self/net/tcp", 1, is_listening);
	(void)close(fd);
	return got;
}

long host_abstract_name(void)
{
	if (!facts[FACT_ABSTRACT])
		return UNTRIED;
	(void)snprintf(wanted_text, sizeof(wanted_text), "@%.48s", facts[FACT_ABSTRACT]);
	return any_line("/proc/self/net/unix", 1, has_text);
}

long own_abstract_name(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	static const char name[] = "belljar-deep";
	memcpy(address.sun_path + 1, name, sizeof(name) - 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	long got = bind(fd, (const struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name)));
	(void)snprintf(wanted_text, sizeof(wanted_text), "@%s", name);
	if (got == 0)
		got = some_line("/proc/self/net/unix", 1, has_text);
	(void)close(fd);
	return got;
}

/* ---- caps: what a capability over the network would allow ---------------------------------------
 */

long privileged_port(void)
{
	int fd = listen_on(80);
	return fd < 0 ? -1 : close(fd);
}

long free_port(void)
{
	int fd = listen_on(0);
	return fd < 0 ? -1 : close(fd);
}
