/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units, and foreign text made fit for a message. */
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef int (*parser)(const char *text, uint64_t *ret, struct bj_error *err);

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text;
	const char *reason; /* part of the message */
};

static void accepts(parser parse, const struct good *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bj_error err = {.code = BJ_INTERNAL, .message = "untouched"};
		uint64_t value = 0;
		if (parse(rows[i].text, &value, &err) < 0)
			fail_msg("\"%s\" is refused: %s", rows[i].text, err.message);
		if (value != rows[i].value)
			fail_msg("\"%s\" is read as %llu, not %llu", rows[i].text,
				 (unsigned long long)value, (unsigned long long)rows[i].value);
		assert_int_equal(err.code, BJ_INTERNAL);
		assert_string_equal(err.message, "untouched");
	}
}

static void refuses(parser parse, const struct bad *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bj_error err = {0};
		uint64_t value = 4711;
		if (parse(rows[i].text, &value, &err) == 0)
			fail_msg("\"%s\" is read as %llu", rows[i].text, (unsigned long long)value);
		if (!strstr(err.message, rows[i].reason))
			fail_msg("\"%s\": the reason is \"%s\", not \"%s\"", rows[i].text,
				 err.message, rows[i].reason);
		assert_int_equal(err.code, BJ_INVALID);
		assert_int_equal(value, 4711);
		assert_int_equal(parse(rows[i].text, &value, NULL), -1);
	}
}

#define ACCEPTS(parse, rows) accepts(parse, rows, ARRAY_SIZE(rows))
#define REFUSES(parse, rows) refuses(parse, rows, ARRAY_SIZE(rows))

static void sizes_are_read(void **state)
{
	(void)state;
	static const struct good rows[] = {
		{"0", 0},
		{"1", 1},
		{"65536", 65536},
		{"64k", 65536},
		{"256m", 268435456},
		{"4g", UINT64_C(4294967296)},
		{"1t", UINT64_C(1099511627776)},
		{"0m", 0},
		{"18446744073709551615", UINT64_MAX},
		{"18014398509481983k", UINT64_C(18446744073709550592)},
		{"16777215t", UINT64_C(18446742974197923840)},
	};
	ACCEPTS(parse_size, rows);
}

static void no_other_size_is_read(void **state)
{
	(void)state;
	static const struct bad rows[] = {
		{"", "empty"},
		{"-1", "no sign"},
		{"+1", "no sign"},
		{"-", "no sign"},
		{" 1", "a size is"},
		{"1 ", "a size is"},
		{"1 m", "a size is"},
		{"1m\n", "a size is"},
		{"m", "a size is"},
		{"1M", "a size is"},
		{"1K", "a size is"},
		{"1mb", "a size is"},
		{"1mib", "a size is"},
		{"1kk", "a size is"},
		{"1p", "a size is"},
		{"1b", "a size is"},
		{"1e3", "a size is"},
		{"0x10", "a size is"},
		{"1_000", "a size is"},
		{"1,5m", "a size is"},
		{"1.5m", "a size is"},
		{"1.0m", "a size is"},
		{"1.m", "a size is"},
		{".5m", "a size is"},
		{"010", "no zeros"},
		{"00", "no zeros"},
		{"nan", "a size is"},
		{"inf", "a size is"},
		{"unlimited", "a size is"},
		{"\xd9\xa1m", "a size is"},
		{"1\xff", "a size is"},
		{"18446744073709551616", "too large"},
		{"99999999999999999999999999999999", "too large"},
		{"18014398509481984k", "too large"},
		{"17592186044416m", "too large"},
		{"17179869184g", "too large"},
		{"16777216t", "too large"},
	};
	REFUSES(parse_size, rows);
}

static void times_are_read_exactly(void **state)
{
	(void)state;
	static const struct good rows[] = {
		{"0ms", 0},
		{"1ms", 1},
		{"1500ms", 1500},
		{"10s", 10000},
		{"1.5s", 1500},
		{"1.50s", 1500},
		{"0.001s", 1},
		{"0.0010000000000s", 1},
		{"2m", 120000},
		{"0.5m", 30000},
		{"1h", 3600000},
		{"1.25h", 4500000},
		{"0.0078125h", 28125},
		{"0.00001h", 36},
		{"1.0ms", 1},
		{"168h", 604800000},
		{"18446744073709551615ms", UINT64_MAX},
		{"18446744073709551.615s", UINT64_MAX},
	};
	ACCEPTS(parse_time, rows);
}

