/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Languages: how a source file becomes a command. The built-in rows are in languages.def; the
 * operator adds or replaces some in /etc/belljar/languages.json, a user in
 * $XDG_CONFIG_HOME/belljar/languages.json. The user's come first, then the operator's.
 *
 *   { "languages": { "lua": { "extensions": ["lua"], "interpreters": ["lua"],
 *                             "file": "main.lua", "command": ["lua", "{file}", "{args}"] } } }
 *
 * A row says only what is started inside; it gives the program no right.
 */
#ifndef RUN_LANGUAGES_H
#define RUN_LANGUAGES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum language_id {
#define LANGUAGE(id, ...) LANGUAGE_##id,
#include "run/languages.def"
#undef LANGUAGE
	LANGUAGE_COUNT,
};

/* Lists end in NULL and are never NULL. */
struct language {
	const char *name;
	const char *const *aliases;
	const char *const *extensions;
	const char *const *interpreters;
	const char *file;
	const char *const *command;
	const char *const *env;
	const char *const *version; /* empty: none */
	const char *needs;
	const char *text;
	const char *origin; /* the file that it came from, or NULL: built in */
};

struct languages {
	struct language *rows;
	size_t count;
};

/* Bytes of a file's beginning that language_detect() wants to see. */
#define LANGUAGE_HEAD 256

/* The built-in rows and those of the two files, where they exist. */
int languages_load(struct languages *ret, struct bj_error *err);
/* The built-in rows alone. */
int languages_builtin(struct languages *ret, struct bj_error *err);
/* Puts the rows of a JSON text in front of what is there; `where` names it in messages. */
int languages_add(struct languages *languages, const char *where, const void *data, size_t size,
		  struct bj_error *err);
void languages_free(struct languages *languages);

/* By name or alias; an unknown one is refused with the known ones listed. */
int language_find(const struct languages *languages, const char *name, const struct language **ret,
		  struct bj_error *err);
/* By the path's extension, else by the file's first bytes: a #! line, or an ELF executable. */
int language_detect(const struct languages *languages, const char *path, const void *head,
		    size_t size, const struct language **ret, struct bj_error *err);

/*
 * The command for `file` (its path inside) and `args` (NULL: none). Only the array is the
 * caller's, to be freed; the strings are those of the language and of the arguments.
 */
int language_argv(const struct language *language, const char *file, const char *const args[],
		  const char ***ret, struct bj_error *err);

#endif
