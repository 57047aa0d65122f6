/* SPDX-License-Identifier: Apache-2.0 */
/* The codec outside: a RUN in packets, and whatever a driver, or a cell in its place, may send. */
#include "drivers/frame.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALL	     UINT64_C(0x1122334455667788)
#define EXACT(bytes) bytes, sizeof(bytes) - 1

static const struct frame_limits limits = {.bytes = 64 << 20, .frames = 4096};

struct packet {
	uint8_t data[FRAME_PACKET_MAX + 1];
	size_t size;
};

static struct packet packet;

static void make(uint8_t type, uint8_t flags, uint64_t call, const void *payload, size_t size)
{
	const uint32_t magic = htole32(FRAME_MAGIC);
	assert_true(size <= sizeof(packet.data) - FRAME_HEADER);
	memset(packet.data, 0, FRAME_HEADER);
	memcpy(packet.data, &magic, sizeof(magic));
	packet.data[4] = type;
	packet.data[5] = flags;
	call = htole64(call);
	memcpy(packet.data + 8, &call, sizeof(call));
	if (size > 0)
		memcpy(packet.data + FRAME_HEADER, payload, size);
	packet.size = FRAME_HEADER + size;
}

static int take(struct frame_reader *r, struct frame_event *e)
{
	struct bj_error err = {0};
	/* A copy of exactly that size: a read beyond it is seen. */
	uint8_t *copy = malloc(packet.size ? packet.size : 1);
	assert_non_null(copy);
	memcpy(copy, packet.data, packet.size);
	enum frame_fault before = r->fault;
	int got = frame_read(r, copy, packet.size, e, &err);
	free(copy);
	assert_int_equal(got < 0, r->fault != FRAME_FAULT_NONE);
	if (got < 0) {
		assert_int_not_equal(err.code, BJ_OK);
		assert_non_null(strstr(err.message, frame_fault_text(r->fault)));
		assert_true(before == FRAME_FAULT_NONE || before == r->fault);
	}
	return got;
}

/* Sends it; the texts of an event are not looked at. */
static int feed(struct frame_reader *r, uint8_t type, uint8_t flags, uint64_t call,
		const void *payload, size_t size)
{
	struct frame_event e;
	make(type, flags, call, payload, size);
	return take(r, &e);
}

#define READY_PAYLOAD "\1\0\0\0\6\0\0\0python\6\0\0\0003.11.2"
#define DISPLAY_42    "\0\0\0\0\0\12\0text/plain42"
#define DONE_OK	      "\0\1\0\0\0"

static void start(struct frame_reader *r)
{
	frame_reader_init(r, limits);
	assert_int_equal(feed(r, FRAME_READY, 0, 0, EXACT(READY_PAYLOAD)), 1);
	assert_int_equal(r->stage, FRAME_IDLE);
}

static void start_call(struct frame_reader *r)
{
	start(r);
	assert_int_equal(frame_reader_begin(r, CALL, NULL), 0);
}

static void is_text(struct frame_text text, const char *expected)
{
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.data, expected, text.size);
}

/* ---- RUN --------------------------------------------------------------------------------- */

static void a_run_is_one_packet_when_it_fits(void **state)
{
	struct frame_run run;
	uint8_t out[FRAME_PACKET_MAX];
	(void)state;
	assert_int_equal(frame_run_start(&run, CALL, FRAME_SILENT, EXACT("1+1"), NULL), 0);
	assert_int_equal(frame_run_next(&run, out), FRAME_HEADER + 4 + 3);
	assert_memory_equal(out, "BJDR\1\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\2\0\0\0001+1",
			    FRAME_HEADER + 7);
	assert_int_equal(frame_run_next(&run, out), 0);
}

static void a_run_without_code_is_one_packet(void **state)
{
	struct frame_run run;
	uint8_t out[FRAME_PACKET_MAX];
	(void)state;
	assert_int_equal(frame_run_start(&run, CALL, 0, NULL, 0, NULL), 0);
	assert_int_equal(frame_run_next(&run, out), FRAME_HEADER + 4);
	assert_int_equal(frame_run_next(&run, out), 0);
}

