/* SPDX-License-Identifier: Apache-2.0 */
/* Actions at the limits of a run that the program outlives: layers cgroup, rlimit, and mount's
 * sizes.
 */
#include "deep.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEBI  (1UL << 20)
#define TASKS 48 /* three times what the run may have */

/* ---- cgroup ------------------------------------------------------------------------------------
 */

static long touch(size_t size)
{
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < size; i += 4096)
		((volatile char *)block)[i] = 1;
	return munmap(block, size);
}

static long touch_much(void)
{
	return touch(64 * MEBI);
}

static long touch_little(void)
{
	return touch(4 * MEBI);
}

/* `monitor` would end the whole run. */
long child_takes_much(void)
{
	return facts[FACT_CGROUP] ? end_of_child(touch_much) : UNTRIED;
}

long child_takes_little(void)
{
	return end_of_child(touch_little);
}

static long start_processes(int count)
{
	pid_t pids[TASKS];
	int fds[2], started = 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	(void)fflush(stdout);
	for (; started < count; started++) {
		pids[started] = fork();
		if (pids[started] == 0) {
			char byte;
			(void)close(fds[1]);
			_exit(read(fds[0], &byte, 1) < 0);
		}
		if (pids[started] < 0)
			break;
	}
	int os = errno;
	(void)close(fds[1]);
	(void)close(fds[0]);
	for (int i = 0; i < started; i++)
		(void)waitpid(pids[i], NULL, 0);
	errno = os;
	return started == count ? 0 : -1;
}

long too_many_processes(void)
{
	return start_processes(TASKS);
}

long some_processes(void)
{
	return start_processes(4);
}

static void *wait_for_end(void *arg)
{
	char byte;
	return read(*(const int *)arg, &byte, 1) < 0 ? arg : NULL;
}

static long start_threads(int count)
{
	pthread_t threads[TASKS];
	int fds[2], started = 0, os = 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	while (started < count &&
	       (os = pthread_create(&threads[started], NULL, wait_for_end, &fds[0])) == 0)
		started++;
	(void)close(fds[1]);
	for (int i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	(void)close(fds[0]);
	return started == count ? 0 : fail_with(os);
}

long too_many_threads(void)
{
	return start_threads(TASKS);
}

long some_threads(void)
{
	return start_threads(4);
}

/* ---- rlimit ------------------------------------------------------------------------------------
 */

/* All but that of core files: see core_limit(). */
static const int resources[] = {
	RLIMIT_CPU,	RLIMIT_FSIZE,  RLIMIT_NOFILE, RLIMIT_NPROC,    RLIMIT_STACK,
	RLIMIT_MEMLOCK, RLIMIT_RTPRIO, RLIMIT_NICE,   RLIMIT_MSGQUEUE,
};

/* The first that can be raised is one too many. */
static long try_raise(void)
{
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		struct rlimit limit;
		if (getrlimit((__rlimit_resource_t)resources[i], &limit) < 0)
			return fail_with(EBADMSG);
		if (limit.rlim_max == RLIM_INFINITY)
			return 0;
		limit.rlim_cur = ++limit.rlim_max;
		if (setrlimit((__rlimit_resource_t)resources[i], &limit) == 0)
			return 0;
		if (errno != EPERM)
			return -1;
	}
	return -1;
}

long raise_any(void)
{
	return in_child(try_raise);
}

long keep_limits(void)
{
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		struct rlimit limit;
		if (getrlimit((__rlimit_resource_t)resources[i], &limit) < 0 ||
		    setrlimit((__rlimit_resource_t)resources[i], &limit) < 0)
			return -1;
	}
	return 0;
}

/*
 * The kernel is not asked: the filter says that it was done, and the limit stays what it is, below
 * the size of any file.
 */
static long raise_core(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	(void)setrlimit(RLIMIT_CORE, &limit);
	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return -1;
	return seen_or_hidden(limit.rlim_cur > 1 || limit.rlim_max > 1);
}

long core_limit(void)
{
	return in_child(raise_core);
}

