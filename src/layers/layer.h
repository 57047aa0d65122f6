/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a layer is. One mechanism that stops something, one file, one row in table.c. The order of
 * the enum is the order of set-up; whoever walks the layers walks this table.
 */
#ifndef LAYERS_LAYER_H
#define LAYERS_LAYER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum layer_id {
	LAYER_CGROUP,
	LAYER_USER,
	LAYER_PID,
	LAYER_INIT,
	LAYER_MOUNT,
	LAYER_NET,
	LAYER_IPC,
	LAYER_UTS,
	LAYER_CGROUPNS,
	LAYER_ENV,
	LAYER_TERMINAL,
	LAYER_RLIMIT,
	LAYER_CAPS,
	LAYER_NNP,
	LAYER_LANDLOCK,
	LAYER_SECCOMP,
	LAYER_FDS,
	LAYER_DEADLINE,
	LAYER_OUTPUT,
	LAYER_MONITOR,
	LAYER_COUNT,
};

#define LAYER_BIT(id) (UINT32_C(1) << (id))
#define LAYERS_ALL    (LAYER_BIT(LAYER_COUNT) - 1)

/* The hooks, as a fault names them. */
enum hook_id {
	HOOK_NONE,
	HOOK_PLAN,
	HOOK_PREPARE,
	HOOK_PARENT,
	HOOK_JOIN,
	HOOK_CHILD,
	HOOK_STOPPED,
	HOOK_VERIFY,
	HOOK_WATCH,
	HOOK_COUNT,
};

enum layer_where {
	IN_INIT,	/* pid 1 inside: full capabilities of the new user namespace */
	IN_INIT_JOINED, /* the same, once it is in its cgroups */
	IN_PROGRAM,	/* the process that becomes the program */
};

struct plan;	/* what is to be put up: plan.h */
struct launch;	/* the launcher's state for one run: launch.h */
struct child;	/* what code between clone and exec may read: child.h */
struct posture; /* what the kernel says of the stopped program: posture.h */

struct layer {
	const char *name;
	const char *stops;  /* what it stops, for people */
	const char *leaves; /* what it does not stop */
	const char *needs;  /* kernel, settings and rights it needs */
	const char *shared; /* why no attack is stopped by it alone, or NULL: one is */
	uint64_t clone;	    /* CLONE_NEW* flags */
	uint32_t after;	    /* layers without which this one cannot be put up */
	enum layer_where where;
	bool may_be_missing; /* a policy file may accept its absence */

	/*
	 * Hooks, 0 or -1, each but `verify` optional. Those of the launcher (`prepare` before
	 * clone, `parent` before init goes on, `join` while init builds its tree, `stopped` when
	 * the program is at its exec stop) and of the child fill a struct fault through STEP() in
	 * step.h. `settle` is what init can do beside the program's process, which is there already
	 * and puts up its own layers: whatever waits for the kernel belongs there. `verify`
	 * compares what is in force with the plan.
	 */
	int (*prepare)(struct launch *launch, struct fault *fault);
	int (*parent)(struct launch *launch, struct fault *fault);
	int (*join)(struct launch *launch, struct fault *fault);
	int (*child)(const struct child *child, struct fault *fault);
	int (*settle)(const struct child *child, struct fault *fault);
	int (*stopped)(struct launch *launch, struct fault *fault);
	int (*verify)(struct launch *launch, const struct posture *posture, struct fault *fault);
};

extern const struct layer layers[LAYER_COUNT];

/* LAYER_COUNT when there is none of that name. */
enum layer_id layer_by_name(const char *name);

/*
 * The layers that a run puts up: all of them. This is the one seam by which the lab and the tests
 * leave a layer out: they link a function of their own in place of required.c.
 */
uint32_t layers_required(void);

#endif
