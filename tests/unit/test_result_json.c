/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results as JSON. With BELLJAR_SAMPLES set, each sample is also written there, for
 * check_result_schema.py.
 */
#include "result_case.h"

#include <jansson.h>
#include <pthread.h>

/* Parsed again, and kept for the schema. Borrowed from `res`. */
static json_t *parsed(const struct bj_result *res, const char *name)
{
	const char *text = bj_result_json(res);
	assert_non_null(text);
	assert_ptr_equal(text, bj_result_json(res));
	json_error_t why;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (!root)
		fail_msg("%s: %s", why.text, text);
	const char *folder = getenv("BELLJAR_SAMPLES");
	if (folder) {
		char path[4096];
		(void)snprintf(path, sizeof(path), "%s/%s.json", folder, name);
		auto_fclose FILE *file = fopen(path, "we");
		assert_non_null(file);
		assert_true(fputs(text, file) >= 0);
	}
	return root;
}

static void keys_are(json_t *object, const char *expected)
{
	char got[512] = "";
	const char *key;
	json_t *value;
	json_object_foreach (object, key, value) {
		(void)value;
		size_t size = strlen(got);
		(void)snprintf(got + size, sizeof(got) - size, "%s%s", size ? " " : "", key);
	}
	assert_string_equal(got, expected);
}

static const char *text_at(json_t *root, const char *key, const char *inner)
{
	json_t *at = json_object_get(root, key);
	return json_string_value(inner ? json_object_get(at, inner) : at);
}

static json_int_t number_at(json_t *root, const char *key, const char *inner)
{
	json_t *at = json_object_get(root, key);
	at = inner ? json_object_get(at, inner) : at;
	assert_true(json_is_integer(at));
	return json_integer_value(at);
}

static bool null_at(json_t *root, const char *key, const char *inner)
{
	json_t *at = json_object_get(root, key);
	return json_is_null(inner ? json_object_get(at, inner) : at);
}

static struct shared plain_success(void)
{
	struct shared s = shared_ended(EXITED(0));
	struct report *r = s.report;
	r->wall_ns = 11234567;
	r->cpu_ns = 8900000;
	r->memory_peak = 9216000;
	r->tasks_peak = 1;
	r->layer[LAYER_INIT].proof = BY_INIT;
	r->layer[LAYER_OUTPUT].proof = BY_LAUNCHER;
	(void)snprintf(r->layer[LAYER_LANDLOCK].note, sizeof(r->layer[0].note), "ABI 7");
	launcher_writes(&s, BJ_STDOUT, "42\n", 3);
	return s;
}

static void a_plain_success_is_what_the_schema_shows(void **state)
{
	(void)state;
	auto_shared struct shared s = plain_success();
	struct result_input in = usual_input();
	in.begin_ns = s.report->stage_ns[STAGE_ENTER] - 1500000;
	auto_put struct bj_result *res = result_with(&s, &in);
	json_auto_t *root = parsed(res, "success");
	keys_are(root, "schema run_id outcome started exit_code signal limits_hit stdout stderr "
		       "usage files "
		       "layers left_behind retry hint error timings_ms");
	assert_string_equal(text_at(root, "schema", NULL), "belljar.result/1");
	assert_string_equal(text_at(root, "run_id", NULL), "0123456789abcdef");
	assert_string_equal(text_at(root, "outcome", NULL), "exited");
	assert_true(json_is_true(json_object_get(root, "started")));
	assert_int_equal(number_at(root, "exit_code", NULL), 0);
	assert_true(null_at(root, "signal", NULL));
	assert_int_equal(json_array_size(json_object_get(root, "limits_hit")), 0);
	keys_are(json_object_get(root, "stdout"), "text encoding bytes truncated");
	assert_string_equal(text_at(root, "stdout", "text"), "42\n");
	assert_string_equal(text_at(root, "retry", NULL), "not_needed");
	assert_string_equal(text_at(root, "hint", NULL), "");
	assert_true(null_at(root, "error", NULL));
	assert_non_null(strstr(bj_result_json(res),
			       "\"usage\":{\"wall_ms\":11.235,\"cpu_ms\":8.9,"
			       "\"memory_peak_bytes\":9216000,\"tasks_peak\":1,"
			       "\"by\":\"cgroup\"}"));
	assert_non_null(strstr(bj_result_json(res), "\"left_behind\":{\"processes\":0,\"mounts\":0,"
						    "\"cgroups\":0,\"files\":0}"));
	assert_non_null(strstr(bj_result_json(res),
			       "\"timings_ms\":{\"enter\":1.5,\"planned\":1.75,"
			       "\"prepared\":2.0,"));
}

