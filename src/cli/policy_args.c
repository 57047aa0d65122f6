/* SPDX-License-Identifier: Apache-2.0 */
/* The policy that a command line asks for, for the verbs that show it. */
#include "cli/cli.h"

int policy_from(const struct invocation *invocation, struct policy *ret, struct bj_error *err)
{
	const char *profile = option_value(invocation, OPT_PROFILE);
	if (policy_load(ret, option_value(invocation, OPT_POLICY), err) < 0)
		return -1;
	if (profile && policy_profile(ret, profile, err) < 0)
		return -1;
	for (size_t i = 0; i < invocation->given_count; i++) {
		const struct given *given = &invocation->given[i];
		if (given->option < OPT_FIELD)
			continue;
		char where[40];
		(void)snprintf(where, sizeof(where), "--%s", options_table()[given->option].name);
		if (policy_set(ret, (enum field_id)(given->option - OPT_FIELD), given->value, where,
			       err) < 0)
			return -1;
	}
	return 0;
}
