/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the manifest of a save point. What is accepted names nothing outside the workspace,
 * and is the one encoding of what it says.
 *
 * Input: a byte, odd where the size and the hash are to be made right first, as whoever forges a
 * manifest would do; then the manifest.
 */
#include "files/save_parts.h"

#include <sha2.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void make_right(uint8_t *data, size_t size)
{
	SHA2_CTX sha;
	struct save_head head;
	if (size < sizeof(head) + SAVE_SHA_SIZE)
		return;
	memcpy(&head, data, sizeof(head));
	head.magic = SAVE_MAGIC;
	head.version = SAVE_VERSION;
	head.size = size;
	memcpy(data, &head, sizeof(head));
	SHA256Init(&sha);
	SHA256Update(&sha, data, size - SAVE_SHA_SIZE);
	SHA256Final(data + size - SAVE_SHA_SIZE, &sha);
}

static void check_entry(const struct manifest *manifest, size_t index)
{
	static char path[SAVE_PATH_SIZE];
	const struct save_entry *entry = &manifest->entry[index];
	require(entry->end > index && entry->end <= manifest->count);
	require(entry->type == SAVE_DIRECTORY || entry->end == index + 1);
	manifest_path(manifest, index, path);
	if (index == 0) {
		require(entry->end == manifest->count && !*path);
		return;
	}
	const struct save_entry *parent = &manifest->entry[entry->parent];
	require(entry->parent < index && parent->type == SAVE_DIRECTORY);
	require(parent->depth + 1 == entry->depth && entry->end <= parent->end);
	require(!files_name_check(entry->name, strlen(entry->name)));
	require(!strchr(entry->name, '/') && strlen(path) < sizeof(path));
	/* Each after the one before it, in the order in which two walks are compared. */
	require(index == 1 || entry_order(&manifest->entry[index - 1], entry) < 0 ||
		entry->parent == index - 1);
}

static void check_encoding(const struct manifest *manifest, const uint8_t *data, size_t size)
{
	struct manifest_text text = {
		.head = {.serial = manifest->head.serial, .time_ns = manifest->head.time_ns}};
	for (size_t i = 0; i < manifest->count; i++)
		require(manifest_add(&text, &manifest->entry[i], NULL) == 0);
	require(manifest_finish(&text, NULL) == 0);
	require(text.size == size && memcmp(text.data, data, size) == 0);
	manifest_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest manifest = {0};
	if (size == 0)
		return 0;
	bool right = data[0] & 1;
	size--;
	/* A copy of its own, so that reading past the end is seen. */
	uint8_t *copy = malloc(size ? size : 1);
	require(copy);
	memcpy(copy, data + 1, size);
	if (right)
		make_right(copy, size);
	const char *why = manifest_parse(copy, size, &manifest);
	require(!why || (*why && !manifest.entry));
	if (!why) {
		for (size_t i = 0; i < manifest.count; i++)
			check_entry(&manifest, i);
		check_encoding(&manifest, copy, size);
		manifest_free(&manifest);
	}
	free(copy);
	return 0;
}
