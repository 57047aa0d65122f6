/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/frame.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define CHAIN_ROOM_FIRST ((size_t)2 * FRAME_PACKET_MAX)

struct header {
	uint32_t magic;
	uint8_t type;
	uint8_t flags;
	uint16_t zero;
	uint64_t call;
};
static_assert(sizeof(struct header) == FRAME_HEADER, "the header is 16 bytes without holes");

static const char *const fault_texts[] = {
	[FRAME_FAULT_NONE] = "nothing is wrong",
	[FRAME_FAULT_SHORT] = "it is shorter than a header",
	[FRAME_FAULT_LONG] = "it is longer than a packet may be",
	[FRAME_FAULT_MAGIC] = "it does not begin as a frame does",
	[FRAME_FAULT_ZERO] = "bytes that must be zero are not",
	[FRAME_FAULT_FLAGS] = "unknown flags, or a chain of a type that has none",
	[FRAME_FAULT_TYPE] = "no driver sends frames of this type",
	[FRAME_FAULT_ORDER] = "this type may not come now",
	[FRAME_FAULT_FRAMES] = "too many frames",
	[FRAME_FAULT_AFTER_DONE] = "it belongs to a call that is done",
	[FRAME_FAULT_CHAIN_TYPE] = "it interrupts a chain of another type",
	[FRAME_FAULT_CHAIN_EMPTY] = "it goes on with a chain and holds nothing",
	[FRAME_FAULT_CHAIN_SIZE] = "its chain is larger than 16 MiB",
	[FRAME_FAULT_TOTAL] = "the call has more payload than it may",
	[FRAME_FAULT_LENGTH] = "its payload does not have the length that it says",
	[FRAME_FAULT_PROTOCOL] = "the driver speaks another version of the protocol",
	[FRAME_FAULT_INDEX] = "results do not come in order",
	[FRAME_FAULT_KIND] = "unknown kind of display",
	[FRAME_FAULT_MIME] = "its MIME type is not 1 to 100 printable ASCII characters",
	[FRAME_FAULT_NAME] = "a name is longer than 100 bytes, or not UTF-8",
	[FRAME_FAULT_TEXT] = "a text is not UTF-8",
	[FRAME_FAULT_STATUS] = "unknown status",
	[FRAME_FAULT_MEMORY] = "out of memory",
};
static_assert(ARRAY_SIZE(fault_texts) == FRAME_FAULT_COUNT, "a text for each fault");

const char *frame_fault_text(enum frame_fault fault)
{
	return fault_texts[fault < FRAME_FAULT_COUNT ? fault : FRAME_FAULT_NONE];
}

static bool is_utf8(const char *data, size_t size)
{
	uint32_t point;
	while (size > 0) {
		size_t length = text_utf8(data, size, &point);
		if (length == 0)
			return false;
		data += length;
		size -= length;
	}
	return true;
}

/* ---- To the driver ----------------------------------------------------------------------- */

int frame_run_start(struct frame_run *run, uint64_t call, uint32_t flags, const char *code,
		    size_t size, struct bj_error *err)
{
	if (call == 0)
		return fail(err, BJ_INVALID, "cell: 0 is not the number of a call");
	if (flags & ~(FRAME_STORE_HISTORY | FRAME_SILENT))
		return fail(err, BJ_INVALID, "cell: unknown flags 0x%x", flags);
	if (size > FRAME_CHAIN_MAX - sizeof(flags))
		return fail(err, BJ_INVALID, "cell: its code is %zu bytes, at most %zu", size,
			    FRAME_CHAIN_MAX - sizeof(flags));
	if (!is_utf8(code, size))
		return fail(err, BJ_INVALID, "cell: its code is not UTF-8");
	*run = (struct frame_run){.call = call, .flags = flags, .code = code, .size = size};
	return 0;
}

