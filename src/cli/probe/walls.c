/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the layers that separate: for each something that must be denied, with its errno, and
 * something much like it that must work.
 */
#include "probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

long open_close(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	return close(fd);
}

long other_namespace(const char *name, enum fact host)
{
	char path[32], here[64];
	if (!facts[host])
		return UNTRIED;
	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	ssize_t len = readlink(path, here, sizeof(here) - 1);
	if (len < 0)
		return -1;
	here[len] = '\0';
	return strcmp(here, facts[host]) == 0 ? 0 : HIDDEN;
}

/* ---- user, pid, init ------------------------------------------------------------------------- */

static long become_root(void)
{
	return setresuid(0, 0, 0);
}

static long be_oneself(void)
{
	return setresuid(getuid(), getuid(), getuid());
}

static long signal_host(void)
{
	long pid = facts[FACT_PID] ? strtol(facts[FACT_PID], NULL, 10) : 0;
	/* 1 and 2 are there inside too; they say nothing. */
	return pid > 2 ? kill((pid_t)pid, 0) : UNTRIED;
}

static long host_processes(void)
{
	return other_namespace("pid", FACT_NS_PID);
}

static long signal_oneself(void)
{
	return kill(getpid(), 0);
}

static long environment_of_init(void)
{
	return open_close("/proc/1/environ", O_RDONLY);
}

static long memory_of_init(void)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
	return process_vm_readv(1, &here, 1, &there, 1, 0);
}

static long own_environment(void)
{
	return open_close("/proc/self/environ", O_RDONLY);
}

/* ---- mount ------------------------------------------------------------------------------------
 */

static long host_file(void)
{
	return facts[FACT_PATH] ? open_close(facts[FACT_PATH], O_RDONLY) : UNTRIED;
}

static long change_image(void)
{
	return open_close("/usr/.belljar-probe", O_CREAT | O_EXCL | O_WRONLY);
}

static long read_image(void)
{
	return open_close("/usr/bin", O_RDONLY | O_DIRECTORY);
}

static long write_workspace(void)
{
	const char *path = "/workspace/.belljar-probe";
	if (open_close(path, O_CREAT | O_EXCL | O_WRONLY) < 0)
		return -1;
	return unlink(path);
}

/* ---- net ---------------------------------------------------------------------------------------
 */

long connect_to(const struct sockaddr *address, socklen_t size)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	long got = connect(fd, address, size);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

static long connect_tcp(const char *host, unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return UNTRIED;
	return connect_to((const struct sockaddr *)&address, sizeof(address));
}

static long host_loopback(void)
{
	return facts[FACT_PORT] ? connect_tcp("127.0.0.1", (unsigned)atoi(facts[FACT_PORT]))
				: UNTRIED;
}

static long other_network(void)
{
	return connect_tcp("192.0.2.1", 9); /* a documentation address: nobody has it */
}

static long host_abstract(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *name = facts[FACT_ABSTRACT];
	if (!name || strlen(name) > sizeof(address.sun_path) - 1)
		return UNTRIED;
	memcpy(address.sun_path + 1, name, strlen(name));
	return connect_to((const struct sockaddr *)&address,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static long own_loopback(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	long got = -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		got = connect_to((struct sockaddr *)&address, sizeof(address));
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

/* ---- ipc, uts, cgroupns, env ------------------------------------------------------------------
 */

static long host_segment(void)
{
	if (!facts[FACT_SHM_KEY])
		return UNTRIED;
	return shmget((key_t)strtol(facts[FACT_SHM_KEY], NULL, 10), 0, 0);
}

static long host_ipc(void)
{
	return other_namespace("ipc", FACT_NS_IPC);
}

static long own_segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static long host_name(void)
{
	return other_namespace("uts", FACT_NS_UTS);
}

static long rename_host(void)
{
	return sethostname("probe", 5);
}

static long own_name(void)
{
	struct utsname name;
	return uname(&name);
}

static long host_cgroup(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096];
	long got = HIDDEN;
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		const char *path = strstr(line, ":/");
		if (path && strcmp(path, ":/\n") != 0)
			got = 0; /* its place among the host's can be seen */
	}
	(void)fclose(file);
	return got;
}

static long own_cgroup(void)
{
	return open_close("/proc/self/cgroup", O_RDONLY);
}

static long callers_environment(void)
{
	return getenv("BELLJAR_DOCTOR_SECRET") ? 0 : HIDDEN;
}

static long named_environment(void)
{
	if (getenv("BELLJAR_DOCTOR_GIVEN"))
		return 0;
	errno = ENOENT;
	return -1;
}

const struct check checks_walls[] = {
	{"user", "become root", DENIED, {EINVAL}, become_root},
	{"user", "set its own user id", WORKS, {0}, be_oneself},
	{"pid", "signal a process of the host", DENIED, {ESRCH}, signal_host},
	{"pid", "be in the host's process list", DENIED, {0}, host_processes},
	{"pid", "signal itself", WORKS, {0}, signal_oneself},
	{"init", "read pid 1's environment", DENIED, {EACCES}, environment_of_init},
	{"init", "read pid 1's memory", DENIED, {EPERM}, memory_of_init},
	{"init", "read its own environment", WORKS, {0}, own_environment},
	{"mount", "open a file of the host", DENIED, {ENOENT}, host_file},
	{"mount", "write to the image", DENIED, {EROFS}, change_image},
	{"mount", "read the image", WORKS, {0}, read_image},
	{"mount", "write to /workspace", WORKS, {0}, write_workspace},
	{"net", "connect to the host's loopback", DENIED, {ECONNREFUSED}, host_loopback},
	{"net", "reach another network", DENIED, {ENETUNREACH}, other_network},
	{"net",
	 "connect to the host's abstract socket",
	 DENIED,
	 {ECONNREFUSED, EPERM},
	 host_abstract},
	{"net", "connect to its own loopback", WORKS, {0}, own_loopback},
	{"ipc", "find the host's shared memory", DENIED, {ENOENT}, host_segment},
	{"ipc", "share the host's IPC", DENIED, {0}, host_ipc},
	{"ipc", "make shared memory of its own", WORKS, {0}, own_segment},
	{"uts", "share the host's name", DENIED, {0}, host_name},
	{"uts", "rename the machine", DENIED, {EPERM}, rename_host},
	{"uts", "read its own name", WORKS, {0}, own_name},
	{"cgroupns", "see its place in the host's cgroups", DENIED, {0}, host_cgroup},
	{"cgroupns", "read its own cgroup", WORKS, {0}, own_cgroup},
	{"env", "read the caller's environment", DENIED, {0}, callers_environment},
	{"env", "read a variable that was given to it", WORKS, {0}, named_environment},
};
const size_t checks_walls_count = sizeof(checks_walls) / sizeof(checks_walls[0]);
