/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's parts: launcher_main.c calls launch.c calls the others. */
#ifndef RUN_LAUNCH_H
#define RUN_LAUNCH_H

#include "layers/cgroup.h"
#include "layers/launch.h"
#include "run/message.h"
#include "run/report.h"

#include <stdbool.h>

/* One run: what launcher_main.c received, and what launch.c made of it. */
struct run {
	struct launch launch;
	struct child child;  /* what init and the program's process are given */
	char oom_adjust[24]; /* the program's oom_score_adj: never less than the launcher's own */
	struct child_proof proof; /* filled by them, each in its own copy of this memory */
	struct report *report;	  /* shared with the caller */
	char *kept[2];		  /* behind the report: keep_bytes for each stream */

	int control;	/* to the caller; its end is the end of the run */
	int stream[2];	/* the caller's pipes for output as it comes, or -1 */
	int input;	/* the caller's standard input, or -1 */
	int input_pipe; /* the launcher's end of the program's stdin, or -1 */

	int private_fd[READY_COUNT]; /* the private mounts and proc inside, or -1 */

	int init_socket; /* to init, and its end */
	int init_socket_end;
	int program_socket; /* to the program's process, and its end */
	int program_socket_end;
	int signals; /* signalfd: SIGCHLD */

	struct fault early; /* of the launcher's own start: nothing is built then */

	uint64_t setup_until_ns; /* set-up that is not done by then hangs */

	pid_t guard;	  /* or 0 */
	int guard_socket; /* its end is the guard's */
};

/* What needs no plan (prepare.c). Before launch_run(). */
int launch_prepare(struct run *run, struct fault *fault);

/* Builds the sandbox, runs the program to its end, cleans, and fills the report. */
void launch_run(struct run *run);

/* pid 1 inside; does not return. Between clone and exec. */
__attribute__((noreturn)) void init_main(struct run *run);

/* Closes every descriptor but these, of which -1 is none. Between clone and exec. */
int keep_only(const int *keep, size_t count);

/* A process that ends the run at its deadline, or with its caller, should the launcher be held up.
 */
int guard_start(struct run *run, struct fault *fault);
/* In two steps: its death costs no time while others die. */
void guard_stop(const struct run *run);
void guard_reap(struct run *run);

/* At the program's exec stop: what is in force, and whether it is what was planned. */
int receipt_read(struct run *run, struct fault *fault);
int receipt_compare(struct run *run, struct fault *fault);
/* What is the launcher's own, before clone: namespaces, table of mounts. */
int receipt_prepare(struct launch *launch, struct fault *fault);

/* Kills, counts, removes, and completes the report. */
void end_run(struct run *run);

/* From the program's release to its end; sets report->end and what belongs to it. */
void supervise(struct run *run);
/* Reads what is left in the pipes of a dead run. */
void supervise_drain(struct run *run);

/* What `monitor` counts through the sandbox's own /proc. */
struct usage {
	uint64_t memory_bytes, tasks, cpu_ns;
};
int monitor_poll(const struct launch *launch, const int private_fd[3], struct usage *ret);

/*
 * How long set-up may take: 20 s are for what Belljar itself does, and a copy of inputs, however
 * large, has a millisecond for each KiB: a hundredth of a CPU and a slow disk do with less.
 */
static inline uint64_t setup_ns(uint64_t copy_bytes)
{
	const uint64_t most = UINT64_C(1) << 50; /* of a workspace */
	return UINT64_C(20000000000) + (copy_bytes < most ? copy_bytes : most) / 1024 * 1000000;
}

static inline bool run_has(const struct run *run, enum layer_id id)
{
	return run->launch.required & LAYER_BIT(id);
}

static inline void run_stage(struct run *run, enum report_stage stage, uint64_t now_ns)
{
	run->report->stage_ns[stage] = now_ns;
}

#endif
