/* SPDX-License-Identifier: Apache-2.0 */
/* The policy: the table, values and where they come from, files, profiles, the ceiling. */
#include "base/cleanup.h"
#include "base/text.h"
#include "config.h"
#include "policy/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* ---- A directory for the files of one test --------------------------------------------------- */

struct room {
	char dir[64];
};

static int make_room(void **state)
{
	struct room *room = calloc(1, sizeof(*room));
	(void)snprintf(room->dir, sizeof(room->dir), "/tmp/belljar-test-policy-XXXXXX");
	*state = room;
	return mkdtemp(room->dir) ? 0 : -1;
}

static int clear_room(void **state)
{
	struct room *room = *state;
	char command[128];
	(void)snprintf(command, sizeof(command), "rm -rf %s", room->dir);
	int status = system(command);
	free(room);
	return status;
}

static const char *path_in(const struct room *room, const char *name)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % ARRAY_SIZE(paths)];
	(void)snprintf(path, sizeof(paths[0]), "%s/%s", room->dir, name);
	return path;
}

static const char *write_file(const struct room *room, const char *name, const char *text)
{
	const char *path = path_in(room, name);
	auto_fclose FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	return path;
}

/* One line, and nothing in it that a terminal acts on. */
static void assert_clean(const char *message)
{
	char again[2048];
	assert_true(message[0] != '\0');
	assert_string_equal(text_escape(again, sizeof(again), message), message);
}

/* ---- The table ------------------------------------------------------------------------------ */

static void every_field_has_a_whole_row(void **state)
{
	(void)state;
	for (int id = 0; id < FIELD_COUNT; id++) {
		const struct field *field = &policy_fields[id];
		assert_non_null(field->name);
		assert_non_null(field->text);
		assert_int_equal(strspn(field->name, "abcdefghijklmnopqrstuvwxyz_"),
				 strlen(field->name));
		assert_int_equal(field_by_name(field->name), id);
		if (field->unit == UNIT_LIST)
			continue;
		assert_non_null(field->metavar);
		assert_true(field->layer < LAYER_COUNT);
		assert_true(field->min > 0);
		assert_in_range(field->standard, field->min, field->max);
	}
}

static void names_are_found_with_either_dash(void **state)
{
	(void)state;
	assert_int_equal(field_by_name("keep-output"), FIELD_keep_output);
	assert_int_equal(field_by_name("keep_output"), FIELD_keep_output);
	assert_int_equal(field_by_name("landlock-abi_min"), FIELD_landlock_abi_min);
	static const char *const unknown[] = {"", "Memory", "memor", "memoryx", "keep output", "-"};
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_int_equal(field_by_name(unknown[i]), FIELD_COUNT);
}

static void the_standard_profile_is_the_documented_one(void **state)
{
	(void)state;
	struct policy policy;
	policy_init(&policy);
	assert_int_equal(policy.number[FIELD_memory], 256 * MIB);
	assert_int_equal(policy.number[FIELD_cpus], 500);
	assert_int_equal(policy.number[FIELD_pids], 64);
	assert_int_equal(policy.number[FIELD_tmp], 16 * MIB);
	assert_int_equal(policy.number[FIELD_workspace], 64 * MIB);
	assert_int_equal(policy.number[FIELD_time], 10000);
	assert_int_equal(policy.number[FIELD_keep_output], 65536);
	assert_int_equal(policy_accept_missing(&policy), 0);
	policy_free(&policy);
}

