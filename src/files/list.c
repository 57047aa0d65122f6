/* SPDX-License-Identifier: Apache-2.0 */
/* What was collected. */
#include "files/deliver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *files_type_name(enum files_type type)
{
	static const char *const name[] = {
		[FILES_FILE] = "file",
		[FILES_DIRECTORY] = "directory",
	};
	_Static_assert(sizeof(name) / sizeof(name[0]) == FILES_TYPE_COUNT, "a name per type");
	return name[type];
}

int list_add(struct files_list *list, const char *path, struct files_item item,
	     struct bj_error *err)
{
	if (list->count == list->room) {
		size_t more = list->room ? list->room * 2 : 16;
		struct files_item *items = reallocarray(list->item, more, sizeof(*items));
		if (!items)
			return fail_errno(err, BJ_INTERNAL, "list what was copied out");
		list->item = items;
		list->room = more;
	}
	item.path = strdup(path);
	if (!item.path)
		return fail_errno(err, BJ_INTERNAL, "list what was copied out");
	list->item[list->count++] = item;
	list->bytes += item.bytes;
	return 0;
}

int list_add_directory(struct files_list *list, const char *path, struct bj_error *err)
{
	struct files_item item = {.type = FILES_DIRECTORY, .risky = files_risky(path, S_IFDIR)};
	return list_add(list, path, item, err);
}

void list_cut(struct files_list *list, size_t count)
{
	while (list->count > count) {
		struct files_item *item = &list->item[--list->count];
		list->bytes -= item->bytes;
		free(item->path);
	}
}

void list_problem(struct files_list *list, const char *path, const struct bj_error *error)
{
	size_t at = list->problems++;
	if (at >= FILES_PROBLEMS_MAX)
		return;
	/* Without memory for the name the message still has it. */
	list->problem[at].path = strdup(path);
	list->problem[at].error = *error;
}

void files_list_free(struct files_list *list)
{
	list_cut(list, 0);
	free(list->item);
	for (size_t i = 0; i < list->problems && i < FILES_PROBLEMS_MAX; i++)
		free(list->problem[i].path);
	memset(list, 0, sizeof(*list));
}
