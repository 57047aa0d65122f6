/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: options over the table, names with colons, what was probably meant. */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/colon.h"
#include "cli/run.h"
#include "cli/say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS(...) ((const char *const[]){"run", __VA_ARGS__ __VA_OPT__(, ) NULL})

static int parse(struct invocation *invocation, const char *const *argv, struct bj_error *err)
{
	int argc = 0;
	while (argv[argc])
		argc++;
	*invocation = (struct invocation){0};
	return options_parse(invocation, VERB_RUN, argc, (char **)(uintptr_t)argv, err);
}

static void options_stop_at_the_first_that_is_none(void **state)
{
	(void)state;
	struct invocation got;
	struct bj_error err = {0};
	assert_int_equal(parse(&got,
			       WORDS("--time", "1s", "--memory=64m", "f.py", "--json", "--", "-x"),
			       &err),
			 0);
	assert_string_equal(option_value(&got, (enum option_id)(OPT_FIELD + FIELD_time)), "1s");
	assert_string_equal(option_value(&got, (enum option_id)(OPT_FIELD + FIELD_memory)), "64m");
	assert_int_equal(got.arg_count, 4);
	assert_string_equal(got.args[0], "f.py");
	assert_string_equal(got.args[1], "--json");
	assert_null(got.args[4]);
	assert_false(got.json);
	assert_false(got.dashes);
	free(got.given);
}

static void two_dashes_are_seen_where_they_end_the_options(void **state)
{
	(void)state;
	static const struct {
		const char *words[6];
		bool dashes;
		const char *first;
	} rows[] = {
		{{"run", "--", "ls", NULL}, true, "ls"},
		{{"run", "--json", "--", "-x", NULL}, true, "-x"},
		{{"run", "--cwd", "--", "f", NULL}, false, "f"},
		{{"run", "f", "--", "x", NULL}, false, "f"},
		{{"run", "--env=--", "--", "f", NULL}, true, "f"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct invocation got;
		struct bj_error err = {0};
		assert_int_equal(parse(&got, rows[i].words, &err), 0);
		assert_int_equal(got.dashes, rows[i].dashes);
		assert_string_equal(got.args[0], rows[i].first);
		free(got.given);
	}
}

static void what_repeats_keeps_its_order(void **state)
{
	(void)state;
	struct invocation got;
	struct bj_error err = {0};
	assert_int_equal(parse(&got, WORDS("--in", "a", "--env", "X=1", "--in", "b", "f"), &err),
			 0);
	assert_int_equal(got.given_count, 3);
	assert_int_equal(got.given[0].option, OPT_IN);
	assert_int_equal(got.given[1].option, OPT_ENV);
	assert_string_equal(got.given[2].value, "b");
	free(got.given);
}

static void a_wrong_option_is_named_and_the_right_one_suggested(void **state)
{
	(void)state;
	static const struct {
		const char *words[5];
		const char *message, *hint;
		bool json;
	} rows[] = {
		{{"run", "--memry", "1m", NULL}, "--memry is not an option", "--memory?", false},
		{{"run", "--mem", "1m", NULL}, "--mem is not an option", "--memory?", false},
		{{"run", "--mem=1m", NULL}, "--mem is not an option", "--memory?", false},
		{{"run", "--keep_output", "1m", NULL},
		 "--keep_output is not",
		 "--keep-output?",
		 false},
		{{"run", "--accept-missing", "x", NULL},
		 "--accept-missing is not",
		 "--help",
		 false},
		{{"run", "--schema", NULL}, "--schema is not an option", "--help", false},
		{{"run", "-z", NULL}, "-z is not an option", "--help", false},
		{{"run", "--bogus", "--json", NULL}, "--bogus is not an option", "--help", true},
		{{"run", "--bogus", "--", "--json", NULL},
		 "--bogus is not an option",
		 "--help",
		 false},
		{{"run", "--memory", NULL}, "--memory needs a value: SIZE", "", false},
		{{"run", "-c", NULL}, "--code needs a value: CODE", "", false},
		{{"run", "--json=1", NULL}, "--json takes no value", "", false},
		{{"run", "--time=1s", "--time", "1s", NULL}, "--time is given twice", "", false},
		{{"run", "-c", "1", "--code=1", NULL}, "--code is given twice", "", false},
		{{"run", "-qq", NULL}, "--quiet is given twice", "", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct invocation got;
		struct bj_error err = {0};
		assert_int_equal(parse(&got, rows[i].words, &err), -1);
		assert_int_equal(err.code, BJ_INVALID);
		if (!strstr(err.message, rows[i].message) || !strstr(err.hint, rows[i].hint))
			fail_msg("%s: %s / %s", rows[i].words[1], err.message, err.hint);
		assert_int_equal(got.json, rows[i].json);
		free(got.given);
	}
}

static void short_options_may_stand_together(void **state)
{
	(void)state;
	struct invocation got;
	struct bj_error err = {0};
	assert_int_equal(parse(&got, WORDS("-qcprint(1)", "a"), &err), 0);
	assert_true(got.quiet);
	assert_string_equal(option_value(&got, OPT_CODE), "print(1)");
	assert_int_equal(got.arg_count, 1);
	free(got.given);
}

static void every_number_of_the_policy_is_an_option_and_no_list_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct option_row *row = &options_table()[OPT_FIELD + i];
		assert_int_equal(option_of(row, VERB_RUN), policy_fields[i].unit != UNIT_LIST);
		if (row->name)
			assert_null(strchr(row->name, '_'));
	}
}