static void no_other_time_is_read(void **state)
{
	(void)state;
	static const struct bad rows[] = {
		{"", "empty"},
		{"10", "give a unit"},
		{"0", "give a unit"},
		{"1.5", "give a unit"},
		{"-1s", "no sign"},
		{"+1s", "no sign"},
		{"s", "a time is"},
		{"1S", "a time is"},
		{"1sec", "a time is"},
		{"1d", "a time is"},
		{"1us", "a time is"},
		{"1m30s", "a time is"},
		{"1 s", "a time is"},
		{"1s ", "a time is"},
		{"1e3s", "a time is"},
		{"1.s", "a time is"},
		{".5s", "a time is"},
		{"1.5.5s", "a time is"},
		{"1.-5s", "a time is"},
		{"01s", "no zeros"},
		{"0.5ms", "whole milliseconds"},
		{"0.0001s", "whole milliseconds"},
		{"1.0005s", "whole milliseconds"},
		{"0.0000001h", "whole milliseconds"},
		{"0.00000001h", "too many decimals"},
		{"1.000000000000000000000000001s", "too many decimals"},
		{"18446744073709551616ms", "too large"},
		{"18446744073709551.616s", "too large"},
		{"18446744073709552s", "too large"},
		{"5124095576031h", "too large"},
		{"nan", "a time is"},
	};
	REFUSES(parse_time, rows);
}

static void counts_are_read(void **state)
{
	(void)state;
	static const struct good rows[] = {
		{"0", 0},
		{"64", 64},
		{"18446744073709551615", UINT64_MAX},
	};
	ACCEPTS(parse_count, rows);
}

static void no_other_count_is_read(void **state)
{
	(void)state;
	static const struct bad rows[] = {
		{"", "empty"},	     {"-64", "no sign"},     {"64k", "a count is"},
		{"64.0", "a count"}, {"6 4", "a count is"},  {"064", "no zeros"},
		{"1e2", "a count"},  {"0x40", "a count is"}, {"18446744073709551616", "too large"},
	};
	REFUSES(parse_count, rows);
}

static void thousandths_are_read(void **state)
{
	(void)state;
	static const struct good rows[] = {
		{"0", 0},	 {"2", 2000},
		{"0.5", 500},	 {"0.125", 125},
		{"1.001", 1001}, {"0.500000", 500},
		{"2.0", 2000},	 {"18446744073709551.615", UINT64_MAX},
	};
	ACCEPTS(parse_milli, rows);
}

static void no_other_thousandths_are_read(void **state)
{
	(void)state;
	static const struct bad rows[] = {
		{"", "empty"},
		{"-0.5", "no sign"},
		{"0.0005", "at most three decimals"},
		{"0.5005", "at most three decimals"},
		{"0.12345678", "too many decimals"},
		{".5", "at most three"},
		{"5.", "at most three"},
		{"0,5", "at most three"},
		{"50%", "at most three"},
		{"1e-1", "at most three"},
		{"all", "at most three"},
		{"00.5", "no zeros"},
		{"18446744073709552", "too large"},
		{"18446744073709551.616", "too large"},
	};
	REFUSES(parse_milli, rows);
}

struct guess {
	const char *text;
	const char *guess; /* NULL: nothing is guessed */
};

static void guesses(parser parse, const struct guess *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bj_error err = {0};
		uint64_t value = 0;
		char expected[64];
		assert_int_equal(parse(rows[i].text, &value, &err), -1);
		(void)snprintf(expected, sizeof(expected), "(did you mean %s?)", rows[i].guess);
		bool guessed = strstr(err.message, "did you mean");
		if (guessed != (rows[i].guess != NULL) ||
		    (guessed && !strstr(err.message, expected)))
			fail_msg("\"%s\": %s", rows[i].text, err.message);
		if (guessed)
			assert_int_equal(parse(rows[i].guess, &value, NULL), 0);
	}
}

#define GUESSES(parse, rows) guesses(parse, rows, ARRAY_SIZE(rows))

static void a_size_spelled_otherwise_is_recognised(void **state)
{
	(void)state;
	static const struct guess rows[] = {
		{"64M", "64m"},
		{"64mb", "64m"},
		{"64MiB", "64m"},
		{"64 MB", "64m"},
		{" 64m\n", "64m"},
		{"+64m", "64m"},
		{"064m", "64m"},
		{"512B", "512"},
		{"512 bytes", "512"},
		{"2 Gig", "2g"},
		{"1T", "1t"},
		{"1.5g", "1536m"},
		{"0.5G", "512m"},
		{"1,5 GB", "1536m"},
		{"1.0m", "1m"},
		{"0.0005k", NULL},
		{"0.3k", NULL},
		{"1,000", NULL},
		{"1,000k", NULL},
		{"1p", NULL},
		{"1mx", NULL},
		{"1m 2", NULL},
		{"-1m", NULL},
		{"m", NULL},
		{"", NULL},
		{"0.0m", NULL},
		{"nan", NULL},
		{"0x10", NULL},
		{"99999999999999999999999999999999M", NULL},
		{"16777216T", NULL},
		{"1 m\x1b[2J", NULL},
	};
	GUESSES(parse_size, rows);
}