static void run_of_size(size_t size, size_t packets)
{
	static char code[3 * FRAME_PACKET_MAX];
	struct frame_run run;
	uint8_t out[FRAME_PACKET_MAX];
	size_t sum = 0;
	for (size_t i = 0; i < size; i++)
		code[i] = (char)('a' + i % 23);
	assert_int_equal(frame_run_start(&run, CALL, 0, code, size, NULL), 0);
	for (size_t i = 0; i < packets; i++) {
		size_t used = frame_run_next(&run, out);
		size_t skip = FRAME_HEADER + (i == 0 ? 4 : 0);
		assert_true(used > skip);
		assert_int_equal(out[5], i + 1 < packets ? FRAME_MORE : 0);
		assert_memory_equal(out + skip, code + sum, used - skip);
		sum += used - skip;
	}
	assert_int_equal(sum, size);
	assert_int_equal(frame_run_next(&run, out), 0);
}

static void a_longer_run_is_a_chain(void **state)
{
	const size_t first = FRAME_PACKET_MAX - FRAME_HEADER - 4;
	const size_t rest = FRAME_PACKET_MAX - FRAME_HEADER;
	(void)state;
	run_of_size(first, 1);
	run_of_size(first + 1, 2);
	run_of_size(first + rest, 2);
	run_of_size(first + rest + 1, 3);
}

static void a_run_that_no_driver_may_get_is_refused(void **state)
{
	struct frame_run run;
	struct bj_error err = {0};
	static char large[FRAME_CHAIN_MAX];
	(void)state;
	memset(large, ' ', sizeof(large));
	assert_int_equal(frame_run_start(&run, 0, 0, EXACT("1"), &err), -1);
	assert_non_null(strstr(err.message, "number of a call"));
	assert_int_equal(frame_run_start(&run, CALL, 4, EXACT("1"), &err), -1);
	assert_non_null(strstr(err.message, "flags 0x4"));
	assert_int_equal(frame_run_start(&run, CALL, 0, EXACT("\"\xc3\""), &err), -1);
	assert_non_null(strstr(err.message, "UTF-8"));
	assert_int_equal(frame_run_start(&run, CALL, 0, large, sizeof(large) - 3, &err), -1);
	assert_non_null(strstr(err.message, "16777213 bytes"));
	assert_int_equal(frame_run_start(&run, CALL, 0, large, sizeof(large) - 4, &err), 0);
}

/* ---- Events ------------------------------------------------------------------------------ */

static void a_call_from_ready_to_done(void **state)
{
	struct frame_reader r;
	struct frame_event e;
	struct bj_error err;
	(void)state;
	frame_reader_init(&r, limits);
	assert_int_equal(frame_reader_begin(&r, CALL, &err), -1);
	assert_non_null(strstr(err.message, "not ready"));
	make(FRAME_READY, 0, 0, EXACT(READY_PAYLOAD));
	assert_int_equal(frame_read(&r, packet.data, packet.size, &e, NULL), 1);
	assert_int_equal(e.type, FRAME_READY);
	is_text(e.ready.language, "python");
	is_text(e.ready.version, "3.11.2");

	assert_int_equal(frame_reader_begin(&r, CALL, NULL), 0);
	assert_int_equal(frame_reader_begin(&r, CALL + 1, &err), -1);
	assert_non_null(strstr(err.message, "another one"));
	make(FRAME_DISPLAY, 0, CALL, EXACT("\0\0\0\0\1\12\0text/plain\xff\0"));
	assert_int_equal(frame_read(&r, packet.data, packet.size, &e, NULL), 1);
	assert_int_equal(e.display.index, 0);
	assert_int_equal(e.display.kind, FRAME_SHOWN);
	is_text(e.display.mime, "text/plain");
	assert_int_equal(e.display.data.size, 2);
	assert_memory_equal(e.display.data.data, "\xff\0", 2);

	make(FRAME_ERROR, 0, CALL, EXACT("\3\0\0\0E\xc3\xa9\1\0\0\0v\0\0\0\0"));
	assert_int_equal(frame_read(&r, packet.data, packet.size, &e, NULL), 1);
	is_text(e.error.name, "E\xc3\xa9");
	is_text(e.error.value, "v");
	is_text(e.error.traceback, "");

	make(FRAME_DONE, 0, CALL, EXACT("\2\7\1\0\0"));
	assert_int_equal(frame_read(&r, packet.data, packet.size, &e, NULL), 1);
	assert_int_equal(e.done.status, FRAME_INTERRUPTED);
	assert_int_equal(e.done.execution_count, 0x107);
	assert_int_equal(frame_reader_begin(&r, CALL, &err), -1);
	assert_non_null(strstr(err.message, "number of its own"));
	assert_int_equal(frame_reader_begin(&r, 0, NULL), -1);
	assert_int_equal(frame_reader_begin(&r, CALL + 1, NULL), 0);
	frame_reader_free(&r);
}