static void a_formatted_value_reads_back_as_itself(void **state)
{
	(void)state;
	static const struct {
		enum field_unit unit;
		uint64_t value;
		const char *text;
	} rows[] = {
		{UNIT_SIZE, 1, "1"},
		{UNIT_SIZE, 1023, "1023"},
		{UNIT_SIZE, 1024, "1k"},
		{UNIT_SIZE, 1536, "1536"},
		{UNIT_SIZE, 256 * MIB, "256m"},
		{UNIT_SIZE, 1025 * MIB, "1025m"},
		{UNIT_SIZE, 4096 * MIB, "4g"},
		{UNIT_SIZE, UINT64_C(1) << 50, "1024t"},
		{UNIT_SIZE, 0, "0"},
		{UNIT_TIME, 10, "10ms"},
		{UNIT_TIME, 999, "999ms"},
		{UNIT_TIME, 1000, "1s"},
		{UNIT_TIME, 1500, "1.5s"},
		{UNIT_TIME, 1001, "1.001s"},
		{UNIT_TIME, 10000, "10s"},
		{UNIT_TIME, 90000, "90s"},
		{UNIT_TIME, 120000, "2m"},
		{UNIT_TIME, 3600000, "1h"},
		{UNIT_TIME, 604800000, "168h"},
		{UNIT_MILLI, 500, "0.5"},
		{UNIT_MILLI, 10, "0.01"},
		{UNIT_MILLI, 1125, "1.125"},
		{UNIT_MILLI, 2000, "2"},
		{UNIT_COUNT, 64, "64"},
		{UNIT_COUNT, UINT64_MAX, "18446744073709551615"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[32];
		assert_string_equal(policy_format(rows[i].unit, rows[i].value, text), rows[i].text);
	}
	for (int id = 0; id < FIELD_COUNT; id++) {
		const struct field *field = &policy_fields[id];
		if (field->unit == UNIT_LIST)
			continue;
		uint64_t span = field->max - field->min;
		for (uint64_t i = 0; i <= 1000; i++) {
			uint64_t value = field->min + (span / 1000) * i, read = 0;
			char text[32];
			(void)policy_format(field->unit, value, text);
			assert_int_equal(field_parse((enum field_id)id, text, "", &read, NULL), 0);
			assert_true(read == value);
		}
	}
}

/* ---- Options --------------------------------------------------------------------------------- */

static void the_ends_of_every_range_are_in_and_their_neighbours_out(void **state)
{
	(void)state;
	struct policy policy;
	policy_init(&policy);
	for (int i = 0; i < FIELD_COUNT; i++) {
		enum field_id id = (enum field_id)i;
		const struct field *field = &policy_fields[id];
		struct bj_error err = {0};
		char text[32];
		if (field->unit == UNIT_LIST)
			continue;
		(void)policy_format(field->unit, field->min, text);
		assert_int_equal(policy_set(&policy, id, text, "--x", &err), 0);
		assert_true(policy.number[id] == field->min);
		(void)policy_format(field->unit, field->max, text);
		assert_int_equal(policy_set(&policy, id, text, "--x", &err), 0);
		assert_true(policy.number[id] == field->max);

		(void)policy_format(field->unit, field->max + 1, text);
		assert_int_equal(policy_set(&policy, id, text, "--x", &err), -1);
		assert_non_null(strstr(err.message, "too large"));
		(void)policy_format(field->unit, field->min - 1, text);
		assert_int_equal(policy_set(&policy, id, text, "--x", &err), -1);
		assert_non_null(
			strstr(err.message, field->min > 1 ? "too small" : "0 never means"));
		(void)policy_format(field->unit, 0, text);
		assert_int_equal(policy_set(&policy, id, text, "--x", &err), -1);
		assert_non_null(strstr(err.message, "0 never means unlimited"));
		assert_true(policy.number[id] == field->max);
	}
	policy_free(&policy);
}

static void a_wrong_option_is_one_line_with_name_value_range_and_origin(void **state)
{
	(void)state;
	static const struct {
		enum field_id id;
		const char *value, *where, *message;
	} rows[] = {
		{FIELD_memory, "4k", "--memory",
		 "--memory: memory \"4k\": too small; the range is 8m to 1024t"},
		{FIELD_memory, "0", "--memory",
		 "--memory: memory \"0\": 0 never means unlimited; the range is 8m to 1024t"},
		{FIELD_memory, "-1", NULL,
		 "the request: memory \"-1\": no sign is allowed: a size is digits and one of k, "
		 "m, g, "
		 "t, as in 64m; the range is 8m to 1024t"},
		{FIELD_time, "10", "--time",
		 "--time: time \"10\": give a unit: ms, s, m or h, as in 10s; the range is 10ms to "
		 "168h"},
		{FIELD_cpus, "4097", "--cpus",
		 "--cpus: cpus \"4097\": too large; the range is 0.01 to 4096"},
		{FIELD_pids, "6\x1b[31m\n4", "--pids",
		 "--pids: pids \"6\\x1b[31m\\n4\": a count is digits alone, as in 64; the range is "
		 "2 to "
		 "4194304"},
		{FIELD_pids, "", "bad\nplace",
		 "bad\\nplace: pids \"\": empty: a count is digits alone, as in 64; the range is 2 "
		 "to "
		 "4194304"},
	};
	struct policy policy;
	policy_init(&policy);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bj_error err = {0};
		assert_int_equal(
			policy_set(&policy, rows[i].id, rows[i].value, rows[i].where, &err), -1);
		assert_int_equal(err.code, BJ_INVALID);
		assert_string_equal(err.message, rows[i].message);
		assert_int_equal(policy.origin[rows[i].id], FROM_BUILTIN);
		assert_true(policy.number[rows[i].id] == policy_fields[rows[i].id].standard);
	}
	policy_free(&policy);
}