size_t frame_run_next(struct frame_run *run, uint8_t packet[FRAME_PACKET_MAX])
{
	size_t used = FRAME_HEADER;
	if (run->begun && run->sent == run->size)
		return 0;
	if (!run->begun) {
		uint32_t flags = htole32(run->flags);
		memcpy(packet + used, &flags, sizeof(flags));
		used += sizeof(flags);
		run->begun = true;
	}
	size_t left = run->size - run->sent;
	size_t part = left < FRAME_PACKET_MAX - used ? left : FRAME_PACKET_MAX - used;
	if (part > 0)
		memcpy(packet + used, run->code + run->sent, part);
	run->sent += part;
	const struct header header = {
		.magic = htole32(FRAME_MAGIC),
		.type = FRAME_RUN,
		.flags = run->sent < run->size ? FRAME_MORE : 0,
		.call = htole64(run->call),
	};
	memcpy(packet, &header, sizeof(header));
	return used + part;
}

/* ---- A payload --------------------------------------------------------------------------- */

struct payload {
	const uint8_t *at;
	size_t left;
};

static bool take(struct payload *p, void *ret, size_t size)
{
	if (p->left < size)
		return false;
	memcpy(ret, p->at, size);
	p->at += size;
	p->left -= size;
	return true;
}

static bool take_u32(struct payload *p, uint32_t *ret)
{
	if (!take(p, ret, sizeof(*ret)))
		return false;
	*ret = le32toh(*ret);
	return true;
}

static bool take_bytes(struct payload *p, size_t size, struct frame_text *ret)
{
	if (p->left < size)
		return false;
	*ret = (struct frame_text){(const char *)p->at, size};
	p->at += size;
	p->left -= size;
	return true;
}

static bool take_text(struct payload *p, struct frame_text *ret)
{
	uint32_t size;
	return take_u32(p, &size) && take_bytes(p, size, ret);
}

static bool is_name(struct frame_text text)
{
	return text.size <= FRAME_NAME_MAX && is_utf8(text.data, text.size);
}

static bool is_mime(struct frame_text text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < ' ' || text.data[i] > '~')
			return false;
	}
	return text.size > 0 && text.size <= FRAME_NAME_MAX;
}

static enum frame_fault decode_ready(struct payload p, struct frame_event *e)
{
	uint32_t protocol;
	if (!take_u32(&p, &protocol))
		return FRAME_FAULT_LENGTH;
	/* Before the rest, which another version may write otherwise. */
	if (protocol != FRAME_PROTOCOL)
		return FRAME_FAULT_PROTOCOL;
	if (!take_text(&p, &e->ready.language) || !take_text(&p, &e->ready.version) || p.left > 0)
		return FRAME_FAULT_LENGTH;
	if (!is_name(e->ready.language) || !is_name(e->ready.version))
		return FRAME_FAULT_NAME;
	return FRAME_FAULT_NONE;
}

static enum frame_fault decode_display(struct payload p, struct frame_event *e)
{
	uint8_t kind;
	uint16_t mime_size;
	if (!take_u32(&p, &e->display.index) || !take(&p, &kind, sizeof(kind)) ||
	    !take(&p, &mime_size, sizeof(mime_size)) ||
	    !take_bytes(&p, le16toh(mime_size), &e->display.mime) ||
	    !take_bytes(&p, p.left, &e->display.data))
		return FRAME_FAULT_LENGTH;
	if (kind >= FRAME_KIND_COUNT)
		return FRAME_FAULT_KIND;
	if (!is_mime(e->display.mime))
		return FRAME_FAULT_MIME;
	e->display.kind = kind;
	return FRAME_FAULT_NONE;
}

static enum frame_fault decode_error(struct payload p, struct frame_event *e)
{
	if (!take_text(&p, &e->error.name) || !take_text(&p, &e->error.value) ||
	    !take_text(&p, &e->error.traceback) || p.left > 0)
		return FRAME_FAULT_LENGTH;
	if (!is_name(e->error.name))
		return FRAME_FAULT_NAME;
	if (!is_utf8(e->error.value.data, e->error.value.size) ||
	    !is_utf8(e->error.traceback.data, e->error.traceback.size))
		return FRAME_FAULT_TEXT;
	return FRAME_FAULT_NONE;
}

