/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy: numbers and lists, a row each in fields.def. Pure data; nothing here makes a system
 * call except to read a policy file.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/error.h"
#include "layers/layer.h"

#include <stdint.h>

enum field_id {
#define NUMBER(id, ...) FIELD_##id,
#define LIST(id, ...)	FIELD_##id,
#include "policy/fields.def"
#undef NUMBER
#undef LIST
	FIELD_COUNT,
};

enum field_unit { UNIT_SIZE, UNIT_TIME, UNIT_COUNT, UNIT_MILLI, UNIT_LIST };

/* Ceiling of a NUMBER that means "as many CPUs as the host has", in thousandths. */
#define CEILING_CPUS UINT64_MAX

struct field {
	const char *name; /* as in JSON: "keep_output" */
	enum field_unit unit;
	bool ceiling_only; /* LIST: only the operator's file may set it */
	uint64_t standard, min, max, ceiling;
	enum layer_id layer;
	const char *metavar;
	const char *text;
};

extern const struct field policy_fields[FIELD_COUNT];

/* FIELD_COUNT when there is none; "-" and "_" are the same here. */
enum field_id field_by_name(const char *name);

/* Where a value came from. */
enum policy_origin { FROM_BUILTIN, FROM_FILE, FROM_PROFILE, FROM_OPTION, POLICY_ORIGIN_COUNT };

struct policy_file; /* what a policy file says: policy_file.h */

struct policy {
	uint64_t number[FIELD_COUNT]; /* UNIT_LIST rows: unused */
	char **list[FIELD_COUNT];     /* NULL-terminated, or NULL: empty */
	enum policy_origin origin[FIELD_COUNT];
	char *origin_name[FIELD_COUNT]; /* file path, profile name or option; NULL: built-in */
	struct policy_file *file;	/* the user's file, for its profiles, or NULL */
};

void policy_init(struct policy *policy); /* the built-in profile `agent` */
void policy_free(struct policy *policy);
int policy_copy(struct policy *ret, const struct policy *from, struct bj_error *err);

/*
 * A value is option, else profile, else user file, else built-in, in whatever order the next three
 * are called; only that policy_load() must come before policy_profile() for its profiles to be
 * found. A second file or profile takes the place of the first. On failure `policy` is as it was.
 */

/*
 * "64m", "10s", "0.5": range-checked; `where` names the source in messages ("--memory"). Lists are
 * refused: only a policy file may name what is to be accepted as missing.
 */
int policy_set(struct policy *policy, enum field_id id, const char *value, const char *where,
	       struct bj_error *err);

/* The user's file (`path` NULL: $XDG_CONFIG_HOME/belljar/policy.json where it exists). */
int policy_load(struct policy *policy, const char *path, struct bj_error *err);
/* A named profile: built-in `agent`, one of the loaded file's "profiles", or of the operator's. */
int policy_profile(struct policy *policy, const char *name, struct bj_error *err);

/* The ceiling: built-in, then BELLJAR's /etc/belljar/policy.json over it. */
int ceiling_load(struct policy *ret_ceiling, struct bj_error *err);
/* BJ_REFUSED, naming field, value, ceiling and file, when `policy` is above `ceiling`. */
int ceiling_check(const struct policy *policy, const struct policy *ceiling, struct bj_error *err);

/* Whether the host path is beneath one of the ceiling's ro_prefixes, by whole components. */
bool ceiling_allows_ro(const struct policy *ceiling, const char *host_path);

/* Bits of enum layer_id named by accept_missing. */
uint32_t policy_accept_missing(const struct policy *policy);

/* "256m", "10s", "0.5", "64": how people write the value. Returns `text`. */
const char *policy_format(enum field_unit unit, uint64_t value, char text[32]);

/*
 * Where the value came from, for people: "built-in", a file's path, "profile research",
 * "--memory". Fit for a terminal. Returns `out`, of `size` bytes (TEXT_PATH_SIZE is enough).
 */
const char *policy_origin_text(const struct policy *policy, enum field_id id, char *out,
			       size_t size);

/* The JSON Schema of a user's policy file, or of the operator's. The caller frees it. */
int policy_schema(bool operator_file, char **ret_json, struct bj_error *err);

#endif
