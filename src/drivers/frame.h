/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes between an interpreter's driver, inside, and whoever has it run cells, outside: frames
 * over an AF_UNIX SOCK_SEQPACKET socket, descriptor 3 inside; one frame in a packet of at most
 * 65,536 bytes; all numbers little-endian. A frame is 16 bytes of header and a payload:
 *
 *   u32 magic "BJDR" · u8 type · u8 flags · u16 zero · u64 call
 *
 *   flags  FRAME_MORE: the payload goes on in the next frame of this type and call. Such a chain is
 *          at most 16 MiB; only RUN, DISPLAY and ERROR may be chains.
 *   call   chosen outside at random, new for each RUN, never 0. Nothing but this number ties an
 *          answer to a question: what carries another comes from an earlier cell's leftovers. READY
 *          has 0.
 *
 *   RUN      to the driver    u32 flags (FRAME_STORE_HISTORY, FRAME_SILENT) · code, UTF-8
 *   READY    from it, once    u32 protocol version · language · its version
 *   DISPLAY  from it          u32 index · u8 kind · u16 length · MIME type · data. Several with one
 *                             index are one result in several formats
 *   ERROR    from it          name · value · traceback
 *   DONE     from it, last    u8 status · u32 execution count
 *
 * Language, version, name, value and traceback are texts: u32 length and that many bytes of UTF-8.
 * A driver cuts what is too large for a chain and says so.
 *
 * The driver shares its process with the cells, so all that comes from it is the program's word.
 */
#ifndef DRIVERS_FRAME_H
#define DRIVERS_FRAME_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC	 UINT32_C(0x52444a42)
#define FRAME_PROTOCOL	 1
#define FRAME_HEADER	 16
#define FRAME_PACKET_MAX 65536
#define FRAME_CHAIN_MAX	 (16 << 20)
#define FRAME_NAME_MAX	 100

enum frame_type { FRAME_RUN = 1, FRAME_READY, FRAME_DISPLAY, FRAME_ERROR, FRAME_DONE };
enum frame_kind { FRAME_RESULT, FRAME_SHOWN, FRAME_KIND_COUNT };
enum frame_status { FRAME_OK, FRAME_FAILED, FRAME_INTERRUPTED, FRAME_STATUS_COUNT };

#define FRAME_MORE 0x01

#define FRAME_STORE_HISTORY                                                                        \
	0x01u		   /* the cell is counted; its value is kept where the language does */
#define FRAME_SILENT 0x02u /* neither counted nor is its value shown */

/* What is wrong with a frame; frame_fault_text() says it in words. */
enum frame_fault {
	FRAME_FAULT_NONE,
	FRAME_FAULT_SHORT,
	FRAME_FAULT_LONG,
	FRAME_FAULT_MAGIC,
	FRAME_FAULT_ZERO,
	FRAME_FAULT_FLAGS,
	FRAME_FAULT_TYPE,
	FRAME_FAULT_ORDER,
	FRAME_FAULT_FRAMES,
	FRAME_FAULT_AFTER_DONE,
	FRAME_FAULT_CHAIN_TYPE,
	FRAME_FAULT_CHAIN_EMPTY,
	FRAME_FAULT_CHAIN_SIZE,
	FRAME_FAULT_TOTAL,
	FRAME_FAULT_LENGTH,
	FRAME_FAULT_PROTOCOL,
	FRAME_FAULT_INDEX,
	FRAME_FAULT_KIND,
	FRAME_FAULT_MIME,
	FRAME_FAULT_NAME,
	FRAME_FAULT_TEXT,
	FRAME_FAULT_STATUS,
	FRAME_FAULT_MEMORY,
	FRAME_FAULT_COUNT
};

const char *frame_fault_text(enum frame_fault fault);

/* ---- To the driver ----------------------------------------------------------------------- */

struct frame_run {
	uint64_t call;
	uint32_t flags;
	const char *code;
	size_t size, sent;
	bool begun;
};

/* `code` is used until the last packet is made. */
int frame_run_start(struct frame_run *run, uint64_t call, uint32_t flags, const char *code,
		    size_t size, struct bj_error *err);

/* Makes the next packet; returns its size, 0 when there is no more. */
size_t frame_run_next(struct frame_run *run, uint8_t packet[FRAME_PACKET_MAX]);

/* ---- From the driver --------------------------------------------------------------------- */

struct frame_limits {
	uint64_t bytes;	 /* of payload, of all frames of a call */
	uint32_t frames; /* of a call, and of all others that come until the next one begins */
};

enum frame_stage { FRAME_STARTING, FRAME_IDLE, FRAME_RUNNING };

struct frame_reader {
	struct frame_limits limits;
	enum frame_stage stage;
	enum frame_fault fault; /* the first one; nothing is read after it */
	uint64_t call;		/* the current one, or the last one that is done, or 0 */
	uint64_t bytes;
	uint32_t frames;
	uint64_t stale; /* frames of another call, dropped */
	uint32_t next_index;
	uint8_t chain_type; /* 0: no chain is open */
	uint8_t *chain;
	size_t chain_size, chain_room;
};

/* Not ended by NUL, and it may hold NULs. */
struct frame_text {
	const char *data;
	size_t size;
};

struct frame_event {
	enum frame_type type;
	union {
		struct {
			struct frame_text language, version;
		} ready;
		struct {
			uint32_t index;
			enum frame_kind kind;
			struct frame_text mime; /* printable ASCII, at most FRAME_NAME_MAX */
			struct frame_text data; /* any bytes, whatever `mime` says */
		} display;
		struct {
			struct frame_text name; /* at most FRAME_NAME_MAX */
			struct frame_text value, traceback;
		} error;
		struct {
			enum frame_status status;
			uint32_t execution_count;
		} done;
	};
};

void frame_reader_init(struct frame_reader *reader, struct frame_limits limits);
void frame_reader_free(struct frame_reader *reader);

/* Whoever sends a RUN says so here first. Only when the driver is ready and no call is running. */
int frame_reader_begin(struct frame_reader *reader, uint64_t call, struct bj_error *err);

/*
 * Takes one packet. 1: an event, whose texts lie in `packet` or in the reader until its next use.
 * 0: no event yet, or the frame was of another call. -1: the driver broke the protocol, or memory
 * ran out: `reader->fault` says how, and the reader is of no more use. It holds at most one chain:
 * never more than FRAME_CHAIN_MAX, nor than twice what has come of it.
 */
int frame_read(struct frame_reader *reader, const void *packet, size_t size,
	       struct frame_event *ret_event, struct bj_error *err);

#endif