static void a_very_long_value_is_cut_in_the_message(void **state)
{
	(void)state;
	struct policy policy;
	struct bj_error err = {0};
	char value[100001];
	memset(value, '9', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	policy_init(&policy);
	assert_int_equal(policy_set(&policy, FIELD_memory, value, value, &err), -1);
	assert_non_null(strstr(err.message, "9\"...: too large; the range is 8m to 1024t"));
	policy_free(&policy);
}

static void a_request_cannot_set_a_list(void **state)
{
	(void)state;
	struct policy policy;
	struct bj_error err = {0};
	policy_init(&policy);
	assert_int_equal(
		policy_set(&policy, FIELD_accept_missing, "landlock", "--accept-missing", &err),
		-1);
	assert_int_equal(err.code, BJ_REFUSED);
	assert_non_null(strstr(err.message, "accept_missing is not for a request to set"));
	assert_int_equal(policy_set(&policy, FIELD_ro_prefixes, "/", "--ro-prefixes", &err), -1);
	assert_int_equal(err.code, BJ_REFUSED);
	assert_null(policy.list[FIELD_accept_missing]);
	assert_null(policy.list[FIELD_ro_prefixes]);
	policy_free(&policy);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void files_that_cannot_be_read_are_refused(void **state)
{
	struct room *room = *state;
	struct policy policy;
	static const struct {
		const char *name;
		int os_error;
		const char *says;
	} rows[] = {
		{"absent.json", ENOENT, "absent.json: No such file or directory"},
		{"file/under.json", ENOTDIR, "Not a directory"},
		{"loop", ELOOP, "Too many levels"},
		{"dangling", ENOENT, "No such file"},
		{"dir", 0, "not a regular file"},
		{"fifo", 0, "not a regular file"},
		{"large.json", 0, "larger than 1 MiB"},
	};
	(void)write_file(room, "file", "{}");
	assert_int_equal(symlink("loop", path_in(room, "loop")), 0);
	assert_int_equal(symlink("nowhere", path_in(room, "dangling")), 0);
	assert_int_equal(mkdir(path_in(room, "dir"), 0700), 0);
	assert_int_equal(mkfifo(path_in(room, "fifo"), 0600), 0);
	(void)write_file(room, "large.json", "{}");
	assert_int_equal(truncate(path_in(room, "large.json"), POLICY_FILE_MAX + 1), 0);

	policy_init(&policy);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bj_error err = {0};
		assert_int_equal(policy_load(&policy, path_in(room, rows[i].name), &err), -1);
		if (!strstr(err.message, rows[i].says))
			fail_msg("%s: \"%s\"", rows[i].name, err.message);
		assert_int_equal(err.os_error, rows[i].os_error);
		assert_int_equal(err.code, BJ_INVALID);
	}
	struct bj_error err = {0};
	assert_int_equal(policy_load(&policy, "", &err), -1);
	assert_int_equal(policy_load(&policy, "/dev/null", &err), -1);
	assert_int_equal(policy_load(&policy, "/dev/zero", &err), -1);
	assert_int_equal(policy_load(&policy, "/proc/self/environ\n\x1b[2J", &err), -1);
	assert_clean(err.message);
	policy_free(&policy);
}

static void a_link_to_a_policy_file_is_followed(void **state)
{
	struct room *room = *state;
	struct policy policy;
	(void)write_file(room, "real.json", "{\"pids\": 7}");
	assert_int_equal(symlink("real.json", path_in(room, "link.json")), 0);
	policy_init(&policy);
	assert_int_equal(policy_load(&policy, path_in(room, "link.json"), NULL), 0);
	assert_int_equal(policy.number[FIELD_pids], 7);
	policy_free(&policy);
}

static void a_file_of_the_largest_size_is_read(void **state)
{
	struct room *room = *state;
	struct policy policy;
	char *text = malloc(POLICY_FILE_MAX + 2);
	assert_non_null(text);
	memset(text, ' ', POLICY_FILE_MAX + 1);
	memcpy(text, "{\"pids\": 7", 10);
	text[POLICY_FILE_MAX - 1] = '}';
	text[POLICY_FILE_MAX] = '\0';
	(void)write_file(room, "most.json", text);
	policy_init(&policy);
	assert_int_equal(policy_load(&policy, path_in(room, "most.json"), NULL), 0);
	assert_int_equal(policy.number[FIELD_pids], 7);
	policy_free(&policy);
	free(text);
}

static void no_descriptor_is_left_open(void **state)
{
	struct room *room = *state;
	struct policy policy;
	const char *good = write_file(room, "good.json", "{\"pids\": 7}");
	const char *bad = write_file(room, "bad.json", "{\"pids\": }");
	policy_init(&policy);
	(void)policy_load(&policy, good, NULL); /* jansson opens /dev/urandom once */
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(policy_load(&policy, good, NULL), 0);
	assert_int_equal(policy_load(&policy, bad, NULL), -1);
	assert_int_equal(policy_load(&policy, room->dir, NULL), -1);
	int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(after, before + 1);
	(void)close(before);
	(void)close(after);
	policy_free(&policy);
}

/* ---- Where a value comes from -----------------------------------------------------------------
 */

static void assert_value(const struct policy *policy, enum field_id id, uint64_t number,
			 const char *origin)
{
	char text[TEXT_PATH_SIZE];
	assert_true(policy->number[id] == number);
	assert_string_equal(policy_origin_text(policy, id, text, sizeof(text)), origin);
}

static void option_beats_profile_beats_file_beats_builtin(void **state)
{
	struct room *room = *state;
	const char *path = write_file(room, "p.json",
				      "{\"pids\": 11, \"nofile\": 121, \"inodes\": 310, "
				      "\"accept_missing\": [\"cgroup\"], "
				      "\"profiles\": {\"small\": {\"pids\": 12, \"nofile\": 122}}}");
	/* The order of the calls makes no difference. */
	for (int turn = 0; turn < 3; turn++) {
		struct policy policy;
		policy_init(&policy);
		if (turn == 0)
			assert_int_equal(policy_set(&policy, FIELD_pids, "13", "--pids", NULL), 0);
		assert_int_equal(policy_load(&policy, path, NULL), 0);
		if (turn == 1)
			assert_int_equal(policy_set(&policy, FIELD_pids, "13", "--pids", NULL), 0);
		assert_int_equal(policy_profile(&policy, "small", NULL), 0);
		if (turn == 2)
			assert_int_equal(policy_set(&policy, FIELD_pids, "13", "--pids", NULL), 0);
		assert_int_equal(policy_load(&policy, path, NULL), 0);
		assert_value(&policy, FIELD_pids, 13, "--pids");
		assert_value(&policy, FIELD_nofile, 122, "profile small");
		assert_value(&policy, FIELD_inodes, 310, path);
		assert_value(&policy, FIELD_memory, 256 * MIB, "built-in");
		assert_int_equal(policy_accept_missing(&policy), LAYER_BIT(LAYER_CGROUP));
		policy_free(&policy);
	}
}

static void a_second_file_or_profile_takes_the_place_of_the_first(void **state)
{
	struct room *room = *state;
	struct policy policy;
	const char *one = write_file(room, "1.json",
				     "{\"pids\": 11, \"nofile\": 121, \"accept_missing\": "
				     "[\"landlock\"], \"profiles\": {\"a\": {\"pids\": 12}, "
				     "\"b\": {\"inodes\": 310}}}");
	const char *two = write_file(room, "2.json", "{\"pids\": 15}");
	policy_init(&policy);
	assert_int_equal(policy_load(&policy, one, NULL), 0);
	assert_int_equal(policy_profile(&policy, "a", NULL), 0);
	assert_value(&policy, FIELD_pids, 12, "profile a");
	assert_int_equal(policy_profile(&policy, "b", NULL), 0);
	assert_value(&policy, FIELD_pids, 11, one);
	assert_value(&policy, FIELD_inodes, 310, "profile b");

	assert_int_equal(policy_load(&policy, two, NULL), 0);
	assert_value(&policy, FIELD_pids, 15, two);
	assert_value(&policy, FIELD_nofile, 1024, "built-in");
	assert_value(&policy, FIELD_inodes, 310, "profile b");
	assert_int_equal(policy_accept_missing(&policy), 0);
	assert_int_equal(policy_profile(&policy, "a", NULL), -1);
	assert_value(&policy, FIELD_inodes, 310, "profile b");
	policy_free(&policy);
}

static void the_profile_agent_undoes_the_file_and_accepts_nothing_missing(void **state)
{
	struct room *room = *state;
	struct policy policy;
	const char *path = write_file(
		room, "p.json", "{\"pids\": 11, \"accept_missing\": [\"cgroup\", \"landlock\"]}");
	policy_init(&policy);
	assert_int_equal(policy_load(&policy, path, NULL), 0);
	assert_int_equal(policy_accept_missing(&policy),
			 LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK));
	assert_int_equal(policy_set(&policy, FIELD_nofile, "100", "--nofile", NULL), 0);
	assert_int_equal(policy_profile(&policy, "agent", NULL), 0);
	assert_value(&policy, FIELD_pids, 64, "profile agent");
	assert_value(&policy, FIELD_nofile, 100, "--nofile");
	assert_int_equal(policy_accept_missing(&policy), 0);
	policy_free(&policy);
}

