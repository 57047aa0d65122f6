/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: seccomp_gen ARCH FORMAT, on standard output.
 *
 *   c     the filter as a C array, for the launcher
 *   text  every call with its number and verdicts, and the instructions, for people
 *   doc   the page docs/generated/seccomp.md (of all architectures: ARCH is ignored)
 *
 * Numbers come from libseccomp, those it does not know yet from the table itself.
 */
#include "base/cleanup.h"
#include "layers/seccomp_compile.h"
#include "layers/seccomp_values.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 500

#define RETURNS_ALLOW		SECCOMP_RET_ALLOW
#define RETURNS_SUCCESS		SECCOMP_RET_ERRNO /* 0: the call is skipped and returns 0 */
#define RETURNS_EPERM		(SECCOMP_RET_ERRNO | EPERM)
#define RETURNS_ENOSYS		(SECCOMP_RET_ERRNO | ENOSYS)
#define RETURNS_EINVAL		(SECCOMP_RET_ERRNO | EINVAL)
#define RETURNS_ENOMEM		(SECCOMP_RET_ERRNO | ENOMEM)
#define RETURNS_ENOTTY		(SECCOMP_RET_ERRNO | ENOTTY)
#define RETURNS_EAFNOSUPPORT	(SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define RETURNS_EPROTONOSUPPORT (SECCOMP_RET_ERRNO | EPROTONOSUPPORT)

#define IS(arg, value)                                                                             \
	{                                                                                          \
		TEST_MASKED, arg, UINT32_MAX, (uint32_t)(value)                                    \
	}
#define MASKED(arg, mask, value)                                                                   \
	{                                                                                          \
		TEST_MASKED, arg, (uint32_t)(mask), (uint32_t)(value)                              \
	}
#define HAS(arg, mask)                                                                             \
	{                                                                                          \
		TEST_HAS, arg, (uint32_t)(mask), 0                                                 \
	}
#define NIL(arg)                                                                                   \
	{                                                                                          \
		TEST_NIL, arg, 0, 0                                                                \
	}
#define SECTION(title) {.section = title},
#define RULE(name, verdict_, reason, ...)                                                          \
	{.call = #name,                                                                            \
	 .verdict = #verdict_,                                                                     \
	 .returns = RETURNS_##verdict_,                                                            \
	 .why = reason,                                                                            \
	 .when = #__VA_ARGS__,                                                                     \
	 .test = {__VA_ARGS__}},
#define NEWER(number, name)

static const struct rule rules[] = {
#include "layers/seccomp_rules.def"
};

#undef SECTION
#undef RULE
#undef NEWER
#define SECTION(title)
#define RULE(name, verdict, reason, ...)
#define NEWER(number, name) {#name, number},

static const struct {
	const char *name;
	int number;
} newer[] = {
#include "layers/seccomp_rules.def"
};

static const struct {
	struct arch arch;
	uint32_t seccomp;
} archs[] = {
	{{"x86_64", AUDIT_ARCH_X86_64, true}, SCMP_ARCH_X86_64},
	{{"aarch64", AUDIT_ARCH_AARCH64, false}, SCMP_ARCH_AARCH64},
};

static int wrong(const char *call, const char *what)
{
	(void)fprintf(stderr, "seccomp_rules.def: %s: %s\n", call, what);
	return -1;
}

/* The number, or -1 where the architecture lacks the call, or -2 when nobody knows the name. */
static int number_of(uint32_t arch, const char *name)
{
	int number = seccomp_syscall_resolve_name_arch(arch, name), listed = -1;
	for (size_t i = 0; i < ARRAY_SIZE(newer); i++)
		if (strcmp(newer[i].name, name) == 0)
			listed = newer[i].number;
	if (number == __NR_SCMP_ERROR)
		return listed < 0 ? -2 : listed;
	if (number < 0) /* a pseudo number: the name belongs to other architectures */
		return listed;
	return listed < 0 || listed == number ? number : -2;
}

/* The rows of a call: together, the last and only it without conditions. */
static int check_rows(const struct rule *first, unsigned *ret_count)
{
	const struct rule *end = rules + ARRAY_SIZE(rules);
	unsigned count = 0;
	while (first + count < end && first[count].call &&
	       strcmp(first[count].call, first->call) == 0)
		count++;
	for (unsigned i = 0; i < count; i++) {
		if ((first[i].test[0].kind == TEST_NONE) != (i == count - 1))
			return wrong(first->call,
				     "its last row, and no other, must have no conditions");
		for (unsigned t = 0; t < RULE_TESTS_MAX; t++) {
			const struct rule_test *test = &first[i].test[t];
			if (test->arg > 5 || (test->value & ~test->mask))
				return wrong(first->call, "a condition that cannot hold");
		}
		for (unsigned earlier = 0; earlier < i; earlier++)
			if (memcmp(first[i].test, first[earlier].test, sizeof(first->test)) == 0)
				return wrong(first->call, "two rows for the same case");
		if (strchr(first[i].why, '|'))
			return wrong(first->call,
				     "a reason may not break the table it is printed in");
	}
	for (const struct rule *row = rules; row < first; row++)
		if (row->call && strcmp(row->call, first->call) == 0)
			return wrong(first->call, "its rows do not stand together");
	*ret_count = count;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Fills `calls`, sorted by number; their count, or -1. */
static int collect(uint32_t arch, struct call calls[CALLS_MAX])
{
	unsigned n = 0, rows = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i += rows) {
		rows = 1;
		if (rules[i].section)
			continue;
		if (check_rows(&rules[i], &rows) < 0)
			return -1;
		int number = number_of(arch, rules[i].call);
		if (number < -1)
			return wrong(rules[i].call, "no such call, or two numbers for it");
		if (number == -1)
			continue;
		if (n == CALLS_MAX)
			return wrong(rules[i].call, "too many calls");
		calls[n++] = (struct call){(uint32_t)number, &rules[i], rows};
	}
	qsort(calls, n, sizeof(*calls), by_number);
	for (unsigned i = 1; i < n; i++)
		if (calls[i].number == calls[i - 1].number)
			return wrong(calls[i].rules->call, "two names for one number");
	return (int)n;
}

