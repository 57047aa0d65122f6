/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy file may accept as missing is what the layer table marks so, and nothing else. */
#include "base/cleanup.h"
#include "policy/policy_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void the_layer_table_and_the_policy_agree(void **state)
{
	(void)state;
	uint32_t acceptable = 0;
	for (int id = 0; id < LAYER_COUNT; id++) {
		enum layer_id found = acceptable_layer(layers[id].name);
		assert_int_equal(found, layers[id].may_be_missing ? id : LAYER_COUNT);
		if (found != LAYER_COUNT)
			acceptable |= LAYER_BIT(found);
	}
	assert_int_equal(acceptable, LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK));
}

static void a_policy_file_may_name_exactly_those(void **state)
{
	(void)state;
	for (int id = 0; id < LAYER_COUNT; id++) {
		struct policy_file *file = NULL;
		struct policy policy;
		char text[64];
		int size = snprintf(text, sizeof(text), "{\"accept_missing\": [\"%s\"]}",
				    layers[id].name);
		int done =
			policy_file_decode(text, (size_t)size, "p.json", FILE_OF_USER, &file, NULL);
		assert_int_equal(done, layers[id].may_be_missing ? 0 : -1);
		if (done < 0)
			continue;
		policy_init(&policy);
		assert_int_equal(policy_load_file(&policy, file, NULL), 0);
		assert_int_equal(policy_accept_missing(&policy), LAYER_BIT(id));
		policy_free(&policy);
		policy_file_drop(file);
	}
}

/* Not to name any is to allow none; not to say anything is to allow both. */
static void an_empty_list_of_the_operator_allows_nothing(void **state)
{
	(void)state;
	char landlock[] = "landlock";
	char *const none[] = {NULL}, *const one[] = {landlock, NULL};
	struct policy policy, ceiling;
	struct bj_error err = {0};
	assert_int_equal(ceiling_load_from(&ceiling, "/nonexistent/policy.json", NULL), 0);
	policy_init(&policy);
	policy.list[FIELD_accept_missing] = list_copy(one);
	assert_non_null(policy.list[FIELD_accept_missing]);
	assert_int_equal(ceiling_check(&policy, &ceiling, &err), 0);
	list_free(ceiling.list[FIELD_accept_missing]);
	ceiling.list[FIELD_accept_missing] = list_copy(none);
	assert_non_null(ceiling.list[FIELD_accept_missing]);
	assert_int_equal(ceiling_check(&policy, &ceiling, &err), -1);
	assert_int_equal(err.code, BJ_REFUSED);
	assert_non_null(strstr(err.message, "accept_missing \"landlock\""));
	policy_free(&ceiling);
	policy_free(&policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layer_table_and_the_policy_agree),
		cmocka_unit_test(a_policy_file_may_name_exactly_those),
		cmocka_unit_test(an_empty_list_of_the_operator_allows_nothing),
	};
	return cmocka_run_group_tests_name("policy_layers", tests, NULL, NULL);
}
