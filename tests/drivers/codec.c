/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the codec outside says of packets that a driver sent. Input: for each a u64 number of the
 * call that runs when it comes, 0 before the first, its u32 size, and it. Output: a line for each
 * event.
 */
#include "drivers/frame.h"

#include <inttypes.h>
#include <stdio.h>

static void print_event(const struct frame_event *e)
{
	static const char *const names[] = {
		[FRAME_READY] = "ready",
		[FRAME_DISPLAY] = "display",
		[FRAME_ERROR] = "error",
		[FRAME_DONE] = "done",
	};
	printf("%s", names[e->type]);
	if (e->type == FRAME_DISPLAY)
		printf(" %u %.*s %zu", e->display.index, (int)e->display.mime.size,
		       e->display.mime.data, e->display.data.size);
	if (e->type == FRAME_DONE)
		printf(" %d %u", (int)e->done.status, e->done.execution_count);
	printf("\n");
}

int main(void)
{
	static uint8_t packet[FRAME_PACKET_MAX + 1];
	struct frame_reader r;
	uint64_t call;
	uint32_t size;
	frame_reader_init(&r, (struct frame_limits){.bytes = 1 << 30, .frames = 1 << 20});
	while (fread(&call, sizeof(call), 1, stdin) == 1 &&
	       fread(&size, sizeof(size), 1, stdin) == 1) {
		struct frame_event event;
		struct bj_error err;
		if (size > sizeof(packet) || fread(packet, 1, size, stdin) != size)
			return 2;
		if (call != r.call && frame_reader_begin(&r, call, &err) < 0) {
			printf("begin: %s\n", err.message);
			return 1;
		}
		int got = frame_read(&r, packet, size, &event, &err);
		if (got < 0) {
			printf("%s\n", err.message);
			return 1;
		}
		if (got > 0)
			print_event(&event);
	}
	printf("%" PRIu64 " stale\n", r.stale);
	frame_reader_free(&r);
	return 0;
}
