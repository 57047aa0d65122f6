/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling: the most that the operator allows. Built-in values, and what the operator's file
 * names over them, higher or lower. What is above it is refused, never clamped. A file that cannot
 * be read or understood refuses every run: a limit that was meant must not vanish by a typing
 * error.
 */
#include "policy/policy_file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t all_cpus(void)
{
	const struct field *field = &policy_fields[FIELD_cpus];
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t milli = online < 1 ? 1000 : (uint64_t)online * 1000;
	return milli > field->max ? field->max : milli;
}

/* Where the operator's file does not name accept_missing, both layers may be accepted. */
static int builtin_ceiling(struct policy *ret, struct bj_error *err)
{
	char cgroup[] = "cgroup", landlock[] = "landlock";
	char *const acceptable[] = {cgroup, landlock, NULL};

	policy_init(ret);
	for (int id = 0; id < FIELD_COUNT; id++) {
		uint64_t ceiling = policy_fields[id].ceiling;
		ret->number[id] = ceiling == CEILING_CPUS ? all_cpus() : ceiling;
	}
	ret->list[FIELD_accept_missing] = list_copy(acceptable);
	if (!ret->list[FIELD_accept_missing])
		return fail(err, BJ_INTERNAL, "out of memory");
	return 0;
}

int ceiling_load_from(struct policy *ret_ceiling, const char *operator_path, struct bj_error *err)
{
	auto_policy_file struct policy_file *file = NULL;
	struct policy ceiling;

	if (policy_file_read(operator_path, FILE_OF_OPERATOR, true, &file, err) < 0)
		return fail_hint(err, "until the operator's policy file is mended, nothing runs; "
				      "`belljar policy check` reads it again");
	if (builtin_ceiling(&ceiling, err) < 0 ||
	    (file && policy_lay(&ceiling, &file->top, FROM_FILE, file->path, err) < 0)) {
		policy_free(&ceiling);
		return -1;
	}
	*ret_ceiling = ceiling;
	return 0;
}

int ceiling_load(struct policy *ret_ceiling, struct bj_error *err)
{
	return ceiling_load_from(ret_ceiling, OPERATOR_FILE, err);
}

static bool list_has(char *const *list, const char *name)
{
	for (; list && *list; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

static int check_number(const struct policy *policy, const struct policy *ceiling, enum field_id id,
			struct bj_error *err)
{
	const struct field *field = &policy_fields[id];
	char asked[32], most[32], asker[TEXT_PATH_SIZE], setter[TEXT_PATH_SIZE];

	if (policy->number[id] <= ceiling->number[id])
		return 0;
	(void)policy_format(field->unit, ceiling->number[id], most);
	(void)fail(err, BJ_REFUSED, "%s %s (%s) is above the ceiling of %s (%s)", field->name,
		   policy_format(field->unit, policy->number[id], asked),
		   policy_origin_text(policy, id, asker, sizeof(asker)), most,
		   policy_origin_text(ceiling, id, setter, sizeof(setter)));
	return fail_hint(err, "ask for at most %s; only the operator can raise the ceiling, in %s",
			 most, OPERATOR_FILE);
}

static int check_accepted(const struct policy *policy, const struct policy *ceiling,
			  struct bj_error *err)
{
	const enum field_id id = FIELD_accept_missing;
	char asker[TEXT_PATH_SIZE], setter[TEXT_PATH_SIZE];

	for (char **name = policy->list[id]; name && *name; name++) {
		if (list_has(ceiling->list[id], *name))
			continue;
		(void)fail(err, BJ_REFUSED,
			   "%s \"%s\" (%s) is above the ceiling, which does not list it (%s)",
			   policy_fields[id].name, *name,
			   policy_origin_text(policy, id, asker, sizeof(asker)),
			   policy_origin_text(ceiling, id, setter, sizeof(setter)));
		return fail_hint(err, "the operator requires this layer, in %s", OPERATOR_FILE);
	}
	return 0;
}

int ceiling_check(const struct policy *policy, const struct policy *ceiling, struct bj_error *err)
{
	for (int id = 0; id < FIELD_COUNT; id++) {
		if (policy_fields[id].unit != UNIT_LIST &&
		    check_number(policy, ceiling, (enum field_id)id, err) < 0)
			return -1;
	}
	return check_accepted(policy, ceiling, err);
}

bool ceiling_allows_ro(const struct policy *ceiling, const char *host_path)
{
	if (!path_is_canonical(host_path))
		return false;
	for (char **prefix = ceiling->list[FIELD_ro_prefixes]; prefix && *prefix; prefix++) {
		size_t length = strlen(*prefix);
		if (strncmp(*prefix, host_path, length) == 0 &&
		    (host_path[length] == '\0' || host_path[length] == '/'))
			return true;
	}
	return false;
}
