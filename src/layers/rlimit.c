/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `rlimit`: limits of each process, soft = hard, so that the program cannot raise them. One
 * table says which; it is what is set, and what is read back.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZERO SIZE_MAX

#define CPU_WORDS 128 /* 8192 CPUs: the most that a kernel is built for */
#define CPUS_MAX  (CPU_WORDS * 64)

static const struct {
	int resource;
	size_t member; /* of struct plan, or ZERO */
} limits[] = {
	{RLIMIT_CPU, offsetof(struct plan, cpu_s)},
	{RLIMIT_FSIZE, offsetof(struct plan, fsize)},
	{RLIMIT_NOFILE, offsetof(struct plan, nofile)},
	{RLIMIT_NPROC, offsetof(struct plan, nproc)}, /* counted in the run's own user namespace */
	{RLIMIT_STACK, offsetof(struct plan, stack)},
	{RLIMIT_MEMLOCK, offsetof(struct plan, memlock)},
	{RLIMIT_CORE, ZERO}, /* not for a core_pattern that is a pipe: see SECURITY.md */
	{RLIMIT_RTPRIO, ZERO},
	{RLIMIT_NICE, ZERO},
	{RLIMIT_MSGQUEUE, ZERO},
};

CHILD_CODE static uint64_t planned(const struct plan *plan, size_t member)
{
	return member == ZERO ? 0 : *(const uint64_t *)((const char *)plan + member);
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
		struct rlimit64 limit = {.rlim_cur = most, .rlim_max = most};
		if (STEP(fault, LAYER_RLIMIT, HOOK_CHILD, "set a limit",
			 syscall(SYS_prlimit64, 0, limits[i].resource, &limit, NULL)) < 0)
			return -1;
	}
	return 0;
}

int rlimit_stopped(struct launch *launch, struct fault *fault)
{
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