static enum frame_fault decode_done(struct payload p, struct frame_event *e)
{
	uint8_t status;
	if (!take(&p, &status, sizeof(status)) || !take_u32(&p, &e->done.execution_count) ||
	    p.left > 0)
		return FRAME_FAULT_LENGTH;
	if (status >= FRAME_STATUS_COUNT)
		return FRAME_FAULT_STATUS;
	e->done.status = status;
	return FRAME_FAULT_NONE;
}

/* What a driver may send, and whether as a chain. */
static const struct {
	enum frame_fault (*decode)(struct payload p, struct frame_event *e);
	bool chains;
} types[] = {
	[FRAME_READY] = {decode_ready, false},
	[FRAME_DISPLAY] = {decode_display, true},
	[FRAME_ERROR] = {decode_error, true},
	[FRAME_DONE] = {decode_done, false},
};
static_assert(ARRAY_SIZE(types) == FRAME_DONE + 1, "a row for each type");

/* ---- From the driver --------------------------------------------------------------------- */

void frame_reader_init(struct frame_reader *reader, struct frame_limits limits)
{
	*reader = (struct frame_reader){.limits = limits};
}

void frame_reader_free(struct frame_reader *reader)
{
	free(reader->chain);
	*reader = (struct frame_reader){0};
}

int frame_reader_begin(struct frame_reader *reader, uint64_t call, struct bj_error *err)
{
	if (reader->fault != FRAME_FAULT_NONE)
		return fail(err, BJ_INVALID, "cell: the interpreter broke the protocol");
	if (reader->stage == FRAME_STARTING)
		return fail(err, BJ_INVALID, "cell: the interpreter is not ready yet");
	if (reader->stage == FRAME_RUNNING)
		return fail(err, BJ_INVALID, "cell: the interpreter runs another one");
	/* The last call's number: what is left of it would be taken for the answer. */
	if (call == 0 || call == reader->call)
		return fail(err, BJ_INVALID, "cell: its call has no number of its own");
	/* One cell's large result is not kept as long as the interpreter lives. */
	free(reader->chain);
	reader->chain = NULL;
	reader->chain_room = 0;
	reader->stage = FRAME_RUNNING;
	reader->call = call;
	reader->bytes = 0;
	reader->frames = 0;
	reader->next_index = 0;
	return 0;
}

static enum frame_fault check_header(const struct header *h)
{
	if (le32toh(h->magic) != FRAME_MAGIC)
		return FRAME_FAULT_MAGIC;
	if (h->zero != 0)
		return FRAME_FAULT_ZERO;
	if (h->type >= ARRAY_SIZE(types) || !types[h->type].decode)
		return FRAME_FAULT_TYPE;
	if (h->flags & ~FRAME_MORE || (h->flags && !types[h->type].chains))
		return FRAME_FAULT_FLAGS;
	return FRAME_FAULT_NONE;
}

/* Whether a frame with a good header may come now; `*ret_stale`: it is of another call. */
static enum frame_fault check_order(struct frame_reader *r, const struct header *h, bool *ret_stale)
{
	const bool ready = h->type == FRAME_READY;
	*ret_stale = le64toh(h->call) != r->call;
	/* Stale ones count too: they cost as much to read. */
	if (r->frames >= r->limits.frames)
		return FRAME_FAULT_FRAMES;
	r->frames++;
	if (r->stage == FRAME_STARTING)
		return ready && !*ret_stale ? FRAME_FAULT_NONE : FRAME_FAULT_ORDER;
	if (*ret_stale)
		return FRAME_FAULT_NONE;
	if (r->stage == FRAME_IDLE)
		return FRAME_FAULT_AFTER_DONE;
	if (r->chain_type && r->chain_type != h->type)
		return FRAME_FAULT_CHAIN_TYPE;
	return ready ? FRAME_FAULT_ORDER : FRAME_FAULT_NONE;
}

