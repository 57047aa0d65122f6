/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: facts of one run, written by the launcher into memory shared with whoever asked for
 * the run, so that output and facts survive the launcher. It judges nothing; verdict() in
 * verdict.c does. The reader takes care: it copies what it needs once and checks every number.
 *
 * Layout of the memory: struct report, then the kept bytes of stdout, then those of stderr, each
 * `keep_bytes` long: the first half is the head, the second half a ring with the tail.
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include "layers/layer.h"

#include <stdint.h>

#define REPORT_MAGIC UINT64_C(0x31304552504a4c42) /* "BLJPRE01" */

enum report_phase {
	PHASE_NOTHING, /* the launcher did not get as far as a plan it accepts */
	PHASE_SETUP,   /* layers are being put up; no instruction of the program ran */
	PHASE_STARTED, /* the program was let go */
	PHASE_DONE,    /* dead, counted, cleaned; the report is complete */
};

/* Why the run ended: what the launcher saw or did first. */
enum report_end {
	END_NONE,
	END_STATUS, /* the program's first process ended: `wait_status` */
	END_TIME,
	END_CPU,
	END_MEMORY, /* `monitor` found the tree above its memory */
	END_TASKS,  /* `monitor` found the tree above its tasks */
	END_OUTPUT,
	END_CANCEL,
	END_EXEC,  /* execve failed: `fault` */
	END_FAULT, /* Belljar failed: `fault` */
	END_COUNT,
};

enum report_stage {		    /* monotonic nanoseconds at which each was reached, 0: never */
		    STAGE_ENTER,    /* launcher's main */
		    STAGE_PLANNED,  /* plan received and checked */
		    STAGE_PREPARED, /* cgroups made */
		    STAGE_CLONED,   /* clone3 returned */
		    STAGE_MAPPED,   /* ids mapped, cgroups entered */
		    STAGE_READY,    /* the program's process is there, and seized */
		    STAGE_EXEC,	    /* exec stop, and init done */
		    STAGE_PROVEN,   /* receipt taken */
		    STAGE_GO,	    /* let go */
		    STAGE_END,	    /* end of the program seen or caused */
		    STAGE_DEAD,	    /* nothing of it lives */
		    STAGE_CLEAN,    /* cgroups gone, counted */
		    STAGE_COUNT,
};

enum proof { PROOF_NONE, BY_KERNEL, BY_INIT, BY_LAUNCHER };

struct report_layer {
	uint8_t required; /* was to be put up */
	uint8_t proof;	  /* enum proof; PROOF_NONE with `required`: not proven */
	uint8_t missing;  /* accepted as missing */
	uint8_t pad;
	char note[92]; /* what is worth saying: an ABI, what it lacks; or "" */
};

struct report_stream {
	uint64_t bytes;	     /* read from the program */
	uint64_t tail_bytes; /* bytes ever put into the tail ring: bytes - head, when larger */
};

enum { DISK_TMP = 1, DISK_WORKSPACE = 2, DISK_SHM = 4 };

struct report {
	uint64_t magic;
	uint32_t size;	     /* of this struct */
	uint32_t phase;	     /* enum report_phase */
	uint32_t end;	     /* enum report_end */
	int32_t wait_status; /* as from waitpid, of the program's first process */
	uint32_t has_status;
	uint32_t inflight; /* 1 while an output copy is under way (a killed launcher leaves it) */
	struct fault fault;

	uint64_t keep_bytes;
	struct report_stream stream[2];

	uint64_t oom_kills;    /* in the run's cgroup */
	uint64_t tasks_denied; /* forks refused by the pids limit; UINT64_MAX: not known */
	uint32_t disk_full;    /* bits DISK_* */
	uint32_t usage_by;     /* 0 none, 1 cgroup, 2 monitor */
	uint64_t wall_ns, cpu_ns, memory_peak, tasks_peak;

	uint64_t left_processes, left_mounts, left_cgroups, left_files;
	uint64_t stage_ns[STAGE_COUNT];
	struct report_layer layer[LAYER_COUNT];
};

#endif
