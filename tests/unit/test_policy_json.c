/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files as text: what is read, and what is refused where. */
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/policy_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static int decode(const char *text, enum policy_file_kind kind, struct policy_file **ret,
		  struct bj_error *err)
{
	return policy_file_decode(text, strlen(text), "p.json", kind, ret, err);
}

/* One line, and nothing in it that a terminal acts on. */
static void assert_clean(const char *message)
{
	char again[2048];
	assert_true(message[0] != '\0');
	assert_string_equal(text_escape(again, sizeof(again), message), message);
}

static void a_policy_file_is_read(void **state)
{
	(void)state;
	static const char text[] =
		"{ \"memory\": \"512m\", \"tmp\": 1048576, \"cpus\": 1.5,\n"
		"  \"\\u0070ids\": \"32\", \"time\": \"1.5s\",\n"
		"  \"accept_missing\": [ \"landlock\" , \"cgroup\" ],\n"
		"  \"profiles\": { \"research\": { \"time\": \"10m\" }, \"b-2\": {} },\n"
		"  \"nofile\": \"64\" }\n";
	struct policy_file *file = NULL;
	struct bj_error err = {0};
	if (decode(text, FILE_OF_USER, &file, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(file->top.number[FIELD_memory], 512 * MIB);
	assert_int_equal(file->top.number[FIELD_tmp], MIB);
	assert_int_equal(file->top.number[FIELD_cpus], 1500);
	assert_int_equal(file->top.number[FIELD_pids], 32);
	assert_int_equal(file->top.number[FIELD_time], 1500);
	assert_int_equal(file->top.number[FIELD_nofile], 64);
	assert_false(file->top.has[FIELD_shm]);
	assert_string_equal(file->top.list[FIELD_accept_missing][0], "landlock");
	assert_string_equal(file->top.list[FIELD_accept_missing][1], "cgroup");
	assert_null(file->top.list[FIELD_accept_missing][2]);
	assert_int_equal(file->profile_count, 2);
	assert_int_equal(policy_file_profile(file, "research")->number[FIELD_time], 600000);
	assert_non_null(policy_file_profile(file, "b-2"));
	assert_null(policy_file_profile(file, "b"));
	policy_file_drop(file);
}

static void small_and_empty_forms_are_read(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"{}",
		" \n\t{ } \r\n",
		"{\"profiles\": {}}",
		"{\"accept_missing\": []}",
		"{\"cpus\": 2}",
		"{\"cpus\": 2.0}",
		"{\"cpus\": \"0.5\"}",
		"{\"memory\": 1125899906842624}",
		"{\"pids\":5,\"profiles\":{\"a\":{\"accept_missing\":[]}},\"time\":\"1s\"}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_file *file = NULL;
		struct bj_error err = {0};
		if (decode(rows[i], FILE_OF_USER, &file, &err) < 0)
			fail_msg("%s: %s", rows[i], err.message);
		policy_file_drop(file);
	}
}

struct refusal {
	const char *text;
	unsigned line, column;
	const char *says;
	enum bj_code code;
};

static void assert_refused(const struct refusal *row, enum policy_file_kind kind)
{
	struct policy_file *file = NULL;
	struct bj_error err = {0};
	char place[64];
	if (decode(row->text, kind, &file, &err) == 0)
		fail_msg("%s: is accepted", row->text);
	(void)snprintf(place, sizeof(place), "p.json, line %u, column %u: ", row->line,
		       row->column);
	if (strncmp(err.message, place, strlen(place)) != 0 || !strstr(err.message, row->says))
		fail_msg("%s:\n is \"%s\"\n not \"%s... %s\"", row->text, err.message, place,
			 row->says);
	assert_int_equal(err.code, row->code ? row->code : BJ_INVALID);
	assert_null(file);
	assert_clean(err.message);
	assert_int_equal(decode(row->text, kind, &file, NULL), -1);
}

static const struct refusal refusals[] = {
	/* not JSON, or not an object */
	{"", 1, 1, "expected near end of file"},
	{"{", 1, 2, "expected"},
	{"{\"pids\"", 1, 8, "expected"},
	{"{\n  \"pids\": \"6", 2, 13, "premature end"},
	{"[]", 1, 1, "is an object"},
	{"\n [1]", 2, 2, "is an object"},
	{"3", 1, 1, "expected"},
	{"null", 1, 1, "expected"},
	{"\xef\xbb\xbf{}", 1, 1, "expected"},
	{"// x\n{}", 1, 1, "expected"},
	{"{'pids': 5}", 1, 2, "expected"},
	{"{pids: 5}", 1, 2, "expected"},
	{"{\"pids\": 5,}", 1, 12, "expected"},
	{"{\"pids\": 5} x", 1, 13, "end of file expected"},
	{"{\"pids\": 5}{}", 1, 12, "end of file expected"},
	{"{\"pids\" 5}", 1, 9, "':' expected"},
	{"{\"pids\": 5 \"time\": 6}", 1, 12, "expected"},

	/* keys */
	{"{\"memry\": 1}", 1, 2, "unknown key \"memry\""},
	{"{\"\": 1}", 1, 2, "unknown key \"\""},
	{"{\"Memory\": 1}", 1, 2, "unknown key"},
	{"{\"keep-output\": \"64k\"}", 1, 2, "unknown key \"keep-output\""},
	{"{\"pids\": 5,\n\n   \"x\\u001b[2J\": 1}", 3, 4, "unknown key \"x\\x1b[2J\""},
	{"{\"\xc3\xa9\xc3\xa9\": 1, \"x\": 2}", 1, 2, "unknown key \"\xc3\xa9\xc3\xa9\""},
	{"{\"pids\": 5, \"pids\": 6}", 1, 13, "\"pids\": this key is repeated"},
	{"{\"pids\": 5,\n \"p\\u0069ds\": 6}", 2, 2, "repeated"},
	{"{\"x\": {\"y\": 1,\n\"y\": 2}}", 2, 1, "repeated"},

	/* numbers */
	{"{\"memory\": NaN}", 1, 12, "memory \"NaN\": invalid token; the range is 8m to 1024t"},
	{"{\"memory\": Infinity}", 1, 12, "memory \"Infinity\": invalid token; the range"},
	{"{\"memory\":\n  1e400}", 2, 3, "memory \"1e400\": too large a number; the range is 8m"},
	{"{\"memory\": 99999999999999999999}", 1, 2, "too large; the range is 8m to 1024t"},
	{"{\"memory\": 18446744073709551616}", 1, 2, "too large"},
	{"{\"memory\": 18446744073709551617}", 1, 2, "too large"},
	{"{\"memory\": 1125899906842625}", 1, 2, "\"1125899906842625\": too large"},
	{"{\"memory\": \"18446744073709551616\"}", 1, 2, "too large"},
	{"{\"memory\": \"17592186044417m\"}", 1, 2, "too large"},
	{"{\"memory\": 0}", 1, 2, "memory \"0\": 0 never means unlimited"},
	{"{\"memory\": -0}", 1, 2, "no sign"},
	{"{\"memory\": -1}", 1, 2, "memory \"-1\": no sign"},
	{"{\"memory\": \"-1\"}", 1, 2, "no sign"},
	{"{\"memory\": 64}", 1, 2, "memory \"64\": too small; the range is 8m"},
	{"{\"memory\": 3e8}", 1, 2, "memory \"3e8\": a size is"},
	{"{\"memory\": 300000000.0}", 1, 2, "a size is"},
	{"{\"memory\": 300000000.5}", 1, 2, "a size is"},
	{"{\"memory\": 0x10000000}", 1, 12, "'}' expected"},
	{"{\"memory\": 010}", 1, 12, "memory \"010\": invalid token"},
	{"{\"memory\": 64m}", 1, 12, "'}' expected"},
	{"{\"memory\": \"\"}", 1, 2, "memory \"\": empty"},
	{"{\"memory\": \"64 m\"}", 1, 2, "a size is"},
	{"{\"memory\": \"64M\"}", 1, 2, "a size is"},
	{"{\"pids\": 64.0}", 1, 2, "a count is"},
	{"{\"pids\": \"64k\"}", 1, 2, "a count is"},
	{"{\"time\": 10}", 1, 2, "give a unit"},
	{"{\"time\": \"10\"}", 1, 2, "give a unit"},
	{"{\"time\": \"9ms\"}", 1, 2, "time \"9ms\": too small; the range is 10ms to 168h"},
	{"{\"cpus\": 0.0005}", 1, 2, "at most three decimals"},
	{"{\"cpus\": 5e-1}", 1, 2, "at most three decimals"},
	{"{\"cpus\": 1e-400}", 1, 2, "at most three decimals"},

	/* types */
	{"{\"memory\": true}", 1, 2, "memory: the value must be a number or a string; the range"},
	{"{\"memory\": null}", 1, 2, "must be a number or a string"},
	{"{\"memory\": [64]}", 1, 2, "must be a number or a string"},
	{"{\"memory\": {\"a\": 1}}", 1, 2, "must be a number or a string"},
	{"{\"memory\": tru}", 1, 12, "invalid token"},
	{"{\"accept_missing\": \"landlock\"}", 1, 2, "accept_missing: the value must be a list"},
	{"{\"accept_missing\": {}}", 1, 2, "must be a list"},
	{"{\"accept_missing\": [1]}", 1, 21, "a list holds strings"},
	{"{\"accept_missing\": [[\"landlock\"]]}", 1, 21, "a list holds strings"},
	{"{\"accept_missing\": [\"landlock\",\n null]}", 2, 2, "a list holds strings"},
	{"{\"profiles\": []}", 1, 2, "profiles: the value must be an object"},
	{"{\"profiles\": {\"a\": \"b\"}}", 1, 15, "profile \"a\": a profile is an object"},

	/* text */
	{"{\"pids\": \"6\xff\"}", 1, 12, "the byte \\xff is not UTF-8"},
	{"{\"\xc3\xa9\": \"\xc0\x80\"}", 1, 8, "the byte \\xc0 is not UTF-8"},
	{"{\"pids\": \"\xed\xa0\x80\"}", 1, 11, "is not UTF-8"},
	{"{\"pids\": \"6\\u00004\"}", 1, 10, "pids \"6\\\\u00004\": NUL is not allowed"},
	{"{\"pi\\u0000ds\": 5}", 1, 2, "NUL is not allowed"},
	{"{\"pids\": \"6\n4\"}", 1, 10, "pids \"6\\n4\": unexpected newline"},
	{"{\"pids\": \"6\x1b[31m\"}", 1, 10, "pids \"6\\x1b[31m\": control character"},
	{"{\"pids\": \"6\\u001b[31m\"}", 1, 2, "pids \"6\\x1b[31m\": a count is"},
	{"{\"pids\": \"\\ud800\"}", 1, 10, "invalid Unicode"},
	{"{\"pids\": \"\\q\"}", 1, 10, "invalid escape"},

	/* what a list may name */
	{"{\"accept_missing\": [\"seccomp\"]}", 1, 21, "accept_missing \"seccomp\": only cgroup"},
	{"{\"accept_missing\": [\"Landlock\"]}", 1, 21, "only cgroup and landlock"},
	{"{\"accept_missing\": [\"\"]}", 1, 21, "only cgroup and landlock"},
	{"{\"accept_missing\": [\"*\"]}", 1, 21, "only cgroup and landlock"},
	{"{\"accept_missing\": [\"cgroup\", \"cgroup\"]}", 1, 31, "repeated"},
	{"{\"ro_prefixes\": [\"/srv\"]}", 1, 2, "only the operator", BJ_REFUSED},
	{"{\"ro_prefixes\": []}", 1, 2, "only the operator", BJ_REFUSED},

	/* profiles */
	{"{\"profiles\": {\"agent\": {}}}", 1, 15, "built in"},
	{"{\"profiles\": {\"\": {}}}", 1, 15, "the name of a profile"},
	{"{\"profiles\": {\"A\": {}}}", 1, 15, "the name of a profile"},
	{"{\"profiles\": {\"-a\": {}}}", 1, 15, "the name of a profile"},
	{"{\"profiles\": {\"../a\": {}}}", 1, 15, "the name of a profile"},
	{"{\"profiles\": {\"a\\n\": {}}}", 1, 15, "profile \"a\\n\": the name of a profile"},
	{"{\"profiles\": {\"abcdefghijklmnopqrstuvwxyz0123456\": {}}}", 1, 15, "the name of a"},
	{"{\"profiles\": {\"a\": {}, \"a\": {}}}", 1, 24, "repeated"},
	{"{\"profiles\": {\"a\": {\"pids\": 5, \"pids\": 6}}}", 1, 32, "repeated"},
	{"{\"profiles\": {\"a\": {\n\"memory\": 1}}}", 2, 1, "memory \"1\": too small"},
	{"{\"profiles\": {\"a\": {\"profiles\": {}}}}", 1, 21, "unknown key \"profiles\""},
	{"{\"profiles\": {\"a\": {\"pids\": 5}, \"b\": {\"pids\": 0}}}", 1, 39, "pids \"0\""},
	{"{\"profiles\": {\"a\": {\"ro_prefixes\": []}}}", 1, 21, "only the operator", BJ_REFUSED},
	/* the place is kept through everything that may stand before it */
	{"{\"accept_missing\": [\"cgroup\" ,\"landlock\"], \"cpus\" "
	 ":0.5,\"time\":\"1\\u0073\",\n"
	 "\"profiles\":{\"a\":{\"accept_missing\":[]},\"b\":{}} , \"pids\":\"6\\u0034\", "
	 "\"x\":1}",
	 2, 67, "unknown key \"x\""},
};

static void no_other_text_is_a_policy_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		assert_refused(&refusals[i], FILE_OF_USER);
		if (refusals[i].code != BJ_REFUSED)
			assert_refused(&refusals[i], FILE_OF_OPERATOR);
	}
}

