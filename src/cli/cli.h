/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line. Two tables: verbs (verbs.c) and options (options.c), into which the policy's
 * fields are merged. Parsing, --help, the man pages and the completion are made from them.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/error.h"
#include "base/suggest.h"
#include "policy/policy.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses of Belljar's own; the whole table is in belljar-run(1). */
enum {
	STATUS_OK = 0,
	STATUS_NO = 1, /* doctor: not proven; policy check: the file is wrong */
	STATUS_REFUSED = 125,
	STATUS_SIGNAL = 128, /* + its number */
};

enum verb_id {
	VERB_RUN,
	VERB_DOCTOR,
	VERB_LAYERS,
	VERB_POLICY_SHOW,
	VERB_POLICY_CHECK,
	VERB_VERSION,
	VERB_HELP,
	VERB_COUNT,
};

enum option_id {
	OPT_HELP,
	OPT_CODE,
	OPT_LANG,
	OPT_IN,
	OPT_OUT,
	OPT_RO,
	OPT_ENV,
	OPT_CWD,
	OPT_STDIN,
	OPT_IMAGE,
	OPT_PROFILE,
	OPT_POLICY,
	OPT_JSON,
	OPT_SCHEMA,
	OPT_QUIET,
	OPT_RECEIPT,
	OPT_DEEP,
	OPT_FIELD, /* the first of the policy's fields: OPT_FIELD + enum field_id */
	OPTION_COUNT = OPT_FIELD + FIELD_COUNT,
};

struct option_row {
	const char *name; /* without "--"; NULL: a field that is no option */
	char letter;	  /* of the short option, or 0 */
	const char *metavar;
	bool repeats;
	uint32_t verbs; /* bits of enum verb_id */
	const char *text;
};

/* OPTION_COUNT rows. */
const struct option_row *options_table(void);

static inline bool option_of(const struct option_row *row, enum verb_id verb)
{
	return row->name && (row->verbs & (UINT32_C(1) << verb));
}

/* What was given on the command line. */
struct given {
	enum option_id option;
	const char *value;
};

struct invocation {
	enum verb_id verb;
	struct given *given; /* in the order of the command line */
	size_t given_count;
	const char *const *args; /* what is left, ends in NULL */
	int arg_count;
	bool dashes; /* args came after "--" */
	bool json, quiet;
};

/* The options of `argv[0…]` for `verb`; argv[0] is skipped. Stops at the first non-option. */
int options_parse(struct invocation *invocation, enum verb_id verb, int argc, char **argv,
		  struct bj_error *err);
/* The last value of an option that was given, or NULL. */
const char *option_value(const struct invocation *invocation, enum option_id option);
bool option_given(const struct invocation *invocation, enum option_id option);

struct verb {
	const char *name;     /* one word or two */
	const char *usage[4]; /* what follows "belljar NAME" */
	const char *text;
	const char *more; /* a paragraph for --help and the man page, or NULL */
	const char *page; /* its man page */
	int args_max;	  /* arguments besides options; -1: any number */
	bool starts_runs; /* puts this process into a leaf of its delegated cgroup first */
	int (*run)(const struct invocation *invocation); /* returns the exit status */
};

extern const struct verb verbs[VERB_COUNT];

int run_verb(const struct invocation *invocation);
int doctor_verb(const struct invocation *invocation);
int layers_verb(const struct invocation *invocation);
int policy_show_verb(const struct invocation *invocation);
int policy_check_verb(const struct invocation *invocation);
int version_verb(const struct invocation *invocation);
int help_verb(const struct invocation *invocation);

/* help.c */
void help_all(FILE *to);
void help_one(FILE *to, enum verb_id verb);

/* policy_args.c: the policy that --policy, --profile and the fields ask for, unchecked. */
int policy_from(const struct invocation *invocation, struct policy *ret, struct bj_error *err);

#endif
