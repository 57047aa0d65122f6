/* SPDX-License-Identifier: Apache-2.0 */
/* See suggest.h. */
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_LEN_MAX 32

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/*
 * Edits between two short names: insert, delete, replace, swap of neighbours (which is what fast
 * fingers do most). Capitals are no edit.
 */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][NAME_LEN_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);
	if (a_len > NAME_LEN_MAX || b_len > NAME_LEN_MAX)
		return NAME_LEN_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3];
		const size_t *above2 = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]) && above2[j - 2] + 1 < best)
				best = above2[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_len % 3][b_len];
}

void suggest_add(struct suggestion *suggestion, const char *candidate)
{
	size_t len = strlen(suggestion->meant);
	size_t far = distance(suggestion->meant, candidate);
	/* The beginning of a name is a good sign: "mem" for "memory". */
	if (len >= 2 && strncasecmp(suggestion->meant, candidate, len) == 0)
		far = 0;
	if (!suggestion->best || far < suggestion->distance) {
		suggestion->best = candidate;
		suggestion->distance = far;
	}
}

const char *suggest_best(const struct suggestion *suggestion)
{
	size_t len = strlen(suggestion->meant);
	/* Of two letters one replaced is another name: "ts" is not "js". */
	size_t allowed = len < 3 ? 0 : len < 6 ? 1 : len / 3;
	return suggestion->best && suggestion->distance <= allowed ? suggestion->best : NULL;
}
