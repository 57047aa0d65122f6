/* SPDX-License-Identifier: Apache-2.0 */
/* Head, ring and cut, against a reference that has the whole output and no cleverness. */
#include "result_case.h"

#include <stdio.h>

#define WHOLE_MAX 400

/* Fixed seed: a failure can be run again. */
static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t random_below(uint32_t bound)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return bound ? (uint32_t)(random_state >> 33) % bound : 0;
}

/* Writes one character, as the table of RFC 3629 says; returns its length. */
static size_t encode(uint32_t c, uint8_t out[4])
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (uint8_t)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	out[0] = (uint8_t)(marks[n] | c);
	return n;
}

static bool is_character(uint32_t c)
{
	return c < 0xd800 || (c > 0xdfff && c < 0x110000);
}

/* Whether all of `data` is the encoding of characters: decoded by the lengths of the first byte
 * alone, encoded again, compared. */
static bool reference_valid(const uint8_t *data, size_t size)
{
	while (size > 0) {
		size_t n = data[0] < 0x80 ? 1 : data[0] < 0xe0 ? 2 : data[0] < 0xf0 ? 3 : 4;
		uint8_t again[4];
		uint32_t c = data[0] & (n == 1 ? 0x7fU : 0x3fU >> (n - 1));
		for (size_t i = 1; i < n && i < size; i++)
			c = c << 6 | (data[i] & 0x3f);
		if (n > size || !is_character(c) || encode(c, again) != n ||
		    memcmp(again, data, n) != 0)
			return false;
		data += n;
		size -= n;
	}
	return true;
}

static uint32_t random_character(void)
{
	static const uint32_t edges[] = {0x0,	 0x7f,	 0x80,	 0x7ff,	  0x800,    0xfff,  0x1000,
					 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff, 0x3ffff};
	if (random_below(2))
		return edges[random_below(ARRAY_SIZE(edges))];
	uint32_t c;
	do
		c = random_below(0x110000);
	while (!is_character(c));
	return c;
}

/* What a program wrote. `boundary[i]`: byte i begins a character, or ends the last one. */
struct whole {
	uint8_t data[WHOLE_MAX + 4];
	bool boundary[WHOLE_MAX + 5];
	size_t size;
};

static void make_text(struct whole *w, size_t about)
{
	memset(w, 0, sizeof(*w));
	while (w->size < about) {
		w->boundary[w->size] = true;
		w->size += encode(random_character(), w->data + w->size);
	}
	w->boundary[w->size] = true;
}

static struct kept keep(const struct whole *w, uint64_t keep_bytes, bool ended_by_kill)
{
	auto_shared struct shared s = shared_new(keep_bytes);
	struct kept kept;
	struct bj_error err;
	launcher_writes(&s, BJ_STDERR, w->data, w->size);
	assert_true(kept_possible(keep_bytes, &s.report->stream[BJ_STDERR], false));
	assert_int_equal(kept_take(s.kept + keep_bytes, keep_bytes, &s.report->stream[BJ_STDERR],
				   ended_by_kill, &kept, &err),
			 0);
	return kept;
}

static void text_is_cut_between_characters_and_nowhere_else(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct whole w;
		make_text(&w, random_below(WHOLE_MAX));
		uint64_t keep_bytes = 1 + random_below(WHOLE_MAX);
		size_t head = keep_bytes / 2, tail;
		if (w.size > keep_bytes) {
			tail = w.size - (keep_bytes - head);
			while (!w.boundary[head])
				head--;
			while (!w.boundary[tail])
				tail++;
		} else {
			head = tail = 0;
		}
		struct kept kept = keep(&w, keep_bytes, random_below(2));
		const struct bj_output *o = &kept.output;
		assert_true(kept.utf8);
		assert_int_equal(o->bytes, w.size);
		assert_int_equal(o->size, head + w.size - tail);
		assert_int_equal(o->omitted_bytes, tail - head);
		assert_int_equal(o->omitted_at, w.size > keep_bytes ? head : o->size);
		assert_memory_equal(o->data, w.data, head);
		assert_memory_equal(o->data + head, w.data + tail, w.size - tail);
		kept_free(&kept);
	}
}

