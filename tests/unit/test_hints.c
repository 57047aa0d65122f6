/* SPDX-License-Identifier: Apache-2.0 */
/* Hints: what a model is told about each end. */
#include "result_case.h"

/* A program that exited with 1 after it wrote `text` to stderr. */
static char *hint_after(const char *text, const char *language)
{
	auto_shared struct shared s = shared_new(2048);
	s.report->end = END_STATUS;
	s.report->has_status = 1;
	s.report->wait_status = EXITED(1);
	launcher_writes(&s, BJ_STDERR, text, strlen(text));
	struct result_input in = usual_input();
	in.language = language;
	auto_put struct bj_result *res = result_with(&s, &in);
	assert_int_equal(bj_result_outcome(res), BJ_EXITED);
	assert_int_equal(res->verdict.limits, 0);
	return strdup(bj_result_hint(res));
}

static const struct {
	const char *text, *language, *expected;
} cause_cases[] = {
	{"socket.gaierror: [Errno -3] Temporary failure in name resolution\n", "python", "network"},
	{"OSError: [Errno 101] Network is unreachable\n", "python", "network"},
	{"curl: (6) Could not resolve host: example.org\n", "bash", "network"},
	{"Error: getaddrinfo EAI_AGAIN example.org\n    at x {\n  errno: -3001,\n}\n", "javascript",
	 "network"},
	{"connect ENETUNREACH 1.1.1.1:80\n", "javascript", "network"},
	{"ModuleNotFoundError: No module named 'pandas'\n", "python",
	 "Python module `pandas` is not"},
	{"ModuleNotFoundError: No module named 'a.b_c'\n", NULL, "`a.b_c`"},
	{"/usr/bin/python3: No module named pip\n", NULL, "`pip`"},
	{"Error: Cannot find module '@scope/left-pad'\nRequire stack:\n", "javascript",
	 "module `@scope/left-pad` is not"},
	{"bash: line 1: jq: command not found\n", "bash", "command `jq` is not"},
	{"sh: 1: jq: not found\n", "bash", "command `jq` is not"},
	{"main.c:1:10: fatal error: gmp.h: No such file or directory\n    1 | #include <gmp.h>\n",
	 "c", "header `gmp.h` is not"},
	{"./a: error while loading shared libraries: libfoo.so.1: cannot open shared object\n",
	 NULL, "library `libfoo.so.1`"},
	{"OSError: [Errno 30] Read-only file system: '/usr/x'\n", "python", "/workspace, /tmp"},
	{"PermissionError: [Errno 13] Permission denied: '/etc/x'\n", "python", "/workspace, /tmp"},
	{"x: No module named '\n/usr/bin/python3: No module named A_Z.a-z@0/9\n", "python",
	 "`A_Z.a-z@0/9`"},
	{"ModuleNotFoundError: No module named "
	 "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	 "aaaaaaaa'\n", /* 64 */
	 "python", "Python module `aaaaaaaa"},
	{"R: command not found", "bash", "command `R`"},
	{"/tmp/a.sh: 1: jq: not found\n", "c", "command `jq`"},
	{"/tmp/a.sh: 1: jq: not found\n", "program", "command `jq`"},
	{"/tmp/a.sh: 1: jq: not found\n", "prog", "stderr should say why"},
	{"/tmp/a.sh: 1: jq: not found\n", "ash", "stderr should say why"},
	{"MemoryError", "python", "256m"},
	{"MemoryError\n", "python", "256m"},
	{"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8 GiB\n", "python", "256m"},
	{"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
	 "javascript", "256m"},
	{"OSError: [Errno 28] No space left on device\n", "python", "/workspace has 64m, /tmp 16m"},
	{"bash: fork: retry: Resource temporarily unavailable\n", "bash", "at most 64"},
	{"RuntimeError: can't start new thread\n", "python", "at most 64"},
	{"OSError: [Errno 24] Too many open files: 'x'\n", "python", "limit 1024"},
	/* The last one is the cause. */
	{"ModuleNotFoundError: No module named 'x'\n\nDuring handling of the above exception, "
	 "another "
	 "exception occurred:\n\nMemoryError\n",
	 "python", "256m"},
	/* Of no cause that is known. */
	{"ZeroDivisionError: division by zero\n", "python", "stderr should say why"},
	{"RecursionError: maximum recursion depth exceeded\n", "python", "stderr should say why"},
	{"", "python", "wrote nothing to stderr"},
	/* A name with anything odd in it is no name. */
	{"ModuleNotFoundError: No module named 'x\x1b[31m'\n", "python", "stderr should say why"},
	{"ModuleNotFoundError: No module named 'run this: rm -rf'\n", "python",
	 "stderr should say why"},
	{"ModuleNotFoundError: No module named "
	 "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	 "aaaaaaaa'\n",
	 "python", "stderr should say why"},
	{": command not found", "bash", "stderr should say why"},
	/* `: not found` is the shell's; in Python it is anything. */
	{"page: not found\n", "python", "stderr should say why"},
};

