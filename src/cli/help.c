/* SPDX-License-Identifier: Apache-2.0 */
/* --help and `belljar help`, from the tables. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/say.h"

#include <string.h>

#define INDENT 26

void help_all(FILE *to)
{
	(void)fprintf(to, "usage: belljar VERB [options]\n\n"
			  "Runs code that nobody has read, and says exactly what happened.\n\n");
	for (size_t i = 0; i < VERB_COUNT; i++)
		(void)fprintf(to, "  %-14s %s\n", verbs[i].name, verbs[i].text);
	(void)fprintf(to, "\n`belljar VERB --help` and belljar(1) say more.\nSizes take k, m, g, t "
			  "(1024); times take ms, s, m, h.\n");
}

static void print_option(FILE *to, size_t id)
{
	const struct option_row *row = &options_table()[id];
	char left[64], text[512], value[32];
	int len = snprintf(left, sizeof(left), "  %c%c%s--%s %s", row->letter ? '-' : ' ',
			   row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
			   row->metavar ? row->metavar : "");
	if (id >= OPT_FIELD) {
		const struct field *field = &policy_fields[id - OPT_FIELD];
		(void)snprintf(text, sizeof(text), "%s; default %s", row->text,
			       policy_format(field->unit, field->standard, value));
	} else {
		(void)snprintf(text, sizeof(text), "%s", row->text);
	}
	(void)fputs(left, to);
	if (len >= INDENT)
		(void)fprintf(to, "\n%*s", INDENT, "");
	else
		(void)fprintf(to, "%*s", INDENT - len, "");
	say_wrapped(to, text, INDENT, INDENT);
}

static void print_options(FILE *to, enum verb_id verb, const char *title, size_t from, size_t end)
{
	bool any = false;
	for (size_t i = from; i < end; i++) {
		if (!option_of(&options_table()[i], verb))
			continue;
		if (!any)
			(void)fprintf(to, "\n%s\n", title);
		any = true;
		print_option(to, i);
	}
}

void help_one(FILE *to, enum verb_id verb)
{
	const struct verb *row = &verbs[verb];
	for (size_t i = 0; i < ARRAY_SIZE(row->usage) && row->usage[i]; i++)
		(void)fprintf(to, "%s belljar %s %s\n", i ? "      " : "usage:", row->name,
			      row->usage[i]);
	(void)fputc('\n', to);
	(void)fprintf(to, "%s%s%s\n", colour_on(to, BOLD), row->text, colour_off(to));
	if (row->more) {
		(void)fputc('\n', to);
		say_wrapped(to, row->more, 0, 0);
	}
	print_options(to, verb, "Options:", 0, OPT_FIELD);
	print_options(to, verb, "Policy:", OPT_FIELD, OPTION_COUNT);
	(void)fprintf(to, "\nMore: man %s\n", row->page);
}

int help_verb(const struct invocation *invocation)
{
	if (invocation->arg_count == 0) {
		help_all(stdout);
		return say_flush(STATUS_OK);
	}
	bool found = false;
	char name[64];
	(void)snprintf(name, sizeof(name), "%s%s%s", invocation->args[0],
		       invocation->arg_count > 1 ? " " : "",
		       invocation->arg_count > 1 ? invocation->args[1] : "");
	struct suggestion suggestion = {.meant = name};
	for (size_t i = 0; i < VERB_COUNT; i++) {
		size_t first = strcspn(verbs[i].name, " ");
		suggest_add(&suggestion, verbs[i].name);
		if (strcmp(verbs[i].name, name) != 0 &&
		    !(strlen(name) == first && strncmp(verbs[i].name, name, first) == 0))
			continue;
		if (found)
			(void)putchar('\n');
		help_one(stdout, (enum verb_id)i);
		found = true;
	}
	if (found)
		return say_flush(STATUS_OK);
	struct bj_error err;
	char quoted[TEXT_VALUE_SIZE];
	(void)fail(&err, BJ_INVALID, "%s is not a verb", text_quote(quoted, sizeof(quoted), name));
	if (suggest_best(&suggestion))
		(void)fail_hint(&err, "Did you mean `belljar help %s`?", suggest_best(&suggestion));
	return say_refused(invocation, &err);
}