static void the_operators_profiles_are_found_after_the_users(void **state)
{
	struct room *room = *state;
	struct policy policy;
	struct bj_error err = {0};
	const char *user = write_file(room, "user.json", "{\"profiles\": {\"a\": {\"pids\": 12}}}");
	const char *operator_file = write_file(
		room, "op.json", "{\"profiles\": {\"a\": {\"pids\": 13}, \"b\": {\"pids\": 14}}}");
	const char *broken = write_file(room, "broken.json", "{\"profiles\": {\"a\": {}}");
	policy_init(&policy);
	assert_int_equal(policy_profile_beside(&policy, "a", operator_file, NULL), 0);
	assert_value(&policy, FIELD_pids, 13, "profile a");
	assert_int_equal(policy_load(&policy, user, NULL), 0);
	assert_int_equal(policy_profile_beside(&policy, "a", operator_file, NULL), 0);
	assert_value(&policy, FIELD_pids, 12, "profile a");
	assert_int_equal(policy_profile_beside(&policy, "b", operator_file, NULL), 0);
	assert_value(&policy, FIELD_pids, 14, "profile b");

	assert_int_equal(policy_profile_beside(&policy, "c\x1b[2J\n", operator_file, &err), -1);
	assert_int_equal(err.code, BJ_INVALID);
	assert_string_equal(err.message, "profile \"c\\x1b[2J\\n\": there is none of this name");
	assert_string_equal(err.hint, "profiles: agent, a, b");
	assert_int_equal(policy_profile_beside(&policy, "b", broken, &err), -1);
	assert_non_null(strstr(err.message, "broken.json, line 1, column 23: "));
	assert_int_equal(policy_profile_beside(&policy, "", path_in(room, "none"), &err), -1);
	assert_value(&policy, FIELD_pids, 14, "profile b");
	policy_free(&policy);
}

