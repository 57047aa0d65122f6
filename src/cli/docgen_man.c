/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of the man sources (scdoc): "@options run@", "@fields@", "@verbs@", "@synopsis run@",
 * "@layers@", "@languages@".
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/docgen.h"
#include "run/languages.h"

#include <string.h>

/* scdoc reads "_" and "*" as emphasis, and "\" as an escape. */
static void scd(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("_*\\`<>#[]|", *text))
			(void)fputc('\\', to);
		(void)fputc(*text, to);
	}
}

static int verb_named(const char *name, enum verb_id *ret)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (strcmp(verbs[i].name, name) == 0) {
			*ret = (enum verb_id)i;
			return 0;
		}
	}
	return -1;
}

static void option_head(FILE *to, const struct option_row *row)
{
	if (row->letter)
		(void)fprintf(to, "*-%c*, ", row->letter);
	(void)fprintf(to, "*--%s*", row->name);
	if (row->metavar) {
		(void)fprintf(to, " _");
		scd(to, row->metavar);
		(void)fprintf(to, "_");
	}
	(void)fprintf(to, "\n");
}

static void sentence(FILE *to, const char *text)
{
	char first[2] = {text[0], '\0'};
	if (first[0] >= 'a' && first[0] <= 'z')
		first[0] = (char)(first[0] - 'a' + 'A');
	scd(to, first);
	scd(to, text + 1);
}

static int options(FILE *to, const char *name)
{
	enum verb_id verb;
	if (verb_named(name, &verb) < 0)
		return -1;
	for (size_t i = 0; i < OPT_FIELD; i++) {
		const struct option_row *row = &options_table()[i];
		if (!option_of(row, verb))
			continue;
		option_head(to, row);
		(void)fprintf(to, "\t");
		sentence(to, row->text);
		(void)fprintf(to, ".%s\n\n", row->repeats ? " May be given more than once." : "");
	}
	return 0;
}

static const char *number(enum field_id id, uint64_t value, char text[32])
{
	if (value == CEILING_CPUS)
		return "all of the host's";
	return policy_format(policy_fields[id].unit, value, text);
}

/* The policy's fields as options. */
static void field_options(FILE *to)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct option_row *row = &options_table()[OPT_FIELD + i];
		char text[32];
		if (!row->name)
			continue;
		option_head(to, row);
		(void)fprintf(to, "\t");
		sentence(to, row->text);
		(void)fprintf(to, ". Default %s.\n\n",
			      number((enum field_id)i, policy_fields[i].standard, text));
	}
}

/* The policy's fields as keys of a file. */
static void fields(FILE *to)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *field = &policy_fields[i];
		enum field_id id = (enum field_id)i;
		char text[32];
		(void)fprintf(to, "*");
		scd(to, field->name);
		(void)fprintf(to, "*\n\t");
		sentence(to, field->text);
		(void)fprintf(to, ". ");
		if (field->unit == UNIT_LIST) {
			(void)fprintf(to, "%s\n\n",
				      field->ceiling_only ? "A list; only the operator's file."
							  : "A list.");
			continue;
		}
		(void)fprintf(to, "Default %s,", number(id, field->standard, text));
		(void)fprintf(to, " at least %s,", number(id, field->min, text));
		(void)fprintf(to, " at most %s;", number(id, field->max, text));
		(void)fprintf(to, " built-in ceiling %s. Layer *%s*.\n\n",
			      number(id, field->ceiling, text), layers[field->layer].name);
	}
}

static void verb_list(FILE *to)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		(void)fprintf(to, "*%s*\n\t", verbs[i].name);
		sentence(to, verbs[i].text);
		(void)fprintf(to, ". See *%s*(1).\n\n", verbs[i].page);
	}
}

static int synopsis(FILE *to, const char *name)
{
	enum verb_id verb;
	if (verb_named(name, &verb) < 0)
		return -1;
	const struct verb *row = &verbs[verb];
	for (size_t i = 0; i < ARRAY_SIZE(row->usage) && row->usage[i]; i++) {
		(void)fprintf(to, "*belljar %s* ", row->name);
		scd(to, row->usage[i]);
		(void)fprintf(to, "\n\n");
	}
	return 0;
}

static void layer_list(FILE *to)
{
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		(void)fprintf(to, "*%s*%s\n\tStops ", layers[i].name,
			      layers[i].may_be_missing ? " (a policy file may accept its absence)"
						       : "");
		scd(to, layers[i].stops);
		(void)fprintf(to, ". Leaves: ");
		scd(to, layers[i].leaves);
		(void)fprintf(to, ". Needs ");
		scd(to, layers[i].needs);
		(void)fprintf(to, ".\n\n");
	}
}

static void words(FILE *to, const char *before, const char *const *list)
{
	for (size_t i = 0; list[i]; i++) {
		(void)fprintf(to, "%s", i ? ", " : before);
		scd(to, list[i]);
	}
	if (list[0])
		(void)fprintf(to, ".");
}

static int language_list(FILE *to)
{
	struct languages languages;
	if (languages_builtin(&languages, NULL) < 0)
		return -1;
	for (size_t i = 0; i < languages.count; i++) {
		const struct language *row = &languages.rows[i];
		(void)fprintf(to, "*%s*\n\t", row->name);
		sentence(to, row->text);
		(void)fprintf(to, ".");
		words(to, " Other names: ", row->aliases);
		words(to, " Extensions: ", row->extensions);
		words(to, " Interpreters in a #! line: ", row->interpreters);
		(void)fprintf(to, " The image must hold ");
		scd(to, row->needs);
		(void)fprintf(to, ".\n\n");
	}
	languages_free(&languages);
	return 0;
}

static int with(FILE *to, void (*write)(FILE *to))
{
	write(to);
	return 0;
}

int man_block(FILE *to, const char *block)
{
	if (strncmp(block, "options ", 8) == 0)
		return options(to, block + 8);
	if (strncmp(block, "synopsis ", 9) == 0)
		return synopsis(to, block + 9);
	if (strcmp(block, "languages") == 0)
		return language_list(to);
	static const struct {
		const char *name;
		void (*write)(FILE *to);
	} blocks[] = {
		{"field options", field_options},
		{"fields", fields},
		{"verbs", verb_list},
		{"layers", layer_list},
	};
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (strcmp(blocks[i].name, block) == 0)
			return with(to, blocks[i].write);
	return -1;
}
