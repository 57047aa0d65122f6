/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's state of one run, as its layers see it. */
#ifndef LAYERS_LAUNCH_H
#define LAYERS_LAUNCH_H

#include "layers/child.h"
#include "layers/layer.h"
#include "layers/plan.h"

#include <sys/types.h>

enum { CG_V2 = V1_COUNT, CG_COUNT }; /* V1_MEMORY … V1_CPUACCT, then the v2 one */

struct launch {
	const struct plan *plan;
	uint32_t required;
	int proc_fd;   /* the host's /proc */
	int mounts_fd; /* the host's table of mounts, opened before anything is mounted, or -1 */
	pid_t init;    /* init's pid here */
	int init_pidfd;
	int init_dir;  /* /proc of init */
	pid_t program; /* the program's first process, here */
	uint32_t outside_uid, outside_gid;

	int cgroup_parent[CG_COUNT]; /* directories in which the run's were made, or -1 */
	int cgroup[CG_COUNT];	     /* the run's own, or -1; two controllers may share one */
	bool cgroup_made[CG_COUNT];
	int join_fd[V1_COUNT]; /* v1: files by which init enters its cgroups itself */
	size_t join_count;
	char cgroup_name[40]; /* belljar-<run id> */

	int tree[PLAN_NODES_MAX]; /* detached copies of what only the caller may reach, or -1 */
	int deadline_fd;  /* timerfd on CLOCK_MONOTONIC, armed just before the program is let go */
	int output_fd[2]; /* the launcher's ends of the program's stdout and stderr */
	int inside_proc;  /* the sandbox's own /proc, for `monitor`; -1 with a cgroup */

	struct child_proof init_proof;	  /* by init */
	struct child_proof program_proof; /* by the program's process before its exec */
	char note[LAYER_COUNT][92];	  /* for the receipt */
};

#endif
