/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the generated filters: sim TABLE… Each table's lines are
 *
 *   ARCH  CALL  a0 a1 a2 a3 a4 a5  VERDICT
 *
 * ARCH: x86_64, aarch64, or a foreign i386, arm. CALL: number:name (both must agree), name, number,
 * or first-last. An argument is a number, or - for any. Then, without a table: what the filter says
 * of random calls is what the rules say; every branch of it is taken; what common calls cost.
 * Prints TAP.
 */
#include "sim.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ANY_TRIES 24
#define ROUNDS	  20000 /* random calls for each number whose arguments count */
#define NUMBERS	  600

static unsigned tests, failures;

static void report(bool good, const char *what)
{
	(void)printf("%sok %u - %s\n", good ? "" : "not ", ++tests, what);
	failures += !good;
}

static uint64_t random_bits(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15); /* the same every time */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static const char *verdict_name(uint32_t returns)
{
	static char other[32];
	switch (returns) {
	case SECCOMP_RET_ALLOW:
		return "ALLOW";
	case SECCOMP_RET_KILL_PROCESS:
		return "KILL";
	case SECCOMP_RET_ERRNO: /* with errno 0 */
		return "SUCCESS";
	default:
		break;
	}
	const char *name = strerrorname_np((int)(returns & SECCOMP_RET_DATA));
	if ((returns & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && name)
		return name;
	(void)snprintf(other, sizeof(other), "0x%08" PRIx32, returns);
	return other;
}

struct line {
	const struct filter *filter;
	uint32_t token;
	uint32_t first, last;
	const char *verdict;
	bool any[6];
	uint64_t arg[6];
};

static bool parse_number(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(text, &end, 0);
	return !errno && end != text && !*end;
}

static bool parse_arch(const char *text, struct line *line)
{
	static const struct {
		const char *name;
		uint32_t token;
		int filter;
	} archs[] = {
		{"x86_64", AUDIT_ARCH_X86_64, SIM_X86_64},
		{"i386", AUDIT_ARCH_I386, SIM_X86_64},
		{"aarch64", AUDIT_ARCH_AARCH64, SIM_AARCH64},
		{"arm", AUDIT_ARCH_ARM, SIM_AARCH64},
	};
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		if (strcmp(archs[i].name, text) == 0) {
			line->filter = &filters[archs[i].filter];
			line->token = archs[i].token;
			return true;
		}
	}
	return false;
}

static bool parse_call(char *text, struct line *line)
{
	uint64_t number;
	char *colon = strchr(text, ':'), *dash = strchr(text, '-');
	if (!isdigit((unsigned char)text[0])) {
		int known = seccomp_syscall_resolve_name_arch(line->filter->seccomp, text);
		line->first = line->last = (uint32_t)known;
		return known >= 0;
	}
	if (colon) {
		*colon = '\0';
		if (!parse_number(text, &number) || number > INT_MAX)
			return false;
		const char *name = oracle_name(line->filter, (int)number);
		line->first = line->last = (uint32_t)number;
		return name && strcmp(name, colon + 1) == 0;
	}
	if (dash)
		*dash = '\0';
	if (!parse_number(text, &number))
		return false;
	line->first = line->last = (uint32_t)number;
	if (!dash)
		return number <= UINT32_MAX;
	if (!parse_number(dash + 1, &number) || number > UINT32_MAX || number < line->first)
		return false;
	line->last = (uint32_t)number;
	return true;
}

static bool parse_line(char *text, struct line *line)
{
	char *save, *word[9];
	*line = (struct line){0};
	for (int i = 0; i < 9; i++) {
		word[i] = strtok_r(i ? NULL : text, " \t\n", &save);
		if (!word[i])
			return false;
	}
	for (int i = 0; i < 6; i++) {
		line->any[i] = strcmp(word[2 + i], "-") == 0;
		if (!line->any[i] && !parse_number(word[2 + i], &line->arg[i]))
			return false;
	}
	line->verdict = word[8];
	return parse_arch(word[0], line) && parse_call(word[1], line);
}

/* The first verdict that is not the line's, or NULL. */
static const char *judge(const struct line *line)
{
	struct seccomp_data data = {.arch = line->token};
	for (uint64_t number = line->first; number <= line->last; number++) {
		data.nr = (int)(uint32_t)number;
		for (int try = 0; try < ANY_TRIES; try++) {
			for (int i = 0; i < 6; i++) {
				uint64_t any = try == 0 ? 0 : try == 1 ? UINT64_MAX : random_bits();
				data.args[i] = line->any[i] ? any : line->arg[i];
			}
			const char *got = verdict_name(sim_run(line->filter, &data, NULL, NULL));
			if (strcmp(got, line->verdict) != 0)
				return got;
		}
	}
	return NULL;
}

static void run_table(const char *path)
{
	auto_fclose FILE *file = fopen(path, "re");
	char text[256], copy[256], what[768];
	unsigned number = 0, lines = 0;
	if (!file) {
		report(false, path);
		return;
	}
	while (fgets(text, sizeof(text), file)) {
		struct line line;
		number++;
		char *comment = strchr(text, '#');
		if (comment)
			*comment = '\0';
		if (text[strspn(text, " \t\n")] == '\0')
			continue;
		lines++;
		memcpy(copy, text, sizeof(copy));
		text[strcspn(text, "\n")] = '\0';
		if (!parse_line(copy, &line)) {
			(void)snprintf(what, sizeof(what), "%s:%u: no such line or call: %s", path,
				       number, text);
			report(false, what);
			continue;
		}
		const char *got = judge(&line);
		(void)snprintf(what, sizeof(what), "%s%s%s", text, got ? ", but got " : "",
			       got ? got : "");
		report(!got, what);
	}
	(void)printf("# %s: %u lines\n", path, lines);
}

