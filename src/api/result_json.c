/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as JSON. The order of keys is the order in which they are set here, and part of the
 * schema: people read it.
 */
#include "api/result_json.h"

#include "base/cleanup.h"

#include <jansson.h>
#include <string.h>

#define SCHEMA "belljar.result/1"

static const char *const limit_names[] = {
	[LIMIT_TIME] = "time",	 [LIMIT_CPU] = "cpu",	[LIMIT_MEMORY] = "memory",
	[LIMIT_TASKS] = "tasks", [LIMIT_DISK] = "disk", [LIMIT_OUTPUT] = "output",
};
_Static_assert(ARRAY_SIZE(limit_names) == LIMIT_COUNT, "a name for each limit");

static const char *const retry_names[] = {
	[RETRY_NOT_NEEDED] = "not_needed",
	[RETRY_SAME] = "same",
	[RETRY_CHANGE] = "change",
	[RETRY_NEVER] = "never",
};
_Static_assert(ARRAY_SIZE(retry_names) == RETRY_COUNT, "a name for each advice");

static const char *const state_names[] = {
	[STATE_NONE] = NULL,
	[STATE_PROVEN] = "proven",
	[STATE_ACCEPTED_MISSING] = "accepted_missing",
};

static const char *const proof_names[] = {
	[PROOF_NONE] = NULL,
	[BY_KERNEL] = "kernel",
	[BY_INIT] = "init",
	[BY_LAUNCHER] = "launcher",
};

static const char *const stage_names[] = {
	[STAGE_ENTER] = "enter",   [STAGE_PLANNED] = "planned", [STAGE_PREPARED] = "prepared",
	[STAGE_CLONED] = "cloned", [STAGE_MAPPED] = "mapped",	[STAGE_READY] = "ready",
	[STAGE_EXEC] = "exec",	   [STAGE_PROVEN] = "proven",	[STAGE_GO] = "go",
	[STAGE_END] = "end",	   [STAGE_DEAD] = "dead",	[STAGE_CLEAN] = "clean",
};
_Static_assert(ARRAY_SIZE(stage_names) == STAGE_COUNT, "a name for each stage");

/* All setters take ownership of `value`, which is NULL when memory ran out: 0 or -1. */
static int set(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new_nocheck(object, key, value);
}

/* NULL becomes null. */
static json_t *string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* 0 is what the kernel does not say. */
static json_t *known(uint64_t value)
{
	return value ? number(value) : json_null();
}

/* UINT64_MAX is what nobody could count. */
static json_t *counted(uint64_t value)
{
	return value == UINT64_MAX ? json_null() : number(value);
}

static json_t *milliseconds(double ms)
{
	return json_real((double)(int64_t)(ms * 1000 + 0.5) / 1000);
}

