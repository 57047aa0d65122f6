/* SPDX-License-Identifier: Apache-2.0 */
/* The completion for bash, from the tables. */
#include "cli/cli.h"
#include "cli/docgen.h"
#include "run/languages.h"

#include <string.h>

/* Words that may follow an option, by what its metavar says. */
static const char *values_of(enum option_id id)
{
	switch ((int)id) {
	case OPT_IN:
	case OPT_RO:
	case OPT_POLICY:
	case OPT_STDIN:
		return "-f";
	case OPT_CWD:
		return "-d";
	case OPT_IMAGE:
		return "-W host";
	case OPT_PROFILE:
		return "-W agent";
	default:
		return NULL;
	}
}

static void options_of(FILE *to, enum verb_id verb)
{
	const struct option_row *table = options_table();
	bool first = true;
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!option_of(&table[i], verb))
			continue;
		if (table[i].letter)
			(void)fprintf(to, "%s-%c", first ? "" : " ", table[i].letter);
		(void)fprintf(to, "%s--%s", first && !table[i].letter ? "" : " ", table[i].name);
		first = false;
	}
}

static void option_values(FILE *to)
{
	const struct option_row *table = options_table();
	struct languages languages;
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const char *values = values_of((enum option_id)i);
		if (!table[i].name || !table[i].metavar || i == OPT_LANG)
			continue;
		(void)fprintf(to, "\t--%s", table[i].name);
		if (table[i].letter)
			(void)fprintf(to, "|-%c", table[i].letter);
		if (values)
			(void)fprintf(
				to, ")\n\t\tCOMPREPLY=($(compgen %s -- \"$cur\"))\n\t\treturn ;;\n",
				values);
		else
			(void)fprintf(to, ")\n\t\treturn ;;\n");
	}
	if (languages_builtin(&languages, NULL) < 0)
		return;
	(void)fprintf(to, "\t--lang)\n\t\tCOMPREPLY=($(compgen -W \"");
	for (size_t i = 0; i < languages.count; i++)
		(void)fprintf(to, "%s%s", i ? " " : "", languages.rows[i].name);
	(void)fprintf(to, "\" -- \"$cur\"))\n\t\treturn ;;\n");
	languages_free(&languages);
}

static void first_words(FILE *to)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		size_t len = strcspn(verbs[i].name, " ");
		if (i > 0 && strncmp(verbs[i - 1].name, verbs[i].name, len + 1) == 0)
			continue;
		(void)fprintf(to, "%s%.*s", i ? " " : "", (int)len, verbs[i].name);
	}
}

static void second_words(FILE *to)
{
	bool first = true;
	for (size_t i = 0; i < VERB_COUNT; i++) {
		const char *space = strchr(verbs[i].name, ' ');
		if (!space)
			continue;
		(void)fprintf(to, "%s%s", first ? "" : " ", space + 1);
		first = false;
	}
}

void bash_completion(FILE *to)
{
	(void)fprintf(to, "# bash completion for belljar; made from the command's own tables\n\n"
			  "_belljar()\n{\n"
			  "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			  "\tlocal verb=${COMP_WORDS[1]} word\n"
			  "\tCOMPREPLY=()\n"
			  "\tif ((COMP_CWORD == 1)); then\n"
			  "\t\tCOMPREPLY=($(compgen -W \"");
	first_words(to);
	(void)fprintf(to, " --help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
			  "\tif [[ $verb == policy ]]; then\n"
			  "\t\tif ((COMP_CWORD == 2)); then\n"
			  "\t\t\tCOMPREPLY=($(compgen -W \"");
	second_words(to);
	(void)fprintf(to, "\" -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n"
			  "\t\tverb=\"policy ${COMP_WORDS[2]}\"\n\tfi\n"
			  "\tfor word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
			  "\t\t# After -- comes the program, with files and words of its own.\n"
			  "\t\tif [[ $word == -- ]]; then\n"
			  "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n"
			  "\tdone\n"
			  "\tcase $prev in\n");
	option_values(to);
	(void)fprintf(to, "\tesac\n\tif [[ $cur == -* ]]; then\n\t\tcase $verb in\n");
	for (size_t i = 0; i < VERB_COUNT; i++) {
		(void)fprintf(to, "\t\t\"%s\")\n\t\t\tCOMPREPLY=($(compgen -W \"", verbs[i].name);
		options_of(to, (enum verb_id)i);
		(void)fprintf(to, "\" -- \"$cur\")) ;;\n");
	}
	(void)fprintf(to, "\t\tesac\n\t\treturn\n\tfi\n"
			  "\tcase $verb in\n"
			  "\thelp)\n\t\tCOMPREPLY=($(compgen -W \"");
	first_words(to);
	(void)fprintf(to, "\" -- \"$cur\")) ;;\n"
			  "\trun|\"policy check\")\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
			  "\tesac\n}\n\ncomplete -o filenames -F _belljar belljar\n");
}
