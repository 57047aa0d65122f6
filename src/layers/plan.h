/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: everything the launcher needs to know, decided beforehand, in one sealed memfd of fixed
 * layout. Offsets count from the start of the plan; strings end in NUL inside it. Whoever reads a
 * plan first passes it through plan_check(), which trusts none of it.
 */
#ifndef LAYERS_PLAN_H
#define LAYERS_PLAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_MAGIC	UINT64_C(0x31304e414c504a42) /* "BJPLAN01" */
#define PLAN_SIZE_MAX	(UINT32_C(8) << 20)
#define PLAN_ARGS_MAX	4096
#define PLAN_ENV_MAX	1024
#define PLAN_ENV_BYTES	131072
#define PLAN_EXECS_MAX	64
#define PLAN_NODES_MAX	256
#define PLAN_COPIES_MAX 256
#define PLAN_PATH_MAX	4096

/* A string, or `count` records of a kind that the member names, at `offset`. */
struct plan_span {
	uint32_t offset;
	uint32_t count;
};

/* How the file tree inside is made, in order: struct plan_node. */
enum node_kind {
	NODE_DIR,    /* mkdir, mode */
	NODE_FILE,   /* a file with `data`, mode */
	NODE_LINK,   /* a symbolic link to `source` */
	NODE_BIND,   /* `source` of the host, recursively, read-only, nosuid, nodev */
	NODE_DEVICE, /* the character device `source` of the host, major:minor in `number` */
	NODE_TMPFS,  /* a private tmpfs of `size` bytes, `number` inodes, mode */
	NODE_PROC,   /* a fresh proc */
	NODE_RO,     /* an existing path inside, made read-only (absent: left out) */
	NODE_HIDE,   /* covered by an empty one of the type in `mode`, S_IFREG or S_IFDIR (the same)
		      */
	NODE_COVER,  /* an existing file inside, covered by a file with `data` (absent: left out) */
	NODE_KIND_COUNT,
};

/*
 * A source that the caller may reach and an id of the run's own may not: where the launcher has the
 * caller's rights and init will not (IDS_OWN), the launcher opens it before clone.
 */
#define NODE_AS_CALLER 1U

struct plan_node {
	uint32_t kind;
	uint32_t mode;	 /* permissions; NODE_HIDE: a type; NODE_BIND: see NODE_AS_CALLER */
	uint32_t target; /* path inside, absolute */
	uint32_t source; /* path of the host, or a link's text; 0 where the kind has none */
	struct plan_span data;
	uint64_t size;
	uint64_t number;
	/* Which file `source` was when the plan was made; NODE_BIND and NODE_DEVICE must find it.
	 */
	uint64_t dev, ino;
};

/* A descriptor that is copied into /workspace before the program starts. */
struct plan_copy {
	uint32_t fd;   /* index into the input descriptors sent with the plan */
	uint32_t name; /* path below /workspace, no "..", not absolute */
	uint32_t mode; /* of the file; directories get 0755 */
	uint32_t pad;
};

enum plan_ids {
	IDS_OWN, /* started by root: an outside id of its own, PLAN_ID_BASE + the launcher's pid */
	IDS_CALLER, /* started by an ordinary user: the caller's own id outside */
};
/* Above what systemd gives to containers, below what it reserves. pid_max is at most 2^22. */
#define PLAN_ID_BASE  UINT32_C(0x70000000)
#define PLAN_ID_COUNT UINT32_C(0x00400000)

#define PROGRAM_ID 1000 /* uid and gid inside */

enum plan_cgroup {
	CGROUP_NONE, /* accepted as missing: `monitor` and `rlimit` stand in */
	CGROUP_V2,
	CGROUP_V1, /* memory, pids, cpu and cpuacct; kill and freeze by a v2 mount where there is
		      one */
};

enum { V1_MEMORY, V1_PIDS, V1_CPU, V1_CPUACCT, V1_COUNT };

struct plan {
	uint64_t magic;
	uint32_t size;	   /* of the whole plan */
	uint32_t required; /* bits of enum layer_id; the launcher refuses any but its own set */
	uint32_t missing;  /* layers accepted as missing on this host */
	uint32_t ids;	   /* enum plan_ids */
	uint32_t outside_uid, outside_gid; /* IDS_CALLER: the caller's */
	char run_id[24];		   /* lower-case hex */

	/* cgroup */
	uint32_t cgroup;	      /* enum plan_cgroup */
	uint32_t cgroup_base;	      /* v2: directory in which the run's cgroup is made; 0: none */
	uint32_t cgroup_v1[V1_COUNT]; /* v1: the same for each controller */
	uint32_t join_first;	      /* v1: init enters before it changes its ids, see launch.c */
	uint32_t pad;
	uint64_t memory_bytes, pids;
	uint64_t cpu_quota_us, cpu_period_us;

	/* deadline, output */
	uint64_t time_ms, cpu_time_ms;
	uint64_t keep_bytes, max_output_bytes;

	/* rlimit: soft = hard, RLIM_INFINITY is never asked for */
	uint64_t nofile, fsize, nproc, cpu_s, memlock, stack;
	uint32_t cpus_seen; /* CPUs that each process may run on: the share, rounded up */

	uint32_t landlock_abi_min;

	/* the program */
	uint32_t hostname, cwd;
	struct plan_span argv;	 /* uint32_t offsets of strings */
	struct plan_span env;	 /* uint32_t offsets of strings */
	struct plan_span execs;	 /* uint32_t offsets: absolute paths to try, in order */
	struct plan_span nodes;	 /* struct plan_node */
	struct plan_span copies; /* struct plan_copy */
};

/* The string at `offset` of a checked plan. */
static inline const char *plan_string(const struct plan *plan, uint32_t offset)
{
	return (const char *)plan + offset;
}

static inline const void *plan_at(const struct plan *plan, struct plan_span span)
{
	return (const char *)plan + span.offset;
}

/* Whether `size` bytes at `data` are a plan that may be followed. Touches nothing else. */
int plan_check(const void *data, size_t size, struct fault *fault);

#endif
