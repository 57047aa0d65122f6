/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the layers that take rights from the program itself. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

/* ---- terminal, rlimit --------------------------------------------------------------------------
 */

static long controlling_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

static long null_device(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

static long raise_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;
	limit.rlim_cur = ++limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

static long open_too_many(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 1048576)
		return UNTRIED;
	for (rlim_t i = 0; i <= limit.rlim_cur; i++)
		if (dup(0) < 0)
			return -1;
	return 0;
}

static long too_many_descriptors(void)
{
	return in_child(open_too_many);
}

static long some_descriptors(void)
{
	int fds[8];
	size_t count = 0;
	while (count < 8 && (fds[count] = dup(0)) >= 0)
		count++;
	int os = errno;
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	errno = os;
	return count == 8 ? 0 : -1;
}

/* ---- caps, nnp
 * ----------------------------------------------------------------------------------- */

static long has_capability(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];
	memset(sets, 0, sizeof(sets));
	if (syscall(SYS_capget, &head, sets) < 0)
		return -1;
	uint32_t any = 0;
	for (size_t i = 0; i < 2; i++)
		any |= sets[i].effective | sets[i].permitted | sets[i].inheritable;
	return any ? 0 : HIDDEN;
}

static long change_root(void)
{
	return chroot("/");
}

static long change_directory(void)
{
	return chdir("/workspace");
}

static long undo_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static long read_no_new_privs(void)
{
	long got = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	if (got == 1)
		return 0;
	errno = EBADMSG;
	return -1;
}

/* ---- landlock
 * ------------------------------------------------------------------------------------- */

/*
 * The kernel stacks at most 16 rulesets. One is in force, so a program may add 15 of its own; that
 * the sixteenth is refused shows that it is.
 */
static long add_rulesets(int count)
{
	struct {
		uint64_t handled_fs;
	} set = {1}; /* executing: which this process will not do */
	int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);
	if (fd < 0)
		return -1;
	for (int i = 0; i < count; i++)
		if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
			return -1;
	return 0;
}

static long add_15(void)
{
	return add_rulesets(15);
}

static long add_16(void)
{
	return add_rulesets(16);
}

long sixteenth_ruleset(void)
{
	return in_child(add_16);
}

long fifteen_rulesets(void)
{
	return in_child(add_15);
}

/* ---- seccomp, fds
 * --------------------------------------------------------------------------------- */

static long new_user_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static long try_user_namespace(void)
{
	return in_child(new_user_namespace);
}

static long ring(void)
{
	char params[120] = {0};
	return syscall(SYS_io_uring_setup, 1, params);
}

static long nothing(void)
{
	return 0;
}

static long own_process(void)
{
	return in_child(nothing);
}

static long doctors_descriptor(void)
{
	return facts[FACT_FD] ? fcntl(atoi(facts[FACT_FD]), F_GETFD) : UNTRIED;
}

static long more_descriptors(void)
{
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	return -1;
}

static long standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return -1;
	return 0;
}

static long some_memory(void)
{
	size_t size = 8 << 20;
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -1;
	memset(block, 1, size);
	return munmap(block, size);
}

const struct check checks_limits[] = {
	{"fds", "use a descriptor of the caller", DENIED, {EBADF}, doctors_descriptor},
	{"fds", "find any descriptor above 2", DENIED, {EBADF}, more_descriptors},
	{"fds", "use the standard ones", WORKS, {0}, standard_descriptors},
	{"cgroup", "use memory within the limit", WORKS, {0}, some_memory},
	{"terminal", "open the caller's terminal", DENIED, {ENXIO}, controlling_terminal},
	{"terminal", "open /dev/null", WORKS, {0}, null_device},
	{"rlimit", "raise a limit", DENIED, {EPERM}, raise_limit},
	{"rlimit", "open too many descriptors", DENIED, {EMFILE}, too_many_descriptors},
	{"rlimit", "open some", WORKS, {0}, some_descriptors},
	{"caps", "have any capability", DENIED, {0}, has_capability},
	{"caps", "change its root", DENIED, {EPERM}, change_root},
	{"caps", "change its directory", WORKS, {0}, change_directory},
	{"nnp", "take no_new_privs back", DENIED, {EINVAL}, undo_no_new_privs},
	{"nnp", "read it, and it is set", WORKS, {0}, read_no_new_privs},
	{"landlock", "add a sixteenth ruleset", DENIED, {E2BIG}, sixteenth_ruleset},
	{"landlock", "add fifteen", WORKS, {0}, fifteen_rulesets},
	{"seccomp", "make a user namespace", DENIED, {EPERM}, try_user_namespace},
	{"seccomp", "set up io_uring", DENIED, {EPERM}, ring},
	{"seccomp", "start a process", WORKS, {0}, own_process},
};
const size_t checks_limits_count = sizeof(checks_limits) / sizeof(checks_limits[0]);