static void a_failed_call_leaves_the_policy_as_it_was(void **state)
{
	struct room *room = *state;
	struct policy policy;
	const char *path = write_file(room, "p.json", "{\"pids\": 11, \"nofile\": 121}");
	const char *bad = write_file(room, "bad.json", "{\"pids\": 12, \"nofile\": 1}");
	policy_init(&policy);
	assert_int_equal(policy_load(&policy, path, NULL), 0);
	assert_int_equal(policy_load(&policy, bad, NULL), -1);
	assert_value(&policy, FIELD_pids, 11, path);
	assert_value(&policy, FIELD_nofile, 121, path);
	policy_free(&policy);
}

static void a_copy_stands_on_its_own(void **state)
{
	struct room *room = *state;
	struct policy policy, copy;
	const char *path = write_file(room, "p.json",
				      "{\"accept_missing\": [\"cgroup\"], "
				      "\"profiles\": {\"a\": {\"pids\": 12}}}");
	policy_init(&policy);
	assert_int_equal(policy_load(&policy, path, NULL), 0);
	assert_int_equal(policy_copy(&copy, &policy, NULL), 0);
	policy_free(&policy);
	assert_int_equal(policy_accept_missing(&copy), LAYER_BIT(LAYER_CGROUP));
	assert_int_equal(policy_profile(&copy, "a", NULL), 0);
	assert_value(&copy, FIELD_pids, 12, "profile a");
	policy_free(&copy);
	policy_free(&copy);
}

