/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the rules to classic BPF: one balanced tree over ranges of call numbers, neighbours with
 * the same verdict being one range, and below it the argument tests of each call that has some.
 *
 * libseccomp knows the numbers but cannot say this filter: a rule of its API may look at an
 * argument once, its comparisons for "is not" see all 64 bits, and what no rule of a call matches
 * gets the default of unknown calls. Here each call has a verdict of its own for the rest.
 *
 * Code is written from its end to its start, so that jumps, which only go forward, always find
 * their target's place known. A label is an index counted from the end. Only a load and the mask on
 * it run into the next instruction; all else jumps, so a return or a far jump may be put anywhere
 * between.
 */
#include "layers/seccomp_compile.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>

#define NEAR_MAX     240 /* a conditional jump reaches 255; some are left for what lies between */
#define TREE_MIN     4	 /* as many comparisons of one argument are worth a tree */
#define RANGES_MAX   1024
#define VERDICTS_MAX 16
#define X32_BIT	     0x40000000U

#define RET_DEFAULT (SECCOMP_RET_ERRNO | ENOSYS)

struct code {
	struct sock_filter from_end[FILTER_MAX];
	unsigned count;
	bool full;
	struct {
		uint32_t returns;
		unsigned label;
	} verdict[VERDICTS_MAX]; /* the latest return of each */
	unsigned verdicts;
};

/* A range of numbers begins at `first` and ends where the next begins. */
struct range {
	uint32_t first;
	uint32_t returns;	 /* where there is no call */
	const struct call *call; /* one whose arguments are looked at */
	int label;		 /* code that exists already; -1: none */
};

static unsigned emit(struct code *code, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (code->count == FILTER_MAX) {
		code->full = true;
		return 0;
	}
	code->from_end[code->count] = (struct sock_filter){op, jt, jf, k};
	return code->count++;
}

static unsigned distance(const struct code *code, unsigned label)
{
	return code->count - label - 1;
}

static unsigned emit_return(struct code *code, uint32_t returns)
{
	unsigned i = 0;
	while (i < code->verdicts && code->verdict[i].returns != returns)
		i++;
	if (i == VERDICTS_MAX) {
		code->full = true;
		return 0;
	}
	if (i < code->verdicts && distance(code, code->verdict[i].label) < NEAR_MAX)
		return code->verdict[i].label;
	if (i == code->verdicts)
		code->verdicts++;
	code->verdict[i].returns = returns;
	code->verdict[i].label = emit(code, BPF_RET | BPF_K, 0, 0, returns);
	return code->verdict[i].label;
}

static unsigned near(struct code *code, unsigned label)
{
	if (distance(code, label) < NEAR_MAX)
		return label;
	return emit(code, BPF_JMP | BPF_JA, 0, 0, distance(code, label));
}

static unsigned emit_jump(struct code *code, uint16_t op, uint32_t k, unsigned yes, unsigned no)
{
	yes = near(code, yes);
	no = near(code, no);
	return emit(code, BPF_JMP | op | BPF_K, (uint8_t)distance(code, yes),
		    (uint8_t)distance(code, no), k);
}