static void a_chain_is_put_together(void **state)
{
	static uint8_t part[FRAME_PACKET_MAX - FRAME_HEADER];
	static const char head[] = "\0\0\0\0\0\11\0image/png";
	const size_t head_size = sizeof(head) - 1;
	struct frame_reader r;
	struct frame_event e;
	(void)state;
	start_call(&r);
	memcpy(part, head, head_size);
	for (size_t i = 0; i < 40; i++) {
		memset(part + (i ? 0 : head_size), (int)i, sizeof(part) - (i ? 0 : head_size));
		assert_int_equal(feed(&r, FRAME_DISPLAY, FRAME_MORE, CALL, part, sizeof(part)), 0);
		/* What another call says meanwhile does not belong to it. */
		assert_int_equal(feed(&r, FRAME_DISPLAY, FRAME_MORE, CALL + 1, EXACT("x")), 0);
	}
	make(FRAME_DISPLAY, 0, CALL, EXACT("end"));
	assert_int_equal(take(&r, &e), 1);
	is_text(e.display.mime, "image/png");
	assert_int_equal(e.display.data.size, 40 * sizeof(part) - head_size + 3);
	assert_int_equal(e.display.data.data[0], 0);
	assert_int_equal(e.display.data.data[e.display.data.size - 4], 39);
	assert_memory_equal(e.display.data.data + e.display.data.size - 3, "end", 3);
	assert_int_equal(r.stale, 40);
	/* It is over: the next one begins anew. */
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT(DISPLAY_42)), 1);
	assert_int_equal(feed(&r, FRAME_DONE, 0, CALL, EXACT(DONE_OK)), 1);
	frame_reader_free(&r);
}

static void frames_of_another_call_are_dropped_and_counted(void **state)
{
	struct frame_reader r;
	(void)state;
	start_call(&r);
	assert_int_equal(feed(&r, FRAME_DONE, 0, CALL ^ 1, EXACT(DONE_OK)), 0);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, 0, EXACT(DISPLAY_42)), 0);
	assert_int_equal(feed(&r, FRAME_READY, 0, 0, EXACT(READY_PAYLOAD)), 0);
	assert_int_equal(r.stale, 3);
	assert_int_equal(r.stage, FRAME_RUNNING);
	assert_int_equal(feed(&r, FRAME_DONE, 0, CALL, EXACT(DONE_OK)), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL ^ 1, EXACT(DISPLAY_42)), 0);
	assert_int_equal(r.stale, 4);
	frame_reader_free(&r);
}

/* ---- Faults ------------------------------------------------------------------------------ */