static void each_layer_has_its_row_in_order(void **state)
{
	(void)state;
	auto_shared struct shared s = plain_success();
	auto_put struct bj_result *res = result_of(&s);
	json_auto_t *root = parsed(res, "layers");
	/* When the run was asked for is not known: the launcher's own start counts. */
	assert_non_null(
		strstr(bj_result_json(res), "\"timings_ms\":{\"enter\":0.0,\"planned\":0.25,"));
	json_t *rows = json_object_get(root, "layers");
	assert_int_equal(json_array_size(rows), LAYER_MONITOR);
	for (size_t i = 0; i < LAYER_MONITOR; i++) {
		json_t *row = json_array_get(rows, i);
		assert_string_equal(json_string_value(json_object_get(row, "name")),
				    layers[i].name);
		assert_string_equal(json_string_value(json_object_get(row, "state")), "proven");
		assert_string_equal(json_string_value(json_object_get(row, "by")),
				    i == LAYER_INIT	? "init"
				    : i == LAYER_OUTPUT ? "launcher"
							: "kernel");
		keys_are(row, i == LAYER_LANDLOCK ? "name state by note" : "name state by");
	}
}

static void what_is_missing_says_so(void **state)
{
	(void)state;
	auto_shared struct shared s = plain_success();
	struct result_input in = usual_input();
	s.report->layer[LAYER_CGROUP] = (struct report_layer){.required = 1, .missing = 1};
	s.report->layer[LAYER_MONITOR] = (struct report_layer){.required = 1, .proof = BY_LAUNCHER};
	s.report->usage_by = 2;
	s.report->tasks_peak = s.report->memory_peak = 0;
	in.missing = LAYER_BIT(LAYER_CGROUP);
	in.required |= LAYER_BIT(LAYER_MONITOR);
	auto_put struct bj_result *res = result_with(&s, &in);
	json_auto_t *root = parsed(res, "missing");
	assert_non_null(strstr(bj_result_json(res), "\"layers\":[{\"name\":\"cgroup\",\"state\":"
						    "\"accepted_missing\",\"by\":null},"));
	assert_non_null(strstr(bj_result_json(res), "{\"name\":\"monitor\",\"state\":\"proven\","
						    "\"by\":\"launcher\"}]"));
	assert_string_equal(text_at(root, "usage", "by"), "monitor");
	assert_true(null_at(root, "usage", "memory_peak_bytes"));
	assert_true(null_at(root, "usage", "tasks_peak"));
}

/* NUL, escapes and odd but valid characters arrive as they were. */
static void text_arrives_byte_for_byte(void **state)
{
	(void)state;
	static const char text[] =
		"a\0b\x1b[31m\"\\\x7f\r\n\t\xe2\x80\xa8\xf4\x8f\xbf\xbf\xef\xbf\xbf";
	auto_shared struct shared s = shared_ended(EXITED(0));
	launcher_writes(&s, BJ_STDERR, text, sizeof(text) - 1);
	auto_put struct bj_result *res = result_of(&s);
	json_auto_t *root = parsed(res, "text");
	json_t *value = json_object_get(json_object_get(root, "stderr"), "text");
	assert_string_equal(text_at(root, "stderr", "encoding"), "utf-8");
	assert_int_equal(json_string_length(value), sizeof(text) - 1);
	assert_memory_equal(json_string_value(value), text, sizeof(text) - 1);
	/* One line, whatever the program wrote. */
	for (const char *at = bj_result_json(res); *at; at++)
		assert_true((unsigned char)*at >= 0x20);
}

