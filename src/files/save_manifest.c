/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests, written and read. What is read was perhaps damaged, or forged: nothing is believed. */
#include "files/save_parts.h"

#include "files/beneath.h"
#include "files/show.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <sha2.h>
#include <stdlib.h>

_Static_assert(SAVE_SHA_SIZE == SHA256_DIGEST_LENGTH, "objects are named by SHA-256");
/* Files lie one deeper than the deepest directory. */
#define DEPTH_MAX (FILES_DEPTH_MAX + 1)

static void hash(const uint8_t *data, size_t size, uint8_t sha256[SAVE_SHA_SIZE])
{
	SHA2_CTX sha;
	SHA256Init(&sha);
	SHA256Update(&sha, data, size);
	SHA256Final(sha256, &sha);
}

/* ---- Reading ----------------------------------------------------------------------------- */

static const char *parse_head(const uint8_t *data, size_t size, struct save_head *head)
{
	uint8_t sha256[SAVE_SHA_SIZE];
	if (size < sizeof(*head) + SAVE_SHA_SIZE)
		return "is too short";
	memcpy(head, data, sizeof(*head));
	if (head->magic != SAVE_MAGIC)
		return "is no manifest";
	if (head->version != SAVE_VERSION)
		return "is of a version that this Belljar does not know";
	if (head->size != size)
		return "has another size than it says";
	hash(data, size - SAVE_SHA_SIZE, sha256);
	if (memcmp(sha256, data + size - SAVE_SHA_SIZE, SAVE_SHA_SIZE) != 0)
		return "has another hash than it says";
	if (head->zero != 0 || head->serial > SAVE_SERIAL_MAX)
		return "has a wrong head";
	size_t room = size - sizeof(*head) - SAVE_SHA_SIZE;
	if (head->entries == 0 || head->entries > room / sizeof(struct save_record))
		return "has a wrong number of entries";
	return NULL;
}

static bool is_odd_kind(uint32_t mode)
{
	mode_t kind = mode & S_IFMT;
	return kind == S_IFIFO || kind == S_IFSOCK || kind == S_IFCHR || kind == S_IFBLK;
}

/* Whether a record's numbers go with its type. */
static bool numbers_fit(const struct save_record *record)
{
	static const uint8_t none[SAVE_SHA_SIZE];
	if (record->type >= SAVE_TYPE_COUNT || record->zero || record->mtime_ns > 999999999)
		return false;
	if (record->type != SAVE_FILE && memcmp(record->sha256, none, sizeof(none)) != 0)
		return false;
	if ((record->type == SAVE_LINK) != (record->link_size > 0) || record->link_size >= PATH_MAX)
		return false;
	if (record->type == SAVE_OTHER ? !is_odd_kind(record->mode) : record->mode & S_IFMT)
		return false;
	if ((record->mode & ~(mode_t)S_IFMT) > 0777)
		return false;
	switch ((enum save_type)record->type) {
	case SAVE_FILE:
		return record->bytes <= INT64_MAX;
	case SAVE_LINK:
		return record->bytes == record->link_size;
	case SAVE_DIRECTORY:
	case SAVE_OTHER:
	case SAVE_TYPE_COUNT:
		break;
	}
	return record->bytes == 0;
}

struct parser {
	const uint8_t *data;
	size_t at, end; /* of the records */
	struct manifest *manifest;
	size_t open[DEPTH_MAX + 1]; /* index of the last entry at each depth */
};

/* A text and its NUL. NULL: it is not there. */
static const char *take_text(struct parser *p, size_t size)
{
	const char *text = (const char *)p->data + p->at;
	if (p->end - p->at <= size || memchr(text, '\0', size + 1) != text + size)
		return NULL;
	p->at += size + 1;
	return text;
}