long read_core_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_CORE, &limit);
}

/* A file with nothing in it: it takes no room. */
static long file_of(off_t size)
{
	(void)signal(SIGXFSZ, SIG_IGN);
	int fd = own_file();
	if (fd < 0)
		return -1;
	long got = ftruncate(fd, size);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

long large_file(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -1;
	if (limit.rlim_cur > (rlim_t)1 << 50)
		return 0;
	return file_of((off_t)limit.rlim_cur + 1);
}

long small_file(void)
{
	return file_of((off_t)MEBI);
}

static long lock(size_t size)
{
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -1;
	long got = mlock(block, size);
	int os = errno;
	(void)munmap(block, size);
	errno = os;
	return got;
}

long lock_much(void)
{
	return lock(16 * MEBI);
}

long lock_little(void)
{
	return lock(4096);
}

static long set_priority(int change)
{
	errno = 0;
	int now = getpriority(PRIO_PROCESS, 0);
	if (errno)
		return -1;
	return now + change < -20 ? UNTRIED : setpriority(PRIO_PROCESS, 0, now + change);
}

static long one_nicer(void)
{
	return set_priority(-1);
}

long raise_priority(void)
{
	return in_child(one_nicer);
}

long keep_priority(void)
{
	return set_priority(0);
}

long make_posix_queue(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
	mqd_t queue = mq_open("/belljar-deep", O_CREAT | O_RDWR | O_CLOEXEC, 0600, &attr);
	if (queue < 0)
		return -1;
	(void)mq_unlink("/belljar-deep");
	return mq_close(queue);
}

long make_queue(void)
{
	int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	return id < 0 ? -1 : msgctl(id, IPC_RMID, NULL);
}

static long open_files(int count)
{
	for (int i = 0; i < count; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return -1;
	return 0;
}

static long open_128(void)
{
	return open_files(128);
}

static long open_8(void)
{
	return open_files(8);
}

long open_too_many_files(void)
{
	return in_child(open_128);
}

long open_some_files(void)
{
	return in_child(open_8);
}

/* ---- mount: sizes ------------------------------------------------------------------------------
 */

/* The file is gone afterwards. The limits of the run end this after a few MiB. */
static long fill(const char *path, size_t size)
{
	static char block[65536];
	long got = 0;
	memset(block, 'x', sizeof(block));
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	for (size_t done = 0; done < size && got >= 0; done += (size_t)got)
		got = write(fd, block, size - done < sizeof(block) ? size - done : sizeof(block));
	int os = errno;
	(void)unlink(path);
	(void)close(fd);
	errno = os;
	return got < 0 ? -1 : 0;
}

long fill_tmp(void)
{
	return fill("/tmp/.belljar-deep-fill", 16 * MEBI);
}

long some_in_tmp(void)
{
	return fill("/tmp/.belljar-deep-fill", 4096);
}

long fill_workspace(void)
{
	return fill("/workspace/.belljar-deep-fill", 16 * MEBI);
}

long some_in_workspace(void)
{
	return fill("/workspace/.belljar-deep-fill", 4096);
}

long fill_shm(void)
{
	return fill("/dev/shm/.belljar-deep-fill", 16 * MEBI);
}

long some_in_shm(void)
{
	return fill("/dev/shm/.belljar-deep-fill", 4096);
}

static long make_files(int count)
{
	char path[48];
	int made = 0, os = 0;
	for (; made < count; made++) {
		(void)snprintf(path, sizeof(path), "/tmp/.belljar-deep-%d", made);
		if (open_close(path, O_CREAT | O_EXCL | O_WRONLY) < 0) {
			os = errno;
			break;
		}
	}
	for (int i = 0; i < made; i++) {
		(void)snprintf(path, sizeof(path), "/tmp/.belljar-deep-%d", i);
		(void)unlink(path);
	}
	return made == count ? 0 : fail_with(os);
}

long too_many_files(void)
{
	return make_files(200);
}

long some_files(void)
{
	return make_files(8);
}