static void bytes_that_are_no_text_are_base64(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
		const char *expected;
	} cases[] = {
		{"\xff", 1, "/w=="},
		{"\xff\x00", 2, "/wA="},
		{"\xff\x00\xfb", 3, "/wD7"},
		{"M\x80n\xff!?~", 7, "TYBu/yE/fg=="},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_shared struct shared s = shared_ended(EXITED(0));
		launcher_writes(&s, BJ_STDOUT, cases[i].bytes, cases[i].size);
		auto_put struct bj_result *res = result_of(&s);
		json_auto_t *root = parsed(res, "base64");
		assert_string_equal(text_at(root, "stdout", "encoding"), "base64");
		assert_string_equal(text_at(root, "stdout", "text"), cases[i].expected);
		assert_int_equal(number_at(root, "stdout", "bytes"), cases[i].size);
	}
}

static void a_cut_says_what_is_missing_and_where(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_ended(EXITED(0));
	for (int i = 0; i < 100; i++)
		launcher_writes(&s, BJ_STDOUT, "\xe2\x82\xac", 3); /* a character of 3 bytes */
	auto_put struct bj_result *res = result_of(&s);
	json_auto_t *root = parsed(res, "cut");
	keys_are(json_object_get(root, "stdout"),
		 "text encoding bytes truncated omitted_bytes omitted_at");
	/* 32 of 64 bytes for either side: ten whole characters each. */
	assert_true(json_is_true(json_object_get(json_object_get(root, "stdout"), "truncated")));
	assert_int_equal(number_at(root, "stdout", "bytes"), 300);
	assert_int_equal(number_at(root, "stdout", "omitted_bytes"), 240);
	assert_int_equal(number_at(root, "stdout", "omitted_at"), 30);
	assert_int_equal(strlen(text_at(root, "stdout", "text")), 60);
}

static void files_are_named_even_where_a_name_is_no_text(void **state)
{
	(void)state;
	char plot[] = "plot \xc3\xa9.svg", odd[] = "odd\xff";
	struct result_file files[] = {
		{.path = plot, .bytes = 18233, .type = "file"},
		{.path = odd, .bytes = 0, .type = "directory", .risky = "pytest runs it"},
	};
	memset(files[0].sha256, 'a', 64);
	auto_shared struct shared s = shared_ended(EXITED(0));
	struct result_input in = usual_input();
	in.files = files;
	in.file_count = ARRAY_SIZE(files);
	auto_put struct bj_result *res = result_with(&s, &in);
	plot[0] = odd[0] = 'X'; /* they were copied */
	json_auto_t *root = parsed(res, "files");
	json_t *rows = json_object_get(root, "files");
	keys_are(json_array_get(rows, 0), "path bytes sha256 type");
	keys_are(json_array_get(rows, 1), "path_base64 bytes sha256 type risky");
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "risky")),
			    "pytest runs it");
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "path")),
			    "plot \xc3\xa9.svg");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(rows, 1), "path_base64")),
		"b2Rk/w==");
	assert_true(json_is_null(json_object_get(json_array_get(rows, 1), "sha256")));
}

static void a_failure_has_its_error(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_new(64);
	s.report->end = END_FAULT;
	s.report->stage_ns[STAGE_GO] = 0;
	s.report->fault = (struct fault){BJ_SETUP, LAYER_NET, HOOK_CHILD, EIO, "bring loopback up"};
	auto_put struct bj_result *res = result_of(&s);
	json_auto_t *root = parsed(res, "fault");
	keys_are(json_object_get(root, "error"), "layer message hint");
	assert_string_equal(text_at(root, "outcome", NULL), "sandbox_error");
	assert_string_equal(text_at(root, "error", "layer"), "net");
	assert_string_equal(text_at(root, "error", "message"),
			    "layer net: bring loopback up: Input/output error");
	assert_true(json_is_false(json_object_get(root, "started")));
}

