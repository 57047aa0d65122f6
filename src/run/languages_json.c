/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Languages that a file adds. As strict as a policy file: a repeated or unknown key, a wrong type
 * or a value that makes no sense is refused, with the file named; nothing is guessed.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "config.h"
#include "run/languages.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX      (256 << 10)
#define LANGUAGES_MAX 256
#define WORDS_MAX     32
#define WORD_MAX      4096

/* A file: its path, and the same fit for a message. */
struct file {
	const char *path;
	char shown[TEXT_PATH_SIZE];
};

/* Where in a file a value is, for messages. */
struct place {
	const struct file *file;
	const char *language;
	const char *key;
};

static int wrong(const struct place *place, const char *text, struct bj_error *err)
{
	char language[48], key[48];
	return fail(err, BJ_INVALID, "%s: languages.%s%s%s: %s", place->file->shown,
		    text_escape(language, sizeof(language), place->language),
		    place->key[0] ? "." : "", text_escape(key, sizeof(key), place->key), text);
}

static bool is_name(const char *text)
{
	size_t len = strlen(text);
	return len >= 1 && len <= 32 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+#_.-") == len;
}

static bool is_extension(const char *text)
{
	return text[0] && text[0] != '.' && !strchr(text, '/') && strlen(text) <= 32;
}

static bool is_component(const char *text)
{
	return text[0] && !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 &&
	       strlen(text) <= NAME_MAX;
}

static bool is_assignment(const char *text)
{
	const char *equal = strchr(text, '=');
	return equal && equal != text;
}

/* Words of a command: a placeholder stands alone. */
static bool is_command_word(const char *text)
{
	if (strcmp(text, "{file}") == 0 || strcmp(text, "{args}") == 0)
		return true;
	return !strstr(text, "{file}") && !strstr(text, "{args}");
}

static bool is_word(const char *text)
{
	return text[0] != '\0';
}

enum key_kind { KEY_TEXT, KEY_LIST };

struct key {
	const char *name;
	enum key_kind kind;
	bool (*valid)(const char *text);
	const char *must; /* what `valid` wants, for messages */
	size_t offset;	  /* in struct language */
};

#define AT(member) offsetof(struct language, member)

static const struct key keys[] = {
	{"aliases", KEY_LIST, is_name, "must be names: a-z, 0-9, + # _ . -", AT(aliases)},
	{"extensions", KEY_LIST, is_extension, "must be extensions without the dot",
	 AT(extensions)},
	{"interpreters", KEY_LIST, is_component, "must be names without a directory",
	 AT(interpreters)},
	{"file", KEY_TEXT, is_component, "must be a file name without a directory", AT(file)},
	{"command", KEY_LIST, is_command_word, "{file} and {args} must be words of their own",
	 AT(command)},
	{"env", KEY_LIST, is_assignment, "must be NAME=VALUE", AT(env)},
	{"version", KEY_LIST, is_word, "must be words", AT(version)},
	{"needs", KEY_TEXT, is_word, "must be a text", AT(needs)},
	{"text", KEY_TEXT, is_word, "must be a text", AT(text)},
};

static void free_words(const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		free((void *)(uintptr_t)words[i]);
	free((void *)(uintptr_t)words);
}

static void language_free(struct language *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		void *member = (char *)row + keys[i].offset;
		if (keys[i].kind == KEY_LIST)
			free_words(*(const char *const **)member);
		else
			free(*(char **)member);
	}
	free((void *)(uintptr_t)row->name);
	free((void *)(uintptr_t)row->origin);
}

void languages_free(struct languages *languages)
{
	for (size_t i = 0; i < languages->count; i++)
		if (languages->rows[i].origin)
			language_free(&languages->rows[i]);
	free(languages->rows);
	*languages = (struct languages){0};
}