/* Arguments near what the rules compare with, the rest of the 64 bits at random. */
static uint64_t random_argument(const uint32_t *values, size_t count)
{
	uint64_t value = count ? values[random_bits() % count] : 0;
	switch (random_bits() % 8) {
	case 0:
		value = (uint32_t)random_bits();
		break;
	case 1:
		value = (uint32_t)(value + 1);
		break;
	case 2:
		value = (uint32_t)(value - 1);
		break;
	case 3:
		value ^= UINT64_C(1) << (random_bits() % 32);
		break;
	case 4:
		value |= count ? values[random_bits() % count] : 0;
		break;
	default:
		break;
	}
	return random_bits() % 2 ? value : value | random_bits() << 32;
}

static unsigned uncovered(const struct filter *filter, const uint8_t *seen)
{
	unsigned missing = 0;
	for (unsigned i = 0; i < *filter->size; i++) {
		bool branch = BPF_CLASS(filter->code[i].code) == BPF_JMP &&
			      filter->code[i].code != (BPF_JMP | BPF_JA);
		uint8_t wanted = branch ? RAN | RAN_YES | RAN_NO : RAN;
		if ((seen[i] & wanted) == wanted)
			continue;
		(void)printf("# %s: instruction %u: %s\n", filter->arch, i,
			     seen[i] & RAN ? "one way only" : "never ran");
		missing++;
	}
	return missing;
}

static void run_random(const struct filter *filter)
{
	uint32_t values[ORACLE_VALUES];
	auto_free uint8_t *seen = calloc(*filter->size, 1);
	unsigned wrong = 0;
	char what[128];
	struct seccomp_data data = {.arch = filter->token};
	for (int number = 0; seen && number < NUMBERS; number++) {
		const char *name = oracle_name(filter, number);
		size_t count = oracle_values(name, values);
		/* Where arguments count, values of three of them must meet. */
		for (int round = 0; round < (count ? ROUNDS : ROUNDS / 100); round++) {
			data.nr = number;
			data.instruction_pointer = random_bits();
			for (int i = 0; i < 6; i++)
				data.args[i] = random_argument(values, count);
			uint32_t got = sim_run(filter, &data, NULL, seen);
			uint32_t want = oracle_verdict(name, &data);
			if (got != want && wrong++ < 10)
				(void)printf("# %s %s: got %s, the rules say otherwise\n",
					     filter->arch, name ? name : "?", verdict_name(got));
		}
	}
	for (int i = 0; i < 100000; i++) {
		data.nr = (int)(0x40000000U | (random_bits() & 0x3fffffff));
		uint32_t want = filter->token == AUDIT_ARCH_X86_64 ? SECCOMP_RET_KILL_PROCESS
								   : SECCOMP_RET_ERRNO | ENOSYS;
		wrong += sim_run(filter, &data, NULL, seen) != want;
		data.nr = (int)random_bits();
		data.arch = (uint32_t)random_bits();
		if (data.arch != filter->token)
			wrong += sim_run(filter, &data, NULL, seen) != SECCOMP_RET_KILL_PROCESS;
		data.arch = filter->token;
	}
	data.nr = -1; /* how a tracer skips a call */
	wrong += sim_run(filter, &data, NULL, seen) != (SECCOMP_RET_ERRNO | ENOSYS);
	(void)snprintf(what, sizeof(what), "%s: random calls get the verdict of the rules",
		       filter->arch);
	report(seen && wrong == 0, what);
	(void)snprintf(what, sizeof(what),
		       "%s: every instruction runs, every branch goes both ways", filter->arch);
	report(seen && uncovered(filter, seen) == 0, what);
}

static void print_cost(const struct filter *filter)
{
	static const struct {
		const char *call;
		uint64_t args[3];
	} common[] = {
		{"read", {0}},	       {"write", {0}},
		{"openat", {0}},       {"close", {0}},
		{"mmap", {0}},	       {"futex", {0}},
		{"clone", {0x3d0f00}}, {"ioctl", {1, 0x5401}},
		{"fcntl", {0, 1}},     {"socket", {AF_INET, SOCK_STREAM}},
		{"prctl", {15}},       {"execve", {0}},
		{"exit_group", {0}},
	};
	unsigned steps, sum = 0, most = 0;
	(void)printf("# %s: %u instructions;", filter->arch, *filter->size);
	for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
		struct seccomp_data data = {
			.arch = filter->token,
			.nr = seccomp_syscall_resolve_name_arch(filter->seccomp, common[i].call)};
		memcpy(data.args, common[i].args, sizeof(common[i].args));
		(void)sim_run(filter, &data, &steps, NULL);
		sum += steps;
		most = steps > most ? steps : most;
		(void)printf(" %s %u", common[i].call, steps);
	}
	(void)printf("; mean %u\n", sum / (unsigned)ARRAY_SIZE(common));
	/* A tree over some 400 numbers and an argument or two: a list would need hundreds. */
	report(most <= 32, "no common call takes more than 32 instructions");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_table(argv[i]);
	for (int i = 0; i < SIM_COUNT; i++) {
		run_random(&filters[i]);
		print_cost(&filters[i]);
	}
	(void)printf("1..%u\n", tests);
	return failures != 0;
}
