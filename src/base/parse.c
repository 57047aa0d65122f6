/* SPDX-License-Identifier: Apache-2.0 */
/* Strict numbers with units: see parse.h. */
#include "base/parse.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * A fraction of seven places or fewer is all that can be exact: an hour is 2^7 * 3^2 * 5^5 ms, so
 * no denominator above 2^7 or 5^5 leaves whole milliseconds.
 */
#define PLACES_MAX 7

struct decimal {
	uint64_t whole;
	uint32_t fraction; /* in units of 10^-places, without zeros at its end */
	unsigned places;
	bool has_point;
	const char *rest; /* what follows: the unit */
};

struct unit {
	const char *name;
	uint64_t factor;
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits after the point. */
static int read_fraction(struct decimal *number, const char *text, const char *shape,
			 struct bj_error *err)
{
	size_t length = 0;
	while (digit(text[length]))
		length++;
	if (length == 0)
		return fail(err, BJ_INVALID, "%s", shape);
	number->rest = text + length;
	while (length > 0 && text[length - 1] == '0')
		length--;
	if (length > PLACES_MAX)
		return fail(err, BJ_INVALID, "too many decimals");
	number->has_point = true;
	number->places = (unsigned)length;
	number->fraction = 0;
	for (size_t i = 0; i < length; i++)
		number->fraction = number->fraction * 10 + (uint32_t)(text[i] - '0');
	return 0;
}

/* `shape` says what would have been right. */
static int read_decimal(struct decimal *ret, const char *text, const char *shape,
			struct bj_error *err)
{
	struct decimal number = {.rest = text};

	if (text[0] == '\0')
		return fail(err, BJ_INVALID, "empty: %s", shape);
	if (text[0] == '-' || text[0] == '+')
		return fail(err, BJ_INVALID, "no sign is allowed: %s", shape);
	if (!digit(text[0]))
		return fail(err, BJ_INVALID, "%s", shape);
	if (text[0] == '0' && digit(text[1]))
		return fail(err, BJ_INVALID, "no zeros are allowed in front: %s", shape);
	for (; digit(*text); text++) {
		if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
		    __builtin_add_overflow(number.whole, (uint64_t)(*text - '0'), &number.whole))
			return fail(err, BJ_INVALID, "too large");
	}
	number.rest = text;
	if (*text == '.' && read_fraction(&number, text + 1, shape, err) < 0)
		return -1;
	*ret = number;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	}
	return NULL;
}

static uint64_t power_of_ten(unsigned places)
{
	uint64_t power = 1;
	for (unsigned i = 0; i < places; i++)
		power *= 10;
	return power;
}

/* number * factor, which must be whole; `inexact` says what it is not. */
static int scale(const struct decimal *number, uint64_t factor, const char *inexact, uint64_t *ret,
		 struct bj_error *err)
{
	uint64_t divisor = power_of_ten(number->places);
	uint64_t part = number->fraction * factor; /* below 10^7 * 3.6 * 10^6 */
	uint64_t value = 0;

	if (part % divisor != 0)
		return fail(err, BJ_INVALID, "%s", inexact);
	if (__builtin_mul_overflow(number->whole, factor, &value) ||
	    __builtin_add_overflow(value, part / divisor, &value))
		return fail(err, BJ_INVALID, "too large");
	*ret = value;
	return 0;
}

/* ---- What was probably meant ----------------------------------------------------------------- */

#define GUESS_SIZE 48
#define DIGITS	   "0123456789"
#define DIGITS_MAX 24
#define BLANK	   " \t"
#define SPACE	   " \t\r\n"

/* A unit as it is spelled elsewhere, in capitals or not. */
struct spelling {
	const char *written;
	const char *unit;
};

/* "64 MB" becomes "64m"; false: it is nothing that is known. */
static bool respell(const char *text, const struct spelling *spellings, size_t count,
		    char guess[GUESS_SIZE])
{
	text += strspn(text, BLANK "+");
	while (text[0] == '0' && digit(text[1]))
		text++;
	size_t whole = strspn(text, DIGITS), part = 0;
	const char *unit = text + whole;
	if ((*unit == '.' || *unit == ',') && digit(unit[1])) {
		part = strspn(unit + 1, DIGITS);
		/* "1,000" is a thousand in one country and one in another. */
		if (*unit == ',' && part == 3)
			return false;
		unit += 1 + part;
	}
	if (whole == 0 || whole + part > DIGITS_MAX)
		return false;
	unit += strspn(unit, BLANK);
	size_t len = strcspn(unit, SPACE);
	if (unit[len + strspn(unit + len, SPACE)] != '\0')
		return false;
	for (size_t i = 0; i < count; i++) {
		if (strlen(spellings[i].written) != len ||
		    strncasecmp(spellings[i].written, unit, len) != 0)
			continue;
		(void)snprintf(guess, GUESS_SIZE, "%.*s%s%.*s%s", (int)whole, text, part ? "." : "",
			       (int)part, part ? text + whole + 1 : "", spellings[i].unit);
		return true;
	}
	return false;
}

/* Adds it to the reason why something else was refused. Returns -1. */
static int did_you_mean(struct bj_error *err, const char *guess)
{
	if (!err)
		return -1;
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used, " (did you mean %s?)",
		       guess);
	return -1;
}

/* ---- The four kinds ---------------------------------------------------------------------------
 */