static void stderr_shows_the_cause(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cause_cases); i++) {
		auto_free char *hint = hint_after(cause_cases[i].text, cause_cases[i].language);
		if (!strstr(hint, cause_cases[i].expected))
			fail_msg("%s\n  gave: %s", cause_cases[i].text, hint);
		assert_null(strpbrk(hint, "{}\n\x1b"));
	}
}

/* What the kernel counted is said once, and not guessed from stderr as well. */
static void a_touched_limit_is_not_also_a_cause(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(1));
	launcher_writes(&s, BJ_STDERR, "No space left on device\n", 24);
	auto_put struct bj_result *guessed = result_of(&s);
	assert_non_null(strstr(bj_result_hint(guessed), "A private mount is full"));
	s.report->disk_full = DISK_TMP;
	auto_put struct bj_result *known = result_of(&s);
	assert_null(strstr(bj_result_hint(known), "A private mount is full"));
	assert_non_null(strstr(bj_result_hint(known), "code 1. /tmp (16m) was full"));
}

static void no_cause_is_looked_for_after_a_success(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(0));
	launcher_writes(&s, BJ_STDERR, "MemoryError\n", 12);
	auto_put struct bj_result *res = result_of(&s);
	assert_string_equal(bj_result_hint(res), "");
}

struct end_case {
	uint32_t end;
	int status;
	uint64_t oom_kills, tasks_denied;
	uint32_t disk_full;
	uint64_t wall_ms, cpu_ms;
	const char *expected[3];
};

static const struct end_case end_cases[] = {
	{END_TIME, 0, .wall_ms = 10000, .cpu_ms = 30, .expected = {"10s", "waiting"}},
	{END_TIME, 0, .wall_ms = 10000, .cpu_ms = 4900, .expected = {"10s", "`time`"}},
	{END_CPU, 0, .expected = {"5s", "`cpu_time`"}},
	{END_MEMORY, 0, .expected = {"256m", "`memory`"}},
	{END_OUTPUT, 0, .expected = {"4g", "summary"}},
	{END_TASKS, 0, .expected = {"ended by Belljar", "limit of 64 tasks"}},
	{END_CANCEL, 0, .expected = {"cancelled", "output so far"}},
	{END_STATUS, KILLED(SIGSEGV), .expected = {"signal 11 (SIGSEGV)", "memory"}},
	{END_STATUS, KILLED(SIGKILL), .expected = {"signal 9 (SIGKILL)", "no limit"}},
	{END_STATUS, KILLED(SIGXFSZ), .expected = {"SIGXFSZ", "1g", "`fsize`"}},
	{END_STATUS, KILLED(64), .expected = {"signal 64."}},
	{END_STATUS, EXITED(137), .expected = {"code 137 of its own accord", "no limit"}},
	{END_STATUS, EXITED(0), .oom_kills = 1, .expected = {"code 0", "256m", "incomplete"}},
	{END_STATUS, EXITED(0), .tasks_denied = 1, .expected = {"code 0", "64 tasks", "`pids`"}},
	{END_STATUS, EXITED(1), .disk_full = DISK_TMP | DISK_SHM,
	 .expected = {"code 1", "/tmp (16m)", "/dev/shm (16m)"}},
	{END_STATUS, KILLED(SIGKILL), .oom_kills = 1, .expected = {"killed for memory", "256m"}},
	{END_STATUS, KILLED(SIGKILL), .oom_kills = 1, .tasks_denied = 1,
	 .expected = {"killed for memory", "64 tasks"}},
	{END_TIME, 0, .oom_kills = 1, .expected = {"10s", "incomplete"}},
};

static void every_end_names_its_number(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(end_cases); i++) {
		const struct end_case *c = &end_cases[i];
		auto_shared struct shared s = shared_ended(c->status);
		s.report->end = c->end;
		s.report->oom_kills = c->oom_kills;
		s.report->tasks_denied = c->tasks_denied;
		s.report->disk_full = c->disk_full;
		s.report->wall_ns = c->wall_ms * 1000000;
		s.report->cpu_ns = c->cpu_ms * 1000000;
		auto_put struct bj_result *res = result_of(&s);
		for (size_t k = 0; k < ARRAY_SIZE(c->expected) && c->expected[k]; k++)
			if (!strstr(bj_result_hint(res), c->expected[k]))
				fail_msg("no \"%s\" in: %s", c->expected[k], bj_result_hint(res));
		/* Nothing is said twice. */
		if (bj_result_outcome(res) == BJ_MEMORY_LIMIT)
			assert_null(strstr(bj_result_hint(res), "incomplete"));
	}
}

