/* SPDX-License-Identifier: Apache-2.0 */
/* The pages under docs/generated/. */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/docgen.h"
#include "cli/doctor_deep.h"
#include "run/languages.h"

#include <string.h>

static void title(FILE *to, const char *text)
{
	(void)fprintf(
		to,
		"<!-- Made by belljar-docgen from the tables of the source; `make docs` makes it "
		"anew. -->\n\n# %s\n\n",
		text);
}

/* A cell of a table: "|" would end it. */
static void cell(FILE *to, const char *text)
{
	(void)fputs("| ", to);
	for (; *text; text++) {
		if (*text == '|' || *text == '*' || *text == '<')
			(void)fputc('\\', to);
		(void)fputc(*text == '\n' ? ' ' : *text, to);
	}
	(void)fputc(' ', to);
}

static void code_cell(FILE *to, const char *text)
{
	(void)fprintf(to, "| `%s` ", text);
}

static void layers_page(FILE *to)
{
	title(to, "Layers");
	(void)fprintf(to,
		      "In order of set-up. Every one is put up on every run and proven before the "
		      "program's first instruction.\n\n"
		      "| layer | stops | leaves | needs | also stopped by | may be missing |\n"
		      "|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		code_cell(to, layers[i].name);
		cell(to, layers[i].stops);
		cell(to, layers[i].leaves);
		cell(to, layers[i].needs);
		cell(to, layers[i].shared ? layers[i].shared : "");
		cell(to, layers[i].may_be_missing ? "yes, if a policy file says so" : "no");
		(void)fprintf(to, "|\n");
	}
}

static void number_cell(FILE *to, const struct field *field, uint64_t value)
{
	char text[32];
	cell(to, value == CEILING_CPUS ? "all CPUs" : policy_format(field->unit, value, text));
}

static void policy_page(FILE *to)
{
	title(to, "Policy");
	(void)fprintf(to,
		      "One row for each field. In JSON a field is spelled as here; on the command "
		      "line with `-` for `_`. Sizes take k, m, g, t (1024); times take ms, s, m, "
		      "h.\n\n"
		      "| field | default | least | most | built-in ceiling | layer | text |\n"
		      "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *field = &policy_fields[i];
		code_cell(to, field->name);
		if (field->unit == UNIT_LIST) {
			cell(to, "none");
			cell(to, "");
			cell(to, "");
			cell(to, field->ceiling_only ? "only the operator's file" : "");
		} else {
			number_cell(to, field, field->standard);
			number_cell(to, field, field->min);
			number_cell(to, field, field->max);
			number_cell(to, field, field->ceiling);
		}
		cell(to, field->layer < LAYER_COUNT ? layers[field->layer].name : "");
		cell(to, field->text);
		(void)fprintf(to, "|\n");
	}
}

static void options_page(FILE *to)
{
	const struct option_row *table = options_table();
	title(to, "Options");
	for (size_t verb = 0; verb < VERB_COUNT; verb++) {
		(void)fprintf(to, "## belljar %s\n\n%s.\n\n```\n", verbs[verb].name,
			      verbs[verb].text);
		for (size_t i = 0; i < ARRAY_SIZE(verbs[verb].usage) && verbs[verb].usage[i]; i++)
			(void)fprintf(to, "belljar %s %s\n", verbs[verb].name,
				      verbs[verb].usage[i]);
		(void)fprintf(to, "```\n\n| option | text |\n|---|---|\n");
		for (size_t i = 0; i < OPTION_COUNT; i++) {
			if (!option_of(&table[i], (enum verb_id)verb))
				continue;
			(void)fprintf(to, "| `");
			if (table[i].letter)
				(void)fprintf(to, "-%c`, `", table[i].letter);
			(void)fprintf(to, "--%s", table[i].name);
			if (table[i].metavar) /* a "|" in code still ends a cell */
				(void)fprintf(to, " %s",
					      i == OPT_STDIN ? "FILE\\|-" : table[i].metavar);
			(void)fprintf(to, "` ");
			cell(to, table[i].text);
			(void)fprintf(to, "|\n");
		}
		(void)fprintf(to, "%s", verb + 1 < VERB_COUNT ? "\n" : "");
	}
}

static void words_cell(FILE *to, const char *const *words)
{
	(void)fprintf(to, "| ");
	for (size_t i = 0; words[i]; i++)
		(void)fprintf(to, "%s`%s`", i ? " " : "", words[i]);
	(void)fprintf(to, " ");
}

static void languages_page(FILE *to)
{
	struct languages languages;
	if (languages_builtin(&languages, NULL) < 0)
		return;
	title(to, "Languages");
	(void)fprintf(to, "Built in; belljar-run(1) says how a file adds more.\n\n"
			  "| name | other names | extensions | `#!` | needs | text | command |\n"
			  "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < languages.count; i++) {
		const struct language *row = &languages.rows[i];
		code_cell(to, row->name);
		words_cell(to, row->aliases);
		words_cell(to, row->extensions);
		words_cell(to, row->interpreters);
		cell(to, row->needs);
		cell(to, row->text);
		words_cell(to, row->command);
		(void)fprintf(to, "|\n");
	}
	languages_free(&languages);
}

static const char *where_tried(const struct deep_row *row)
{
	switch (row->run) {
	case DEEP_RUN_SMALL:
		return "in a run with small limits";
	case DEEP_RUN_LATER:
		return "in a second run";
	case DEEP_RUN_ENDED:
		return "in a run of its own";
	case DEEP_RUN_INSIDE:
	case DEEP_RUN_OUTSIDE:
	default:
		return "in a run";
	}
}

static void checks_page(FILE *to)
{
	title(to, "Deep checks");
	(void)fprintf(
		to,
		"The %zu checks of `belljar doctor --deep`. Each is one action that must come to "
		"exactly what is listed, an errno, the signal that ends the process which tried, "
		"the outcome of the run, or `hidden` (looked for and not there), and a "
		"counterpart that must work. Where the counterpart is \"the same outside\" the "
		"doctor's own user does the same on a bait that the doctor has laid.\n\n"
		"| check | layer | tried | where | must come to | must work |\n"
		"|---|---|---|---|---|---|\n",
		(size_t)DEEP_COUNT);
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		const struct deep_row *row = &deep_rows[i];
		code_cell(to, row->id);
		code_cell(to, layers[row->layer].name);
		cell(to, row->text);
		cell(to, where_tried(row));
		code_cell(to, row->sign);
		cell(to, row->other);
		(void)fprintf(to, "|\n");
	}
}

const struct page pages[] = {
	{"layers.md", layers_page},	  {"policy.md", policy_page}, {"options.md", options_page},
	{"languages.md", languages_page}, {"checks.md", checks_page},
};
const size_t page_count = ARRAY_SIZE(pages);
