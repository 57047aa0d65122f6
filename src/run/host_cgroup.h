/* SPDX-License-Identifier: Apache-2.0 */
/* Where on this host the cgroup of a run can be made by this caller. */
#ifndef RUN_HOST_CGROUP_H
#define RUN_HOST_CGROUP_H

#include "layers/plan.h"

#define HOST_CGROUP_PATH 4096

struct host_cgroup {
	enum plan_cgroup kind;	   /* CGROUP_NONE: see `why` */
	char v2[HOST_CGROUP_PATH]; /* directory for the run's; with CGROUP_V1 only to kill by; or ""
				    */
	char v1[V1_COUNT][HOST_CGROUP_PATH];
	char why[256]; /* why there is none: one clause */
};

/* What there is; never fails: no cgroup is an answer. Reads, and enables nothing. */
void host_cgroup_find(struct host_cgroup *ret);

/*
 * Removes the cgroups of a run whose launcher died before it could, once what is in them has died
 * too, which it does with its launcher. Returns how many are left after a bounded wait.
 */
uint64_t host_cgroup_remove(const char *run_id);

/*
 * Makes the cgroup that this process sits in alone ready for runs of an ordinary user: moves this
 * process into a leaf of it and enables the controllers (v2 gives none to the children of a cgroup
 * that holds a process). Only for a program that owns its process, never from the library.
 * Returns 0 when that was done or was not needed, -1 when it cannot be done, with `err`.
 */
int host_cgroup_enter_leaf(struct bj_error *err);
/* Undoes it, at the end of the process. */
void host_cgroup_leave_leaf(void);

#endif
