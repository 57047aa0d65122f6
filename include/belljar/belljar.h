/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbelljar: run a program that nobody has read, and learn exactly what happened.
 *
 *   struct bj_error err;
 *   struct bj_request *req = bj_request_new();
 *   struct bj_result *res = NULL;
 *   const char *argv[] = {"python3", "-c", "print(6 * 7)", NULL};
 *   if (bj_request_program(req, argv, &err) == 0 && bj_run(req, -1, &res, &err) == 0)
 *           printf("%s, exit code %d\n", bj_outcome_name(bj_result_outcome(res)),
 *                  bj_result_exit_code(res));
 *   bj_result_free(res);
 *   bj_request_free(req);
 *
 * Rules for every function here:
 *  - 0 is success and -1 is failure, described in `err`. `err` may be NULL. It is untouched on
 *    success; `ret_*` parameters are untouched on failure.
 *  - Strings are copied; the caller keeps what it passed. What a request or a result returns
 *    belongs to it and lives as long as it does. `*_free(NULL)` is allowed.
 *  - The library never prints, never exits, never changes the caller's signals, umask, limits,
 *    working directory or cgroup. Different threads may use different requests at the same time.
 *  - Sizes are bytes, times are milliseconds.
 */
#ifndef BELLJAR_BELLJAR_H
#define BELLJAR_BELLJAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(BJ_BUILD)
#define BJ_API __attribute__((visibility("default")))
#else
#define BJ_API
#endif

/* ---- Errors ---------------------------------------------------------------------------- */

enum bj_code {
	BJ_OK = 0,
	BJ_INVALID,     /* a value, name, path or file given by the caller is wrong */
	BJ_REFUSED,     /* allowed by nobody: above the operator's ceiling */
	BJ_UNSUPPORTED, /* this host cannot give a layer that the policy requires */
	BJ_SETUP,       /* a layer could not be put up, or was not in force when read back */
	BJ_EXEC,        /* the program could not be started: not found, not executable */
	BJ_INTERNAL,    /* Belljar's own fault, or the host ran out of something */
};

struct bj_error {
	enum bj_code code;
	int os_error;      /* errno, or 0 */
	char layer[16];    /* name of the layer at fault, or "" */
	char message[512]; /* one line: what failed and why */
	char hint[512];    /* what to do about it, or "" */
};

/* ---- A request --------------------------------------------------------------------------- */

struct bj_request;

/*
 * The policy is the built-in profile `agent`. NULL only when out of memory, which every function
 * below says of a NULL request: to look at the last one's answer is enough.
 */
BJ_API struct bj_request *bj_request_new(void);
BJ_API void bj_request_free(struct bj_request *req);

/* Takes the place of the user's policy file ($XDG_CONFIG_HOME/belljar/policy.json). */
BJ_API int bj_request_policy_file(struct bj_request *req, const char *path, struct bj_error *err);
BJ_API int bj_request_profile(struct bj_request *req, const char *name, struct bj_error *err);

/* One policy field by its name, as on the command line: ("memory", "256m"), ("time", "10s"). */
BJ_API int bj_request_set(struct bj_request *req, const char *field, const char *value,
			  struct bj_error *err);

/* What to run; the last of these three calls counts. `args` may be NULL. Arrays end in NULL. */
BJ_API int bj_request_program(struct bj_request *req, const char *const argv[],
			      struct bj_error *err);
BJ_API int bj_request_code(struct bj_request *req, const char *language, const void *code,
			   size_t size, const char *const args[], struct bj_error *err);
/* A file of the host, copied to /workspace/.belljar/; `language` NULL: by extension or #!. */
BJ_API int bj_request_source(struct bj_request *req, const char *host_path, const char *language,
			     const char *const args[], struct bj_error *err);

/* Copy a file or directory of the host to /workspace/NAME; NULL: its own last name. */
BJ_API int bj_request_in(struct bj_request *req, const char *host_path, const char *name,
			 struct bj_error *err);
/* After the run, copy /workspace/NAME out to the host; NULL: the same name, here. */
BJ_API int bj_request_out(struct bj_request *req, const char *name, const char *host_path,
			  struct bj_error *err);
/* Bind read-only; only beneath prefixes that the ceiling lists. */
BJ_API int bj_request_ro(struct bj_request *req, const char *host_path, const char *path,
			 struct bj_error *err);
