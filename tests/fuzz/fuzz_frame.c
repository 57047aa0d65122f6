/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of what a driver sends. Input: a byte, odd where a driver is ready and has its first
 * call already; then packets: a byte of options, two of length, with REPEAT one of a number, and
 * payload. Unless it is RAW it gets a good header, so that most of what is tried passes the first
 * checks.
 *
 * Every event lies within what was sent, as its type promises; memory and counts stay in limits.
 */
#include "drivers/frame.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define MUST_HOLD(condition)                                                                       \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#define BYTES_MAX   200000
#define FRAMES_MAX  64
#define PACKET_ROOM (FRAME_PACKET_MAX + 8)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RAW = 1, OTHER_CALL = 2, BEGIN = 4, REPEAT = 8, MORE = 16 };

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t next(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static volatile size_t sum;

static void read_all(struct frame_text text)
{
	for (size_t i = 0; i < text.size; i++)
		sum += (uint8_t)text.data[i];
}

static void check_event(const struct frame_reader *r, const struct frame_event *e)
{
	switch (e->type) {
	case FRAME_READY:
		read_all(e->ready.language);
		read_all(e->ready.version);
		MUST_HOLD(r->stage == FRAME_IDLE && r->call == 0);
		break;
	case FRAME_DISPLAY:
		read_all(e->display.mime);
		read_all(e->display.data);
		MUST_HOLD(e->display.kind < FRAME_KIND_COUNT);
		MUST_HOLD(e->display.mime.size > 0 && e->display.mime.size <= FRAME_NAME_MAX);
		MUST_HOLD(e->display.data.size < BYTES_MAX && r->stage == FRAME_RUNNING);
		break;
	case FRAME_ERROR:
		read_all(e->error.name);
		read_all(e->error.value);
		read_all(e->error.traceback);
		MUST_HOLD(e->error.name.size <= FRAME_NAME_MAX && r->stage == FRAME_RUNNING);
		break;
	case FRAME_DONE:
		MUST_HOLD(e->done.status < FRAME_STATUS_COUNT && r->stage == FRAME_IDLE);
		break;
	case FRAME_RUN:
		abort();
	}
}

static void check_reader(const struct frame_reader *r)
{
	MUST_HOLD(r->bytes <= BYTES_MAX && r->frames <= FRAMES_MAX);
	MUST_HOLD(r->chain_size <= r->bytes && r->chain_size <= r->chain_room);
	MUST_HOLD(r->chain_room <= 4 * FRAME_PACKET_MAX);
	MUST_HOLD(r->fault < FRAME_FAULT_COUNT && *frame_fault_text(r->fault));
}

/* One packet, in memory of exactly its size. */
static void feed(struct frame_reader *r, struct input *in, uint8_t options)
{
	size_t length = next(in) | (size_t)next(in) << 8;
	size_t copies = options & REPEAT ? 1 + (size_t)next(in) * 256 : 1;
	size_t here = length < in->left ? length : in->left;
	if (here > 0 && copies > PACKET_ROOM / here)
		copies = PACKET_ROOM / here;
	size_t head = options & RAW ? 0 : FRAME_HEADER;
	uint8_t *packet = calloc(1, head + here * copies + 1);
	struct frame_event event;
	MUST_HOLD(packet);
	if (head) {
		const uint32_t magic = htole32(FRAME_MAGIC);
		const uint64_t call = htole64(options & OTHER_CALL ? r->call + 1 : r->call);
		memcpy(packet, &magic, sizeof(magic));
		packet[4] = options >> 5;
		packet[5] = options & MORE ? FRAME_MORE : 0;
		memcpy(packet + 8, &call, sizeof(call));
	}
	size_t size = head;
	for (size_t i = 0; i < copies; i++, size += here)
		memcpy(packet + size, in->at, here);
	in->at += here;
	in->left -= here;
	uint8_t *exact = realloc(packet, size ? size : 1);
	MUST_HOLD(exact);
	int got = frame_read(r, exact, size, &event, NULL);
	MUST_HOLD((got < 0) == (r->fault != FRAME_FAULT_NONE));
	if (got > 0)
		check_event(r, &event);
	check_reader(r);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct frame_reader r;
	uint64_t call = 1;
	frame_reader_init(&r, (struct frame_limits){.bytes = BYTES_MAX, .frames = FRAMES_MAX});
	if (next(&in) & 1) {
		static const char ready[] = "BJDR\2\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0l\0\0\0";
		struct frame_event event;
		MUST_HOLD(frame_read(&r, ready, sizeof(ready), &event, NULL) == 1);
		MUST_HOLD(frame_reader_begin(&r, call, NULL) == 0);
		call += 2;
	}
	while (in.left > 0 && r.fault == FRAME_FAULT_NONE) {
		uint8_t options = next(&in);
		if (options & BEGIN && frame_reader_begin(&r, call, NULL) == 0)
			call += 2;
		feed(&r, &in, options);
	}
	frame_reader_free(&r);
	return 0;
}