static json_t *base64(const uint8_t *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	auto_free char *text = malloc((size + 2) / 3 * 4 + 1);
	if (!text)
		return NULL;
	char *out = text;
	for (size_t i = 0; data && i < size; i += 3) {
		size_t left = size - i;
		uint32_t three = (uint32_t)data[i] << 16 |
				 (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				 (left > 2 ? data[i + 2] : 0);
		*out++ = digits[three >> 18];
		*out++ = digits[three >> 12 & 63];
		*out++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[three & 63] : '=';
	}
	return json_stringn_nocheck(text, (size_t)(out - text));
}

static json_t *stream_json(const struct kept *kept)
{
	const struct bj_output *o = &kept->output;
	json_auto_t *object = json_object();
	const char *data = o->data ? (const char *)o->data : "";
	json_t *text = kept->utf8 ? json_stringn(data, o->size) : base64(o->data, o->size);
	bool truncated = o->omitted_bytes > 0;
	if (set(object, "text", text) < 0 ||
	    set(object, "encoding", json_string(kept->utf8 ? "utf-8" : "base64")) < 0 ||
	    set(object, "bytes", number(o->bytes)) < 0 ||
	    set(object, "truncated", json_boolean(truncated)) < 0)
		return NULL;
	if (truncated && (set(object, "omitted_bytes", number(o->omitted_bytes)) < 0 ||
			  set(object, "omitted_at", number(o->omitted_at)) < 0))
		return NULL;
	return TAKE_PTR(object);
}

static json_t *limits_json(uint32_t limits)
{
	json_auto_t *array = json_array();
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if ((limits & LIMIT_BIT(i)) &&
		    json_array_append_new(array, json_string(limit_names[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static json_t *usage_json(const struct bj_usage *usage)
{
	json_auto_t *object = json_object();
	if (set(object, "wall_ms", milliseconds(usage->wall_ms)) < 0 ||
	    set(object, "cpu_ms", milliseconds(usage->cpu_ms)) < 0 ||
	    set(object, "memory_peak_bytes", known(usage->memory_peak_bytes)) < 0 ||
	    set(object, "tasks_peak", known(usage->tasks_peak)) < 0 ||
	    set(object, "by", json_string(usage->by)) < 0)
		return NULL;
	return TAKE_PTR(object);
}

/* A name is bytes. JSON has only text: one that is none goes under another key. */
static int set_path(json_t *object, const char *path)
{
	size_t size = strlen(path);
	if (utf8_valid(path, size))
		return set(object, "path", json_stringn(path, size));
	return set(object, "path_base64", base64((const uint8_t *)path, size));
}

static json_t *file_json(const struct result_file *file)
{
	json_auto_t *object = json_object();
	if (set_path(object, file->path) < 0 || set(object, "bytes", number(file->bytes)) < 0 ||
	    set(object, "sha256", string_or_null(file->sha256[0] ? file->sha256 : NULL)) < 0 ||
	    set(object, "type", string_or_null(file->type)) < 0)
		return NULL;
	if (file->risky && set(object, "risky", json_string(file->risky)) < 0)
		return NULL;
	return TAKE_PTR(object);
}

static json_t *files_json(const struct bj_result *res)
{
	json_auto_t *array = json_array();
	for (size_t i = 0; i < res->file_count; i++)
		if (json_array_append_new(array, file_json(&res->files[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static json_t *layer_json(const char *name, const struct result_layer *row)
{
	json_auto_t *object = json_object();
	if (set(object, "name", json_string(name)) < 0 ||
	    set(object, "state", string_or_null(state_names[row->state])) < 0 ||
	    set(object, "by", string_or_null(proof_names[row->by])) < 0)
		return NULL;
	if (row->note[0] && set(object, "note", json_string(row->note)) < 0)
		return NULL;
	return TAKE_PTR(object);
}

static json_t *layers_json(const struct bj_result *res)
{
	json_auto_t *array = json_array();
	for (size_t i = 0; i < LAYER_COUNT; i++)
		if (res->layer[i].state != STATE_NONE &&
		    json_array_append_new(array, layer_json(layers[i].name, &res->layer[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

/* null: nobody was left to count. */
static json_t *left_json(const struct bj_result *res)
{
	if (!res->counted)
		return json_null();
	json_auto_t *object = json_object();
	if (set(object, "processes", counted(res->left_processes)) < 0 ||
	    set(object, "mounts", counted(res->left_mounts)) < 0 ||
	    set(object, "cgroups", counted(res->left_cgroups)) < 0 ||
	    set(object, "files", counted(res->left_files)) < 0)
		return NULL;
	return TAKE_PTR(object);
}

static json_t *error_json(const struct bj_error *error)
{
	if (error->code == BJ_OK)
		return json_null();
	json_auto_t *object = json_object();
	if (set(object, "layer", string_or_null(error->layer[0] ? error->layer : NULL)) < 0 ||
	    set(object, "message", json_string(error->message)) < 0 ||
	    set(object, "hint", json_string(error->hint)) < 0)
		return NULL;
	return TAKE_PTR(object);
}

static json_t *stages_json(const struct bj_result *res)
{
	json_auto_t *object = json_object();
	for (size_t i = 0; i < STAGE_COUNT; i++)
		if (res->stage_ms[i] >= 0 &&
		    set(object, stage_names[i], milliseconds(res->stage_ms[i])) < 0)
			return NULL;
	return TAKE_PTR(object);
}

static int set_ending(json_t *object, const struct bj_result *res)
{
	const struct verdict *v = &res->verdict;
	json_t *code = v->exit_code >= 0 ? json_integer(v->exit_code) : json_null();
	json_t *sig = v->signal > 0 ? json_integer(v->signal) : json_null();
	int failed = 0;
	failed |= set(object, "schema", json_string(SCHEMA));
	failed |= set(object, "run_id", json_string(res->run_id));
	failed |= set(object, "outcome", json_string(bj_outcome_name(v->outcome)));
	failed |= set(object, "started", json_boolean(v->started));
	failed |= set(object, "exit_code", code);
	failed |= set(object, "signal", sig);
	failed |= set(object, "limits_hit", limits_json(v->limits));
	return failed;
}

static int set_facts(json_t *object, const struct bj_result *res)
{
	int failed = 0;
	failed |= set(object, "stdout", stream_json(&res->stream[BJ_STDOUT]));
	failed |= set(object, "stderr", stream_json(&res->stream[BJ_STDERR]));
	failed |= set(object, "usage", usage_json(&res->usage));
	failed |= set(object, "files", files_json(res));
	failed |= set(object, "layers", layers_json(res));
	failed |= set(object, "left_behind", left_json(res));
	failed |= set(object, "retry", json_string(retry_names[res->verdict.retry]));
	failed |= set(object, "hint", json_string(res->hint));
	failed |= set(object, "error", error_json(&res->error));
	failed |= set(object, "timings_ms", stages_json(res));
	return failed;
}

char *result_json(const struct bj_result *res)
{
	json_auto_t *object = json_object();
	if (!object || set_ending(object, res) < 0 || set_facts(object, res) < 0)
		return NULL;
	/* 15 digits: three decimals of any time that a run may take, and no more. */
	return json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
}
