/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of set-up: one thing that must work. STEP() evaluates `call`, which is negative on
 * failure with errno set, and on failure fills `fault` with where it happened.
 *
 *   if (STEP(fault, LAYER_NET, HOOK_CHILD, "bring loopback up", ioctl(fd, SIOCSIFFLAGS, &ifr)) < 0)
 *           return -1;
 *
 * Every step is also a record in the section "bj_steps", and asks step_fault() first: the product's
 * answers 0 always; the tests link one that makes the step they name fail, so that each step of
 * each layer is seen to fail closed without being listed by hand.
 */
#ifndef LAYERS_STEP_H
#define LAYERS_STEP_H

#include "base/child_code.h"
#include "layers/layer.h"

struct step {
	uint8_t layer;
	uint8_t hook;
	const char *what;
};

/* 0, or the errno with which this step is to fail. Runs between clone and exec too. */
int step_fault(const struct step *step);

/* Fills `fault` from errno; returns -1. */
int step_failed(struct fault *fault, const struct step *step, int os);

#define STEP(fault_, layer_, hook_, what_, call_)                                                  \
	__extension__({                                                                            \
		static const struct step step_                                                     \
			__attribute__((section("bj_steps"), used)) = {layer_, hook_, what_};       \
		int planted_ = step_fault(&step_);                                                 \
		long got_ = planted_ ? (errno = planted_, -1) : (long)(call_);                     \
		if (got_ < 0)                                                                      \
			(void)step_failed(fault_, &step_, errno);                                  \
		got_;                                                                              \
	})

#endif