static int read_word(const json_t *value, const struct key *key, const struct place *place,
		     char **ret, struct bj_error *err)
{
	if (!json_is_string(value))
		return wrong(place, "must be text", err);
	const char *text = json_string_value(value);
	if (json_string_length(value) > WORD_MAX)
		return wrong(place, "is longer than 4096 bytes", err);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c < ' ' && *c != '\t' && *c != '\n')
			return wrong(place, "has a control character", err);
	if (!key->valid(text))
		return wrong(place, key->must, err);
	*ret = strdup(text);
	return *ret ? 0 : fail(err, BJ_INTERNAL, "out of memory");
}

static int read_words(const json_t *value, const struct key *key, const struct place *place,
		      const char ***ret, struct bj_error *err)
{
	if (!json_is_array(value))
		return wrong(place, "must be a list of texts", err);
	size_t count = json_array_size(value);
	if (count > WORDS_MAX)
		return wrong(place, "has more than 32 entries", err);
	const char **words = calloc(count + 1, sizeof(*words));
	if (!words)
		return fail(err, BJ_INTERNAL, "out of memory");
	for (size_t i = 0; i < count; i++) {
		char *word = NULL;
		if (read_word(json_array_get(value, i), key, place, &word, err) < 0) {
			free_words(words);
			return -1;
		}
		words[i] = word;
	}
	*ret = words;
	return 0;
}

static int read_key(struct language *row, const struct key *key, const json_t *value,
		    const struct place *place, struct bj_error *err)
{
	void *member = (char *)row + key->offset;
	if (key->kind == KEY_TEXT)
		return read_word(value, key, place, member, err);
	return read_words(value, key, place, member, err);
}

/* What a row left out: empty lists and texts, and a file name from the language's own. */
static int fill_in(struct language *row, struct bj_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		void **member = (void **)(void *)((char *)row + keys[i].offset);
		if (*member)
			continue;
		if (keys[i].kind == KEY_LIST)
			*member = calloc(1, sizeof(char *));
		else
			*member = strdup(keys[i].offset == AT(file) ? "main" : "");
		if (!*member)
			return fail(err, BJ_INTERNAL, "out of memory");
	}
	return 0;
}

static int check_command(const struct language *row, const struct place *place,
			 struct bj_error *err)
{
	size_t files = 0, args = 0;
	for (const char *const *word = row->command; *word; word++) {
		files += strcmp(*word, "{file}") == 0;
		args += strcmp(*word, "{args}") == 0;
	}
	if (files != 1 || args > 1)
		return wrong(place, "must hold {file} once and {args} at most once", err);
	if (!row->command[0][0] || strcmp(row->command[0], "{args}") == 0)
		return wrong(place, "must begin with a program or {file}", err);
	return 0;
}

static int read_language(struct language *row, const char *name, json_t *object,
			 const struct file *file, struct bj_error *err)
{
	struct place place = {.file = file, .language = name, .key = ""};
	if (!is_name(name))
		return wrong(&place, "a name is made of a-z, 0-9, + # _ . - and has 1 to 32", err);
	if (!json_is_object(object))
		return wrong(&place, "must be an object", err);
	row->name = strdup(name);
	row->origin = strdup(file->path);
	if (!row->name || !row->origin)
		return fail(err, BJ_INTERNAL, "out of memory");
	const char *text = NULL;
	json_t *value = NULL;
	json_object_foreach (object, text, value) {
		const struct key *key = NULL;
		for (size_t i = 0; i < ARRAY_SIZE(keys) && !key; i++)
			if (strcmp(keys[i].name, text) == 0)
				key = &keys[i];
		place.key = text;
		if (!key)
			return wrong(&place, "is not a key of a language", err);
		if (read_key(row, key, value, &place, err) < 0)
			return -1;
	}
	if (fill_in(row, err) < 0)
		return -1;
	place.key = "command";
	return check_command(row, &place, err);
}

/* An array of languages that are freed with it until they are taken. */
static void cleanup_languages(struct languages *languages)
{
	languages_free(languages);
}