static void the_users_file_is_found_by_the_environment(void **state)
{
	struct room *room = *state;
	static const char *const dirs[] = {"xdg",	   "xdg/belljar",	   "home",
					   "home/.config", "home/.config/belljar", "bare"};
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_int_equal(mkdir(path_in(room, dirs[i]), 0700), 0);
	(void)write_file(room, "xdg/belljar/policy.json", "{\"pids\": 11}");
	(void)write_file(room, "home/.config/belljar/policy.json", "{\"pids\": 12}");

	const struct {
		const char *xdg, *home;
		uint64_t pids;
	} rows[] = {
		{"xdg", "home", 11}, {NULL, "home", 12}, {"bare", "home", 64}, {"xdg", NULL, 11},
		{NULL, NULL, 64},    {NULL, "bare", 64}, {"none", "none", 64},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy policy;
		(void)unsetenv("XDG_CONFIG_HOME");
		(void)unsetenv("HOME");
		if (rows[i].xdg)
			(void)setenv("XDG_CONFIG_HOME", path_in(room, rows[i].xdg), 1);
		if (rows[i].home)
			(void)setenv("HOME", path_in(room, rows[i].home), 1);
		policy_init(&policy);
		assert_int_equal(policy_load(&policy, NULL, NULL), 0);
		assert_int_equal(policy.number[FIELD_pids], rows[i].pids);
		policy_free(&policy);
	}
	/* A relative directory counts as unset, and a broken file is not passed over. */
	struct policy policy;
	policy_init(&policy);
	(void)setenv("XDG_CONFIG_HOME", "relative", 1);
	(void)setenv("HOME", path_in(room, "home"), 1);
	assert_int_equal(policy_load(&policy, NULL, NULL), 0);
	assert_int_equal(policy.number[FIELD_pids], 12);
	(void)write_file(room, "home/.config/belljar/policy.json", "{\"pids\": }");
	assert_int_equal(policy_load(&policy, NULL, NULL), -1);
	policy_free(&policy);
	(void)unsetenv("XDG_CONFIG_HOME");
}

/* ---- The ceiling ----------------------------------------------------------------------------- */

static void the_builtin_ceiling_is_the_documented_one(void **state)
{
	struct room *room = *state;
	struct policy ceiling, policy;
	policy_init(&policy);
	assert_int_equal(ceiling_load_from(&ceiling, path_in(room, "absent.json"), NULL), 0);
	assert_int_equal(ceiling.number[FIELD_memory], 4096 * MIB);
	assert_int_equal(ceiling.number[FIELD_time], 3600000);
	assert_int_equal(ceiling.number[FIELD_pids], 4096);
	assert_int_equal(ceiling.number[FIELD_cpus], sysconf(_SC_NPROCESSORS_ONLN) * 1000);
	assert_null(ceiling.list[FIELD_ro_prefixes]);
	assert_int_equal(ceiling_check(&policy, &ceiling, NULL), 0);
	for (int id = 0; id < FIELD_COUNT; id++)
		assert_int_equal(ceiling.origin[id], FROM_BUILTIN);
	policy_free(&ceiling);
	policy_free(&policy);
}

static void above_the_ceiling_is_refused_field_by_field(void **state)
{
	struct room *room = *state;
	struct policy ceiling;
	assert_int_equal(ceiling_load_from(&ceiling, path_in(room, "absent.json"), NULL), 0);
	for (int id = 0; id < FIELD_COUNT; id++) {
		const struct field *field = &policy_fields[id];
		struct policy policy;
		struct bj_error err = {0};
		if (field->unit == UNIT_LIST)
			continue;
		policy_init(&policy);
		policy.number[id] = ceiling.number[id];
		assert_int_equal(ceiling_check(&policy, &ceiling, &err), 0);
		policy.number[id] = ceiling.number[id] + 1;
		assert_int_equal(ceiling_check(&policy, &ceiling, &err), -1);
		assert_int_equal(err.code, BJ_REFUSED);
		assert_int_equal(strncmp(err.message, field->name, strlen(field->name)), 0);
		policy_free(&policy);
	}
	policy_free(&ceiling);
}

