/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a policy file. A refusal must be one harmless line that names the file; what is
 * accepted must be inside every range, and no user's file may hold what is the operator's.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/policy_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_overlay(const struct overlay *overlay, bool may_hold_prefixes)
{
	for (int id = 0; id < FIELD_COUNT; id++) {
		const struct field *field = &policy_fields[id];
		if (!overlay->has[id]) {
			require(!overlay->list[id]);
			continue;
		}
		if (field->unit != UNIT_LIST) {
			require(overlay->number[id] >= field->min &&
				overlay->number[id] <= field->max);
			continue;
		}
		require(!field->ceiling_only || may_hold_prefixes);
		for (char **item = overlay->list[id]; *item; item++) {
			if (id == FIELD_accept_missing)
				require(acceptable_layer(*item) != LAYER_COUNT);
			else
				require(path_is_canonical(*item) && strcmp(*item, "/") != 0);
		}
	}
}

static void check_refusal(const struct bj_error *err)
{
	char again[2 * sizeof(err->message)];

	require(err->code == BJ_INVALID || err->code == BJ_REFUSED);
	require(strncmp(err->message, "f.json, line ", 13) == 0 ||
		strcmp(err->message, "f.json: larger than 1 MiB") == 0);
	require(strcmp(text_escape(again, sizeof(again), err->message), err->message) == 0);
	require(strlen(err->message) < sizeof(err->message) - 1);
}

static void check_use(struct policy_file *file)
{
	struct policy policy, copy;

	policy_init(&policy);
	require(policy_load_file(&policy, file, NULL) == 0);
	for (size_t i = 0; i < file->profile_count; i++) {
		require(policy_profile_beside(&policy, file->profiles[i].name, "/dev/null", NULL) ==
			0);
		require(policy_copy(&copy, &policy, NULL) == 0);
		policy_free(&policy);
		policy = copy;
	}
	require(policy_profile_beside(&policy, "agent", "/dev/null", NULL) == 0);
	require(policy_accept_missing(&policy) == 0);
	policy_free(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int kind = FILE_OF_USER; kind <= FILE_OF_OPERATOR; kind++) {
		auto_policy_file struct policy_file *file = NULL;
		struct bj_error err = {0};
		if (policy_file_decode((const char *)data, size, "f.json",
				       (enum policy_file_kind)kind, &file, &err) < 0) {
			require(!file);
			check_refusal(&err);
			continue;
		}
		check_overlay(&file->top, kind == FILE_OF_OPERATOR);
		for (size_t i = 0; i < file->profile_count; i++)
			check_overlay(&file->profiles[i], false);
		if (kind == FILE_OF_USER)
			check_use(file);
	}
	return 0;
}