static void one_wrong_frame_each(void **state)
{
	static const struct {
		enum frame_fault fault;
		uint8_t type, flags;
		const char *payload;
		size_t size;
	} wrong[] = {
		{FRAME_FAULT_FLAGS, FRAME_DISPLAY, 2, EXACT(DISPLAY_42)},
		{FRAME_FAULT_FLAGS, FRAME_DONE, FRAME_MORE, EXACT(DONE_OK)},
		{FRAME_FAULT_FLAGS, FRAME_READY, FRAME_MORE, EXACT(READY_PAYLOAD)},
		{FRAME_FAULT_TYPE, 0, 0, EXACT(DONE_OK)},
		{FRAME_FAULT_TYPE, FRAME_RUN, 0, EXACT("\0\0\0\0001")},
		{FRAME_FAULT_TYPE, FRAME_DONE + 1, 0, EXACT(DONE_OK)},
		{FRAME_FAULT_TYPE, 255, 0, EXACT(DONE_OK)},
		{FRAME_FAULT_ORDER, FRAME_READY, 0, EXACT(READY_PAYLOAD)},
		{FRAME_FAULT_CHAIN_EMPTY, FRAME_DISPLAY, FRAME_MORE, "", 0},
		{FRAME_FAULT_LENGTH, FRAME_DISPLAY, 0, "", 0},
		{FRAME_FAULT_LENGTH, FRAME_DISPLAY, 0, EXACT("\0\0\0\0\0\1")},
		{FRAME_FAULT_LENGTH, FRAME_DISPLAY, 0, EXACT("\0\0\0\0\0\13\0text/plain")},
		{FRAME_FAULT_LENGTH, FRAME_ERROR, 0, EXACT("\1\0\0\0E\1\0\0\0v\1\0\0\0")},
		{FRAME_FAULT_LENGTH, FRAME_ERROR, 0, EXACT("\1\0\0\0E\1\0\0\0v\0\0\0\0x")},
		{FRAME_FAULT_LENGTH, FRAME_ERROR, 0, EXACT("\1\0\0\0E\xff\xff\xff\xffv\0\0\0\0")},
		{FRAME_FAULT_LENGTH, FRAME_DONE, 0, EXACT("\0\1\0\0")},
		{FRAME_FAULT_LENGTH, FRAME_DONE, 0, EXACT("\0\1\0\0\0\0")},
		{FRAME_FAULT_KIND, FRAME_DISPLAY, 0, EXACT("\0\0\0\0\2\1\0a")},
		{FRAME_FAULT_INDEX, FRAME_DISPLAY, 0, EXACT("\xff\xff\xff\xff\0\1\0a")},
		{FRAME_FAULT_MIME, FRAME_DISPLAY, 0, EXACT("\0\0\0\0\0\0\0data")},
		{FRAME_FAULT_MIME, FRAME_DISPLAY, 0, EXACT("\0\0\0\0\0\2\0a\n")},
		{FRAME_FAULT_MIME, FRAME_DISPLAY, 0, EXACT("\0\0\0\0\0\2\0\xc3\xa9")},
		{FRAME_FAULT_NAME, FRAME_ERROR, 0, EXACT("\1\0\0\0\xff\0\0\0\0\0\0\0\0")},
		{FRAME_FAULT_TEXT, FRAME_ERROR, 0, EXACT("\0\0\0\0\1\0\0\0\xc3\0\0\0\0")},
		{FRAME_FAULT_TEXT, FRAME_ERROR, 0, EXACT("\0\0\0\0\0\0\0\0\3\0\0\0\xed\xa0\x80")},
		{FRAME_FAULT_STATUS, FRAME_DONE, 0, EXACT("\3\1\0\0\0")},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct frame_reader r;
		start_call(&r);
		assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT(DISPLAY_42)), 1);
		assert_int_equal(feed(&r, wrong[i].type, wrong[i].flags, CALL, wrong[i].payload,
				      wrong[i].size),
				 -1);
		assert_int_equal(r.fault, wrong[i].fault);
		/* After it nothing is read any more, and no call begins. */
		assert_int_equal(feed(&r, FRAME_DONE, 0, CALL, EXACT(DONE_OK)), -1);
		assert_int_equal(r.fault, wrong[i].fault);
		assert_int_equal(frame_reader_begin(&r, CALL + 1, NULL), -1);
		frame_reader_free(&r);
	}
}

static void damaged(size_t at, uint8_t value, size_t size, enum frame_fault fault)
{
	struct frame_reader r;
	struct frame_event e;
	start_call(&r);
	make(FRAME_DONE, 0, CALL, EXACT(DONE_OK));
	packet.data[at] = value;
	packet.size = size;
	assert_int_equal(take(&r, &e), -1);
	assert_int_equal(r.fault, fault);
	frame_reader_free(&r);
}

static void a_damaged_header(void **state)
{
	(void)state;
	damaged(0, 'B', 0, FRAME_FAULT_SHORT);
	damaged(0, 'B', FRAME_HEADER - 1, FRAME_FAULT_SHORT);
	damaged(0, 'B', FRAME_PACKET_MAX + 1, FRAME_FAULT_LONG);
	damaged(0, 'b', FRAME_HEADER + 5, FRAME_FAULT_MAGIC);
	damaged(3, 0, FRAME_HEADER + 5, FRAME_FAULT_MAGIC);
	damaged(6, 1, FRAME_HEADER + 5, FRAME_FAULT_ZERO);
	damaged(7, 1, FRAME_HEADER + 5, FRAME_FAULT_ZERO);
}

