/* SPDX-License-Identifier: Apache-2.0 */
/* What code between clone and exec may read, and what it proves of itself. */
#ifndef LAYERS_CHILD_H
#define LAYERS_CHILD_H

#include "layers/plan.h"

/*
 * What the kernel does not show of another process: each is read back, or proven by an action that
 * had to be denied, in the process that it is about. Sent to the launcher, which compares.
 */
struct child_proof {
	uint32_t layers;	/* hooks that ran to their end here: bits of enum layer_id */
	uint32_t init_dumpable; /* PR_GET_DUMPABLE in init, after fork: must be 0 */
	uint32_t init_caps;	/* capabilities left in init: must be 0 */
	uint32_t securebits;	/* PR_GET_SECUREBITS in the program's process */
	uint32_t keyring; /* 1: new session keyring read back; 2: this kernel has no keyrings */
	uint32_t landlock_abi;	  /* 0: none */
	uint32_t landlock_denied; /* 1: a device node in /workspace was refused with EACCES */
	uint32_t loopback;	  /* IFF_UP read back */
};

struct child {
	const struct plan *plan;
	char *const *argv;
	char *const *env;
	char *const *execs; /* NULL-terminated */
	const int *trees;   /* for each node: a detached copy of its source, or -1 */
	const int *inputs;  /* descriptors for plan->copies */
	int stdio[3];	    /* the program's ends of its pipes; none of them is 0 to 3 */
	int control;	    /* this process's socket to the launcher; not 0 to 2 */
	struct child_proof *proof;
};

/* No signal is ignored any more, whatever the caller's are. */
int default_actions(void);

/* The program's control socket at its exec: just above its three pipes, closed by the exec. */
#define PROGRAM_CONTROL_FD 3

#endif
