/* SPDX-License-Identifier: Apache-2.0 */
/* The main program: finds verbs, runs them in order, prints their lines. */
#include "inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool say(const char *verb, long got)
{
	say_text(verb, got, NULL, 0);
	return got >= 0;
}

void say_text(const char *verb, long got, const char *text, long size)
{
	int os = got < 0 ? errno : 0;
	const char *name = os ? strerrorname_np(os) : "";

	printf("{\"verb\":\"%s\",\"ok\":%s,\"errno\":%d,\"name\":\"%s\",\"value\":%ld", verb,
	       got < 0 ? "false" : "true", os, name ? name : "?", got);
	if (text) {
		printf(",\"text\":\"");
		for (long i = 0; i < size; i++) {
			unsigned char c = (unsigned char)text[i];

			if (c < 32 || c > 126 || c == '"' || c == '\\')
				printf("\\u%04x", c);
			else
				putchar(c);
		}
		putchar('"');
	}
	puts("}");
	(void)fflush(stdout);
}

long long number(const char *text)
{
	char *end = NULL;
	long long value = 0;

	errno = 0;
	value = text[0] == '-' ? strtoll(text, &end, 0) : (long long)strtoull(text, &end, 0);
	if (errno || end == text || *end) {
		fprintf(stderr, "inside: not a number: %s\n", text);
		exit(99);
	}
	return value;
}

static const struct verb *find(const char *name)
{
	const struct verb *tables[] = {verbs_files, verbs_net, verbs_calls, verbs_load};

	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct verb *v = tables[i]; v->name; v++)
			if (!strcmp(v->name, name))
				return v;
	return NULL;
}

int main(int argc, char **argv)
{
	for (int from = 1, to; from < argc; from = to + 1) {
		const struct verb *verb = find(argv[from]);

		for (to = from; to < argc && strcmp(argv[to], ",") != 0; to++)
			;
		if (!verb) {
			fprintf(stderr, "inside: no verb %s\n", argv[from]);
			return 98;
		}
		int count = to - from - 1;
		if (count < verb->least || (verb->most >= 0 && count > verb->most)) {
			fprintf(stderr, "inside: %s: %d arguments\n", verb->name, count);
			return 97;
		}
		errno = 0;
		verb->run(count, argv + from + 1);
	}
	return 0;
}
