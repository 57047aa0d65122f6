/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of the program, stopped before its first instruction. */
#ifndef LAYERS_POSTURE_H
#define LAYERS_POSTURE_H

#include "layers/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum ns_id { NS_USER, NS_PID, NS_MNT, NS_NET, NS_IPC, NS_UTS, NS_CGROUP, NS_COUNT };
enum cap_set { CAP_INH, CAP_PRM, CAP_EFF, CAP_BND, CAP_AMB, CAP_SET_COUNT };

struct posture {
	uint32_t uid[4], gid[4]; /* real, effective, saved, file system; as seen here */
	uint32_t groups;	 /* supplementary groups */
	uint64_t caps[CAP_SET_COUNT];
	int no_new_privs;
	int seccomp_mode;
	int seccomp_filters; /* -1: this kernel does not say */
	uint64_t sig_blocked, sig_ignored, sig_caught;
	uint32_t umask;
	uint32_t threads;
	uint32_t cpus;				  /* CPUs it may run on */
	uint32_t ns_pid;			  /* pid inside */
	uint32_t session, tty;			  /* as seen here; tty 0: none */
	int priority;				  /* the kernel's: 20 is the usual one */
	uint64_t ns[NS_COUNT], ns_host[NS_COUNT]; /* inode numbers: the program's, the launcher's */
	uint64_t fds;	    /* bit n: descriptor n is open; bit 63: one of 63 or more is */
	bool fds_are_pipes; /* 0, 1 and 2 are */
	struct rlimit64 limit[RLIM_NLIMITS];
	char cgroup[4096]; /* /proc/PID/cgroup */
	char *mounts;	   /* /proc/PID/mountinfo; cut into pieces by its reader */
	/* Ids there of the mounts on which its working directory lies, and its program. */
	uint64_t cwd_mount, exe_mount;
	char environment[PLAN_ENV_BYTES];
	uint32_t environment_size;
};

#endif
