/* SPDX-License-Identifier: Apache-2.0 */
/* belljar: finds the verb, parses its options, runs it. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "run/host_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

/*
 * A missing standard descriptor would be taken by the next file that is opened, and output would
 * land in it. The place is filled the wrong way round, so that using it fails as it would have.
 */
static int fill_stdio(void)
{
	static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (errno != EBADF || open("/dev/null", flags[fd]) != fd)
			return -1;
	}
	return 0;
}

/* How many words of `argv` are the name of this verb: 0, 1 or 2. */
static int names_verb(const struct verb *verb, int argc, char **argv)
{
	size_t len = strcspn(verb->name, " ");
	if (strlen(argv[0]) != len || strncmp(argv[0], verb->name, len) != 0)
		return 0;
	if (!verb->name[len])
		return 1;
	return argc > 1 && strcmp(argv[1], verb->name + len + 1) == 0 ? 2 : 0;
}

static int unknown_verb(int argc, char **argv, struct bj_error *err)
{
	char quoted[TEXT_VALUE_SIZE];
	/* The first of two words: say what the second may be. */
	for (size_t i = 0; i < VERB_COUNT; i++) {
		size_t len = strcspn(verbs[i].name, " ");
		if (!verbs[i].name[len] || strlen(argv[0]) != len ||
		    strncmp(argv[0], verbs[i].name, len) != 0)
			continue;
		if (argc > 1)
			(void)fail(err, BJ_INVALID, "belljar %s: %s is not one of its verbs",
				   argv[0], text_quote(quoted, sizeof(quoted), argv[1]));
		else
			(void)fail(err, BJ_INVALID, "belljar %s: a second word is missing",
				   argv[0]);
		return fail_hint(err, "Use `belljar policy show` or `belljar policy check FILE`.");
	}
	(void)fail(err, BJ_INVALID, "%s is not a verb",
		   text_quote(quoted, sizeof(quoted), argv[0]));
	if (strchr(argv[0], '/') || strchr(argv[0], '.') || access(argv[0], F_OK) == 0)
		return fail_hint(err, "To run a file: belljar run FILE");
	struct suggestion suggestion = {.meant = argv[0]};
	for (size_t i = 0; i < VERB_COUNT; i++)
		suggest_add(&suggestion, verbs[i].name);
	if (suggest_best(&suggestion))
		return fail_hint(err, "Did you mean `belljar %s`?", suggest_best(&suggestion));
	return fail_hint(err, "`belljar help` lists them.");
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* `belljar policy --help`: both of its verbs. */
static int help_of_both(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[0], "policy") != 0 || !is_one_of(argv[1], "--help", "-h"))
		return -1;
	help_one(stdout, VERB_POLICY_SHOW);
	(void)putchar('\n');
	help_one(stdout, VERB_POLICY_CHECK);
	return say_flush(STATUS_OK);
}

/* Whatever is wrong with a command line, a reader of JSON is owed JSON. */
static bool asks_json(int argc, const char *const *argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

static int verb_of(int argc, char **argv, enum verb_id *ret, int *ret_words)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		int words = names_verb(&verbs[i], argc, argv);
		if (!words)
			continue;
		*ret = (enum verb_id)i;
		*ret_words = words;
		return 0;
	}
	return -1;
}

static int check_args(const struct invocation *invocation, struct bj_error *err)
{
	const struct verb *verb = &verbs[invocation->verb];
	char quoted[TEXT_VALUE_SIZE];
	if (verb->args_max < 0 || invocation->arg_count <= verb->args_max)
		return 0;
	const char *extra = invocation->args[verb->args_max];
	(void)text_quote(quoted, sizeof(quoted), extra);
	if (verb->args_max)
		(void)fail(err, BJ_INVALID, "belljar %s: %s is an argument too many", verb->name,
			   quoted);
	else
		(void)fail(err, BJ_INVALID, "belljar %s takes no arguments: %s", verb->name,
			   quoted);
	if (extra[0] == '-' && extra[1])
		return fail_hint(err, "Options go before arguments.");
	return fail_hint(err, "`belljar %s --help` shows how it is used.", verb->name);
}

/* A process that cannot make itself a leaf runs on: the `cgroup` layer is then refused by name. */
static int run_verb_of(const struct invocation *invocation)
{
	const struct verb *verb = &verbs[invocation->verb];
	if (verb->starts_runs)
		(void)host_cgroup_enter_leaf(NULL);
	int status = verb->run(invocation);
	if (verb->starts_runs)
		host_cgroup_leave_leaf();
	return status;
}

int main(int argc, char **argv)
{
	if (fill_stdio() < 0)
		return STATUS_REFUSED;
	(void)signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of write() */
	/* A line is one write, whoever else writes to the same log: musl's would be one for each
	 * part. */
	static char line[4096];
	(void)setvbuf(stderr, line, _IOLBF, sizeof(line));
	if (argc < 2) {
		help_all(stderr);
		return STATUS_REFUSED;
	}
	if (is_one_of(argv[1], "--help", "-h")) {
		help_all(stdout);
		return say_flush(STATUS_OK);
	}
	if (strcmp(argv[1], "--version") == 0)
		argv[1] = argv[1] + 2;
	int both = help_of_both(argc - 1, argv + 1);
	if (both >= 0)
		return both;

	struct invocation invocation = {0};
	struct bj_error err = {0};
	int words = 0;
	if (verb_of(argc - 1, argv + 1, &invocation.verb, &words) < 0) {
		(void)unknown_verb(argc - 1, argv + 1, &err);
		invocation.verb = VERB_HELP;
		invocation.json = asks_json(argc - 1, (const char *const *)argv + 1);
		return say_refused(&invocation, &err);
	}
	int status;
	if (options_parse(&invocation, invocation.verb, argc - words, argv + words, &err) < 0) {
		status = say_refused(&invocation, &err);
	} else if (option_given(&invocation, OPT_HELP)) {
		help_one(stdout, invocation.verb);
		status = say_flush(STATUS_OK);
	} else if (check_args(&invocation, &err) < 0) {
		invocation.json |= invocation.verb != VERB_HELP &&
				   asks_json(invocation.arg_count, invocation.args);
		status = say_refused(&invocation, &err);
	} else {
		status = run_verb_of(&invocation);
	}
	free(invocation.given);
	return status;
}
