/* SPDX-License-Identifier: Apache-2.0 */
/* Actions against the layers that separate processes: user, pid, init, ipc, uts, cgroupns, env. */
#include "deep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* An id that is not mapped inside; what the kernel shows in its place is 65534. */
#define NOT_MAPPED 4242
#define OVERFLOW   65534

/* ---- user --------------------------------------------------------------------------------------
 */

long become_another(void)
{
	return setresuid(NOT_MAPPED, NOT_MAPPED, NOT_MAPPED);
}

long become_itself(void)
{
	return setresuid(getuid(), getuid(), getuid());
}

long enter_root_group(void)
{
	return setresgid(0, 0, 0);
}

long enter_own_group(void)
{
	return setresgid(getgid(), getgid(), getgid());
}

static long give_to(uid_t uid)
{
	int fd = own_file();
	if (fd < 0)
		return -1;
	long got = fchown(fd, uid, (gid_t)-1);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

long give_to_root(void)
{
	return give_to(0);
}

long give_to_itself(void)
{
	return give_to(getuid());
}

long owner_of_image(void)
{
	struct stat st;
	return stat("/usr", &st) < 0 ? -1 : seen_or_hidden(st.st_uid != OVERFLOW);
}

long owner_of_own(void)
{
	struct stat st;
	int fd = own_file();
	if (fd < 0)
		return -1;
	long got = fstat(fd, &st);
	(void)close(fd);
	return got < 0 || st.st_uid == getuid() ? got : fail_with(EBADMSG);
}

/* Opened only, never written to. */
long write_core_pattern(void)
{
	return open_close("/proc/sys/kernel/core_pattern", O_WRONLY);
}

long read_core_pattern(void)
{
	return open_close("/proc/sys/kernel/core_pattern", O_RDONLY);
}

/* ---- pid ---------------------------------------------------------------------------------------
 */

/* A small number may be a process of the run as well, which says nothing. */
static pid_t host_pid(void)
{
	long pid = facts[FACT_PID] ? strtol(facts[FACT_PID], NULL, 10) : 0;
	return pid > 300 ? (pid_t)pid : 0;
}

long proc_of_host(void)
{
	char path[32];
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)host_pid());
	return host_pid() ? open_close(path, O_RDONLY) : UNTRIED;
}

long pidfd_of_host(void)
{
	if (!host_pid())
		return UNTRIED;
	int fd = (int)syscall(SYS_pidfd_open, host_pid(), 0);
	return fd < 0 ? -1 : close(fd);
}

long scheduler_of_host(void)
{
	return host_pid() ? sched_getscheduler(host_pid()) : UNTRIED;
}

/* Processes in /proc for which `wanted` says yes; -1: /proc cannot be listed. */
static long count_processes(int (*wanted)(pid_t pid))
{
	DIR *proc = opendir("/proc");
	long count = 0;
	if (!proc)
		return -1;
	for (struct dirent *entry; (entry = readdir(proc));) {
		long pid = strtol(entry->d_name, NULL, 10);
		count += pid > 0 && wanted((pid_t)pid);
	}
	(void)closedir(proc);
	return count;
}

static int is_other(pid_t pid)
{
	return pid != 1 && pid != getpid();
}

static int is_self(pid_t pid)
{
	return pid == getpid();
}

long other_processes(void)
{
	long count = count_processes(is_other);
	return count < 0 ? -1 : seen_or_hidden(count > 0);
}

long find_itself(void)
{
	long count = count_processes(is_self);
	return count < 0 || count == 1 ? count : fail_with(ENOENT);
}

/* Signal 0 is none: it is only asked whether it could be sent. */
long signal_all(void)
{
	return kill(-1, 0);
}

static long signal_all_or_end(void)
{
	/* Its parent is there to be signalled. */
	return kill(-1, 0);
}

long signal_all_with_child(void)
{
	return in_child(signal_all_or_end);
}

/* ---- init --------------------------------------------------------------------------------------
 */

static long follow(const char *path)
{
	char text[4096];
	return readlink(path, text, sizeof(text));
}

long memory_of_1(void)
{
	return open_close("/proc/1/mem", O_RDONLY);
}

long memory_of_self(void)
{
	return open_close("/proc/self/mem", O_RDONLY);
}

long maps_of_1(void)
{
	return open_close("/proc/1/maps", O_RDONLY);
}

long maps_of_self(void)
{
	return open_close("/proc/self/maps", O_RDONLY);
}

long fds_of_1(void)
{
	return open_close("/proc/1/fd", O_RDONLY | O_DIRECTORY);
}

long fds_of_self(void)
{
	return open_close("/proc/self/fd", O_RDONLY | O_DIRECTORY);
}

long root_of_1(void)
{
	return follow("/proc/1/root");
}

long root_of_self(void)
{
	return follow("/proc/self/root");
}

long exe_of_1(void)
{
	return follow("/proc/1/exe");
}

long exe_of_self(void)
{
	return follow("/proc/self/exe");
}

long ns_of_1(void)
{
	return follow("/proc/1/ns/net");
}

