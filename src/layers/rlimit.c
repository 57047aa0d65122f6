/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `rlimit`: limits of each process, soft = hard, so that the program cannot raise them. One
 * table says which; it is what is set, and what is read back.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZERO SIZE_MAX
#define CORE (SIZE_MAX - 1)

/*
 * 0 keeps no handler of core dumps away: where core_pattern is a pipe the kernel starts it, as root
 * of the host, for a limit of 0 too. Exactly 1 is the kernel's own mark of a handler that crashes
 * itself, for which no other is started; and it is less than the smallest file (fs/coredump.c,
 * Linux 5.15 to 6.18). seccomp_rules.def keeps it at 1. A socket in core_pattern (Linux 6.16 and
 * later) is connected to whatever the limit: see SECURITY.md.
 */
#define CORE_LIMIT 1

#define CORE_NOTE "RLIMIT_CORE is 0, as the caller's: a pipe in core_pattern is started at a crash"

#define CPU_WORDS 128 /* 8192 CPUs: the most that a kernel is built for */
#define CPUS_MAX  (CPU_WORDS * 64)

static const struct {
	int resource;
	size_t member; /* of struct plan, or ZERO, or CORE */
} limits[] = {
	{RLIMIT_CPU, offsetof(struct plan, cpu_s)},
	{RLIMIT_FSIZE, offsetof(struct plan, fsize)},
	{RLIMIT_NOFILE, offsetof(struct plan, nofile)},
	{RLIMIT_NPROC, offsetof(struct plan, nproc)}, /* counted in the run's own user namespace */
	{RLIMIT_STACK, offsetof(struct plan, stack)},
	{RLIMIT_MEMLOCK, offsetof(struct plan, memlock)},
	{RLIMIT_CORE, CORE},
	{RLIMIT_RTPRIO, ZERO},
	{RLIMIT_NICE, ZERO},
	{RLIMIT_MSGQUEUE, ZERO},
};

CHILD_CODE static uint64_t planned(const struct plan *plan, size_t member)
{
	if (member == ZERO)
		return 0;
	if (member == CORE)
		return CORE_LIMIT;
	return *(const uint64_t *)((const char *)plan + member);
}

/* Whether this process has a hard limit of 0, from its caller, which nothing inside can raise. */
CHILD_CODE static bool has_no_core(void)
{
	struct rlimit64 own;
	return syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &own) == 0 && own.rlim_max < CORE_LIMIT;
}

/*
 * Programs size their thread pools by the CPUs they may run on, so a run that has half a CPU sees
 * one. Which one: the launcher's, which it is about to leave. The scheduler has just woken it where
 * least else runs, whereas the program's process shared its CPU with others of its own run. A
 * program may widen this again; what it can use is the cgroup's to limit.
 */
static int use_cpus(pid_t pid, uint32_t count)
{
	uint64_t allowed[CPU_WORDS] = {0}, use[CPU_WORDS] = {0};
	unsigned int cpu = 0;
	long size = syscall(SYS_sched_getaffinity, pid, sizeof(allowed), allowed);
	if (size <= 0 || syscall(SYS_getcpu, &cpu, NULL, NULL) < 0)
		return -1;
	for (unsigned int i = 0; i < CPUS_MAX && count > 0; i++) {
		unsigned int at = (cpu + i) % CPUS_MAX;
		uint64_t bit = UINT64_C(1) << (at % 64);
		if (allowed[at / 64] & bit) {
			use[at / 64] |= bit;
			count--;
		}
	}
	return (int)syscall(SYS_sched_setaffinity, pid, size, use);
}

CHILD_CODE int rlimit_child(const struct child *child, struct fault *fault)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		uint64_t most = planned(child->plan, limits[i].member);
		if (limits[i].member == CORE && has_no_core())
			most = 0;
		struct rlimit64 limit = {.rlim_cur = most, .rlim_max = most};
		if (STEP(fault, LAYER_RLIMIT, HOOK_CHILD, "set a limit",
			 syscall(SYS_prlimit64, 0, limits[i].resource, &limit, NULL)) < 0)
			return -1;
	}
	return 0;
}

int rlimit_stopped(struct launch *launch, struct fault *fault)
{
	/* Above a hard limit only CAP_SYS_RESOURCE of the host helps: `verify` sees what came of
	 * it. */
	if (has_no_core()) {
		struct rlimit64 core = {.rlim_cur = CORE_LIMIT, .rlim_max = CORE_LIMIT};
		(void)syscall(SYS_prlimit64, launch->program, RLIMIT_CORE, &core, NULL);
	}
	return STEP(fault, LAYER_RLIMIT, HOOK_STOPPED, "choose the CPUs",
		    use_cpus(launch->program, launch->plan->cpus_seen)) < 0
		       ? -1
		       : 0;
}

int rlimit_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct rlimit64 *got = &posture->limit[limits[i].resource];
		uint64_t most = planned(launch->plan, limits[i].member);
		/* A caller's lower limit is honoured: it forbids core files as well, and is told.
		 */
		if (limits[i].member == CORE && got->rlim_max == 0 && has_no_core()) {
			most = 0;
			memcpy(launch->note[LAYER_RLIMIT], CORE_NOTE, sizeof(CORE_NOTE));
		}
		if (MUST(fault, LAYER_RLIMIT, "every limit as planned, soft = hard",
			 got->rlim_cur == most && got->rlim_max == most) < 0)
			return -1;
	}
	/* 20 and the nice value; below 0 for the real-time classes. */
	if (MUST(fault, LAYER_RLIMIT, "no scheduling above the usual", posture->priority >= 20) < 0)
		return -1;
	return MUST(fault, LAYER_RLIMIT, "no more CPUs than the run's share",
		    posture->cpus <= launch->plan->cpus_seen) < 0
		       ? -1
		       : 0;
}
