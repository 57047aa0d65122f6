/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of a live workspace share: see files_world.h for the world they run in. */
#ifndef TESTS_LIVE_CASE_H
#define TESTS_LIVE_CASE_H

#include "files_world.h"

#include "base/cleanup.h"
#include "files/live.h"

/* A call that failed, with this errno and these words; the message is one printable line. */
void assert_failed(struct world *w, int result, int os, const char *message);
/* A call that did not; says why it did. */
void assert_done(struct world *w, int result);

/* The whole of a put. */
int put_whole(struct world *w, const char *name, const char *text, const struct files_put_how *how);
extern const struct files_put_how put_plainly; /* 1 MiB, no parents */

/* files_get() of all there is; the descriptor is the caller's. */
int get_whole(struct world *w, const char *name, struct files_got *got);

/* Names in a directory of the workspace, without "." and "..". */
int names_in(int dir_fd, const char *path);

/*
 * "d", a directory with "f": "mine", and "l", a link to a directory outside the workspace with "f":
 * "canary" and "secret"; in the directory `in` of the workspace, or in it where that is ".".
 */
void make_trap(struct world *w, const char *in);
/* Nothing of what is outside was touched. */
void assert_canary(void);

/* `body`, while another thread exchanges `one` and `other` all the time. */
void while_swapped(struct world *w, const char *one, const char *other,
		   void (*body)(struct world *));

#endif