static const struct unit size_units[] = {
	{"", 1},
	{"k", UINT64_C(1) << 10},
	{"m", UINT64_C(1) << 20},
	{"g", UINT64_C(1) << 30},
	{"t", UINT64_C(1) << 40},
};

static const char size_shape[] = "a size is digits and one of k, m, g, t, as in 64m";

static int read_size(const char *text, uint64_t *ret_bytes, struct bj_error *err)
{
	struct decimal number = {.rest = ""};

	if (read_decimal(&number, text, size_shape, err) < 0)
		return -1;
	const struct unit *unit = find_unit(size_units, ARRAY_SIZE(size_units), number.rest);
	if (!unit || number.has_point)
		return fail(err, BJ_INVALID, "%s", size_shape);
	return scale(&number, unit->factor, size_shape, ret_bytes, err);
}

/* A size with a fraction, in a unit of which it is a whole number: "1536m" for "1.5g". */
static bool whole_size(const char *text, char guess[GUESS_SIZE])
{
	struct decimal number = {.rest = ""};
	uint64_t bytes = 0;
	size_t best = 0;

	if (read_decimal(&number, text, size_shape, NULL) < 0)
		return false;
	const struct unit *unit = find_unit(size_units, ARRAY_SIZE(size_units), number.rest);
	if (!unit || scale(&number, unit->factor, size_shape, &bytes, NULL) < 0 || bytes == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(size_units); i++)
		if (bytes % size_units[i].factor == 0)
			best = i;
	(void)snprintf(guess, GUESS_SIZE, "%" PRIu64 "%s", bytes / size_units[best].factor,
		       size_units[best].name);
	return true;
}

int parse_size(const char *text, uint64_t *ret_bytes, struct bj_error *err)
{
	static const struct spelling spellings[] = {
		{"", ""},     {"b", ""},    {"byte", ""}, {"bytes", ""}, {"k", "k"},   {"kb", "k"},
		{"kib", "k"}, {"m", "m"},   {"mb", "m"},  {"mib", "m"},	 {"meg", "m"}, {"g", "g"},
		{"gb", "g"},  {"gib", "g"}, {"gig", "g"}, {"t", "t"},	 {"tb", "t"},  {"tib", "t"},
	};
	char written[GUESS_SIZE], guess[GUESS_SIZE];
	uint64_t bytes = 0;

	if (read_size(text, ret_bytes, err) == 0)
		return 0;
	if (!respell(text, spellings, ARRAY_SIZE(spellings), written))
		return -1;
	if (read_size(written, &bytes, NULL) == 0)
		return did_you_mean(err, written);
	return whole_size(written, guess) ? did_you_mean(err, guess) : -1;
}

static int read_time(const char *text, uint64_t *ret_ms, struct bj_error *err)
{
	static const char shape[] = "a time is a number and one of ms, s, m, h, as in 10s";
	static const char inexact[] = "a time is whole milliseconds";
	static const struct unit units[] = {
		{"ms", 1},
		{"s", 1000},
		{"m", 60000},
		{"h", 3600000},
	};
	struct decimal number = {.rest = ""};

	if (read_decimal(&number, text, shape, err) < 0)
		return -1;
	if (*number.rest == '\0')
		return fail(err, BJ_INVALID, "give a unit: ms, s, m or h, as in 10s");
	const struct unit *unit = find_unit(units, ARRAY_SIZE(units), number.rest);
	if (!unit)
		return fail(err, BJ_INVALID, "%s", shape);
	return scale(&number, unit->factor, inexact, ret_ms, err);
}

int parse_time(const char *text, uint64_t *ret_ms, struct bj_error *err)
{
	static const struct spelling spellings[] = {
		{"ms", "ms"},	{"msec", "ms"},	  {"msecs", "ms"},  {"millisecond", "ms"},
		{"s", "s"},	{"sec", "s"},	  {"secs", "s"},    {"second", "s"},
		{"m", "m"},	{"min", "m"},	  {"mins", "m"},    {"minute", "m"},
		{"h", "h"},	{"hr", "h"},	  {"hrs", "h"},	    {"hour", "h"},
		{"hours", "h"}, {"minutes", "m"}, {"seconds", "s"}, {"milliseconds", "ms"},
	};
	char guess[GUESS_SIZE];
	uint64_t ms = 0;

	if (read_time(text, ret_ms, err) == 0)
		return 0;
	if (!respell(text, spellings, ARRAY_SIZE(spellings), guess) ||
	    read_time(guess, &ms, NULL) < 0)
		return -1;
	return did_you_mean(err, guess);
}

int parse_count(const char *text, uint64_t *ret_count, struct bj_error *err)
{
	static const char shape[] = "a count is digits alone, as in 64";
	struct decimal number = {.rest = ""};

	if (read_decimal(&number, text, shape, err) < 0)
		return -1;
	if (*number.rest != '\0' || number.has_point)
		return fail(err, BJ_INVALID, "%s", shape);
	*ret_count = number.whole;
	return 0;
}

int parse_milli(const char *text, uint64_t *ret_milli, struct bj_error *err)
{
	static const char shape[] = "a number with at most three decimals, as in 0.5";
	struct decimal number = {.rest = ""};

	if (read_decimal(&number, text, shape, err) < 0)
		return -1;
	if (*number.rest != '\0')
		return fail(err, BJ_INVALID, "%s", shape);
	return scale(&number, 1000, shape, ret_milli, err);
}