static void bytes_that_are_no_text_lose_nothing_to_the_cut(void **state)
{
	(void)state;
	int binary = 0;
	for (int round = 0; round < 20000; round++) {
		struct whole w;
		make_text(&w, 1 + random_below(WHOLE_MAX - 1));
		for (uint32_t i = random_below(3); i > 0; i--)
			w.data[random_below((uint32_t)w.size)] = (uint8_t)random_below(256);
		uint64_t keep_bytes = 1 + random_below(WHOLE_MAX);
		struct kept kept = keep(&w, keep_bytes, false);
		const struct bj_output *o = &kept.output;
		size_t tail = o->size - o->omitted_at;
		assert_int_equal(kept.utf8, reference_valid(o->data, o->size));
		assert_int_equal(o->bytes, w.size);
		assert_int_equal(o->omitted_bytes, w.size - o->size);
		assert_memory_equal(o->data, w.data, o->omitted_at);
		assert_memory_equal(o->data + o->omitted_at, w.data + w.size - tail, tail);
		if (!kept.utf8)
			assert_int_equal(o->size, w.size < keep_bytes ? w.size : keep_bytes);
		binary += !kept.utf8;
		kept_free(&kept);
	}
	assert_in_range(binary, 1000, 19000);
}

static void a_kill_in_the_middle_of_a_character_leaves_text(void **state)
{
	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct whole w;
		make_text(&w, random_below(WHOLE_MAX - 4));
		size_t whole = w.size;
		uint8_t last[4];
		size_t length = encode(0x80 + random_below(0xd000), last);
		size_t part = 1 + random_below((uint32_t)length - 1);
		memcpy(w.data + w.size, last, part);
		w.size += part;

		struct kept killed = keep(&w, WHOLE_MAX + 4, true);
		assert_true(killed.utf8);
		assert_int_equal(killed.output.size, whole);
		assert_int_equal(killed.output.omitted_bytes, part);
		assert_int_equal(killed.output.omitted_at, whole);
		kept_free(&killed);

		/* A program that ended by itself wrote just that. */
		struct kept ended = keep(&w, WHOLE_MAX + 4, false);
		assert_false(ended.utf8);
		assert_int_equal(ended.output.size, w.size);
		assert_int_equal(ended.output.omitted_bytes, 0);
		kept_free(&ended);
	}
}

static void validity_is_that_of_the_reference_for_all_short_strings(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 0x1000000; n += n < 0x20000 ? 1 : 97) {
		uint8_t data[4] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, 0x80};
		for (size_t size = 1; size <= 4; size++)
			if (utf8_valid(data, size) != reference_valid(data, size))
				fail_msg("%06x, %zu bytes", n, size);
	}
}

static void a_killed_launcher_leaves_what_both_counters_say(void **state)
{
	(void)state;
	struct bj_error err;
	uint8_t memory[8] = "abcdwxyz"; /* head 4, ring 4 */
	struct report_stream behind = {.bytes = 9, .tail_bytes = 3};
	struct kept kept;
	assert_false(kept_possible(8, &behind, false));
	assert_true(kept_possible(8, &behind, true));
	assert_false(kept_possible(8, &(struct report_stream){.bytes = UINT64_MAX}, true));
	assert_false(kept_possible(8, &(struct report_stream){.tail_bytes = UINT64_MAX}, true));
	assert_int_equal(kept_take(memory, 8, &behind, true, &kept, &err), 0);
	assert_int_equal(kept.output.bytes, 7);
	assert_memory_equal(kept.output.data, "abcdwxy", 7);
	kept_free(&kept);
}

static void a_line_has_no_control_characters_and_is_text(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"plain", "plain"},
		{"", ""},
		{"a\nb\tc\x1b[0m", "a?b?c?[0m"},
		{"\x7f", "?"},
		{"\xc3\xa9\xe2\x80\xa6", "\xc3\xa9\xe2\x80\xa6"},
		{"\xc2\x9b"
		 "31m",
		 "??31m"},
		{"cut \xe2\x80", "cut ??"},
		{"\xed\xa0\x80", "???"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[32];
		(void)snprintf(text, sizeof(text), "%s", cases[i].from);
		make_line(text);
		assert_string_equal(text, cases[i].to);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_between_characters_and_nowhere_else),
		cmocka_unit_test(bytes_that_are_no_text_lose_nothing_to_the_cut),
		cmocka_unit_test(a_kill_in_the_middle_of_a_character_leaves_text),
		cmocka_unit_test(validity_is_that_of_the_reference_for_all_short_strings),
		cmocka_unit_test(a_killed_launcher_leaves_what_both_counters_say),
		cmocka_unit_test(a_line_has_no_control_characters_and_is_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