long ns_of_self(void)
{
	return follow("/proc/self/ns/net");
}

static long path_in(const char *path)
{
	char text[4096];
	long size = read_text(path, text, sizeof(text));
	return size < 0 ? -1 : memchr(text, '/', (size_t)size) != NULL;
}

long path_in_args_of_1(void)
{
	long found = path_in("/proc/1/cmdline");
	return found < 0 ? -1 : seen_or_hidden(found > 0);
}

long path_in_own_args(void)
{
	long found = path_in("/proc/self/cmdline");
	return found ? found : fail_with(ENOENT);
}

/* ---- ipc ---------------------------------------------------------------------------------------
 */

static key_t key_of(enum fact fact)
{
	return (key_t)strtol(facts[fact], NULL, 10);
}

long host_semaphores(void)
{
	return facts[FACT_SEM_KEY] ? semget(key_of(FACT_SEM_KEY), 0, 0) : UNTRIED;
}

long host_queue(void)
{
	return facts[FACT_MSG_KEY] ? msgget(key_of(FACT_MSG_KEY), 0) : UNTRIED;
}

long host_posix_queue(void)
{
	if (!facts[FACT_QUEUE])
		return UNTRIED;
	mqd_t queue = mq_open(facts[FACT_QUEUE], O_RDONLY | O_CLOEXEC);
	return queue < 0 ? -1 : mq_close(queue);
}

/* Segments in this namespace; the C library has no room for what the kernel answers but this. */
static long segments(void)
{
	struct shm_info info;
	memset(&info, 0, sizeof(info));
	if (shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info) < 0)
		return -1;
	return info.used_ids;
}

long other_segments(void)
{
	long count = segments();
	return count < 0 ? -1 : seen_or_hidden(count > 0);
}

long own_segments(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	if (id < 0)
		return -1;
	long count = segments();
	(void)shmctl(id, IPC_RMID, NULL);
	return count > 0 ? 0 : fail_with(ENOENT);
}

long left_segment(void)
{
	return facts[FACT_LEFT_KEY] ? shmget(key_of(FACT_LEFT_KEY), 0, 0) : UNTRIED;
}

long leave_segment(void)
{
	if (!facts[FACT_LEFT_KEY])
		return UNTRIED;
	if (shmget(key_of(FACT_LEFT_KEY), 4096, IPC_CREAT | IPC_EXCL | 0666) < 0)
		return -1;
	return shmget(key_of(FACT_LEFT_KEY), 0, 0);
}

/* ---- uts, cgroupns -----------------------------------------------------------------------------
 */

long name_of_host(void)
{
	struct utsname name;
	if (!facts[FACT_NAME])
		return UNTRIED;
	return uname(&name) < 0 ? -1 : seen_or_hidden(strcmp(name.nodename, facts[FACT_NAME]) == 0);
}

long name_in_proc(void)
{
	char text[256];
	if (!facts[FACT_NAME])
		return UNTRIED;
	long size = read_text("/proc/sys/kernel/hostname", text, sizeof(text));
	if (size < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	return seen_or_hidden(strcmp(text, facts[FACT_NAME]) == 0);
}

long same_cgroupns(void)
{
	return other_namespace("cgroup", FACT_NS_CGROUP);
}

/* A line is "N:controllers:/path". */
long place_of_1(void)
{
	char text[8192];
	int seen = 0;
	if (read_text("/proc/1/cgroup", text, sizeof(text)) < 0)
		return -1;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *path = strstr(line, ":/");
		seen |= path && strcmp(path, ":/") != 0;
	}
	return seen_or_hidden(seen);
}

long read_place_of_1(void)
{
	char text[8192];
	long size = read_text("/proc/1/cgroup", text, sizeof(text));
	return size > 0 ? 0 : -1;
}

/* ---- env ---------------------------------------------------------------------------------------
 */

long unnamed_variable(void)
{
	static const char *const named[] = {
		"PATH=", "HOME=", "LANG=", "TZ=", "TMPDIR=", "BELLJAR_DOCTOR_GIVEN="};
	for (char **at = environ; *at; at++) {
		size_t i = 0;
		while (i < sizeof(named) / sizeof(named[0]) &&
		       strncmp(*at, named[i], strlen(named[i])) != 0)
			i++;
		if (i == sizeof(named) / sizeof(named[0]))
			return 0;
	}
	return HIDDEN;
}

long find_path(void)
{
	return getenv("PATH") ? 0 : fail_with(ENOENT);
}

static int has_secret(pid_t pid)
{
	static char text[1 << 17];
	static const char secret[] = "BELLJAR_DOCTOR_SECRET=";
	char path[32];
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	long size = read_text(path, text, sizeof(text));
	return size > 0 && memmem(text, (size_t)size, secret, sizeof(secret) - 1) != NULL;
}

/* Outside it is in this process's own, where it came from the doctor's. */
long secret_in_processes(void)
{
	if (has_secret(getpid()))
		return 0;
	if (facts[FACT_OUTSIDE])
		return HIDDEN;
	long count = count_processes(has_secret);
	return count < 0 ? -1 : seen_or_hidden(count > 0);
}
