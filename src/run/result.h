/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a run: the launcher's facts (report.h), judged once, in a form that the accessors
 * of belljar.h and the JSON only have to read.
 */
#ifndef RUN_RESULT_H
#define RUN_RESULT_H

#include "policy/policy.h"
#include "run/kept.h"
#include "run/plan_build.h"
#include "run/report.h"

enum limit {
	LIMIT_TIME,
	LIMIT_CPU,
	LIMIT_MEMORY,
	LIMIT_TASKS,
	LIMIT_DISK,
	LIMIT_OUTPUT,
	LIMIT_COUNT,
};
#define LIMIT_BIT(id) (UINT32_C(1) << (id))

enum retry {
	RETRY_NOT_NEEDED,
	RETRY_SAME,   /* not the program's fault: try again */
	RETRY_CHANGE, /* the program, or the request, must change */
	RETRY_NEVER,  /* refused by rule, or this host cannot */
	RETRY_COUNT,
};

/* A file that was copied out. */
struct result_file {
	char *path; /* bytes, beneath /workspace; not always UTF-8 */
	uint64_t bytes;
	char sha256[65];   /* lower-case hex, or "" for what has none */
	const char *type;  /* "file" or "directory"; a literal */
	const char *risky; /* why it is dangerous by its name or mode, a literal; or NULL */
};

/* What the asker of the run knows, and the report does not say. Borrowed for the call. */
struct result_input {
	const char *run_id;		 /* NULL: the run had none yet */
	const struct policy *policy;	 /* NULL: there was none yet */
	const char *language;		 /* of the language table, or NULL */
	const char *program;		 /* argv[0], or NULL */
	const char *cwd;		 /* what --cwd named, or NULL */
	const struct plan_input *inputs; /* as in the plan */
	size_t input_count;
	uint32_t required; /* bits of enum layer_id, as in the plan */
	uint32_t missing;  /* accepted as missing on this host, as in the plan */
	uint64_t begin_ns; /* CLOCK_MONOTONIC when the run was asked for, 0: not known */
	bool cancelled;	   /* the caller cancelled it */
	const struct result_file *files; /* what was copied out: copied again */
	size_t file_count;
	const struct bj_error *files_error; /* why not all was copied out, or NULL */
};

/* The decision: see verdict() in verdict.c. */
struct verdict {
	enum bj_outcome outcome;
	bool started;
	int exit_code;	 /* -1: it did not exit */
	int signal;	 /* 0: no signal ended it */
	int status;	 /* what `belljar run` exits with */
	uint32_t limits; /* LIMIT_BIT */
	enum retry retry;
};

enum layer_state { STATE_NONE, STATE_PROVEN, STATE_ACCEPTED_MISSING };

struct result_layer {
	enum layer_state state; /* STATE_NONE: no row */
	uint8_t by;		/* enum proof; PROOF_NONE where it is missing */
	char note[sizeof(((struct report_layer *)0)->note)];
};

/* The JSON is made when it is first asked for; several threads may ask. */
struct result_cache {
	char *json;
};

struct bj_result {
	char run_id[64];
	struct verdict verdict;
	struct kept stream[2];
	struct bj_usage usage;
	struct result_file *files;
	size_t file_count;
	struct result_layer layer[LAYER_COUNT];
	bool counted; /* left_* are known */
		      /* UINT64_MAX: could not be counted */
	uint64_t left_processes, left_mounts, left_cgroups, left_files;
	double stage_ms[STAGE_COUNT]; /* since the run was asked for; negative: not reached */
	char *hint;
	struct bj_error error; /* BJ_OK where the run itself says all */
	struct result_cache *cache;
};

/*
 * The result of a run that had a launcher. `memory` is what it shared, `size` bytes; the launcher
 * is dead by now, killed at any instruction perhaps. A report that cannot be is `sandbox_error`.
 */
int result_from_report(const void *memory, size_t size, const struct result_input *in,
		       struct bj_result **ret, struct bj_error *err);

/* The result of a run that ended before any launcher: `why`, or NULL where it was cancelled. */
int result_from_error(const struct bj_error *why, const struct result_input *in,
		      struct bj_result **ret, struct bj_error *err);

void result_free(struct bj_result *res);

#endif