static void names_are_split_at_the_last_colon(void **state)
{
	(void)state;
	static const struct {
		const char *text, *left, *right;
	} rows[] = {
		{"a", "a", NULL},
		{"a:b", "a", "b"},
		{"a:b:c", "a:b", "c"},
		{"a\\:b", "a:b", NULL},
		{"a\\:b:c", "a:b", "c"},
		{"a:b\\:c", "a", "b:c"},
		{"a:b:", "a:b", NULL},
		{"a\\b:c", "a\\b", "c"},
		{"\\:", ":", NULL},
		{"a\\", "a\\", NULL},
		{"/x y/ü.csv:z", "/x y/ü.csv", "z"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *left = NULL;
		auto_free char *right = NULL;
		assert_int_equal(colon_split("in", rows[i].text, &left, &right, NULL), 0);
		assert_string_equal(left, rows[i].left);
		if (rows[i].right)
			assert_string_equal(right, rows[i].right);
		else
			assert_null(right);
	}
}

static void a_name_before_the_colon_must_be_there(void **state)
{
	(void)state;
	static const char *const rows[] = {"", ":", ":b"};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *left = NULL, *right = NULL;
		struct bj_error err = {0};
		assert_int_equal(colon_split("in", rows[i], &left, &right, &err), -1);
		assert_int_equal(err.code, BJ_INVALID);
		assert_non_null(strstr(err.message, "--in"));
		assert_null(left);
	}
}

static void code_on_standard_input_is_one_dash_where_a_file_would_be(void **state)
{
	(void)state;
	static const struct {
		const char *words[6];
		bool is;
	} rows[] = {
		{{"run", "-", NULL}, true},
		{{"run", "--lang", "c", "-", "x", NULL}, true},
		{{"run", "./-", NULL}, false},
		{{"run", "f", "-", NULL}, false},
		{{"run", "--", "-", NULL}, false},
		{{"run", "-c", "1", "-", NULL}, false},
		{{"run", "--stdin", "-", "f", NULL}, false},
		{{"run", NULL}, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct invocation got;
		struct bj_error err = {0};
		assert_int_equal(parse(&got, rows[i].words, &err), 0);
		assert_int_equal(code_on_stdin(&got), rows[i].is);
		free(got.given);
	}
}

static const char *meant(const char *word)
{
	struct suggestion suggestion = {.meant = word};
	for (size_t i = 0; i < VERB_COUNT; i++)
		suggest_add(&suggestion, verbs[i].name);
	return suggest_best(&suggestion);
}

static void the_nearest_name_is_suggested_and_nothing_far(void **state)
{
	(void)state;
	assert_string_equal(meant("rnu"), "run");
	assert_string_equal(meant("docter"), "doctor");
	assert_string_equal(meant("lay"), "layers");
	assert_string_equal(meant("policy shwo"), "policy show");
	assert_string_equal(meant("RUN"), "run");
	/* Of two letters none may be wrong. */
	assert_string_equal(meant("ru"), "run");
	assert_null(meant("rx"));
	assert_null(meant("exec"));
	assert_null(meant("x"));
	assert_null(meant("a-word-that-is-longer-than-any-name-in-the-table"));
}

/* The same with every C library, and without a locale being installed. */
static void unicode_is_for_whoever_says_utf8(void **state)
{
	(void)state;
	static const struct {
		const char *all, *ctype, *lang;
		bool want;
	} cases[] = {
		{NULL, NULL, NULL, false},	  {NULL, NULL, "C.UTF-8", true},
		{NULL, NULL, "de_DE.utf8", true}, {NULL, NULL, "POSIX", false},
		{NULL, "C", "C.UTF-8", false},	  {NULL, "en_US.UTF-8", "C", true},
		{"C", "C.UTF-8", NULL, false},	  {"", "", "C.UTF-8", true},
	};
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *values[] = {cases[i].all, cases[i].ctype, cases[i].lang};
		for (size_t n = 0; n < ARRAY_SIZE(names); n++)
			assert_int_equal(
				values[n] ? setenv(names[n], values[n], 1) : unsetenv(names[n]), 0);
		assert_int_equal(say_unicode(), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_stop_at_the_first_that_is_none),
		cmocka_unit_test(two_dashes_are_seen_where_they_end_the_options),
		cmocka_unit_test(what_repeats_keeps_its_order),
		cmocka_unit_test(a_wrong_option_is_named_and_the_right_one_suggested),
		cmocka_unit_test(short_options_may_stand_together),
		cmocka_unit_test(every_number_of_the_policy_is_an_option_and_no_list_is),
		cmocka_unit_test(names_are_split_at_the_last_colon),
		cmocka_unit_test(a_name_before_the_colon_must_be_there),
		cmocka_unit_test(code_on_standard_input_is_one_dash_where_a_file_would_be),
		cmocka_unit_test(the_nearest_name_is_suggested_and_nothing_far),
		cmocka_unit_test(unicode_is_for_whoever_says_utf8),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
