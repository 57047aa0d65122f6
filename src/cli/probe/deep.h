/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side of belljar-probe for `belljar doctor --deep`: an action for every name in deep.def. What
 * came of each is a line:
 *
 *   {"id":"mount_image","part":"tried","got":"EROFS"}
 *
 * `part` is "tried" or "counterpart"; `got` is "works", "hidden", "untried", an errno or a signal.
 */
#ifndef PROBE_DEEP_H
#define PROBE_DEEP_H

#include "probe.h"

/* A signal ended the process that tried. */
#define KILLED(signal_) (-100 - (long)(signal_))

#define DEEP(id, layer, run, text, sign, act, where, other, may)                                   \
	long act(void);                                                                            \
	long may(void);
#define ENDED(id, layer, text, sign, action, field, value, other)
#include "deep.def"
#undef DEEP
#undef ENDED

/* As in_child(), but a signal that ends the process is what came of it. */
long end_of_child(long (*act)(void));

/* 0, or -1 with `error`. */
long fail_with(int error);
/* `seen`: it was there, which for a wall is bad. */
long seen_or_hidden(int seen);

/* A file of the program's own in /workspace, open for both, and its path. */
#define OWN_FILE "/workspace/.belljar-deep"
int own_file(void);

/* The whole of a small file of proc as text, or -1. */
long read_text(const char *path, char *text, size_t size);

/* deep_ends.c: `belljar-probe end ACTION much|little TOKEN` */
int probe_end(const char *action, int much);

#endif
