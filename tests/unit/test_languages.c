/* SPDX-License-Identifier: Apache-2.0 */
/* Languages: found by name, by extension, by #!; rows of a file; what a file may not say. */
#include "base/cleanup.h"
#include "run/languages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char *detect(const struct languages *languages, const char *path, const char *head)
{
	const struct language *row = NULL;
	struct bj_error err;
	return language_detect(languages, path, head, strlen(head), &row, &err) < 0 ? NULL
										    : row->name;
}

static void names_and_aliases_are_found(void **state)
{
	(void)state;
	struct languages languages;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	static const char *const pairs[][2] = {{"python", "python"}, {"python3", "python"},
					       {"js", "javascript"}, {"sh", "bash"},
					       {"c", "c"},	     {"c++", "cpp"}};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct language *row = NULL;
		assert_int_equal(language_find(&languages, pairs[i][0], &row, NULL), 0);
		assert_string_equal(row->name, pairs[i][1]);
	}
	languages_free(&languages);
}

static void an_unknown_name_lists_the_known_ones(void **state)
{
	(void)state;
	struct languages languages;
	struct bj_error err = {0};
	const struct language *row = NULL;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	assert_int_equal(language_find(&languages, "cobol", &row, &err), -1);
	assert_null(row);
	assert_int_equal(err.code, BJ_INVALID);
	assert_non_null(strstr(err.message, "\"cobol\""));
	assert_non_null(strstr(err.message, "python, javascript, bash, c, cpp, program"));
	assert_int_equal(language_find(&languages, "Python", &row, &err), -1);
	assert_int_equal(language_find(&languages, "", &row, &err), -1);
	languages_free(&languages);
}

static void a_name_that_is_nearly_right_is_suggested(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{"pyhton", "python?"},
		{"Python", "python?"},
		{"python2", "python"},
		{"javascrpt", "javascript?"},
		{"JS", "js?"},
		{"nodejs", "node?"},
		{"shel", "shell?"},
		{"C++", "c++?"},
		{"cpp11", NULL},
		{"ts", NULL},
		{"r", NULL},
		{"cobol", NULL},
		{"", NULL},
		{"ruby", NULL},
		{"../../bin/sh", NULL},
	};
	struct languages languages;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct language *row = NULL;
		struct bj_error err = {0};
		assert_int_equal(language_find(&languages, pairs[i][0], &row, &err), -1);
		const char *expected = pairs[i][1] ? pairs[i][1] : "Choose one of these";
		if (!strstr(err.hint, expected))
			fail_msg("%s: %s", pairs[i][0], err.hint);
		assert_int_equal(strstr(err.hint, "Did you mean") != NULL, pairs[i][1] != NULL);
	}
	languages_free(&languages);
}