/* Where an entry lies: below the one before it, beside it, or beside a directory around it. */
static const char *place(struct parser *p, struct save_entry *entry)
{
	struct manifest *m = p->manifest;
	size_t index = m->count;
	if (index == 0) {
		p->open[0] = 0;
		return entry->depth == 0 && entry->type == SAVE_DIRECTORY && !*entry->name
			       ? NULL
			       : "does not begin with the workspace";
	}
	const struct save_entry *before = &m->entry[index - 1];
	unsigned int most = before->depth + (before->type == SAVE_DIRECTORY);
	if (entry->depth == 0 || entry->depth > most ||
	    entry->depth > DEPTH_MAX - (entry->type == SAVE_DIRECTORY))
		return "has an entry that lies nowhere";
	if (files_name_check(entry->name, strlen(entry->name)) || strchr(entry->name, '/'))
		return "has an entry with a wrong name";
	if (entry->depth <= before->depth &&
	    strcmp(m->entry[p->open[entry->depth]].name, entry->name) >= 0)
		return "has entries in a wrong order";
	for (unsigned int depth = entry->depth; depth <= before->depth; depth++)
		m->entry[p->open[depth]].end = index;
	entry->parent = p->open[entry->depth - 1];
	p->open[entry->depth] = index;
	return NULL;
}

static const char *parse_entry(struct parser *p)
{
	struct save_record record;
	if (p->end - p->at < sizeof(record))
		return "ends too early";
	memcpy(&record, p->data + p->at, sizeof(record));
	p->at += sizeof(record);
	if (!numbers_fit(&record))
		return "has an entry with wrong numbers";
	struct save_entry entry = {
		.type = (enum save_type)record.type,
		.depth = record.depth,
		.mode = record.mode,
		.mtime_s = record.mtime_s,
		.mtime_ns = record.mtime_ns,
		.bytes = record.bytes,
	};
	memcpy(entry.sha256, record.sha256, sizeof(entry.sha256));
	entry.name = take_text(p, record.name_size);
	if (!entry.name)
		return "has an entry with a wrong name";
	if (entry.type == SAVE_LINK) {
		entry.link = take_text(p, record.link_size);
		if (!entry.link)
			return "has a link with a wrong text";
	}
	const char *wrong = place(p, &entry);
	if (!wrong)
		p->manifest->entry[p->manifest->count++] = entry;
	return wrong;
}

static const char *parse_entries(struct parser *p)
{
	struct manifest *m = p->manifest;
	uint64_t bytes = 0, left_out = 0;
	for (uint32_t i = 0; i < m->head.entries; i++) {
		const char *wrong = parse_entry(p);
		if (wrong)
			return wrong;
		const struct save_entry *entry = &m->entry[i];
		if (entry->type == SAVE_FILE && __builtin_add_overflow(bytes, entry->bytes, &bytes))
			return "has an entry with wrong numbers";
		left_out += entry->type == SAVE_OTHER;
	}
	if (p->at != p->end || bytes != m->head.bytes || left_out != m->head.left_out)
		return "has other entries than its head says";
	for (unsigned int depth = 0; depth <= m->entry[m->count - 1].depth; depth++)
		m->entry[p->open[depth]].end = m->count;
	return NULL;
}

const char *manifest_parse(const uint8_t *data, size_t size, struct manifest *ret)
{
	struct manifest manifest = {0};
	const char *wrong = parse_head(data, size, &manifest.head);
	if (wrong)
		return wrong;
	/* No more than what the bytes that are there could be. */
	manifest.entry = calloc(manifest.head.entries, sizeof(*manifest.entry));
	if (!manifest.entry)
		return "does not fit into memory";
	struct parser parser = {
		.data = data,
		.at = sizeof(struct save_head),
		.end = size - SAVE_SHA_SIZE,
		.manifest = &manifest,
	};
	wrong = parse_entries(&parser);
	if (wrong) {
		free(manifest.entry);
		return wrong;
	}
	*ret = manifest;
	return NULL;
}

void manifest_free(struct manifest *manifest)
{
	free(manifest->entry);
	free(manifest->data);
	*manifest = (struct manifest){0};
}