static unsigned emit_load(struct code *code, size_t offset)
{
	return emit(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The low half of an argument; both architectures are little-endian. */
static unsigned emit_load_arg(struct code *code, unsigned arg)
{
	return emit_load(code, offsetof(struct seccomp_data, args) + 8 * arg);
}

static unsigned emit_load_arg_high(struct code *code, unsigned arg)
{
	return emit_load(code, offsetof(struct seccomp_data, args) + 8 * arg + 4);
}

static unsigned emit_call(struct code *code, const struct call *call);

/* The accumulator holds the number. */
static unsigned emit_tree(struct code *code, const struct range *ranges, unsigned count)
{
	if (count == 1) {
		if (ranges->label >= 0)
			return (unsigned)ranges->label;
		return ranges->call ? emit_call(code, ranges->call)
				    : emit_return(code, ranges->returns);
	}
	unsigned half = count / 2;
	unsigned upper = emit_tree(code, ranges + half, count - half);
	unsigned lower = emit_tree(code, ranges, half);
	return emit_jump(code, BPF_JGE, ranges[half].first, upper, lower);
}

static bool same_range(const struct range *a, const struct range *b)
{
	return !a->call && !b->call && a->label == b->label && a->returns == b->returns;
}

static unsigned add_range(struct range *ranges, unsigned count, struct range range)
{
	if (count > 0 && ranges[count - 1].first == range.first)
		count--; /* an empty gap before it */
	if (count > 0 && same_range(&ranges[count - 1], &range))
		return count;
	ranges[count] = range;
	return count + 1;
}

static int by_first(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->first < y->first ? -1 : x->first > y->first;
}

static bool has_test(const struct rule *rule, unsigned depth)
{
	return depth < RULE_TESTS_MAX && rule->test[depth].kind != TEST_NONE;
}

/* Whether all that is left of a rule's tests is one comparison of the whole of `arg`. */
static bool is_plain(const struct rule *rule, unsigned depth, unsigned arg)
{
	return has_test(rule, depth) && !has_test(rule, depth + 1) &&
	       rule->test[depth].kind == TEST_MASKED && rule->test[depth].mask == UINT32_MAX &&
	       rule->test[depth].arg == arg;
}

static bool same_test(const struct rule_test *a, const struct rule_test *b)
{
	return a->kind == b->kind && a->arg == b->arg && a->mask == b->mask && a->value == b->value;
}

/* Plain rules on one argument exclude each other: their order does not matter. */
static unsigned emit_plain(struct code *code, const struct rule *rules, unsigned count,
			   unsigned depth, unsigned otherwise)
{
	auto_free struct range *values = calloc(count, sizeof(*values));
	auto_free struct range *ranges = calloc(2 * (size_t)count + 1, sizeof(*ranges));
	if (!values || !ranges) {
		code->full = true;
		return 0;
	}
	for (unsigned i = 0; i < count; i++)
		values[i] = (struct range){rules[i].test[depth].value, rules[i].returns, NULL, -1};
	qsort(values, count, sizeof(*values), by_first);

	struct range rest = {.label = (int)otherwise};
	unsigned n = add_range(ranges, 0, rest);
	for (unsigned i = 0; i < count; i++) {
		n = add_range(ranges, n, values[i]);
		rest.first = values[i].first + 1;
		if (values[i].first != UINT32_MAX)
			n = add_range(ranges, n, rest);
	}
	(void)emit_tree(code, ranges, n);
	return emit_load_arg(code, rules->test[depth].arg);
}

static unsigned emit_test(struct code *code, const struct rule_test *test, unsigned then,
			  unsigned otherwise)
{
	if (test->kind == TEST_HAS) {
		(void)emit_jump(code, BPF_JSET, test->mask, then, otherwise);
	} else if (test->kind == TEST_NIL) {
		(void)emit_jump(code, BPF_JEQ, 0, then, otherwise);
		unsigned high = emit_load_arg_high(code, test->arg);
		(void)emit_jump(code, BPF_JEQ, 0, high, otherwise);
	} else {
		(void)emit_jump(code, BPF_JEQ, test->value, then, otherwise);
		if (test->mask != UINT32_MAX)
			(void)emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, test->mask);
	}
	return emit_load_arg(code, test->arg);
}

/* Rows of which the first `depth` tests hold already; `otherwise`: none of them decides. */
static unsigned emit_rows(struct code *code, const struct rule *rules, unsigned count,
			  unsigned depth, unsigned otherwise)
{
	unsigned label = otherwise, end = count;
	while (end > 0) {
		const struct rule *last = &rules[end - 1];
		unsigned start = end - 1;
		if (!has_test(last, depth)) {
			label = emit_return(code, last->returns);
			end = start;
			continue;
		}
		const struct rule_test *test = &last->test[depth];
		if (is_plain(last, depth, test->arg))
			while (start > 0 && is_plain(&rules[start - 1], depth, test->arg))
				start--;
		if (end - start >= TREE_MIN) {
			label = emit_plain(code, &rules[start], end - start, depth, label);
			end = start;
			continue;
		}
		/* Neighbours that begin alike share that test. */
		start = end - 1;
		while (start > 0 && same_test(&rules[start - 1].test[depth], test))
			start--;
		unsigned inner = emit_rows(code, &rules[start], end - start, depth + 1, label);
		label = emit_test(code, test, inner, label);
		end = start;
	}
	return label;
}

static unsigned emit_call(struct code *code, const struct call *call)
{
	return emit_rows(code, call->rules, call->count, 0, 0); /* the last row always decides */
}

int seccomp_compile(const struct arch *arch, const struct call *calls, unsigned count,
		    struct sock_filter filter[FILTER_MAX])
{
	auto_free struct code *code = calloc(1, sizeof(*code));
	auto_free struct range *ranges = calloc(RANGES_MAX, sizeof(*ranges));
	if (!code || !ranges || count > RANGES_MAX / 2 - 4)
		return -1;

	struct range unknown = {.returns = RET_DEFAULT, .label = -1};
	unsigned n = add_range(ranges, 0, unknown);
	for (unsigned i = 0; i < count; i++) {
		struct range range = {calls[i].number, calls[i].rules[0].returns, NULL, -1};
		if (calls[i].count > 1)
			range.call = &calls[i];
		n = add_range(ranges, n, range);
		unknown.first = calls[i].number + 1;
		n = add_range(ranges, n, unknown);
	}
	if (arch->has_x32) {
		/* -1 is how a tracer says "skip this call"; it is no call of x32. */
		n = add_range(ranges, n,
			      (struct range){X32_BIT, SECCOMP_RET_KILL_PROCESS, NULL, -1});
		unknown.first = UINT32_MAX;
		n = add_range(ranges, n, unknown);
	}

	(void)emit_tree(code, ranges, n);
	unsigned tree = emit_load(code, offsetof(struct seccomp_data, nr));
	unsigned foreign = emit_return(code, SECCOMP_RET_KILL_PROCESS);
	(void)emit_jump(code, BPF_JEQ, arch->token, tree, foreign);
	(void)emit_load(code, offsetof(struct seccomp_data, arch));
	if (code->full)
		return -1;
	for (unsigned i = 0; i < code->count; i++)
		filter[i] = code->from_end[code->count - 1 - i];
	return (int)code->count;
}