static void names_have_a_greatest_length(void **state)
{
	struct frame_reader r;
	char mime[7 + FRAME_NAME_MAX + 1] = "\0\0\0\0\0\0";
	char error[4 + FRAME_NAME_MAX + 1 + 8] = {0};
	(void)state;
	memset(mime + 7, 'a', FRAME_NAME_MAX + 1);
	memset(error + 4, 'a', FRAME_NAME_MAX + 1);
	for (int more = 0; more <= 1; more++) {
		int size = FRAME_NAME_MAX + more, expected = more ? -1 : 1;
		start_call(&r);
		mime[5] = (char)size;
		assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, mime, 7 + (size_t)size),
				 expected);
		assert_int_equal(r.fault, more ? FRAME_FAULT_MIME : FRAME_FAULT_NONE);
		frame_reader_free(&r);
		start_call(&r);
		error[0] = (char)size;
		error[4 + FRAME_NAME_MAX] = more ? 'a' : 0;
		assert_int_equal(feed(&r, FRAME_ERROR, 0, CALL, error, 12 + (size_t)size),
				 expected);
		assert_int_equal(r.fault, more ? FRAME_FAULT_NAME : FRAME_FAULT_NONE);
		frame_reader_free(&r);
	}
}

static void before_ready_nothing_else_comes(void **state)
{
	static const struct {
		enum frame_fault fault;
		uint8_t type;
		uint64_t call;
		const char *payload;
		size_t size;
	} wrong[] = {
		{FRAME_FAULT_ORDER, FRAME_DONE, 0, EXACT(DONE_OK)},
		{FRAME_FAULT_ORDER, FRAME_DISPLAY, CALL, EXACT(DISPLAY_42)},
		{FRAME_FAULT_ORDER, FRAME_READY, CALL, EXACT(READY_PAYLOAD)},
		{FRAME_FAULT_PROTOCOL, FRAME_READY, 0, EXACT("\2\0\0\0whatever")},
		{FRAME_FAULT_LENGTH, FRAME_READY, 0, EXACT("\1\0\0\0\6\0\0\0python")},
		{FRAME_FAULT_LENGTH, FRAME_READY, 0, EXACT(READY_PAYLOAD "x")},
		{FRAME_FAULT_NAME, FRAME_READY, 0, EXACT("\1\0\0\0\1\0\0\0\xff\0\0\0\0")},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct frame_reader r;
		frame_reader_init(&r, limits);
		assert_int_equal(
			feed(&r, wrong[i].type, 0, wrong[i].call, wrong[i].payload, wrong[i].size),
			-1);
		assert_int_equal(r.fault, wrong[i].fault);
		frame_reader_free(&r);
	}
}

static void after_done_nothing_of_the_call_comes(void **state)
{
	struct frame_reader r;
	(void)state;
	start_call(&r);
	assert_int_equal(feed(&r, FRAME_DONE, 0, CALL, EXACT(DONE_OK)), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT(DISPLAY_42)), -1);
	assert_int_equal(r.fault, FRAME_FAULT_AFTER_DONE);
	frame_reader_free(&r);
}

static void a_chain_is_of_one_type(void **state)
{
	struct frame_reader r;
	(void)state;
	start_call(&r);
	assert_int_equal(feed(&r, FRAME_DISPLAY, FRAME_MORE, CALL, EXACT("\0\0\0\0")), 0);
	assert_int_equal(feed(&r, FRAME_DONE, 0, CALL, EXACT(DONE_OK)), -1);
	assert_int_equal(r.fault, FRAME_FAULT_CHAIN_TYPE);
	frame_reader_free(&r);
	start_call(&r);
	assert_int_equal(feed(&r, FRAME_DISPLAY, FRAME_MORE, CALL, EXACT("\0\0\0\0")), 0);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, "", 0), -1);
	assert_int_equal(r.fault, FRAME_FAULT_CHAIN_EMPTY);
	frame_reader_free(&r);
}

static void indices_do_not_go_back(void **state)
{
	struct frame_reader r;
	(void)state;
	start_call(&r);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT("\0\0\0\0\0\1\0a")), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT("\0\0\0\0\0\1\0b")), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT("\3\0\0\0\0\1\0a")), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT("\2\0\0\0\0\1\0a")), -1);
	assert_int_equal(r.fault, FRAME_FAULT_INDEX);
	frame_reader_free(&r);
}

