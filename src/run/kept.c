/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output that was kept: see kept.h.
 *
 * The launcher fills the head first, then a ring with the rest. Total up to `keep_bytes`: all is
 * there. More: the head, and the last bytes in the ring, which starts at its write position.
 */
#include "run/kept.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* The length that a first byte promises; 0: it is none. */
static size_t sequence_length(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

/* Whether byte `i` (from 1) of a sequence may follow: the second byte has the narrow ranges. */
static bool may_follow(uint8_t first, size_t i, uint8_t byte)
{
	if (i == 1 && first == 0xe0)
		return byte >= 0xa0 && byte <= 0xbf;
	if (i == 1 && first == 0xed)
		return byte >= 0x80 && byte <= 0x9f;
	if (i == 1 && first == 0xf0)
		return byte >= 0x90 && byte <= 0xbf;
	if (i == 1 && first == 0xf4)
		return byte >= 0x80 && byte <= 0x8f;
	return (byte & 0xc0) == 0x80;
}

/* Bytes of the sequence at `data` that are right, at most its length, which goes to `ret_length`.
 */
static size_t sequence_right(const uint8_t *data, size_t size, size_t *ret_length)
{
	size_t length = sequence_length(data[0]);
	*ret_length = length;
	if (length == 0)
		return 0;
	size_t i = 1;
	while (i < length && i < size && may_follow(data[0], i, data[i]))
		i++;
	return i;
}

bool utf8_valid(const void *data, size_t size)
{
	const uint8_t *at = data;
	while (size > 0) {
		size_t length;
		if (sequence_right(at, size, &length) != length || length == 0)
			return false;
		at += length;
		size -= length;
	}
	return true;
}

size_t utf8_unfinished(const uint8_t *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		const uint8_t *at = data + size - back;
		if ((*at & 0xc0) == 0x80)
			continue;
		size_t length;
		return sequence_right(at, back, &length) == back && length > back ? back : 0;
	}
	return 0;
}

/* How many bytes at the start of `data` can only be the rest of a character. */
static size_t utf8_rest(const uint8_t *data, size_t size)
{
	size_t n = 0;
	while (n < size && n < 3 && (data[n] & 0xc0) == 0x80)
		n++;
	return n;
}

void make_line(char *text)
{
	uint8_t *at = (uint8_t *)text;
	size_t left = strlen(text);
	while (left > 0) {
		size_t length;
		size_t right = sequence_right(at, left, &length);
		bool control =
			*at < 0x20 || *at == 0x7f || (*at == 0xc2 && left > 1 && at[1] < 0xa0);
		if (length == 0 || right != length || control) {
			*at++ = '?';
			left--;
			continue;
		}
		at += length;
		left -= length;
	}
}

bool kept_possible(uint64_t keep_bytes, const struct report_stream *stream, bool inflight)
{
	uint64_t head = keep_bytes / 2;
	uint64_t tail = stream->bytes > head ? stream->bytes - head : 0;
	if (stream->bytes > INT64_MAX || stream->tail_bytes > INT64_MAX)
		return false;
	return inflight || stream->tail_bytes == tail;
}

/* A launcher killed in the middle of a copy: what both its counters say was written. */
static struct report_stream settled(uint64_t head, const struct report_stream *stream)
{
	struct report_stream s = *stream;
	if (s.bytes > head && s.bytes - head > s.tail_bytes)
		s.bytes = head + s.tail_bytes;
	s.tail_bytes = s.bytes > head ? s.bytes - head : 0;
	return s;
}

/* Two pieces, in order, with what is missing between them. */
struct pieces {
	const uint8_t *head, *tail;
	size_t head_size, tail_size;
};

/* Takes the parts of split characters off both sides of a cut; false: it is no text even so. */
static bool trim(struct pieces *p, bool cut_between, bool cut_at_end)
{
	if (cut_between) {
		size_t rest = utf8_rest(p->tail, p->tail_size);
		p->head_size -= utf8_unfinished(p->head, p->head_size);
		p->tail += rest;
		p->tail_size -= rest;
	}
	if (cut_at_end)
		p->tail_size -= utf8_unfinished(p->tail, p->tail_size);
	return utf8_valid(p->head, p->head_size) && utf8_valid(p->tail, p->tail_size);
}

int kept_take(const uint8_t *memory, uint64_t keep_bytes, const struct report_stream *stream,
	      bool ended_by_kill, struct kept *ret, struct bj_error *err)
{
	uint64_t head = keep_bytes / 2, ring = keep_bytes - head;
	struct report_stream s = settled(head, stream);
	bool cut = s.bytes > keep_bytes;
	size_t have = cut ? keep_bytes : s.bytes;
	auto_free uint8_t *data = malloc(have ? have : 1);
	if (!data) {
		errno = ENOMEM;
		return fail_errno(err, BJ_INTERNAL, "keep %zu bytes of output", have);
	}
	if (cut && ring > 0) {
		size_t start = s.tail_bytes % ring;
		memcpy(data, memory, head);
		memcpy(data + head, memory + head + start, ring - start);
		memcpy(data + head + ring - start, memory + head, start);
	} else if (have > 0) {
		memcpy(data, memory, have);
	}

	/* Not cut in between: one piece, the tail, so that no character is taken for split. */
	size_t head_size = cut ? head : 0;
	struct pieces whole = {data, data + head_size, head_size, have - head_size};
	struct pieces p = whole;
	bool utf8 = trim(&p, cut, ended_by_kill);
	if (!utf8)
		p = whole;
	memmove(data + p.head_size, p.tail, p.tail_size);
	size_t size = p.head_size + p.tail_size;
	*ret = (struct kept){
		.output = {.size = size,
			   .bytes = s.bytes,
			   .omitted_bytes = s.bytes - size,
			   .omitted_at = cut ? p.head_size : size},
		.utf8 = utf8,
	};
	ret->output.data = TAKE_PTR(data);
	return 0;
}

void kept_free(struct kept *kept)
{
	/* The public struct says const; the bytes are this one's own. */
	union {
		const uint8_t *given;
		void *owned;
	} data = {.given = kept->output.data};
	free(data.owned);
	*kept = (struct kept){0};
}
