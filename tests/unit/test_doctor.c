/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judgement of the deep checks: a check is as expected only where exactly what its row says was
 * said, once, and its counterpart worked. Everything else is red.
 */
#include "cli/doctor_deep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void hear(struct deep *deep, enum deep_id id, const char *part, const char *got)
{
	char line[256];
	int size = snprintf(line, sizeof(line), "{\"id\":\"%s\",\"part\":\"%s\",\"got\":\"%s\"}",
			    deep_rows[id].id, part, got);
	assert_in_range(size, 1, sizeof(line) - 1);
	deep_hear(deep, line, (size_t)size);
}

static enum deep_state judge(enum deep_id id, const char *got, const char *other)
{
	struct deep deep = {.started = true};
	if (got)
		hear(&deep, id, "tried", got);
	if (other)
		hear(&deep, id, "counterpart", other);
	assert_int_equal(deep.error.code, BJ_OK);
	return deep_judge(&deep, id, 0);
}

static void every_row_says_what_is_needed(void **state)
{
	(void)state;
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		const struct deep_row *row = &deep_rows[i];
		const char *layer = layers[row->layer].name;
		assert_non_null(row->id);
		/* "mount_image" is of mount. */
		assert_int_equal(strncmp(row->id, layer, strlen(layer)), 0);
		assert_int_equal(row->id[strlen(layer)], '_');
		assert_true(row->text[0] && row->other[0]);
		assert_true(row->sign[0] && strlen(row->sign) < DEEP_GOT_SIZE);
		assert_string_not_equal(row->sign, "works");
		assert_string_not_equal(row->sign, "untried");
		assert_true((row->run == DEEP_RUN_ENDED) == (row->action != NULL));
		assert_int_not_equal(row->run, DEEP_RUN_OUTSIDE);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(row->id, deep_rows[j].id);
	}
}

static void only_the_sign_of_its_row_is_as_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		enum deep_id id = (enum deep_id)i;
		assert_int_equal(judge(id, deep_rows[i].sign, "works"), DEEP_AS_EXPECTED);
		assert_int_equal(judge(id, "works", "works"), DEEP_FAILED);
		for (size_t j = 0; j < DEEP_COUNT; j++)
			if (strcmp(deep_rows[j].sign, deep_rows[i].sign) != 0)
				assert_int_equal(judge(id, deep_rows[j].sign, "works"),
						 DEEP_FAILED);
		/* What is left of it after a cut, and more than it. */
		char other[DEEP_GOT_SIZE + 8];
		(void)snprintf(other, sizeof(other), "%.*s", (int)strlen(deep_rows[i].sign) - 1,
			       deep_rows[i].sign);
		assert_int_equal(judge(id, other, "works"), DEEP_FAILED);
		(void)snprintf(other, sizeof(other), "%sX", deep_rows[i].sign);
		assert_int_equal(judge(id, other, "works"), DEEP_FAILED);
	}
}

static void a_counterpart_that_does_not_work_is_red(void **state)
{
	(void)state;
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		enum deep_id id = (enum deep_id)i;
		assert_int_equal(judge(id, deep_rows[i].sign, deep_rows[i].sign), DEEP_FAILED);
		assert_int_equal(judge(id, deep_rows[i].sign, "EPERM"), DEEP_FAILED);
		assert_int_equal(judge(id, deep_rows[i].sign, ""), DEEP_FAILED);
	}
}

static void silence_is_red(void **state)
{
	(void)state;
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		enum deep_id id = (enum deep_id)i;
		assert_int_equal(judge(id, NULL, NULL), DEEP_FAILED);
		assert_int_equal(judge(id, NULL, "works"), DEEP_FAILED);
		assert_int_equal(judge(id, deep_rows[i].sign, NULL), DEEP_FAILED);
	}
}

static void what_is_said_twice_is_red(void **state)
{
	(void)state;
	struct deep deep = {.started = true};
	hear(&deep, DEEP_mount_image, "tried", "works");
	hear(&deep, DEEP_mount_image, "tried", "EROFS");
	hear(&deep, DEEP_mount_image, "counterpart", "works");
	assert_int_equal(deep_judge(&deep, DEEP_mount_image, 0), DEEP_FAILED);
}

static void what_was_not_asked_is_an_error(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"{",
		"[]",
		"{\"id\":\"mount_everything\",\"part\":\"tried\",\"got\":\"EROFS\"}",
		"{\"part\":\"tried\",\"got\":\"EROFS\"}",
		"{\"id\":7,\"part\":\"tried\",\"got\":\"EROFS\"}",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct deep deep = {.started = true};
		deep_hear(&deep, lines[i], strlen(lines[i]));
		assert_int_equal(deep.error.code, BJ_INTERNAL);
	}
}

static void what_cannot_be_tried_is_neither(void **state)
{
	(void)state;
	assert_int_equal(judge(DEEP_net_udp6, "untried", "untried"), DEEP_NOT_TRIED);
	assert_int_equal(judge(DEEP_mount_kcore, "hidden", "untried"), DEEP_NOT_TRIED);
	struct deep deep = {0};
	hear(&deep, DEEP_mount_image, "tried", "EROFS");
	hear(&deep, DEEP_mount_image, "counterpart", "works");
	assert_int_equal(deep_judge(&deep, DEEP_mount_image, 0), DEEP_NOT_TRIED);
}

static void the_checks_of_a_missing_layer_are_not_tried(void **state)
{
	(void)state;
	const uint32_t without = LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK);
	struct deep deep = {.started = true};
	for (size_t i = 0; i < DEEP_COUNT; i++) {
		enum deep_id id = (enum deep_id)i;
		bool missing = deep_rows[i].layer == LAYER_LANDLOCK ||
			       (deep_rows[i].layer == LAYER_CGROUP && id != DEEP_cgroup_memory);
		assert_int_equal(deep_judge(&deep, id, without),
				 missing ? DEEP_NOT_TRIED : DEEP_FAILED);
	}
	assert_int_equal(deep_layer(DEEP_cgroup_memory, without), LAYER_MONITOR);
	assert_int_equal(deep_layer(DEEP_cgroup_memory, 0), LAYER_CGROUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_says_what_is_needed),
		cmocka_unit_test(only_the_sign_of_its_row_is_as_expected),
		cmocka_unit_test(a_counterpart_that_does_not_work_is_red),
		cmocka_unit_test(silence_is_red),
		cmocka_unit_test(what_is_said_twice_is_red),
		cmocka_unit_test(what_was_not_asked_is_an_error),
		cmocka_unit_test(what_cannot_be_tried_is_neither),
		cmocka_unit_test(the_checks_of_a_missing_layer_are_not_tried),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
