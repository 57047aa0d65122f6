/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs inside the sandbox for the live tests: one static program of many verbs. Each verb
 * does one thing and prints one line of JSON that says what the kernel answered, so that a test
 * can demand an exact errno. Verbs judge nothing.
 *
 *   inside VERB ARG… [, VERB ARG…]…
 *
 * Some verbs are attacks. On a host they run inside namespaces made for them, never bare.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct verb {
	const char *name;
	int least, most; /* how many arguments; `most` negative: any number */
	void (*run)(int argc, char **argv);
};

/* Tables of verbs, one a file; each ends with a row without a name. */
extern const struct verb verbs_files[], verbs_net[], verbs_calls[], verbs_load[];

/* One line about a call that returned `got` and left errno as it is. True when it worked. */
bool say(const char *verb, long got);
/* The same with text: `size` bytes, printed as a JSON string, bytes above 126 as \u00XX. */
void say_text(const char *verb, long got, const char *text, long size);

/* The whole argument as a number (0x and 0 prefixes understood); anything else ends the program. */
long long number(const char *text);

#endif
