/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `monitor`: where there is no cgroup, the tree is counted through the sandbox's own proc,
 * which lists its processes and no others. What lives and dies between two looks is missed, except
 * for the CPU time that its parent collects.
 */
#include "base/io.h"
#include "run/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Private memory of one process: resident pages less those shared with files. */
static uint64_t private_bytes(int dir, const char *pid)
{
	char name[280], text[256];
	unsigned long long size, resident, shared;
	(void)snprintf(name, sizeof(name), "%s/statm", pid);
	if (read_at(dir, name, text, sizeof(text)) < 0 ||
	    sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_process(int dir, const char *pid, struct usage *usage)
{
	char name[280], text[1024];
	unsigned long long user, system, child_user, child_system, threads;
	(void)snprintf(name, sizeof(name), "%s/stat", pid);
	if (read_at(dir, name, text, sizeof(text)) < 0)
		return;
	const char *after = strrchr(text, ')');
	if (!after || sscanf(after,
			     ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu "
			     "%*d %*d %llu",
			     &user, &system, &child_user, &child_system, &threads) != 5)
		return;
	uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	usage->cpu_ns += (user + system + child_user + child_system) * tick_ns;
	if (strcmp(pid, "1") != 0)
		usage->tasks += threads;
	usage->memory_bytes += private_bytes(dir, pid);
}

/* Pages of the private mounts belong to no process but are memory all the same. */
static uint64_t mounted_bytes(const int private_fd[3])
{
	uint64_t sum = 0;
	for (int i = 0; i < 3; i++) {
		struct statfs fs;
		if (fstatfs(private_fd[i], &fs) == 0)
			sum += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	}
	return sum;
}

int monitor_poll(const struct launch *launch, const int private_fd[3], struct usage *ret)
{
	bool own = launch->required & LAYER_BIT(LAYER_MOUNT);
	struct usage usage = {.memory_bytes = own ? mounted_bytes(private_fd) : 0};
	int fd = openat(launch->inside_proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_process(launch->inside_proc, entry->d_name, &usage);
	}
	(void)closedir(dir);
	*ret = usage;
	return 0;
}