/* "NAME=VALUE", for the program alone. */
BJ_API int bj_request_env(struct bj_request *req, const char *assignment, struct bj_error *err);
/* Working directory inside; absolute. Default /workspace. */
BJ_API int bj_request_cwd(struct bj_request *req, const char *path, struct bj_error *err);
/* Standard input is copied from `fd` (borrowed until bj_run returns). Default: empty. */
BJ_API int bj_request_stdin(struct bj_request *req, int fd, struct bj_error *err);

enum bj_stream { BJ_STDOUT = 0, BJ_STDERR = 1 };

/*
 * Called from bj_run(), in its thread, with output as it comes; nothing is dropped. A return
 * other than 0 cancels the run. A callback that blocks stops the program's output, never its
 * deadline.
 */
typedef int (*bj_output_fn)(void *user, enum bj_stream stream, const void *data, size_t size);
BJ_API void bj_request_on_output(struct bj_request *req, bj_output_fn fn, void *user);

/* ---- A run ------------------------------------------------------------------------------- */

struct bj_result;

/*
 * Runs the request to its end. `cancel_fd`, if not negative, ends the run as `cancelled` when it
 * becomes readable (an eventfd, a pipe, a signalfd). Returns 0 with a result for everything that
 * can happen to a run, a refusal and a failure of Belljar included; -1 only where no result could
 * be made. A request may be run several times, by one thread at a time.
 */
BJ_API int bj_run(struct bj_request *req, int cancel_fd, struct bj_result **ret_result,
		  struct bj_error *err);
BJ_API void bj_result_free(struct bj_result *res);

enum bj_outcome {
	BJ_EXITED = 0,
	BJ_SIGNALED,
	BJ_TIME_LIMIT,
	BJ_CPU_LIMIT,
	BJ_MEMORY_LIMIT,
	BJ_OUTPUT_LIMIT,
	BJ_CANCELLED,
	BJ_OUTCOME_REFUSED,
	BJ_NOT_STARTED,
	BJ_SANDBOX_ERROR,
	BJ_OUTCOME_COUNT,
};

/* "exited", "time_limit", …; never NULL for a valid value. */
BJ_API const char *bj_outcome_name(enum bj_outcome outcome);

struct bj_output {
	const uint8_t *data;    /* what was kept: the head, then the tail */
	size_t size;            /* bytes at `data` */
	uint64_t bytes;         /* bytes the program wrote */
	uint64_t omitted_bytes; /* bytes - size */
	size_t omitted_at;      /* where in `data` they are missing; size when none are */
};

struct bj_usage {
	double wall_ms;
	double cpu_ms;
	uint64_t memory_peak_bytes; /* 0: this kernel does not say */
	uint64_t tasks_peak;        /* 0: this kernel does not say */
	const char *by;             /* "cgroup", "monitor" or "none" */
};

BJ_API enum bj_outcome bj_result_outcome(const struct bj_result *res);
/* Whether the program's first instruction may have run. */
BJ_API bool bj_result_started(const struct bj_result *res);
/* The program's exit code, or -1 when it did not exit. */
BJ_API int bj_result_exit_code(const struct bj_result *res);
/* The signal that ended it, or 0. */
BJ_API int bj_result_signal(const struct bj_result *res);
/* What `belljar run` exits with (the table is in belljar-run(1)). */
BJ_API int bj_result_status(const struct bj_result *res);
BJ_API struct bj_output bj_result_output(const struct bj_result *res, enum bj_stream stream);
BJ_API struct bj_usage bj_result_usage(const struct bj_result *res);
/* One or two sentences: what happened, what to do next. "" after a plain success. */
BJ_API const char *bj_result_hint(const struct bj_result *res);
/* For refused, not_started and sandbox_error: what failed. For others: what could not be copied out,
 * or BJ_OK. */
BJ_API const struct bj_error *bj_result_error(const struct bj_result *res);
/* The whole result as a JSON object, schema belljar.result/1, without a newline at its end; NULL
 * only when out of memory. */
BJ_API const char *bj_result_json(const struct bj_result *res);

/* ---- About this library -------------------------------------------------------------------- */

BJ_API const char *bj_version(void);

#ifdef __cplusplus
}
#endif

#endif