static void a_nul_byte_is_refused_where_it_stands(void **state)
{
	(void)state;
	static const char text[] = "{\"pids\":\n \0 5}";
	struct policy_file *file = NULL;
	struct bj_error err = {0};
	assert_int_equal(
		policy_file_decode(text, sizeof(text) - 1, "p.json", FILE_OF_USER, &file, &err),
		-1);
	assert_string_equal(err.message, "p.json, line 2, column 2: a NUL byte");
}

static void prefixes_are_canonical_directories(void **state)
{
	(void)state;
	static const struct refusal rows[] = {
		{"{\"ro_prefixes\": [\"srv\"]}", 1, 18,
		 "ro_prefixes \"srv\": a directory is an absolute"},
		{"{\"ro_prefixes\": [\"\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/srv/\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"//srv\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/srv//a\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/srv/.\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/./srv\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/srv/..\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/srv/../etc\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"..\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"~/data\"]}", 1, 18, "a directory is"},
		{"{\"ro_prefixes\": [\"/\"]}", 1, 18, "the whole host"},
		{"{\"ro_prefixes\": [\"/a\", \"/a\"]}", 1, 24, "repeated"},
		{"{\"ro_prefixes\": \"/a\"}", 1, 2, "must be a list"},
		{"{\"profiles\": {\"a\": {\"ro_prefixes\": [\"/a\"]}}}", 1, 21, "only the operator",
		 BJ_REFUSED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_refused(&rows[i], FILE_OF_OPERATOR);

	struct policy_file *file = NULL;
	assert_int_equal(decode("{\"ro_prefixes\": [\"/srv/data\", \"/a.b/..c/.d/e..\"]}",
				FILE_OF_OPERATOR, &file, NULL),
			 0);
	assert_string_equal(file->top.list[FIELD_ro_prefixes][1], "/a.b/..c/.d/e..");
	policy_file_drop(file);
}

/* `count` times `item` between `open` and `close`, with a number for its %zu. */
static char *repeat(const char *open, const char *item, size_t count, const char *close)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	assert_non_null(f);
	(void)fputs(open, f);
	for (size_t i = 0; i < count; i++) {
		char number[24];
		(void)snprintf(number, sizeof(number), "%zu", i);
		const char *hole = strchr(item, '#');
		(void)fprintf(f, "%s%.*s%s%s", i ? "," : "", (int)(hole ? hole - item : 0), item,
			      hole ? number : "", hole ? hole + 1 : item);
	}
	(void)fputs(close, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void what_is_too_much_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *open, *item, *close;
		size_t most;
		const char *says;
	} rows[] = {
		{"{\"ro_prefixes\": [", "\"/d#\"", "]}", POLICY_LIST_MAX, "more than 64"},
		{"{\"profiles\": {", "\"p#\": {}", "}}", POLICY_PROFILES_MAX, "more than 64"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_file *file = NULL;
		struct bj_error err = {0};
		auto_free char *most =
			repeat(rows[i].open, rows[i].item, rows[i].most, rows[i].close);
		auto_free char *more =
			repeat(rows[i].open, rows[i].item, rows[i].most + 1, rows[i].close);
		assert_int_equal(decode(most, FILE_OF_OPERATOR, &file, &err), 0);
		policy_file_drop(file);
		assert_int_equal(decode(more, FILE_OF_OPERATOR, &file, &err), -1);
		assert_non_null(strstr(err.message, rows[i].says));
	}
	struct policy_file *file = NULL;
	struct bj_error err = {0};
	auto_free char *deep = repeat("{\"memory\": ", "[", 100000, "");
	assert_int_equal(decode(deep, FILE_OF_USER, &file, &err), -1);
	auto_free char *path = repeat("{\"ro_prefixes\": [\"/", "x", 4096, "\"]}");
	assert_int_equal(decode(path, FILE_OF_OPERATOR, &file, &err), -1);
	assert_non_null(strstr(err.message, "too long"));
	auto_free char *number = repeat("{\"memory\": 1", "000", 10, "}");
	assert_int_equal(decode(number, FILE_OF_USER, &file, &err), -1);
}

static void what_is_nearly_right_is_suggested(void **state)
{
	(void)state;
	static const struct {
		const char *text, *hint; /* "": none */
	} rows[] = {
		{"{\"memry\": 1}", "did you mean memory?"},
		{"{\"Memory\": 1}", "did you mean memory?"},
		{"{\"keep-output\": \"64k\"}", "did you mean keep_output?"},
		{"{\"profile\": {}}", "did you mean profiles?"},
		{"{\"zzzzzz\": 1}", "keys: time, "},
		{"{\"profiles\": {\"a\": {\"tiem\": \"1s\"}}}", "did you mean time?"},
		{"{\"accept_missing\": [\"cgroups\"]}", "did you mean cgroup?"},
		{"{\"accept_missing\": [\"Landlock\"]}", "did you mean landlock?"},
		{"{\"accept_missing\": [\"landlok\"]}", "did you mean landlock?"},
		{"{\"accept_missing\": [\"seccomp\"]}", ""},
		{"{\"accept_missing\": [\"\"]}", ""},
		{"{\"accept_missing\": [\"cgroup\", \"cgroup\"]}", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_file *file = NULL;
		struct bj_error err = {0};
		assert_int_equal(decode(rows[i].text, FILE_OF_USER, &file, &err), -1);
		if (strncmp(err.hint, rows[i].hint, strlen(rows[i].hint)) != 0 ||
		    !rows[i].hint[0] != !err.hint[0])
			fail_msg("%s: %s", rows[i].text, err.hint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_file_is_read),
		cmocka_unit_test(small_and_empty_forms_are_read),
		cmocka_unit_test(no_other_text_is_a_policy_file),
		cmocka_unit_test(a_nul_byte_is_refused_where_it_stands),
		cmocka_unit_test(prefixes_are_canonical_directories),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(what_is_nearly_right_is_suggested),
	};
	return cmocka_run_group_tests_name("policy_json", tests, NULL, NULL);
}
