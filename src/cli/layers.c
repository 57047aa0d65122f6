/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar layers`: the table of layers. */
#include "layers/layer.h"

#include "base/cleanup.h"
#include "cli/say.h"

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static int print_json(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		const struct layer *layer = &layers[i];
		json_t *after = json_array();
		for (size_t j = 0; j < LAYER_COUNT; j++)
			if (layer->after & LAYER_BIT(j))
				(void)json_array_append_new(after, json_string(layers[j].name));
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:b}", "name", layer->name,
				  "stops", layer->stops, "leaves", layer->leaves, "needs",
				  layer->needs, "also_stopped_by", text_or_null(layer->shared),
				  "after", after, "may_be_missing", layer->may_be_missing));
	}
	return say_json(json_pack("{s:s, s:o}", "schema", "belljar.layers/1", "layers", list));
}

int layers_verb(const struct invocation *invocation)
{
	if (invocation->json)
		return print_json();
	const char *cells[(LAYER_COUNT + 1) * 3] = {"layer", "missing", "stops; leaves; needs"};
	char texts[LAYER_COUNT][512];
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		const struct layer *layer = &layers[i];
		(void)snprintf(texts[i], sizeof(texts[i]), "%s. Leaves: %s. Needs: %s.",
			       layer->stops, layer->leaves, layer->needs);
		cells[(i + 1) * 3] = layer->name;
		cells[(i + 1) * 3 + 1] = layer->may_be_missing ? "may be" : "no";
		cells[(i + 1) * 3 + 2] = texts[i];
	}
	say_table(stdout, cells, LAYER_COUNT + 1, 3, true);
	return say_flush(STATUS_OK);
}
