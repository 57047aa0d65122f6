/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel shows of a run that is as its plan says, for tests that change one thing of it.
 */
#ifndef UNIT_RECEIPT_CASE_H
#define UNIT_RECEIPT_CASE_H

#include "layers/launch.h"
#include "layers/posture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct facts {
	struct launch launch;
	struct posture posture;
};

extern struct facts facts;
extern struct plan *plan; /* what `facts` are compared with */

/* Of the whole group. A directory of its own holds what is read from files, see put(). */
int receipt_setup(void **state);
int receipt_teardown(void **state);

/* Every layer's comparison passes after this. */
void as_planned(void);

/* Writes a file that stands for one of a cgroup's, or for "status" of the launcher; NULL: none. */
void put(const char *name, const char *text);

/* The layer's comparison passes. */
void accepts(enum layer_id id);
/* It fails, and names the layer and what is wrong. */
void refuses(enum layer_id id, const char *what);
void refuses_with(enum layer_id id, const char *what, int os);
/* The layers that were refused so far, as bits. */
uint32_t refused_layers(void);

#endif
