/* SPDX-License-Identifier: Apache-2.0 */
/* A policy: made, copied, and values laid over it by where they come from. */
#include "policy/policy_file.h"

#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The profile that is the built-in policy. It accepts nothing as missing. */
static const char agent[] = "agent";

/*
 * The layers that have something to stand in for them; the rest of Belljar rests on all others.
 * The same rows are marked may_be_missing in the layer table, and a test compares them.
 */
static const struct {
	const char *name;
	enum layer_id layer;
} acceptable[] = {
	{"cgroup", LAYER_CGROUP},
	{"landlock", LAYER_LANDLOCK},
};

enum layer_id acceptable_layer(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(acceptable); i++) {
		if (strcmp(acceptable[i].name, name) == 0)
			return acceptable[i].layer;
	}
	return LAYER_COUNT;
}

const char *acceptable_meant(const char *name)
{
	struct suggestion suggestion = {.meant = name};
	if (acceptable_layer(name) != LAYER_COUNT)
		return NULL; /* something else is wrong with it */
	for (size_t i = 0; i < ARRAY_SIZE(acceptable); i++)
		suggest_add(&suggestion, acceptable[i].name);
	return suggest_best(&suggestion);
}

uint32_t policy_accept_missing(const struct policy *policy)
{
	uint32_t bits = 0;
	for (char **name = policy->list[FIELD_accept_missing]; name && *name; name++) {
		enum layer_id layer = acceptable_layer(*name);
		if (layer != LAYER_COUNT)
			bits |= LAYER_BIT(layer);
	}
	return bits;
}

bool path_is_canonical(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
		size_t length = strcspn(slash + 1, "/");
		if (length == 0 || (length <= 2 && strncmp(slash + 1, "..", length) == 0))
			return false;
	}
	return true;
}

void list_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

char **list_copy(char *const *list)
{
	size_t count = 0;
	while (list && list[count])
		count++;
	char **copy = list ? calloc(count + 1, sizeof(*copy)) : NULL;
	if (!copy)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		copy[i] = strdup(list[i]);
		if (!copy[i]) {
			list_free(copy);
			return NULL;
		}
	}
	return copy;
}

void policy_init(struct policy *policy)
{
	memset(policy, 0, sizeof(*policy));
	for (int id = 0; id < FIELD_COUNT; id++)
		policy->number[id] = policy_fields[id].standard;
}

void policy_free(struct policy *policy)
{
	for (int id = 0; id < FIELD_COUNT; id++) {
		list_free(policy->list[id]);
		free(policy->origin_name[id]);
	}
	policy_file_drop(policy->file);
	memset(policy, 0, sizeof(*policy));
}

/* Owns all of `number`, `list` and `origin_name` alike, or fails without a trace. */
static int put(struct policy *policy, enum field_id id, uint64_t number, char *const *list,
	       enum policy_origin origin, const char *origin_name, struct bj_error *err)
{
	char *name = origin_name ? strdup(origin_name) : NULL;
	char **copy = list_copy(list);

	if ((origin_name && !name) || (list && !copy)) {
		free(name);
		list_free(copy);
		return fail(err, BJ_INTERNAL, "out of memory");
	}
	list_free(policy->list[id]);
	free(policy->origin_name[id]);
	policy->number[id] = number;
	policy->list[id] = copy;
	policy->origin[id] = origin;
	policy->origin_name[id] = name;
	return 0;
}

int policy_copy(struct policy *ret, const struct policy *from, struct bj_error *err)
{
	struct policy copy;

	policy_init(&copy);
	for (int id = 0; id < FIELD_COUNT; id++) {
		if (put(&copy, (enum field_id)id, from->number[id], from->list[id],
			from->origin[id], from->origin_name[id], err) < 0) {
			policy_free(&copy);
			return -1;
		}
	}
	copy.file = policy_file_share(from->file);
	*ret = copy;
	return 0;
}

int policy_lay(struct policy *policy, const struct overlay *overlay, enum policy_origin origin,
	       const char *origin_name, struct bj_error *err)
{
	for (int id = 0; id < FIELD_COUNT; id++) {
		if (!overlay->has[id] || policy->origin[id] > origin)
			continue;
		if (put(policy, (enum field_id)id, overlay->number[id], overlay->list[id], origin,
			origin_name, err) < 0)
			return -1;
	}
	return 0;
}