static void a_dead_launcher_counted_nothing(void **state)
{
	(void)state;
	auto_shared struct shared s = shared_new(64);
	s.report->phase = PHASE_STARTED;
	s.report->stage_ns[STAGE_CLEAN] = 0;
	auto_put struct bj_result *res = result_of(&s);
	json_auto_t *root = parsed(res, "dead");
	assert_true(null_at(root, "left_behind", NULL));
	assert_true(null_at(root, "error", "layer"));
	assert_string_equal(text_at(root, "retry", NULL), "same");

	s.report->phase = PHASE_DONE;
	s.report->end = END_TIME;
	s.report->stage_ns[STAGE_CLEAN] = s.report->stage_ns[STAGE_DEAD];
	s.report->left_processes = UINT64_MAX;
	auto_put struct bj_result *partly = result_of(&s);
	json_auto_t *second = parsed(partly, "uncounted");
	assert_true(null_at(second, "left_behind", "processes"));
	assert_int_equal(number_at(second, "left_behind", "mounts"), 0);
}

static void every_outcome_and_limit_has_its_name(void **state)
{
	(void)state;
	static const struct {
		uint32_t end;
		int status;
		const char *outcome, *limit;
	} cases[] = {
		{END_STATUS, KILLED(SIGSEGV), "signaled", NULL},
		{END_TIME, 0, "time_limit", "time"},
		{END_CPU, 0, "cpu_limit", "cpu"},
		{END_MEMORY, 0, "memory_limit", "memory"},
		{END_OUTPUT, 0, "output_limit", "output"},
		{END_TASKS, 0, "signaled", "tasks"},
		{END_CANCEL, 0, "cancelled", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_shared struct shared s = shared_ended(cases[i].status);
		s.report->end = cases[i].end;
		auto_put struct bj_result *res = result_of(&s);
		char name[32];
		(void)snprintf(name, sizeof(name), "end-%zu", i);
		json_auto_t *root = parsed(res, name);
		json_t *limits = json_object_get(root, "limits_hit");
		assert_string_equal(text_at(root, "outcome", NULL), cases[i].outcome);
		assert_int_equal(json_array_size(limits), cases[i].limit != NULL);
		if (cases[i].limit)
			assert_string_equal(json_string_value(json_array_get(limits, 0)),
					    cases[i].limit);
		assert_true(null_at(root, "exit_code", NULL));
	}
}

static void a_refusal_is_a_whole_result(void **state)
{
	(void)state;
	struct bj_error why = {.code = BJ_REFUSED,
			       .message = "memory: 8g is above the ceiling of 4g"};
	auto_put struct bj_result *res = result_of_error(&why);
	json_auto_t *root = parsed(res, "refused");
	assert_string_equal(text_at(root, "outcome", NULL), "refused");
	assert_string_equal(text_at(root, "retry", NULL), "never");
	assert_string_equal(text_at(root, "stdout", "text"), "");
	assert_string_equal(text_at(root, "usage", "by"), "none");
	assert_int_equal(number_at(root, "left_behind", "processes"), 0);
}

static void *ask(void *arg)
{
	const struct bj_result *res = arg;
	/* The result is one string for all; its address is compared by the test. */
	union {
		const char *given;
		void *returned;
	} json = {.given = bj_result_json(res)};
	return json.returned;
}

static void several_threads_get_one_string(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		auto_shared struct shared s = plain_success();
		auto_put struct bj_result *res = result_of(&s);
		pthread_t threads[4];
		void *got[4];
		for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
			assert_int_equal(pthread_create(&threads[i], NULL, ask, res), 0);
		for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
			assert_int_equal(pthread_join(threads[i], &got[i]), 0);
			assert_ptr_equal(got[i], got[0]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_success_is_what_the_schema_shows),
		cmocka_unit_test(each_layer_has_its_row_in_order),
		cmocka_unit_test(what_is_missing_says_so),
		cmocka_unit_test(text_arrives_byte_for_byte),
		cmocka_unit_test(bytes_that_are_no_text_are_base64),
		cmocka_unit_test(a_cut_says_what_is_missing_and_where),
		cmocka_unit_test(files_are_named_even_where_a_name_is_no_text),
		cmocka_unit_test(a_failure_has_its_error),
		cmocka_unit_test(a_dead_launcher_counted_nothing),
		cmocka_unit_test(every_outcome_and_limit_has_its_name),
		cmocka_unit_test(a_refusal_is_a_whole_result),
		cmocka_unit_test(several_threads_get_one_string),
	};
	return cmocka_run_group_tests(tests, usual_setup, usual_teardown);
}