static void a_refusal_names_field_value_ceiling_and_file(void **state)
{
	struct room *room = *state;
	struct policy policy, ceiling;
	struct bj_error err = {0};
	char expected[256];
	const char *path = write_file(room, "op.json",
				      "{\"memory\": \"128m\", \"time\": \"2h\", "
				      "\"accept_missing\": [\"landlock\"]}");
	const char *user = write_file(room, "user.json", "{\"accept_missing\": [\"cgroup\"]}");
	policy_init(&policy);
	assert_int_equal(ceiling_load_from(&ceiling, path, NULL), 0);
	assert_int_equal(ceiling_check(&policy, &ceiling, &err), -1);
	assert_int_equal(err.code, BJ_REFUSED);
	(void)snprintf(expected, sizeof(expected),
		       "memory 256m (built-in) is above the ceiling of 128m (%s)", path);
	assert_string_equal(err.message, expected);
	assert_non_null(strstr(err.hint, "ask for at most 128m"));

	/* The operator's file raises as well as lowers. */
	assert_int_equal(policy_set(&policy, FIELD_memory, "128m", "--memory", NULL), 0);
	assert_int_equal(policy_set(&policy, FIELD_time, "2h", "--time", NULL), 0);
	assert_int_equal(ceiling_check(&policy, &ceiling, NULL), 0);
	assert_int_equal(policy_set(&policy, FIELD_pids, "5000", "--pids", NULL), 0);
	assert_int_equal(ceiling_check(&policy, &ceiling, &err), -1);
	assert_string_equal(err.message,
			    "pids 5000 (--pids) is above the ceiling of 4096 (built-in)");
	assert_int_equal(policy_set(&policy, FIELD_pids, "64", "--pids", NULL), 0);

	assert_int_equal(policy_load(&policy, user, NULL), 0);
	assert_int_equal(ceiling_check(&policy, &ceiling, &err), -1);
	(void)snprintf(
		expected, sizeof(expected),
		"accept_missing \"cgroup\" (%s) is above the ceiling, which does not list it (%s)",
		user, path);
	assert_string_equal(err.message, expected);
	policy_free(&policy);
	policy_free(&ceiling);
}

static void a_ceiling_that_cannot_be_understood_refuses_everything(void **state)
{
	struct room *room = *state;
	static const struct {
		const char *name, *text, *says;
	} rows[] = {
		{"empty.json", "", "line 1, column 1"},
		{"cut.json", "{\"memory\": \"128m\"", "line 1, column 18"},
		{"typo.json", "{\"memroy\": \"128m\"}", "unknown key \"memroy\""},
		{"zero.json", "{\"memory\": 0}", "0 never means unlimited"},
		{"high.json", "{\"memory\": \"2048t\"}", "too large"},
		{"twice.json", "{\"memory\": \"8m\", \"memory\": \"9g\"}", "repeated"},
	};
	struct policy ceiling;
	struct bj_error err;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *path = write_file(room, rows[i].name, rows[i].text);
		memset(&err, 0, sizeof(err));
		assert_int_equal(ceiling_load_from(&ceiling, path, &err), -1);
		assert_non_null(strstr(err.message, path));
		assert_non_null(strstr(err.message, rows[i].says));
		assert_non_null(strstr(err.hint, "nothing runs"));
	}
	assert_int_equal(symlink("nowhere", path_in(room, "dangling")), 0);
	assert_int_equal(ceiling_load_from(&ceiling, path_in(room, "dangling"), &err), -1);
	assert_int_equal(err.os_error, ENOENT);
	assert_int_equal(ceiling_load_from(&ceiling, room->dir, &err), -1);
	assert_int_equal(ceiling_load_from(&ceiling, path_in(room, "empty.json/x"), &err), -1);
	assert_int_equal(err.os_error, ENOTDIR);
}