/* The built-in values in place of all that came from the user's file or a profile. */
static int strip(struct policy *policy, struct bj_error *err)
{
	for (int id = 0; id < FIELD_COUNT; id++) {
		if (policy->origin[id] != FROM_FILE && policy->origin[id] != FROM_PROFILE)
			continue;
		if (put(policy, (enum field_id)id, policy_fields[id].standard, NULL, FROM_BUILTIN,
			NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* Beneath the options: what `file` says, and over it what the profile says (either may be NULL). */
static int rebuild(struct policy *policy, const struct policy_file *file,
		   const struct overlay *profile, struct bj_error *err)
{
	if (strip(policy, err) < 0)
		return -1;
	if (file && policy_lay(policy, &file->top, FROM_FILE, file->path, err) < 0)
		return -1;
	if (profile && policy_lay(policy, profile, FROM_PROFILE, profile->name, err) < 0)
		return -1;
	return 0;
}

/* The profile in force, as an overlay that borrows from `policy`. */
static bool standing_profile(const struct policy *policy, struct overlay *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int id = 0; id < FIELD_COUNT; id++) {
		if (policy->origin[id] != FROM_PROFILE)
			continue;
		ret->has[id] = true;
		ret->number[id] = policy->number[id];
		ret->list[id] = policy->list[id];
		ret->name = policy->origin_name[id];
	}
	return ret->name != NULL;
}

int policy_load_file(struct policy *policy, struct policy_file *file, struct bj_error *err)
{
	struct policy changed;
	struct overlay profile;
	bool has_profile = standing_profile(policy, &profile);

	if (policy_copy(&changed, policy, err) < 0)
		return -1;
	if (rebuild(&changed, file, has_profile ? &profile : NULL, err) < 0) {
		policy_free(&changed);
		return -1;
	}
	policy_file_drop(changed.file);
	changed.file = policy_file_share(file);
	policy_free(policy);
	*policy = changed;
	return 0;
}

static int use_profile(struct policy *policy, const struct overlay *profile, struct bj_error *err)
{
	struct policy changed;

	if (policy_copy(&changed, policy, err) < 0)
		return -1;
	if (rebuild(&changed, changed.file, profile, err) < 0) {
		policy_free(&changed);
		return -1;
	}
	policy_free(policy);
	*policy = changed;
	return 0;
}

/* `agent` sets every field, so that nothing of the user's file shows through. */
static int use_agent(struct policy *policy, struct bj_error *err)
{
	char name[sizeof(agent)];
	struct overlay profile = {.name = strcpy(name, agent)};

	for (int id = 0; id < FIELD_COUNT; id++) {
		profile.has[id] = true;
		profile.number[id] = policy_fields[id].standard;
	}
	return use_profile(policy, &profile, err);
}

static int unknown_profile(const char *name, const struct policy_file *user,
			   const struct policy_file *operator_file, struct bj_error *err)
{
	const struct policy_file *files[] = {user, operator_file};
	char shown[TEXT_VALUE_SIZE], known[400];
	size_t used = (size_t)snprintf(known, sizeof(known), "%s", agent);

	(void)fail(err, BJ_INVALID, "profile %s: there is none of this name",
		   text_quote(shown, sizeof(shown), name));
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		for (size_t i = 0; files[f] && i < files[f]->profile_count; i++) {
			const char *other = files[f]->profiles[i].name;
			if (used + strlen(other) + 8 > sizeof(known))
				break;
			if (f > 0 && policy_file_profile(files[0], other))
				continue;
			used += (size_t)snprintf(known + used, sizeof(known) - used, ", %s", other);
		}
	}
	return fail_hint(err, "profiles: %s", known);
}

int policy_profile_beside(struct policy *policy, const char *name, const char *operator_path,
			  struct bj_error *err)
{
	if (strcmp(name, agent) == 0)
		return use_agent(policy, err);
	const struct overlay *profile = policy_file_profile(policy->file, name);
	if (profile)
		return use_profile(policy, profile, err);

	auto_policy_file struct policy_file *operator_file = NULL;
	if (policy_file_read(operator_path, FILE_OF_OPERATOR, true, &operator_file, err) < 0)
		return -1;
	profile = policy_file_profile(operator_file, name);
	if (profile)
		return use_profile(policy, profile, err);
	return unknown_profile(name, policy->file, operator_file, err);
}

int policy_profile(struct policy *policy, const char *name, struct bj_error *err)
{
	return policy_profile_beside(policy, name, OPERATOR_FILE, err);
}

int policy_set(struct policy *policy, enum field_id id, const char *value, const char *where,
	       struct bj_error *err)
{
	char place[TEXT_PATH_SIZE];
	uint64_t number = 0;

	if (!where)
		where = "the request";
	if (policy_fields[id].unit == UNIT_LIST)
		return fail(err, BJ_REFUSED, "%s: %s is not for a request to set: only %s may",
			    text_escape(place, sizeof(place), where), policy_fields[id].name,
			    policy_fields[id].ceiling_only ? "the operator's file " OPERATOR_FILE
							   : "a policy file");
	if (field_parse(id, value, where, &number, err) < 0)
		return -1;
	return put(policy, id, number, NULL, FROM_OPTION, where, err);
}

const char *policy_origin_text(const struct policy *policy, enum field_id id, char *out,
			       size_t size)
{
	static const char *const texts[] = {
		[FROM_BUILTIN] = "built-in",
		[FROM_FILE] = "a policy file",
		[FROM_PROFILE] = "profile ",
		[FROM_OPTION] = "the request",
	};
	static_assert(ARRAY_SIZE(texts) == POLICY_ORIGIN_COUNT, "a text for every origin");
	enum policy_origin origin = policy->origin[id];
	const char *name = policy->origin_name[id];
	char shown[TEXT_PATH_SIZE];

	if (!name)
		(void)snprintf(out, size, "%s", texts[origin]);
	else
		(void)snprintf(out, size, "%s%s", origin == FROM_PROFILE ? texts[origin] : "",
			       text_escape(shown, sizeof(shown), name));
	return out;
}