static void extension_comes_before_the_first_line(void **state)
{
	(void)state;
	struct languages languages;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	static const struct {
		const char *path, *head, *name;
	} rows[] = {
		{"a.py", "", "python"},
		{"/x.d/a.py", "#!/bin/sh\n", "python"},
		{"a.mjs", "", "javascript"},
		{"a.C", "", "cpp"},
		{"a.c", "", "c"},
		{"a.cc", "", "cpp"},
		{"a", "#!/bin/sh", "bash"},
		{"a.txt", "#! /bin/bash -e\n", "bash"},
		{"a", "#!/usr/bin/python3.11\n", "python"},
		{"a", "#!/usr/bin/env python3\r\n", "python"},
		{"a", "#!/usr/bin/env -S LANG=C python3 -u\n", "python"},
		{"a", "#!\t/usr/bin/env\tnode\n", "javascript"},
		{"a", "#!/usr/bin/perl -w\n", "program"},
		{"a", "\177ELF\002", "program"},
		{"x.py/a", "", NULL},
		{".py", "", NULL},
		{"a.", "", NULL},
		{"a.PY", "", NULL},
		{"a", "#!", NULL},
		{"a", "#!\n", NULL},
		{"a", "#!   \npython", NULL},
		{"a", "#!/usr/bin/env -S\n", NULL},
		{"a", "#!/bin/\n", NULL},
		{"a", "print(1)\n", NULL},
		{"a", "\177EL", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *name = detect(&languages, rows[i].path, rows[i].head);
		if (!rows[i].name)
			assert_null(name);
		else
			assert_non_null(name);
		if (name && rows[i].name)
			assert_string_equal(name, rows[i].name);
	}
	struct bj_error err = {0};
	const struct language *row = NULL;
	assert_int_equal(language_detect(&languages, "notes.txt", "hello", 5, &row, &err), -1);
	assert_non_null(strstr(err.message, "notes.txt"));
	assert_non_null(strstr(err.hint, "--lang"));
	languages_free(&languages);
}

static void command_puts_file_and_arguments_in_their_places(void **state)
{
	(void)state;
	struct languages languages;
	const struct language *row = NULL;
	const char **argv = NULL;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	assert_int_equal(language_find(&languages, "python", &row, NULL), 0);
	static const char *const args[] = {"-x", "{file}", NULL};
	assert_int_equal(language_argv(row, "/workspace/.belljar/a.py", args, &argv, NULL), 0);
	assert_string_equal(argv[0], "python3");
	assert_string_equal(argv[1], "-u");
	assert_string_equal(argv[2], "/workspace/.belljar/a.py");
	assert_string_equal(argv[3], "-x");
	assert_string_equal(argv[4], "{file}");
	assert_null(argv[5]);
	free(argv);
	assert_int_equal(language_find(&languages, "c", &row, NULL), 0);
	assert_int_equal(language_argv(row, "/f.c", NULL, &argv, NULL), 0);
	assert_string_equal(argv[0], "/bin/sh");
	assert_string_equal(argv[3], "/f.c");
	assert_null(argv[4]);
	free(argv);
	languages_free(&languages);
}

static int add(struct languages *languages, const char *text, struct bj_error *err)
{
	return languages_add(languages, "here.json", text, strlen(text), err);
}

static void rows_of_a_file_come_first(void **state)
{
	(void)state;
	struct languages languages;
	const struct language *row = NULL;
	struct bj_error err;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	assert_int_equal(add(&languages,
			     "{\"languages\": {"
			     "\"lua\": {\"aliases\": [\"lua5.4\"], \"extensions\": [\"lua\"], "
			     "\"interpreters\": [\"lua\"], \"file\": \"main.lua\", "
			     "\"command\": [\"lua\", \"{file}\", \"{args}\"], \"env\": [\"A=1\"]},"
			     "\"python\": {\"extensions\": [\"py\"], \"command\": [\"pypy3\", "
			     "\"{file}\"]}}}",
			     &err),
			 0);
	assert_string_equal(detect(&languages, "x.lua", ""), "lua");
	assert_string_equal(detect(&languages, "x", "#!/usr/bin/lua5.4\n"), "lua");
	assert_int_equal(language_find(&languages, "lua5.4", &row, NULL), 0);
	assert_string_equal(row->file, "main.lua");
	assert_string_equal(row->env[0], "A=1");
	assert_string_equal(row->origin, "here.json");
	assert_int_equal(language_find(&languages, "python", &row, NULL), 0);
	assert_string_equal(row->command[0], "pypy3");
	assert_string_equal(row->file, "main");
	assert_null(row->version[0]);
	/* What it did not replace is still there. */
	assert_string_equal(detect(&languages, "x.js", ""), "javascript");
	assert_int_equal(add(&languages, "{\"languages\": {}}", &err), 0);
	languages_free(&languages);
}

static void a_wrong_file_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"", "line 1"},
		{"[]", "\"languages\" must be an object"},
		{"{}", "\"languages\" must be an object"},
		{"{\"languages\": []}", "\"languages\" must be an object"},
		{"{\"languages\": {}, \"more\": 1}", "\"more\" is not a key"},
		{"{\"languages\": {\"a\": 1}}", "languages.a: must be an object"},
		{"{\"languages\": {\"a\": {}}}", "languages.a.command: must hold {file} once"},
		{"{\"languages\": {\"A b\": {\"command\": [\"{file}\"]}}}", "a name is made of"},
		{"{\"languages\": {\"a\": {\"command\": [\"{file}\"]}, \"a\": {}}}", "duplicate"},
		{"{\"languages\": {\"a\": {\"commands\": [\"{file}\"]}}}", "is not a key"},
		{"{\"languages\": {\"a\": {\"command\": [\"{file}\", \"{file}\"]}}}", "once"},
		{"{\"languages\": {\"a\": {\"command\": [\"{args}\", \"{file}\"]}}}", "begin with"},
		{"{\"languages\": {\"a\": {\"command\": [\"\", \"{file}\"]}}}", "begin with"},
		{"{\"languages\": {\"a\": {\"command\": [\"x{file}\"]}}}", "words of their own"},
		{"{\"languages\": {\"a\": {\"command\": [1]}}}", "must be text"},
		{"{\"languages\": {\"a\": {\"command\": \"x\"}}}", "must be a list"},
		{"{\"languages\": {\"a\": {\"file\": \"../x\"}}}", "without a directory"},
		{"{\"languages\": {\"a\": {\"file\": \"..\"}}}", "without a directory"},
		{"{\"languages\": {\"a\": {\"extensions\": [\".py\"]}}}", "without the dot"},
		{"{\"languages\": {\"a\": {\"env\": [\"=x\"]}}}", "NAME=VALUE"},
		{"{\"languages\": {\"a\": {\"command\": [\"a\\u0000b\", \"{file}\"]}}}", "line 1"},
		{"{\"languages\": {\"a\": {\"command\": [\"\\u001b\", \"{file}\"]}}}", "control"},
		{"{\"languages\": {\"a\": {\"text\": \"\xff\"}}}", "line 1"},
	};
	struct languages languages;
	assert_int_equal(languages_builtin(&languages, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bj_error err = {0};
		assert_int_equal(add(&languages, rows[i][0], &err), -1);
		assert_int_equal(err.code, BJ_INVALID);
		assert_non_null(strstr(err.message, "here.json"));
		if (!strstr(err.message, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], err.message);
		assert_int_equal(languages.count, LANGUAGE_COUNT);
	}
	languages_free(&languages);
}