static void read_only_binds_stay_beneath_the_prefixes(void **state)
{
	struct room *room = *state;
	struct policy ceiling;
	const char *path =
		write_file(room, "op.json", "{\"ro_prefixes\": [\"/srv/data\", \"/opt\"]}");
	static const struct {
		const char *path;
		bool allowed;
	} rows[] = {
		{"/srv/data", true},
		{"/srv/data/a/b", true},
		{"/opt", true},
		{"/opt/x", true},
		{"/srv", false},
		{"/", false},
		{"/srv/database", false},
		{"/srv/dat", false},
		{"/optional", false},
		{"/srv/data/../x", false},
		{"/srv/data/..", false},
		{"/srv/data/./a", false},
		{"/srv/data//a", false},
		{"/srv/data/", false},
		{"//srv/data", false},
		{"srv/data", false},
		{"", false},
		{"/etc/shadow", false},
		{"/srv/data/..a", true},
	};
	assert_int_equal(ceiling_load_from(&ceiling, path, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (ceiling_allows_ro(&ceiling, rows[i].path) != rows[i].allowed)
			fail_msg("%s", rows[i].path);
	}
	policy_free(&ceiling);
	assert_int_equal(ceiling_load_from(&ceiling, path_in(room, "absent"), NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_false(ceiling_allows_ro(&ceiling, rows[i].path));
	policy_free(&ceiling);
}

/* ---- Layers and schema ------------------------------------------------------------------------
 */

static void only_cgroup_and_landlock_may_be_missing(void **state)
{
	(void)state;
	assert_int_equal(acceptable_layer("cgroup"), LAYER_CGROUP);
	assert_int_equal(acceptable_layer("landlock"), LAYER_LANDLOCK);
	static const char *const others[] = {"",       "seccomp", "user", "monitor",
					     "rlimit", "CGROUP",  "all",  "cgroupns"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(acceptable_layer(others[i]), LAYER_COUNT);
}

static void the_schema_has_every_key_of_its_file(void **state)
{
	(void)state;
	for (int operator_file = 0; operator_file < 2; operator_file++) {
		auto_free char *text = NULL;
		assert_int_equal(policy_schema(operator_file, &text, NULL), 0);
		json_auto_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(schema);
		json_t *keys = json_object_get(schema, "properties");
		assert_non_null(json_object_get(keys, "profiles"));
		assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
		for (int id = 0; id < FIELD_COUNT; id++) {
			const struct field *field = &policy_fields[id];
			json_t *key = json_object_get(keys, field->name);
			if (field->ceiling_only && !operator_file) {
				assert_null(key);
				continue;
			}
			assert_non_null(json_object_get(key, "description"));
			assert_int_equal(json_array_size(json_object_get(key, "anyOf")),
					 field->unit == UNIT_LIST   ? 0
					 : field->unit == UNIT_TIME ? 1
								    : 2);
		}
	}
}

#define WITH_ROOM(f) cmocka_unit_test_setup_teardown(f, make_room, clear_room)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_has_a_whole_row),
		cmocka_unit_test(names_are_found_with_either_dash),
		cmocka_unit_test(the_standard_profile_is_the_documented_one),
		cmocka_unit_test(a_formatted_value_reads_back_as_itself),
		cmocka_unit_test(the_ends_of_every_range_are_in_and_their_neighbours_out),
		cmocka_unit_test(a_wrong_option_is_one_line_with_name_value_range_and_origin),
		cmocka_unit_test(a_very_long_value_is_cut_in_the_message),
		cmocka_unit_test(a_request_cannot_set_a_list),
		WITH_ROOM(files_that_cannot_be_read_are_refused),
		WITH_ROOM(a_link_to_a_policy_file_is_followed),
		WITH_ROOM(a_file_of_the_largest_size_is_read),
		WITH_ROOM(no_descriptor_is_left_open),
		WITH_ROOM(option_beats_profile_beats_file_beats_builtin),
		WITH_ROOM(a_second_file_or_profile_takes_the_place_of_the_first),
		WITH_ROOM(the_profile_agent_undoes_the_file_and_accepts_nothing_missing),
		WITH_ROOM(the_operators_profiles_are_found_after_the_users),
		WITH_ROOM(a_failed_call_leaves_the_policy_as_it_was),
		WITH_ROOM(a_copy_stands_on_its_own),
		WITH_ROOM(the_users_file_is_found_by_the_environment),
		WITH_ROOM(the_builtin_ceiling_is_the_documented_one),
		WITH_ROOM(above_the_ceiling_is_refused_field_by_field),
		WITH_ROOM(a_refusal_names_field_value_ceiling_and_file),
		WITH_ROOM(a_ceiling_that_cannot_be_understood_refuses_everything),
		WITH_ROOM(read_only_binds_stay_beneath_the_prefixes),
		cmocka_unit_test(only_cgroup_and_landlock_may_be_missing),
		cmocka_unit_test(the_schema_has_every_key_of_its_file),
	};
	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
