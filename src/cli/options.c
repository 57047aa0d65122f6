/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options and the parser over it. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#define BIT(verb) (UINT32_C(1) << VERB_##verb)
#define EVERY	  ((UINT32_C(1) << VERB_COUNT) - 1)

/* What getopt_long() returns for a long option: above every letter. */
#define LONG_BASE 256

static const struct option_row own[OPT_FIELD] = {
	[OPT_HELP] = {"help", 'h', NULL, false, EVERY, "print this help"},
	[OPT_CODE] = {"code", 'c', "CODE", false, BIT(RUN),
		      "run this code instead of a file; needs --lang"},
	[OPT_LANG] = {"lang", 0, "NAME", false, BIT(RUN),
		      "language of the file or the code; a file's is else known by its extension "
		      "or its #! line, that of code on standard input (-) must be named"},
	[OPT_IN] = {"in", 0, "HOST[:NAME]", true, BIT(RUN),
		    "copy a file or directory of the host to /workspace/NAME before the run; NAME "
		    "is else the last name of HOST"},
	[OPT_OUT] = {"out", 0, "NAME[:HOST]", true, BIT(RUN),
		     "copy /workspace/NAME to the host after the run; HOST is else the same name, "
		     "here"},
	[OPT_RO] = {"ro", 0, "HOST:PATH", true, BIT(RUN),
		    "bind a file or directory of the host read-only at PATH; only beneath prefixes "
		    "that the ceiling lists"},
	[OPT_ENV] = {"env", 0, "NAME=VALUE", true, BIT(RUN),
		     "one environment variable for the program"},
	[OPT_CWD] = {"cwd", 0, "DIR", false, BIT(RUN),
		     "working directory inside, an absolute path; a relative one is refused, as it "
		     "could be meant on the host; default /workspace"},
	[OPT_STDIN] = {"stdin", 0, "FILE|-", false, BIT(RUN),
		       "standard input for the program: a file, or - for belljar's own; default "
		       "empty"},
	[OPT_IMAGE] = {"image", 0, "NAME", false, BIT(RUN),
		       "root file system; `host`, the default, is the host's /usr, read-only"},
	[OPT_PROFILE] =
		{"profile", 0, "NAME", false, BIT(RUN) | BIT(POLICY_SHOW),
		 "a named policy, which goes before the user's file; `agent` is built in, takes "
		 "nothing from that file and accepts no layer as missing"},
	[OPT_POLICY] = {"policy", 0, "FILE", false, BIT(RUN) | BIT(POLICY_SHOW),
			"a policy file, in place of the user's"},
	[OPT_JSON] = {"json", 0, NULL, false, EVERY & ~BIT(HELP),
		      "print one JSON object on standard output and nothing else"},
	[OPT_SCHEMA] = {"schema", 0, NULL, false, BIT(POLICY_SHOW),
			"print the JSON schema of a policy file"},
	[OPT_QUIET] = {"quiet", 'q', NULL, false, BIT(RUN), "say nothing about how the run ended"},
	[OPT_RECEIPT] = {"receipt", 0, NULL, false, BIT(RUN),
			 "print the receipt, a line for each layer, on standard error"},
	[OPT_DEEP] =
		{"deep", 0, NULL, false, BIT(DOCTOR),
		 "try more than a hundred things besides; takes some seconds and does no harm"},
};

#define FIELD_NAME_SIZE 24

static struct option_row field_row(enum field_id id)
{
	static char names[FIELD_COUNT][FIELD_NAME_SIZE];
	const struct field *field = &policy_fields[id];
	if (field->unit == UNIT_LIST)
		return (struct option_row){0};
	for (size_t i = 0; field->name[i] && i + 1 < FIELD_NAME_SIZE; i++)
		names[id][i] = field->name[i] == '_' ? '-' : field->name[i];
	return (struct option_row){
		.name = names[id],
		.metavar = field->metavar,
		.verbs = BIT(RUN) | BIT(POLICY_SHOW),
		.text = field->text,
	};
}

const struct option_row *options_table(void)
{
	static struct option_row table[OPTION_COUNT];
	if (table[0].name)
		return table;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		table[OPT_FIELD + i] = field_row((enum field_id)i);
	memcpy(table, own, sizeof(own));
	return table;
}

/* The same rows as getopt_long() wants them. */
struct parser {
	struct option longs[OPTION_COUNT + 1];
	char shorts[2 * OPTION_COUNT + 3];
	uint32_t seen[OPTION_COUNT / 32 + 1];
};

static void parser_init(struct parser *parser, enum verb_id verb)
{
	const struct option_row *table = options_table();
	struct option *next = parser->longs;
	char *letter = parser->shorts;
	*letter++ = '+'; /* stop at the first that is no option */
	*letter++ = ':'; /* tell a missing value from an unknown option */
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &table[i];
		if (!option_of(row, verb))
			continue;
		*next++ = (struct option){
			.name = row->name,
			.has_arg = row->metavar ? required_argument : no_argument,
			.val = LONG_BASE + i,
		};
		if (!row->letter)
			continue;
		*letter++ = row->letter;
		if (row->metavar)
			*letter++ = ':';
	}
}