static void print_c(const char *arch, const struct sock_filter *filter, int size)
{
	(void)printf("/* Made by seccomp_gen from seccomp_rules.def for %s. */\n"
		     "#include \"layers/seccomp_filter.h\"\n\n"
		     "const unsigned short seccomp_filter_size = %d;\n"
		     "const struct sock_filter seccomp_filter[] = {\n",
		     arch, size);
	for (int i = 0; i < size; i++)
		(void)printf("\t{0x%02x, %u, %u, 0x%08x},\n", filter[i].code, filter[i].jt,
			     filter[i].jf, filter[i].k);
	(void)printf("};\n");
}

static void print_instruction(int at, const struct sock_filter *ins)
{
	static const struct {
		uint16_t code;
		const char *name;
	} names[] = {
		{BPF_LD | BPF_W | BPF_ABS, "ld"},   {BPF_ALU | BPF_AND | BPF_K, "and"},
		{BPF_JMP | BPF_JA, "ja"},	    {BPF_JMP | BPF_JEQ | BPF_K, "jeq"},
		{BPF_JMP | BPF_JGE | BPF_K, "jge"}, {BPF_JMP | BPF_JSET | BPF_K, "jset"},
		{BPF_RET | BPF_K, "ret"},
	};
	size_t i = 0;
	while (i < ARRAY_SIZE(names) - 1 && names[i].code != ins->code)
		i++;
	(void)printf("%4d  %-4s 0x%08x", at, names[i].name, ins->k);
	if (ins->code == (BPF_JMP | BPF_JA))
		(void)printf("  to %d", at + 1 + (int)ins->k);
	else if (BPF_CLASS(ins->code) == BPF_JMP)
		(void)printf("  yes %d, no %d", at + 1 + ins->jt, at + 1 + ins->jf);
	(void)printf("\n");
}

static void print_text(const struct arch *arch, const struct call *calls, int count,
		       const struct sock_filter *filter, int size)
{
	(void)printf("seccomp filter for %s: %d calls, %d instructions\n\n"
		     "another architecture: KILL_PROCESS\n%s"
		     "a number not listed: ENOSYS\n\n",
		     arch->name, count, size,
		     arch->has_x32 ? "x32 (bit 30 of the number): KILL_PROCESS\n" : "");
	for (int i = 0; i < count; i++) {
		for (unsigned row = 0; row < calls[i].count; row++) {
			const struct rule *rule = &calls[i].rules[row];
			(void)printf("%3u %s %s%s%s\n", calls[i].number, rule->call, rule->verdict,
				     rule->when[0] ? " if " : "", rule->when);
		}
	}
	(void)printf("\n");
	for (int i = 0; i < size; i++)
		print_instruction(i, &filter[i]);
}

static void print_doc(void)
{
	(void)printf(
		"<!-- Made by seccomp_gen from src/layers/seccomp_rules.def; do not edit. -->\n"
		"# System calls\n\n"
		"What the `seccomp` layer lets a program call. A call that is not listed here "
		"answers ENOSYS, so\nthat programs fall back as on an older kernel. Calls of "
		"another architecture, and of x32, kill the\nprocess.\n\n"
		"The rows of a call are tried in order and the first that fits decides. Conditions "
		"look at the low\n32 bits of an argument, as the kernel does: `IS(n, value)`: "
		"argument n is the value; `MASKED(n,\nmask, value)`: the bits of the mask are the "
		"value; `HAS(n, mask)`: any bit of the mask is set.\nOnly `NIL(n)` looks at all "
		"64: "
		"argument n is a NULL pointer. The verdict SUCCESS says that it was\ndone, and "
		"nothing "
		"is.\n");
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *rule = &rules[i];
		if (rule->section)
			(void)printf(
				"\n## %s\n\n| call | verdict | if | why |\n|---|---|---|---|\n",
				rule->section);
		else
			(void)printf("| `%s` | %s | %s%s%s | %s |\n", rule->call, rule->verdict,
				     rule->when[0] ? "`" : "", rule->when, rule->when[0] ? "`" : "",
				     rule->why);
	}
}

static int generate(const char *arch_name, const char *format)
{
	static struct call calls[CALLS_MAX];
	static struct sock_filter filter[FILTER_MAX];
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		if (strcmp(archs[i].arch.name, arch_name) != 0)
			continue;
		int count = collect(archs[i].seccomp, calls);
		if (count < 0)
			return -1;
		int size = seccomp_compile(&archs[i].arch, calls, (unsigned)count, filter);
		if (size < 0)
			return wrong(arch_name, "the filter does not fit");
		if (strcmp(format, "c") == 0)
			print_c(arch_name, filter, size);
		else if (strcmp(format, "text") == 0)
			print_text(&archs[i].arch, calls, count, filter, size);
		else if (strcmp(format, "doc") == 0)
			print_doc();
		else
			return wrong(format, "no such format");
		return 0;
	}
	return wrong(arch_name, "no filter is made for this architecture");
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		(void)fprintf(stderr, "usage: seccomp_gen x86_64|aarch64 c|text|doc\n");
		return 2;
	}
	if (generate(argv[1], argv[2]) < 0)
		return 1;
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
