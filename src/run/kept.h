/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output that was kept: from the launcher's head and ring to bytes in order, cut between
 * characters. Also the little of UTF-8 that this needs.
 */
#ifndef RUN_KEPT_H
#define RUN_KEPT_H

#include "run/report.h"

struct kept {
	struct bj_output output; /* `data` is owned */
	bool utf8;		 /* all of `data` is valid UTF-8 */
};

/* Whether `stream` can be what a launcher leaves that keeps `keep_bytes` of it. */
bool kept_possible(uint64_t keep_bytes, const struct report_stream *stream, bool inflight);

/*
 * Copies the kept bytes at `memory` (`keep_bytes` of them) into order. `ended_by_kill`: the end of
 * the stream is a cut too, as the program was stopped in the middle of writing.
 */
int kept_take(const uint8_t *memory, uint64_t keep_bytes, const struct report_stream *stream,
	      bool ended_by_kill, struct kept *ret, struct bj_error *err);

void kept_free(struct kept *kept);

/* As RFC 3629 says: no surrogates, nothing overlong, nothing above U+10FFFF. */
bool utf8_valid(const void *data, size_t size);

/* How many bytes at the end of `data` are the start of a character whose rest is not there. */
size_t utf8_unfinished(const uint8_t *data, size_t size);

/* Makes `text` a line that any terminal and JSON may get: no control characters, valid UTF-8. */
void make_line(char *text);

#endif