static int unknown(enum verb_id verb, const char *word, struct bj_error *err)
{
	const struct option_row *table = options_table();
	char name[64], quoted[TEXT_VALUE_SIZE];
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	struct suggestion suggestion = {.meant = name + strspn(name, "-")};
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_of(&table[i], verb))
			suggest_add(&suggestion, table[i].name);
	(void)fail(err, BJ_INVALID, "%s is not an option of `belljar %s`",
		   text_escape(quoted, sizeof(quoted), name), verbs[verb].name);
	const char *best = strlen(suggestion.meant) > 1 ? suggest_best(&suggestion) : NULL;
	if (best)
		return fail_hint(err, "Did you mean --%s?", best);
	return fail_hint(err, "`belljar %s --help` lists them.", verbs[verb].name);
}

static const struct option_row *row_of(int got)
{
	const struct option_row *table = options_table();
	if (got >= LONG_BASE && got < LONG_BASE + OPTION_COUNT)
		return &table[got - LONG_BASE];
	for (size_t i = 0; got > 0 && i < OPTION_COUNT; i++)
		if (table[i].name && table[i].letter == (char)got)
			return &table[i];
	return NULL;
}

/* getopt_long() said '?' or ':'; `word` is the argument that it looked at. */
static int misused(enum verb_id verb, int got, const char *word, struct bj_error *err)
{
	const struct option_row *row = row_of(optopt);
	if (got == ':' && row)
		return fail(err, BJ_INVALID, "--%s needs a value: %s", row->name, row->metavar);
	if (optopt >= LONG_BASE && row)
		return fail(err, BJ_INVALID, "--%s takes no value", row->name);
	return unknown(verb, word, err);
}

/*
 * getopt_long() takes the beginning of a name for the name. That is not accepted: what is
 * unambiguous today need not be tomorrow.
 */
static bool abbreviated(const char *word, const struct option_row *row)
{
	const char *name = word + 2;
	size_t len = strcspn(name, "=");
	return len != strlen(row->name) || memcmp(name, row->name, len) != 0;
}

/* After a mistake what follows cannot be trusted to be an option; but a reader of JSON is still
 * owed JSON. */
static bool asks_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--json") == 0)
			return true;
	return false;
}

static int take(struct invocation *invocation, struct parser *parser, const struct option_row *row,
		const char *value, struct bj_error *err)
{
	size_t id = (size_t)(row - options_table());
	uint32_t bit = UINT32_C(1) << (id % 32);
	if (!row->repeats && (parser->seen[id / 32] & bit))
		return fail(err, BJ_INVALID, "--%s is given twice", row->name);
	parser->seen[id / 32] |= bit;
	invocation->given[invocation->given_count++] =
		(struct given){.option = (enum option_id)id, .value = value};
	invocation->json |= id == OPT_JSON;
	invocation->quiet |= id == OPT_QUIET;
	return 0;
}

int options_parse(struct invocation *invocation, enum verb_id verb, int argc, char **argv,
		  struct bj_error *err)
{
	struct parser parser = {0};
	parser_init(&parser, verb);
	invocation->verb = verb;
	invocation->given = calloc((size_t)argc + OPTION_COUNT, sizeof(*invocation->given));
	if (!invocation->given)
		return fail(err, BJ_INTERNAL, "out of memory");
	opterr = 0;
	optind = 0; /* glibc: start afresh */
	int before = 1;
	for (;;) {
		int got = getopt_long(argc, argv, parser.shorts, parser.longs, NULL);
		if (got == -1)
			break;
		const char *word = argv[before];
		const struct option_row *row = row_of(got);
		int failed = 0;
		if (got == '?' || got == ':' || !row)
			failed = misused(verb, got, word, err);
		else if (got >= LONG_BASE && abbreviated(word, row))
			failed = unknown(verb, word, err);
		else
			failed = take(invocation, &parser, row, optarg, err);
		if (failed < 0) {
			invocation->json = invocation->json || asks_json(argv + before);
			return -1;
		}
		before = optind;
	}
	invocation->dashes = optind > before && strcmp(argv[optind - 1], "--") == 0;
	invocation->args = (const char *const *)argv + optind;
	invocation->arg_count = argc - optind;
	return 0;
}

const char *option_value(const struct invocation *invocation, enum option_id option)
{
	const char *value = NULL;
	for (size_t i = 0; i < invocation->given_count; i++)
		if (invocation->given[i].option == option)
			value = invocation->given[i].value;
	return value;
}

bool option_given(const struct invocation *invocation, enum option_id option)
{
	for (size_t i = 0; i < invocation->given_count; i++)
		if (invocation->given[i].option == option)
			return true;
	return false;
}