int manifest_load(const struct save_store *store, const char *name, struct manifest *ret,
		  struct bj_error *err)
{
	struct stat st;
	auto_close int fd = open_beneath(store->points_fd, name, OPEN_WARILY, 0, BENEATH);
	if (fd < 0 && errno == ENOENT)
		return fail_errno(err, BJ_INVALID, "there is no save point %s", show(name).text);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INTERNAL, "open save point %s", show(name).text);
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > SAVE_MANIFEST_MAX)
		return fail(err, BJ_INTERNAL, "save point %s is no manifest", show(name).text);
	size_t size = (size_t)st.st_size;
	auto_free uint8_t *data = malloc(size ? size : 1);
	if (!data)
		return fail_errno(err, BJ_INTERNAL, "read save point %s", show(name).text);
	ssize_t n = read_whole(fd, data, size);
	if (n < 0)
		return fail_errno(err, BJ_INTERNAL, "read save point %s", show(name).text);
	struct manifest manifest;
	const char *wrong = manifest_parse(data, (size_t)n, &manifest);
	if (wrong) {
		(void)fail(err, BJ_INTERNAL, "save point %s is damaged: its manifest %s",
			   show(name).text, wrong);
		return fail_hint(err, "Remove it. Others are not concerned.");
	}
	manifest.data = TAKE_PTR(data);
	*ret = manifest;
	return 0;
}

void manifest_path(const struct manifest *manifest, size_t index, char path[SAVE_PATH_SIZE])
{
	size_t chain[DEPTH_MAX + 1], size = 0;
	unsigned int depth = manifest->entry[index].depth;
	for (unsigned int i = depth; i > 0; i--) {
		chain[i] = index;
		index = manifest->entry[index].parent;
	}
	path[0] = '\0';
	for (unsigned int i = 1; i <= depth; i++) {
		const char *name = manifest->entry[chain[i]].name;
		size_t length = strlen(name);
		if (i > 1)
			path[size++] = '/';
		memcpy(path + size, name, length + 1);
		size += length;
	}
}

/* ---- Writing ----------------------------------------------------------------------------- */

static int add_bytes(struct manifest_text *text, const void *data, size_t size,
		     struct bj_error *err)
{
	if (size > SAVE_MANIFEST_MAX - text->size)
		return fail(err, BJ_INVALID, "the list of files has more than %llu bytes",
			    (unsigned long long)SAVE_MANIFEST_MAX);
	if (text->room - text->size < size) {
		size_t room = text->room ? text->room * 2 : 65536;
		while (room - text->size < size)
			room *= 2;
		uint8_t *more = realloc(text->data, room);
		if (!more)
			return fail_errno(err, BJ_INTERNAL, "list the files of a save point");
		text->data = more;
		text->room = room;
	}
	memcpy(text->data + text->size, data, size);
	text->size += size;
	return 0;
}

int manifest_add(struct manifest_text *text, const struct save_entry *entry, struct bj_error *err)
{
	struct save_record record = {
		.type = (uint8_t)entry->type,
		.depth = (uint8_t)entry->depth,
		.name_size = (uint16_t)strlen(entry->name),
		.link_size = (uint16_t)(entry->link ? strlen(entry->link) : 0),
		.mode = (uint16_t)entry->mode,
		.mtime_s = entry->mtime_s,
		.mtime_ns = entry->mtime_ns,
		.bytes = entry->bytes,
	};
	if (entry->type == SAVE_FILE)
		memcpy(record.sha256, entry->sha256, sizeof(record.sha256));
	if (text->size == 0 && add_bytes(text, &text->head, sizeof(text->head), err) < 0)
		return -1;
	if (add_bytes(text, &record, sizeof(record), err) < 0 ||
	    add_bytes(text, entry->name, record.name_size + (size_t)1, err) < 0)
		return -1;
	if (entry->link && add_bytes(text, entry->link, record.link_size + (size_t)1, err) < 0)
		return -1;
	text->head.entries++;
	text->head.left_out += entry->type == SAVE_OTHER;
	if (entry->type == SAVE_FILE)
		text->head.bytes += entry->bytes;
	return 0;
}

int manifest_finish(struct manifest_text *text, struct bj_error *err)
{
	uint8_t sha256[SAVE_SHA_SIZE];
	text->head.magic = SAVE_MAGIC;
	text->head.version = SAVE_VERSION;
	text->head.size = text->size + sizeof(sha256);
	memcpy(text->data, &text->head, sizeof(text->head));
	hash(text->data, text->size, sha256);
	return add_bytes(text, sha256, sizeof(sha256), err);
}

void manifest_text_free(struct manifest_text *text)
{
	free(text->data);
	*text = (struct manifest_text){0};
}
