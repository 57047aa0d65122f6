/* SPDX-License-Identifier: Apache-2.0 */
/* The receipt as people read it: a line for each layer. */
#include "base/cleanup.h"
#include "cli/run.h"
#include "cli/say.h"

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));
	return text ? text : "";
}

static void print_left_behind(const json_t *root)
{
	const json_t *left = json_object_get(root, "left_behind");
	const char *name = NULL;
	json_t *value = NULL;
	(void)fprintf(stderr, "left behind:%s", json_is_object(left) ? "" : " not counted");
	json_object_foreach ((json_t *)(uintptr_t)left, name, value) {
		(void)fprintf(stderr, " %s ", name);
		if (json_is_integer(value))
			(void)fprintf(stderr, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		else
			(void)fputs("not counted", stderr);
	}
	(void)fputc('\n', stderr);
}

void receipt_print(const struct bj_result *res)
{
	json_auto_t *root = json_loads(bj_result_json(res), 0, NULL);
	const json_t *rows = json_object_get(root, "layers");
	size_t count = json_array_size(rows);
	auto_free const char **cells = calloc((count + 1) * 4, sizeof(*cells));
	if (!cells || count == 0)
		return;
	static const char *const keys[] = {"name", "state", "by", "note"};
	static const char *const titles[] = {"layer", "state", "by", "note"};
	for (size_t i = 0; i < 4; i++)
		cells[i] = titles[i];
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < 4; j++)
			cells[(i + 1) * 4 + j] = text_of(json_array_get(rows, i), keys[j]);
	say_table(stderr, cells, count + 1, 4, true);
	if (json_object_get(root, "left_behind"))
		print_left_behind(root);
}
