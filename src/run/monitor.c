/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `monitor`: where there is no cgroup, the tree is counted through the sandbox's own proc,
 * which lists its processes and no others. What lives and dies between two looks is missed, except
 * for the CPU time that its parent collects.
 *
 * Memory is counted twice. A cheap look adds what each process has resident: never too little, but
 * pages that several share are in it several times. Only where that is above the limit is each
 * page given its share (smaps_rollup, which walks page tables): a run is ended for what it has.
 *
 * Not seen: System V segments that nobody has attached (/proc/sysvipc is of whoever reads it), what
 * lies in sockets and pipes.
 */
#include "base/io.h"
#include "run/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define KIB	   1024
#define BLOCK	   512
#define MEMFDS_MAX 256

struct memory {
	uint64_t anonymous; /* of no file */
	uint64_t shared;    /* mapped pages of tmpfs, memfd and System V segments */
	uint64_t memfd;	    /* in memfds that a process has open, mapped or not */
	ino_t seen[MEMFDS_MAX];
	size_t seen_count;
};

/* The number after "Key:" in a file of lines, or 0. */
static uint64_t value(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void add_resident(int dir, const char *pid, bool exact, struct memory *memory)
{
	char name[280], text[8192];
	(void)snprintf(name, sizeof(name), "%s/%s", pid, exact ? "smaps_rollup" : "status");
	/* init's own is not for us to see, and of no account. */
	if (read_at(dir, name, text, sizeof(text)) < 0)
		return;
	memory->anonymous += value(text, exact ? "\nPss_Anon:" : "\nRssAnon:") * KIB;
	memory->shared += value(text, exact ? "\nPss_Shmem:" : "\nRssShmem:") * KIB;
}

static bool seen_before(struct memory *memory, ino_t inode)
{
	for (size_t i = 0; i < memory->seen_count; i++) {
		if (memory->seen[i] == inode)
			return true;
	}
	if (memory->seen_count < MEMFDS_MAX)
		memory->seen[memory->seen_count++] = inode;
	return false;
}

/* What was written into a memfd is resident even where nobody maps it. */
static void add_memfds(int dir, const char *pid, struct memory *memory)
{
	char name[280], link[16];
	struct stat st;
	(void)snprintf(name, sizeof(name), "%s/fd", pid);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));) {
		ssize_t n = readlinkat(dirfd(list), entry->d_name, link, sizeof(link));
		if (n >= 7 && memcmp(link, "/memfd:", 7) == 0 &&
		    fstatat(dirfd(list), entry->d_name, &st, 0) == 0 &&
		    !seen_before(memory, st.st_ino))
			memory->memfd += (uint64_t)st.st_blocks * BLOCK;
	}
	(void)closedir(list);
}

/* In /tmp, /workspace and /dev/shm. */
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

/* User and system time, its own and that of children it waited for; threads. */
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
}

static int each_process(const struct launch *launch, bool exact, struct usage *usage,
			struct memory *memory)
{
	int fd = openat(launch->inside_proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (!exact)
			add_process(launch->inside_proc, entry->d_name, usage);
		add_resident(launch->inside_proc, entry->d_name, exact, memory);
		add_memfds(launch->inside_proc, entry->d_name, memory);
	}
	(void)closedir(dir);
	return 0;
}

/* What the run has, no page twice: a mapped page lies in one of the files too. */
static int count_exactly(const struct launch *launch, uint64_t mounted, uint64_t *ret_bytes)
{
	struct memory memory = {0};
	if (each_process(launch, true, NULL, &memory) < 0)
		return -1;
	uint64_t files = memory.memfd + mounted;
	*ret_bytes = memory.anonymous + (memory.shared > files ? memory.shared : files);
	return 0;
}

int monitor_poll(const struct launch *launch, const int private_fd[3], struct usage *ret)
{
	struct usage usage = {0};
	struct memory memory = {0};
	/* Without a tree of its own the three are the host's. */
	bool own = launch->required & LAYER_BIT(LAYER_MOUNT);
	uint64_t mounted = own ? mounted_bytes(private_fd) : 0;
	if (each_process(launch, false, &usage, &memory) < 0)
		return -1;
	usage.memory_bytes = memory.anonymous + memory.shared + memory.memfd + mounted;
	/* A fork between two processes' shares counts pages twice for once: the lesser of two. */
	for (int i = 0; i < 2 && usage.memory_bytes > launch->plan->memory_bytes; i++) {
		uint64_t exact;
		if (count_exactly(launch, mounted, &exact) < 0)
			return -1;
		usage.memory_bytes = exact;
	}
	*ret = usage;
	return 0;
}