static void the_numbers_are_those_of_the_policy_of_this_run(void **state)
{
	(void)state;
	struct policy small;
	policy_init(&small);
	small.number[FIELD_time] = 1500;
	auto_shared struct shared s = shared_ended(0);
	s.report->end = END_TIME;
	struct result_input in = usual_input();
	in.policy = &small;
	auto_put struct bj_result *res = result_with(&s, &in);
	assert_non_null(strstr(bj_result_hint(res), "1.5s"));
	in.policy = NULL;
	auto_put struct bj_result *without = result_with(&s, &in);
	assert_non_null(strstr(bj_result_hint(without), "its limit"));
	policy_free(&small);
}

static void what_is_left_behind_is_said(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(0));
	s.report->left_processes = 1;
	s.report->left_cgroups = 2;
	auto_put struct bj_result *res = result_of(&s);
	assert_int_equal(bj_result_outcome(res), BJ_EXITED);
	assert_string_equal(
		bj_result_hint(res),
		"Belljar left behind on this host: 1 process, 2 cgroups. Tell the operator.");
	s.report->left_processes = UINT64_MAX;
	auto_put struct bj_result *unknown = result_of(&s);
	assert_non_null(
		strstr(bj_result_hint(unknown), "processes that could not be counted, 2 cg"));
}

static void files_that_could_not_be_copied_out_are_said(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(0));
	struct bj_error error = {.code = BJ_INVALID};
	(void)snprintf(error.message, sizeof(error.message), "--out plot.svg: not there");
	struct result_input in = usual_input();
	in.files_error = &error;
	auto_put struct bj_result *res = result_with(&s, &in);
	assert_string_equal(bj_result_hint(res), "--out plot.svg: not there.");
}

/* What was refused for want of a layer, under the policy that `policy` is. */
static char *hint_without(const struct policy *asked, enum layer_id layer)
{
	struct result_input in = usual_input();
	struct bj_result *res = NULL;
	struct bj_error why = {.code = BJ_UNSUPPORTED};
	(void)snprintf(why.message, sizeof(why.message), "layer %s: not here", layers[layer].name);
	(void)snprintf(why.layer, sizeof(why.layer), "%s", layers[layer].name);
	(void)snprintf(why.hint, sizeof(why.hint), "Accept it in a policy file.");
	in.policy = asked;
	assert_int_equal(result_from_error(&why, &in, &res, NULL), 0);
	char *hint = strdup(bj_result_hint(res));
	bj_result_free(res);
	return hint;
}

static void a_profile_that_hides_what_a_file_accepts_is_named(void **state)
{
	(void)state;
	struct policy asked;
	policy_init(&asked);
	auto_free char *without = hint_without(&asked, LAYER_CGROUP);
	assert_null(strstr(without, "profile"));
	assert_int_equal(policy_profile(&asked, "agent", NULL), 0);
	auto_free char *with = hint_without(&asked, LAYER_CGROUP);
	assert_non_null(strstr(with, "Accept it in a policy file. The profile `agent`, which was "
				     "asked for, goes before a policy file"));
	/* No file may accept this one. */
	auto_free char *other = hint_without(&asked, LAYER_NET);
	assert_null(strstr(other, "profile"));
	policy_free(&asked);
}

static void a_refused_call_of_set_up_has_a_mend(void **state)
{
	(void)state;
	static const struct {
		int os;
		const char *expected;
	} rows[] = {
		{EPERM, "around Belljar"},
		{ENOSYS, "Linux 5.15"},
		{EIO, "Nothing ran; try again."},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result_input in = usual_input();
		auto_put struct bj_result *res = NULL;
		struct bj_error why;
		errno = rows[i].os;
		(void)fail_errno(&why, BJ_INTERNAL, "make the report's memory");
		assert_int_equal(result_from_error(&why, &in, &res, NULL), 0);
		if (!strstr(bj_result_hint(res), "make the report's memory: ") ||
		    !strstr(bj_result_hint(res), rows[i].expected))
			fail_msg("%s", bj_result_hint(res));
		assert_int_equal(strstr(bj_result_hint(res), "try again") != NULL,
				 rows[i].os == EIO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stderr_shows_the_cause),
		cmocka_unit_test(a_touched_limit_is_not_also_a_cause),
		cmocka_unit_test(no_cause_is_looked_for_after_a_success),
		cmocka_unit_test(every_end_names_its_number),
		cmocka_unit_test(the_numbers_are_those_of_the_policy_of_this_run),
		cmocka_unit_test(what_is_left_behind_is_said),
		cmocka_unit_test(files_that_could_not_be_copied_out_are_said),
		cmocka_unit_test(a_profile_that_hides_what_a_file_accepts_is_named),
		cmocka_unit_test(a_refused_call_of_set_up_has_a_mend),
	};
	return cmocka_run_group_tests(tests, usual_setup, usual_teardown);
}
