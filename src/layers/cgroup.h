/* SPDX-License-Identifier: Apache-2.0 */
/* What the launcher does with the run's cgroups after set-up. */
#ifndef LAYERS_CGROUP_H
#define LAYERS_CGROUP_H

#include "layers/launch.h"

#define UNKNOWN UINT64_MAX

struct cgroup_facts {
	uint64_t oom_kills;    /* processes the OOM killer took in this cgroup */
	uint64_t tasks_denied; /* forks refused; UNKNOWN where the kernel does not say */
	uint64_t memory_peak;  /* bytes; 0: the kernel does not say */
	uint64_t tasks_peak;   /* 0: the kernel does not say */
	uint64_t cpu_ns;
};

/* The descriptor for CLONE_INTO_CGROUP, or -1 without v2. */
int cgroup_clone_fd(const struct launch *launch);

/* CPU time used so far in nanoseconds, or UNKNOWN. */
uint64_t cgroup_cpu_ns(const struct launch *launch);

/*
 * Kills everything in it. First the CPU quota is lifted: dying takes CPU time too, and tasks that
 * wait for the next period would hold up the kill. Harmless when repeated.
 */
void cgroup_kill(const struct launch *launch);

void cgroup_facts(const struct launch *launch, struct cgroup_facts *facts);

/* Processes still in it; UNKNOWN where that cannot be read. */
uint64_t cgroup_processes(const struct launch *launch);

/* Removes what cgroup_prepare() made. Returns how many are left, after a bounded wait. */
uint64_t cgroup_remove(struct launch *launch);

/*
 * Removes cgroups of launchers that died before they could. A process that lives in one is killed:
 * its launcher, whose lock would say so, does not.
 */
void cgroup_sweep(const struct launch *launch);

#endif