static void a_time_spelled_otherwise_is_recognised(void **state)
{
	(void)state;
	static const struct guess rows[] = {
		{"10S", "10s"},
		{"10sec", "10s"},
		{"10 seconds", "10s"},
		{"1 minute", "1m"},
		{"90 Mins", "90m"},
		{"2hrs", "2h"},
		{"2 hours", "2h"},
		{"500 msec", "500ms"},
		{"1,5s", "1.5s"},
		{"01s", "1s"},
		{"10", NULL}, /* of what? */
		{"1d", NULL},
		{"1us", NULL},
		{"1m30s", NULL},
		{"-1s", NULL},
		{"0.0001 sec", NULL},
		{"1.000000000000000000000000001s", NULL},
		{"18446744073709552 s", NULL},
	};
	GUESSES(parse_time, rows);
}

static void quoted_text_is_one_harmless_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *quoted, *escaped;
	} rows[] = {
		{"", "\"\"", ""},
		{"64m", "\"64m\"", "64m"},
		{"a b", "\"a b\"", "a b"},
		{"a\"b\\c", "\"a\\\"b\\\\c\"", "a\"b\\c"},
		{"a\nb\tc\rd", "\"a\\nb\\tc\\rd\"", "a\\nb\\tc\\rd"},
		{"\x1b[31m", "\"\\x1b[31m\"", "\\x1b[31m"},
		{"\x01\x7f", "\"\\x01\\x7f\"", "\\x01\\x7f"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82\"",
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"},
		/* C1 controls: CSI as one character, and as a lone byte */
		{"\xc2\x9b"
		 "2J",
		 "\"\\xc2\\x9b2J\"", "\\xc2\\x9b2J"},
		{"\x9b"
		 "2J",
		 "\"\\x9b2J\"", "\\x9b2J"},
		/* cut, overlong, surrogate, too high */
		{"\xc3", "\"\\xc3\"", "\\xc3"},
		{"\xe2\x82", "\"\\xe2\\x82\"", "\\xe2\\x82"},
		{"\xc0\x80", "\"\\xc0\\x80\"", "\\xc0\\x80"},
		{"\xe0\x80\xaf", "\"\\xe0\\x80\\xaf\"", "\\xe0\\x80\\xaf"},
		{"\xed\xa0\x80", "\"\\xed\\xa0\\x80\"", "\\xed\\xa0\\x80"},
		{"\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\"", "\\xf4\\x90\\x80\\x80"},
		{"\xff\xfe", "\"\\xff\\xfe\"", "\\xff\\xfe"},
		/* right-to-left override, zero width space, line separator, tag */
		{"\xe2\x80\xae", "\"\\xe2\\x80\\xae\"", "\\xe2\\x80\\xae"},
		{"\xe2\x80\x8b", "\"\\xe2\\x80\\x8b\"", "\\xe2\\x80\\x8b"},
		{"\xe2\x80\xa8", "\"\\xe2\\x80\\xa8\"", "\\xe2\\x80\\xa8"},
		{"\xf3\xa0\x81\x81", "\"\\xf3\\xa0\\x81\\x81\"", "\\xf3\\xa0\\x81\\x81"},
		{NULL, "(null)", "(null)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[TEXT_VALUE_SIZE];
		assert_string_equal(text_quote(out, sizeof(out), rows[i].text), rows[i].quoted);
		assert_string_equal(text_escape(out, sizeof(out), rows[i].text), rows[i].escaped);
	}
}

static void long_text_is_cut_between_characters_and_marked(void **state)
{
	(void)state;
	static const struct {
		const char *text, *quoted;
		size_t size;
	} rows[] = {
		{"12345678", "\"12345678\"", 11},
		{"12345678", "\"1234\"...", 10},
		{"123456789", "\"12345\"...", 11},
		{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", "\"\xc3\xa9\xc3\xa9\"...", 11},
		{"abc\x1b"
		 "defghi",
		 "\"abc\"...", 12},
		{"abcdefgh", "\"ab\"...", 8},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[32];
		memset(out, 'X', sizeof(out));
		assert_string_equal(text_quote(out, rows[i].size, rows[i].text), rows[i].quoted);
		assert_int_equal(out[rows[i].size], 'X');
	}
	char tiny[4];
	memset(tiny, 'X', sizeof(tiny));
	assert_string_equal(text_quote(tiny, 3, "abc"), "");
	assert_string_equal(text_escape(tiny, 0, "abc"), "");
	assert_int_equal(tiny[3], 'X');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(no_other_size_is_read),
		cmocka_unit_test(times_are_read_exactly),
		cmocka_unit_test(no_other_time_is_read),
		cmocka_unit_test(counts_are_read),
		cmocka_unit_test(no_other_count_is_read),
		cmocka_unit_test(thousandths_are_read),
		cmocka_unit_test(no_other_thousandths_are_read),
		cmocka_unit_test(a_size_spelled_otherwise_is_recognised),
		cmocka_unit_test(a_time_spelled_otherwise_is_recognised),
		cmocka_unit_test(quoted_text_is_one_harmless_line),
		cmocka_unit_test(long_text_is_cut_between_characters_and_marked),
	};
	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
