/* SPDX-License-Identifier: Apache-2.0 */
/* Prints os_names.c. Both architectures have the same numbers. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { ERRNO_MAX = 4095 }; /* the kernel's */

static void print_function(const char *name, int last, const char *(*words_of)(int))
{
	printf("\nconst char *%s(int n)\n{\n\tstatic const char *const words[] = {\n", name);
	for (int n = 0; n <= last; n++) {
		const char *words = words_of(n);
		if (words)
			printf("\t\t[%d] = \"%s\",\n", n, words);
	}
	printf("\t};\n\treturn n >= 0 && n < (int)(sizeof(words) / sizeof(*words)) ? words[n] : "
	       "NULL;\n}\n");
}

int main(void)
{
	printf("#include \"base/os_names.h\"\n\n#include <stddef.h>\n");
	print_function("errno_words", ERRNO_MAX, strerrordesc_np);
	print_function("signal_name", NSIG - 1, sigabbrev_np);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
