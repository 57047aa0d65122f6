/* SPDX-License-Identifier: Apache-2.0 */
/* Classic BPF as seccomp runs it: the part that our filters use; anything else is broken. */
#include "sim.h"

#include <stdbool.h>
#include <string.h>

static bool load(const struct seccomp_data *data, uint32_t offset, uint32_t *ret)
{
	if (offset % 4 || offset > sizeof(*data) - 4)
		return false;
	memcpy(ret, (const char *)data + offset, 4);
	return true;
}

static bool jump(const struct sock_filter *ins, uint32_t a, bool *ret)
{
	switch (ins->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		*ret = a == ins->k;
		return true;
	case BPF_JMP | BPF_JGE | BPF_K:
		*ret = a >= ins->k;
		return true;
	case BPF_JMP | BPF_JSET | BPF_K:
		*ret = a & ins->k;
		return true;
	default:
		return false;
	}
}

uint32_t sim_run(const struct filter *filter, const struct seccomp_data *data, unsigned *steps,
		 uint8_t *seen)
{
	uint32_t a = 0;
	unsigned n = 0;
	/* Jumps only go forward: it ends. */
	for (size_t pc = 0; pc < *filter->size; pc++) {
		const struct sock_filter *ins = &filter->code[pc];
		uint8_t ran = RAN;
		bool yes;
		n++;
		if (ins->code == (BPF_RET | BPF_K)) {
			if (steps)
				*steps = n;
			if (seen)
				seen[pc] |= RAN;
			return ins->k;
		}
		if (ins->code == (BPF_LD | BPF_W | BPF_ABS)) {
			if (!load(data, ins->k, &a))
				return SIM_BROKEN;
		} else if (ins->code == (BPF_ALU | BPF_AND | BPF_K)) {
			a &= ins->k;
		} else if (ins->code == (BPF_JMP | BPF_JA)) {
			if (ins->k >= *filter->size)
				return SIM_BROKEN;
			pc += ins->k;
		} else if (jump(ins, a, &yes)) {
			ran |= yes ? RAN_YES : RAN_NO;
			if (seen)
				seen[pc] |= ran;
			pc += yes ? ins->jt : ins->jf;
			continue;
		} else {
			return SIM_BROKEN;
		}
		if (seen)
			seen[pc - (ins->code == (BPF_JMP | BPF_JA) ? ins->k : 0)] |= ran;
	}
	return SIM_BROKEN;
}
