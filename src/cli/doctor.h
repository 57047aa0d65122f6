/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `belljar doctor`, in parts: what is tried (doctor_try.c; with --deep: doctor_deep.h), with what
 * of the host as bait (doctor_bait.c), what the host is like (doctor_host.c), what to do
 * (doctor_mend.c); doctor.c judges and prints.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"
#include "run/explain.h"

#define CHECKS_MAX 128

/* One action that was tried. */
struct trial {
	enum layer_id layer;
	bool denied; /* it had to be */
	bool ok;
	char text[64];
	char got[24]; /* "EPERM", "time_limit", "" */
};

enum diagnosis {
	DIAGNOSIS_NONE, /* not set up on this host: `monitor`, with a cgroup */
	DIAGNOSIS_PROVEN,
	DIAGNOSIS_ACCEPTED_MISSING,
	DIAGNOSIS_FAILED,
	DIAGNOSIS_UNKNOWN, /* no sandbox could be made, so it could not be tried in one */
	DIAGNOSIS_COUNT,
};

struct doctor {
	struct trial trials[CHECKS_MAX];
	size_t trial_count;
	enum diagnosis layer[LAYER_COUNT];
	char by[LAYER_COUNT][12];
	char note[LAYER_COUNT][96];
	struct bj_error
		fault[LAYER_COUNT]; /* why a run was refused for this layer; BJ_OK: it was not */
	struct bj_error error;	    /* why no sandbox could be made at all; BJ_OK: one could */
	bool receipt[LAYER_COUNT];  /* the receipt of the run inside has a row */
	uint32_t without;	    /* layers left out by a policy file to get a sandbox */
	struct deep *deep;	    /* NULL without --deep */
};

void doctor_add(struct doctor *doctor, enum layer_id layer, bool denied, bool ok, const char *text,
		const char *got);

/* Things of the host that a program inside must not reach. */
#define BAIT_ARGS_MAX 24
struct bait {
	char path[32], socket_path[40], word[32], queue[40];
	int file_fd, tcp_fd, abstract_fd, socket_fd, left_open_fd;
	int shm_id, sem_id, msg_id;
	int left_key;			     /* of the segment that a run leaves */
	char args[BAIT_ARGS_MAX][96];	     /* NAME=VALUE */
	const char *argv[BAIT_ARGS_MAX + 2]; /* "inside", the above, NULL */
};

int bait_set(struct bait *bait, struct bj_error *err);
void bait_take_away(struct bait *bait);

/* Fills `doctor` but for the judgement. */
void doctor_try(struct doctor *doctor);

/* doctor_probe.c */
const char *doctor_probe(void);

/* A value of the policy; the last has no name. */
struct doctor_field {
	const char *name, *value;
};

/* A run of the probe with these arguments; NULL: none came about. */
struct bj_result *doctor_run(uint32_t without, const char *const args[],
			     const struct doctor_field *fields, struct bj_error *err);
/*
 * The probe with these arguments, outside any sandbox; `hear` is called for each line that it says.
 * Its input ends after the first.
 */
typedef void (*line_fn)(void *user, const char *line, size_t size);
void doctor_outside(const char *const args[], line_fn hear, void *user);

void for_each_line(const char *text, size_t size, line_fn hear, void *user);

/* What the host is like, as pairs of texts for people. */
struct host_line {
	const char *name;
	char text[128];
};
#define HOST_LINES_MAX 16
size_t doctor_host(struct host_line lines[HOST_LINES_MAX]);

/* The mends for a layer that is not proven, one after the other; NULL when `index` is past them. */
struct doctor_mend {
	const char *where; /* "Debian", "Ubuntu 24.04", … */
	const char *text;
};
const struct doctor_mend *doctor_mend(enum layer_id layer, size_t index);

/*
 * What no layer can bring about and the operator may want to change. Nothing that fails: the layers
 * are what they are.
 */
struct doctor_warning {
	char text[400];
	const char *mend;
};
#define WARNINGS_MAX 1
size_t doctor_warnings(struct doctor_warning warnings[WARNINGS_MAX]);

#endif
