/* SPDX-License-Identifier: Apache-2.0 */
/* The table of languages, and finding a row of it: see languages.h. */
#include "run/languages.h"

#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static const struct language builtin[] = {
#define LANGUAGE(id_, name_, aliases_, extensions_, interpreters_, file_, command_, env_,          \
		 version_, needs_, text_)                                                          \
	[LANGUAGE_##id_] = {.name = (name_),                                                       \
			    .aliases = (aliases_),                                                 \
			    .extensions = (extensions_),                                           \
			    .interpreters = (interpreters_),                                       \
			    .file = (file_),                                                       \
			    .command = (command_),                                                 \
			    .env = (env_),                                                         \
			    .version = (version_),                                                 \
			    .needs = (needs_),                                                     \
			    .text = (text_)},
#include "run/languages.def"
#undef LANGUAGE
};
static_assert(ARRAY_SIZE(builtin) == LANGUAGE_COUNT, "a row for every language");

int languages_builtin(struct languages *ret, struct bj_error *err)
{
	struct language *rows = malloc(sizeof(builtin));
	if (!rows)
		return fail(err, BJ_INTERNAL, "out of memory");
	memcpy(rows, builtin, sizeof(builtin));
	ret->rows = rows;
	ret->count = LANGUAGE_COUNT;
	return 0;
}

static bool has_word(const char *const *words, const char *word, size_t len)
{
	for (; *words; words++)
		if (strlen(*words) == len && memcmp(*words, word, len) == 0)
			return true;
	return false;
}

/* "python, javascript, …" for messages: each name once, as a user's row may hide a built-in one. */
static const char *known(const struct languages *languages, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < languages->count; i++) {
		const char *name = languages->rows[i].name;
		bool repeated = false;
		for (size_t j = 0; j < i && !repeated; j++)
			repeated = strcmp(languages->rows[j].name, name) == 0;
		size_t len = strlen(name);
		if (repeated || used + len + 3 > size)
			continue;
		if (used) {
			memcpy(text + used, ", ", 2);
			used += 2;
		}
		memcpy(text + used, name, len + 1);
		used += len;
	}
	return text;
}

/* The name or alias that was probably meant, or NULL. */
static const char *nearest(const struct languages *languages, const char *name)
{
	struct suggestion suggestion = {.meant = name};
	for (size_t i = 0; i < languages->count; i++) {
		const struct language *row = &languages->rows[i];
		suggest_add(&suggestion, row->name);
		for (size_t j = 0; row->aliases[j]; j++)
			suggest_add(&suggestion, row->aliases[j]);
	}
	return suggest_best(&suggestion);
}

int language_find(const struct languages *languages, const char *name, const struct language **ret,
		  struct bj_error *err)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < languages->count; i++) {
		const struct language *row = &languages->rows[i];
		if (strcmp(row->name, name) == 0 || has_word(row->aliases, name, len)) {
			*ret = row;
			return 0;
		}
	}
	char text[256], quoted[TEXT_VALUE_SIZE];
	(void)fail(err, BJ_INVALID, "language: %s is not known; known are %s",
		   text_quote(quoted, sizeof(quoted), name), known(languages, text, sizeof(text)));
	const char *meant = nearest(languages, name);
	if (meant)
		return fail_hint(err, "Did you mean %s?", meant);
	return fail_hint(err, "Choose one of these, or describe the language in languages.json.");
}

/* A piece of a #! line. */
struct word {
	const char *at;
	size_t len;
};

static struct word next_word(const char **at, const char *end)
{
	const char *p = *at;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	struct word word = {.at = p};
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	word.len = (size_t)(p - word.at);
	*at = p;
	return word;
}

static struct word last_name(struct word path)
{
	for (size_t i = path.len; i > 0; i--) {
		if (path.at[i - 1] != '/')
			continue;
		path.at += i;
		path.len -= i;
		break;
	}
	return path;
}

/*
 * The interpreter's name in a #! line, without directory and version: "python" for
 * "/usr/bin/python3.11" and for "/usr/bin/env -S LANG=C python3 -u". Length 0: there is none.
 */
static struct word interpreter(const char *head, size_t size)
{
	struct word none = {.at = head};
	if (size < 3 || head[0] != '#' || head[1] != '!')
		return none;
	const char *at = head + 2;
	const char *end = memchr(head, '\n', size);
	if (!end)
		end = head + size;
	if (end[-1] == '\r')
		end--;
	struct word name = last_name(next_word(&at, end));
	if (name.len == 3 && memcmp(name.at, "env", 3) == 0) {
		do
			name = next_word(&at, end);
		while (name.len && (name.at[0] == '-' || memchr(name.at, '=', name.len)));
		name = last_name(name);
	}
	while (name.len > 1 &&
	       (isdigit((unsigned char)name.at[name.len - 1]) || name.at[name.len - 1] == '.'))
		name.len--;
	return name;
}

static const char *extension(const char *path)
{
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	const char *dot = strrchr(name, '.');
	return dot && dot != name && dot[1] ? dot + 1 : NULL;
}

int language_detect(const struct languages *languages, const char *path, const void *head,
		    size_t size, const struct language **ret, struct bj_error *err)
{
	const char *ext = extension(path);
	for (size_t i = 0; ext && i < languages->count; i++) {
		if (has_word(languages->rows[i].extensions, ext, strlen(ext))) {
			*ret = &languages->rows[i];
			return 0;
		}
	}
	struct word name = interpreter(head, size);
	for (size_t i = 0; name.len && i < languages->count; i++) {
		if (has_word(languages->rows[i].interpreters, name.at, name.len)) {
			*ret = &languages->rows[i];
			return 0;
		}
	}
	/* The kernel knows what to do with these; a row "program" of a file may know better. */
	if (name.len || (size >= 4 && memcmp(head, "\177ELF", 4) == 0))
		return language_find(languages, "program", ret, err);

	char text[160], quoted[TEXT_PATH_SIZE];
	(void)fail(err, BJ_INVALID,
		   "language of %s: neither its extension nor a #! line says; known are %s",
		   text_quote(quoted, sizeof(quoted), path), known(languages, text, sizeof(text)));
	return fail_hint(err, "Name the language with --lang.");
}

int language_argv(const struct language *language, const char *file, const char *const args[],
		  const char ***ret, struct bj_error *err)
{
	size_t args_count = 0, count = 0;
	while (args && args[args_count])
		args_count++;
	while (language->command[count])
		count++;
	const char **argv = calloc(count + args_count + 1, sizeof(*argv));
	if (!argv)
		return fail(err, BJ_INTERNAL, "out of memory");
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		const char *word = language->command[i];
		if (strcmp(word, "{args}") == 0) {
			for (size_t j = 0; j < args_count; j++)
				argv[used++] = args[j];
		} else {
			argv[used++] = strcmp(word, "{file}") == 0 ? file : word;
		}
	}
	*ret = argv;
	return 0;
}
