/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as numbers and as text for a message. What is read must be written back as something
 * that reads the same; what is quoted must be bounded, whole and harmless, and quoting it again
 * without quotes must change nothing.
 */
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_numbers(const char *text)
{
	static int (*const parsers[])(const char *, uint64_t *, struct bj_error *) = {
		parse_size, parse_time, parse_count, parse_milli};
	static const char *const plain[] = {"", "ms", "", NULL};

	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		struct bj_error err = {0};
		uint64_t value = 1, again = 2;
		char written[32];
		if (parsers[i](text, &value, &err) < 0) {
			require(value == 1 && err.code == BJ_INVALID && err.message[0]);
			continue;
		}
		require(err.code == BJ_OK && text[0] >= '0' && text[0] <= '9');
		if (!plain[i])
			continue;
		(void)snprintf(written, sizeof(written), "%" PRIu64 "%s", value, plain[i]);
		require(parsers[i](written, &again, NULL) == 0 && again == value);
	}
}

static void check_text(const char *text, size_t room)
{
	char *out = malloc(room + 1);
	char again[8192];

	require(out != NULL);
	out[room] = '\x55';
	(void)text_escape(out, room, text);
	require(out[room] == '\x55' && (room == 0 || strlen(out) < room));
	if (room >= 8)
		require(strcmp(text_escape(again, sizeof(again), out), out) == 0);
	(void)text_quote(out, room, text);
	require(out[room] == '\x55' && (room == 0 || strlen(out) < room));
	if (room >= 8) {
		size_t length = strlen(out);
		require(strcmp(text_escape(again, sizeof(again), out), out) == 0);
		require(out[0] == '"' &&
			(out[length - 1] == '"' || strcmp(out + length - 4, "\"...") == 0));
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	auto_free char *text = malloc(size);
	require(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	check_numbers(text);
	check_text(text, data[0]);
	return 0;
}