static void write_file(const char *path, const char *text)
{
	auto_fclose FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

static void the_users_file_is_read_where_it_is(void **state)
{
	(void)state;
	char dir[] = "/tmp/belljar-languages-XXXXXX", path[256], sub[128];
	struct languages languages;
	struct bj_error err = {0};
	assert_non_null(mkdtemp(dir));
	assert_int_equal(setenv("XDG_CONFIG_HOME", dir, 1), 0);
	assert_int_equal(languages_load(&languages, &err), 0);
	languages_free(&languages);

	(void)snprintf(sub, sizeof(sub), "%s/belljar", dir);
	(void)snprintf(path, sizeof(path), "%s/languages.json", sub);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_file(path, "{\"languages\": {\"mine\": {\"command\": [\"{file}\"]}}}");
	assert_int_equal(languages_load(&languages, &err), 0);
	assert_string_equal(languages.rows[0].name, "mine");
	assert_string_equal(languages.rows[0].origin, path);
	languages_free(&languages);

	write_file(path, "{\"languages\": {\"mine\": {\"command\": [\"{file}\"]},}}");
	assert_int_equal(languages_load(&languages, &err), -1);
	assert_non_null(strstr(err.message, path));
	assert_non_null(strstr(err.message, "line 1, column"));

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(languages_load(&languages, &err), -1);
	assert_non_null(strstr(err.message, "not a regular file"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_aliases_are_found),
		cmocka_unit_test(an_unknown_name_lists_the_known_ones),
		cmocka_unit_test(a_name_that_is_nearly_right_is_suggested),
		cmocka_unit_test(extension_comes_before_the_first_line),
		cmocka_unit_test(command_puts_file_and_arguments_in_their_places),
		cmocka_unit_test(rows_of_a_file_come_first),
		cmocka_unit_test(a_wrong_file_is_refused_and_changes_nothing),
		cmocka_unit_test(the_users_file_is_read_where_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
