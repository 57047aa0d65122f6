/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 512 };

/* As POSIX has it: offsets in the record. */
enum {
	MODE = 100,
	UID = 108,
	GID = 116,
	SIZE = 124,
	MTIME = 136,
	SUM = 148,
	TYPE = 156,
	LINK = 157
};

static void append(struct tar_made *tar, const void *data, size_t size)
{
	size_t whole = (size + RECORD - 1) / RECORD * RECORD;
	if (whole > sizeof(tar->data) - tar->size)
		abort();
	memset(tar->data + tar->size, 0, whole);
	memcpy(tar->data + tar->size, data, size);
	tar->size += whole;
}

static void octal(char *field, size_t size, uint64_t value)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%0*llo", (int)size - 1, (unsigned long long)value);
	memcpy(field, text, size);
}

static void add(struct tar_made *tar, struct tar_entry entry)
{
	char head[RECORD] = {0};
	size_t size = entry.size ? entry.size : entry.data ? strlen(entry.data) : 0;
	unsigned sum = 0;
	memcpy(head, entry.name, strnlen(entry.name, MODE));
	octal(head + MODE, 8, entry.mode ? entry.mode : 0644);
	octal(head + UID, 8, 12345);
	octal(head + GID, 8, 12345);
	octal(head + SIZE, 12, entry.says ? entry.says : size);
	octal(head + MTIME, 12, 1000000000);
	head[TYPE] = entry.type ? entry.type : '0';
	if (entry.link)
		memcpy(head + LINK, entry.link, strnlen(entry.link, 100));
	memcpy(head + 257,
	       "ustar\0"
	       "00",
	       8);
	memset(head + SUM, ' ', 8);
	for (size_t i = 0; i < RECORD; i++)
		sum += (unsigned char)head[i];
	(void)snprintf(head + SUM, 8, "%06o", sum);
	append(tar, head, RECORD);
	append(tar, entry.data ? entry.data : "", size);
}

void tar_add(struct tar_made *tar, struct tar_entry entry)
{
	if (tar->pax_size)
		add(tar,
		    (struct tar_entry){
			    .name = "pax", .type = 'x', .data = tar->pax, .size = tar->pax_size});
	tar->pax_size = 0;
	add(tar, entry);
}

void tar_add_pax(struct tar_made *tar, const char *key, const char *value, size_t size)
{
	char head[64];
	size_t length = size ? size : strlen(value), whole = 0;
	/* A record counts the digits of its own length. */
	for (size_t digits = 1; digits < 5; digits++) {
		whole = digits + 1 + strlen(key) + 1 + length + 1;
		if ((size_t)snprintf(NULL, 0, "%zu", whole) == digits)
			break;
	}
	if (whole > sizeof(tar->pax) - tar->pax_size)
		abort();
	int used = snprintf(head, sizeof(head), "%zu %s=", whole, key);
	char *record = tar->pax + tar->pax_size;
	memcpy(record, head, (size_t)used);
	memcpy(record + used, value, length);
	record[whole - 1] = '\n';
	tar->pax_size += whole;
}

void tar_end(struct tar_made *tar)
{
	static const char zero[2 * RECORD];
	append(tar, zero, sizeof(zero));
}