static int read_all(json_t *root, const struct file *file, struct languages *ret,
		    struct bj_error *err)
{
	json_t *object = json_object_get(root, "languages");
	if (!json_is_object(object))
		return fail(err, BJ_INVALID, "%s: \"languages\" must be an object", file->shown);
	char quoted[TEXT_VALUE_SIZE];
	const char *name = NULL;
	json_t *value = NULL;
	json_object_foreach (root, name, value)
		if (value != object)
			return fail(err, BJ_INVALID, "%s: %s is not a key of this file",
				    file->shown, text_quote(quoted, sizeof(quoted), name));
	size_t count = json_object_size(object);
	if (count > LANGUAGES_MAX)
		return fail(err, BJ_INVALID, "%s: more than %d languages", file->shown,
			    LANGUAGES_MAX);
	ret->rows = calloc(count ? count : 1, sizeof(*ret->rows));
	if (!ret->rows)
		return fail(err, BJ_INTERNAL, "out of memory");
	json_object_foreach (object, name, value) {
		struct language *row = &ret->rows[ret->count];
		int got = read_language(row, name, value, file, err);
		if (row->origin)
			ret->count++;
		else
			language_free(row);
		if (got < 0)
			return -1;
	}
	return 0;
}

int languages_add(struct languages *languages, const char *where, const void *data, size_t size,
		  struct bj_error *err)
{
	struct file file = {.path = where};
	(void)text_escape(file.shown, sizeof(file.shown), where);
	json_error_t at;
	json_auto_t *root = json_loadb(data, size, JSON_REJECT_DUPLICATES, &at);
	char why[TEXT_PATH_SIZE];
	if (!root)
		return fail(err, BJ_INVALID, "%s: line %d, column %d: %s", file.shown, at.line,
			    at.column, text_escape(why, sizeof(why), at.text));
	__attribute__((cleanup(cleanup_languages))) struct languages added = {0};
	if (read_all(root, &file, &added, err) < 0)
		return -1;
	size_t count = added.count + languages->count;
	struct language *rows = reallocarray(added.rows, count, sizeof(*rows));
	if (!rows)
		return fail(err, BJ_INTERNAL, "out of memory");
	memcpy(rows + added.count, languages->rows, languages->count * sizeof(*rows));
	free(languages->rows);
	*languages = (struct languages){.rows = rows, .count = count};
	added = (struct languages){0};
	return 0;
}

/* A file that is not there is no file; one that cannot be read is an error. */
static int add_file(struct languages *languages, const char *path, struct bj_error *err)
{
	char shown[TEXT_PATH_SIZE];
	(void)text_escape(shown, sizeof(shown), path);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "%s", shown);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INTERNAL, "%s", shown);
	if (!S_ISREG(st.st_mode))
		return fail(err, BJ_INVALID, "%s: not a regular file", shown);
	auto_free char *data = malloc(FILE_MAX + 1);
	if (!data)
		return fail(err, BJ_INTERNAL, "out of memory");
	ssize_t size = read_whole(fd, data, FILE_MAX + 1);
	if (size < 0)
		return fail_errno(err, BJ_INVALID, "%s", shown);
	if (size > FILE_MAX)
		return fail(err, BJ_INVALID, "%s: larger than %d bytes", shown, FILE_MAX);
	return languages_add(languages, path, data, (size_t)size, err);
}

/* "$XDG_CONFIG_HOME/belljar/languages.json", or false where there is no home. */
static bool user_file(char path[PATH_MAX])
{
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	int len;
	if (config && config[0] == '/')
		len = snprintf(path, PATH_MAX, "%s/belljar/languages.json", config);
	else if (home && home[0] == '/')
		len = snprintf(path, PATH_MAX, "%s/.config/belljar/languages.json", home);
	else
		return false;
	return len > 0 && len < PATH_MAX;
}

int languages_load(struct languages *ret, struct bj_error *err)
{
	__attribute__((cleanup(cleanup_languages))) struct languages languages = {0};
	char path[PATH_MAX];
	if (languages_builtin(&languages, err) < 0 ||
	    add_file(&languages, BELLJAR_SYSCONFDIR "/languages.json", err) < 0)
		return -1;
	if (user_file(path) && add_file(&languages, path, err) < 0)
		return -1;
	*ret = languages;
	languages = (struct languages){0};
	return 0;
}
