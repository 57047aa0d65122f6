/* SPDX-License-Identifier: Apache-2.0 */
/* A launcher process, from the side of whoever starts it. */
#ifndef RUN_LAUNCHER_H
#define RUN_LAUNCHER_H

#include "run/message.h"
#include "run/report.h"

#include <belljar/belljar.h>
#include <stdbool.h>
#include <sys/types.h>

struct launcher_request {
	int plan_fd;
	int stdin_fd; /* or -1 */
	const int *inputs;
	size_t input_count;
	bj_output_fn on_output; /* or NULL */
	void *user;
	int cancel_fd; /* or -1 */
};

struct launcher {
	struct report *report; /* shared with the launcher; valid until launcher_free() */
	size_t report_size;
	int report_fd;	/* of the same memory, until it is sent */
	pid_t pid;	/* of a launcher that is to be reaped, or 0 */
	int socket;	/* to it; its end is the end of the run */
	int workspace;	/* what is left of /workspace after the run, or -1 */
	bool cancelled; /* by cancel_fd or by on_output */
};

void launcher_init(struct launcher *launcher);
/* Ends one that was started and not run; reaps it. */
void launcher_free(struct launcher *launcher);

/* First, so that it starts up while its plan is made: it waits for one, and does nothing else. */
int launcher_start(struct launcher *launcher, struct bj_error *err);

/* Before launcher_run(): the memory that the report and the kept output share. */
int launcher_make_report(struct launcher *launcher, uint64_t keep_bytes, struct bj_error *err);

/*
 * Gives it the plan, passes output on, and returns when the run is over. -1 only where the plan did
 * not reach it; else the report says what happened.
 */
int launcher_run(struct launcher *launcher, const struct launcher_request *ask,
		 struct bj_error *err);

#endif