static void a_chain_has_a_greatest_size(void **state)
{
	static uint8_t part[FRAME_PACKET_MAX - FRAME_HEADER];
	struct frame_reader r;
	struct frame_event e;
	size_t sum = 0;
	(void)state;
	start_call(&r);
	memcpy(part, "\0\0\0\0\0\1\0a", 8);
	for (; sum + sizeof(part) <= FRAME_CHAIN_MAX; sum += sizeof(part)) {
		assert_int_equal(feed(&r, FRAME_DISPLAY, FRAME_MORE, CALL, part, sizeof(part)), 0);
		assert_true(r.chain_room <= FRAME_CHAIN_MAX);
	}
	make(FRAME_DISPLAY, 0, CALL, part, FRAME_CHAIN_MAX - sum);
	assert_int_equal(take(&r, &e), 1);
	assert_int_equal(e.display.data.size, FRAME_CHAIN_MAX - 8);

	for (sum = 0; sum + sizeof(part) <= FRAME_CHAIN_MAX; sum += sizeof(part))
		assert_int_equal(feed(&r, FRAME_DISPLAY, FRAME_MORE, CALL, part, sizeof(part)), 0);
	make(FRAME_DISPLAY, 0, CALL, part, FRAME_CHAIN_MAX - sum + 1);
	assert_int_equal(take(&r, &e), -1);
	assert_int_equal(r.fault, FRAME_FAULT_CHAIN_SIZE);
	frame_reader_free(&r);
}

static void a_call_has_a_greatest_payload_and_number_of_frames(void **state)
{
	struct frame_reader r;
	const size_t size = sizeof(DISPLAY_42) - 1;
	(void)state;
	frame_reader_init(&r, (struct frame_limits){.bytes = 2 * size, .frames = 100});
	r.limits.bytes = 2 * size;
	assert_int_equal(feed(&r, FRAME_READY, 0, 0, EXACT(READY_PAYLOAD)), 1);
	for (uint64_t call = 1; call <= 3; call++) { /* each call anew */
		assert_int_equal(frame_reader_begin(&r, call, NULL), 0);
		assert_int_equal(feed(&r, FRAME_DISPLAY, 0, call, EXACT(DISPLAY_42)), 1);
		if (call < 3) {
			assert_int_equal(feed(&r, FRAME_DONE, 0, call, EXACT(DONE_OK)), 1);
			continue;
		}
		assert_int_equal(feed(&r, FRAME_DISPLAY, 0, call, EXACT(DISPLAY_42)), 1);
		assert_int_equal(feed(&r, FRAME_DONE, 0, call, EXACT(DONE_OK)), -1);
		assert_int_equal(r.fault, FRAME_FAULT_TOTAL);
	}
	frame_reader_free(&r);

	frame_reader_init(&r, (struct frame_limits){.bytes = 1 << 20, .frames = 3});
	assert_int_equal(feed(&r, FRAME_READY, 0, 0, EXACT(READY_PAYLOAD)), 1);
	assert_int_equal(frame_reader_begin(&r, CALL, NULL), 0);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT(DISPLAY_42)), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL + 1, EXACT(DISPLAY_42)), 0);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL, EXACT(DISPLAY_42)), 1);
	assert_int_equal(feed(&r, FRAME_DISPLAY, 0, CALL + 1, EXACT(DISPLAY_42)), -1);
	assert_int_equal(r.fault, FRAME_FAULT_FRAMES);
	frame_reader_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_one_packet_when_it_fits),
		cmocka_unit_test(a_run_without_code_is_one_packet),
		cmocka_unit_test(a_longer_run_is_a_chain),
		cmocka_unit_test(a_run_that_no_driver_may_get_is_refused),
		cmocka_unit_test(a_call_from_ready_to_done),
		cmocka_unit_test(a_chain_is_put_together),
		cmocka_unit_test(frames_of_another_call_are_dropped_and_counted),
		cmocka_unit_test(one_wrong_frame_each),
		cmocka_unit_test(a_damaged_header),
		cmocka_unit_test(names_have_a_greatest_length),
		cmocka_unit_test(before_ready_nothing_else_comes),
		cmocka_unit_test(after_done_nothing_of_the_call_comes),
		cmocka_unit_test(a_chain_is_of_one_type),
		cmocka_unit_test(indices_do_not_go_back),
		cmocka_unit_test(a_chain_has_a_greatest_size),
		cmocka_unit_test(a_call_has_a_greatest_payload_and_number_of_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