static enum frame_fault grow(struct frame_reader *r, size_t size)
{
	size_t room = r->chain_room ? r->chain_room : CHAIN_ROOM_FIRST;
	while (room < size)
		room *= 2;
	if (room > FRAME_CHAIN_MAX)
		room = FRAME_CHAIN_MAX;
	if (room == r->chain_room)
		return FRAME_FAULT_NONE;
	uint8_t *chain = realloc(r->chain, room);
	if (!chain)
		return FRAME_FAULT_MEMORY;
	r->chain = chain;
	r->chain_room = room;
	return FRAME_FAULT_NONE;
}

/* Counts what came, and appends it where it is part of a chain; `p` becomes the whole then. */
static enum frame_fault collect(struct frame_reader *r, const struct header *h, struct payload *p)
{
	const bool more = h->flags & FRAME_MORE;
	if (p->left > r->limits.bytes - r->bytes)
		return FRAME_FAULT_TOTAL;
	r->bytes += p->left;
	if (!more && !r->chain_type)
		return FRAME_FAULT_NONE;
	if (p->left == 0)
		return FRAME_FAULT_CHAIN_EMPTY;
	if (p->left > FRAME_CHAIN_MAX - r->chain_size)
		return FRAME_FAULT_CHAIN_SIZE;
	enum frame_fault fault = grow(r, r->chain_size + p->left);
	if (fault != FRAME_FAULT_NONE)
		return fault;
	memcpy(r->chain + r->chain_size, p->at, p->left);
	r->chain_size += p->left;
	r->chain_type = h->type;
	*p = (struct payload){r->chain, r->chain_size};
	return FRAME_FAULT_NONE;
}

/* The events of one call in their order. */
static enum frame_fault settle(struct frame_reader *r, const struct frame_event *e)
{
	if (e->type == FRAME_READY || e->type == FRAME_DONE) {
		r->stage = FRAME_IDLE;
	} else if (e->type == FRAME_DISPLAY) {
		/* That of the last one, in another format, or a higher one. */
		uint32_t last = r->next_index ? r->next_index - 1 : 0;
		if (e->display.index < last || e->display.index == UINT32_MAX)
			return FRAME_FAULT_INDEX;
		r->next_index = e->display.index + 1;
	}
	return FRAME_FAULT_NONE;
}

static enum frame_fault read_frame(struct frame_reader *r, const uint8_t *packet, size_t size,
				   struct frame_event *event, bool *ret_event)
{
	struct header h;
	struct payload p;
	bool stale = false;
	*ret_event = false;
	if (size < FRAME_HEADER)
		return FRAME_FAULT_SHORT;
	if (size > FRAME_PACKET_MAX)
		return FRAME_FAULT_LONG;
	memcpy(&h, packet, sizeof(h));
	p = (struct payload){packet + FRAME_HEADER, size - FRAME_HEADER};

	enum frame_fault fault = check_header(&h);
	if (fault == FRAME_FAULT_NONE)
		fault = check_order(r, &h, &stale);
	if (fault != FRAME_FAULT_NONE)
		return fault;
	if (stale) {
		r->stale++;
		return FRAME_FAULT_NONE;
	}
	fault = collect(r, &h, &p);
	if (fault != FRAME_FAULT_NONE || h.flags & FRAME_MORE)
		return fault;
	r->chain_type = 0;
	r->chain_size = 0;
	event->type = h.type;
	fault = types[h.type].decode(p, event);
	if (fault == FRAME_FAULT_NONE)
		fault = settle(r, event);
	*ret_event = fault == FRAME_FAULT_NONE;
	return fault;
}

int frame_read(struct frame_reader *reader, const void *packet, size_t size,
	       struct frame_event *ret_event, struct bj_error *err)
{
	struct frame_event event = {0};
	bool whole = false;
	if (reader->fault == FRAME_FAULT_NONE)
		reader->fault = read_frame(reader, packet, size, &event, &whole);
	if (reader->fault != FRAME_FAULT_NONE)
		return fail(err, reader->fault == FRAME_FAULT_MEMORY ? BJ_INTERNAL : BJ_INVALID,
			    "frame of the interpreter's driver: %s",
			    frame_fault_text(reader->fault));
	if (whole)
		*ret_event = event;
	return whole;
}
