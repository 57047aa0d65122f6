/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs. */
#include "cli/cli.h"

#include <assert.h>

const struct verb verbs[] = {
	[VERB_RUN] =
		{
			.name = "run",
			.usage = {"[options] FILE [args...]",
				  "[options] -c CODE --lang NAME [args...]",
				  "[options] --lang NAME - [args...]",
				  "[options] -- PROGRAM [args...]"},
			.text = "run one program and say how it ended",
			.more = "The program's output passes through whole; one line on standard "
				"error says "
				"why it ended when that was not exit 0. The exit status is the "
				"program's own, "
				"or 123 output limit, 124 time or CPU limit, 125 refused or "
				"failed, 126 not "
				"executable, 127 not found, 128+N signal N, 137 memory limit, 130, "
				"143 or 141 "
				"cancelled.",
			.page = "belljar-run",
			.args_max = -1,
			.starts_runs = true,
			.run = run_verb,
		},
	[VERB_DOCTOR] =
		{
			.name = "doctor",
			.usage = {"[options]"},
			.text = "prove each layer on this host by an action that must be denied",
			.more = "For each layer something is tried inside a real sandbox that must "
				"be denied, "
				"and something like it that must work. Exit status 0: every layer "
				"is proven; "
				"1: not every one, and what to do about it is printed. With --deep "
				"more than a hundred such pairs are tried, some seconds long; they "
				"are bounded, stay inside runs and change nothing of the host.",
			.page = "belljar-doctor",
			.starts_runs = true,
			.run = doctor_verb,
		},
	[VERB_LAYERS] =
		{
			.name = "layers",
			.usage = {"[options]"},
			.text = "list the layers, what each stops and what it does not",
			.page = "belljar-layers",
			.run = layers_verb,
		},
	[VERB_POLICY_SHOW] =
		{
			.name = "policy show",
			.usage = {"[options]"},
			.text = "show the policy in force, where each value came from, and the "
				"ceiling",
			.more = "The options are those of `belljar run`, so that what a run would "
				"get can be "
				"seen beforehand. Exit status 125: a run with these would be "
				"refused.",
			.page = "belljar-policy",
			.run = policy_show_verb,
		},
	[VERB_POLICY_CHECK] =
		{
			.name = "policy check",
			.usage = {"[options] FILE"},
			.text = "check a policy file against the ceiling without running anything",
			.more = "Exit status 0: the file would be taken as it is; 1: it would be "
				"refused.",
			.page = "belljar-policy",
			.args_max = 1,
			.run = policy_check_verb,
		},
	[VERB_VERSION] =
		{
			.name = "version",
			.usage = {"[options]"},
			.text = "print the version",
			.page = "belljar",
			.run = version_verb,
		},
	[VERB_HELP] =
		{
			.name = "help",
			.usage = {"[VERB]"},
			.text = "say how a verb is used",
			.page = "belljar",
			.args_max = 2,
			.run = help_verb,
		},
};
static_assert(sizeof(verbs) / sizeof(verbs[0]) == VERB_COUNT, "a row for every verb");
