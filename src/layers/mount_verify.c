/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receipt of layer `mount`: every line of the program's mountinfo is a planned mount with the
 * planned flags, every planned mount is there, and the working directory and the
 * program lie on them. A place beneath a bind of the host is held to that bind's flags.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One line, cut into the fields that matter, in place. */
struct line {
	char *id, *point, *flags, *type, *super;
};

/* mountinfo writes space, tab, newline and backslash as \\ooo. */
static void unescape(char *text)
{
	char *to = strchr(text, '\\');
	for (const char *from = to; from && *from;) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 +
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	if (to)
		*to = '\0';
}

/* id parent major:minor root POINT FLAGS [optional…] - TYPE source SUPER */
static bool parse(char *text, struct line *line)
{
	char *field[6], *rest = text;
	for (int i = 0; i < 6; i++) {
		field[i] = strsep(&rest, " ");
		if (!rest)
			return false;
	}
	char *dash = strstr(rest, " - ");
	if (strncmp(rest, "- ", 2) == 0)
		rest += 2;
	else if (dash)
		rest = dash + 3;
	else
		return false;
	line->id = field[0];
	line->point = field[4];
	line->flags = field[5];
	line->type = strsep(&rest, " ");
	if (!rest || !strsep(&rest, " ") || !rest)
		return false;
	line->super = rest;
	unescape(line->point);
	return true;
}

static bool has(const char *options, const char *name)
{
	size_t size = strlen(name);
	for (const char *at = options; (at = strstr(at, name)); at += size) {
		bool starts = at == options || at[-1] == ',';
		if (starts && (at[size] == ',' || at[size] == '\0'))
			return true;
	}
	return false;
}

/* tmpfs rounds its size up to pages and says it in KiB. */
static bool size_is(const char *super, uint64_t bytes)
{
	const char *at = strstr(super, "size=");
	uint64_t page = 4096;
	return at && strtoull(at + 5, NULL, 10) * 1024 == (bytes + page - 1) / page * page;
}

static bool beneath(const char *path, const char *dir)
{
	size_t size = strlen(dir);
	return strncmp(path, dir, size) == 0 && path[size] == '/';
}

static bool flags_ok(const struct plan_node *node, const struct line *line)
{
	bool quiet = has(line->flags, "nosuid") && has(line->flags, "nodev");
	bool ro = has(line->flags, "ro");
	switch ((enum node_kind)node->kind) {
	case NODE_BIND:
		return quiet && ro;
	case NODE_DEVICE:
		return ro && has(line->flags, "nosuid") && has(line->flags, "noexec");
	case NODE_TMPFS:
		return quiet && strcmp(line->type, "tmpfs") == 0 &&
		       size_is(line->super, node->size);
	case NODE_PROC:
		return quiet && has(line->flags, "noexec") && strcmp(line->type, "proc") == 0;
	case NODE_RO:
	case NODE_HIDE:
	case NODE_COVER:
		return quiet && ro && has(line->flags, "noexec");
	case NODE_DIR:
	case NODE_FILE:
	case NODE_LINK:
	case NODE_KIND_COUNT:
		break;
	}
	return false;
}

static bool is_mount(const struct plan_node *node)
{
	return node->kind != NODE_DIR && node->kind != NODE_FILE && node->kind != NODE_LINK;
}

/* Parts of proc that this kernel does not have are left out. */
static bool may_be_absent(const struct plan_node *node)
{
	return node->kind == NODE_RO || node->kind == NODE_HIDE || node->kind == NODE_COVER;
}

/* Whether one line is as planned; marks the node it belongs to, or the root, as seen. */
static bool line_ok(const struct plan *plan, const struct line *line, bool seen[], bool *root)
{
	const struct plan_node *nodes = plan_at(plan, plan->nodes);
	if (strcmp(line->point, "/") == 0) {
		*root = true;
		return has(line->flags, "ro") && has(line->flags, "nosuid") &&
		       has(line->flags, "nodev") && strcmp(line->type, "tmpfs") == 0;
	}
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		const char *target = plan_string(plan, nodes[i].target);
		if (is_mount(&nodes[i]) && strcmp(target, line->point) == 0) {
			seen[i] = true;
			return flags_ok(&nodes[i], line);
		}
	}
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		if (nodes[i].kind == NODE_BIND &&
		    beneath(line->point, plan_string(plan, nodes[i].target)))
			return flags_ok(&nodes[i], line);
	}
	return false;
}

int mount_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	const struct plan *plan = launch->plan;
	const struct plan_node *nodes = plan_at(plan, plan->nodes);
	bool seen[PLAN_NODES_MAX] = {0}, root = false, cwd = false, exe = false;
	struct line line;

	if (MUST(fault, LAYER_MOUNT, "a mount namespace of its own",
		 posture->ns[NS_MNT] != posture->ns_host[NS_MNT]) < 0)
		return -1;
	for (char *rest = posture->mounts, *text; (text = strsep(&rest, "\n"));) {
		if (text[0] == '\0' && !rest)
			break;
		bool ok = parse(text, &line) && line_ok(plan, &line, seen, &root);
		if (MUST(fault, LAYER_MOUNT, "no mount but the planned ones, flags as planned",
			 ok) < 0)
			return -1;
		uint64_t id = strtoull(line.id, NULL, 10);
		cwd = cwd || id == posture->cwd_mount;
		exe = exe || id == posture->exe_mount;
	}
	/* A plain directory as root, by chroot, would have no line. */
	if (MUST(fault, LAYER_MOUNT, "the root is a mount of the run's own", root) < 0)
		return -1;
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		if (MUST(fault, LAYER_MOUNT, "every planned mount is there",
			 !is_mount(&nodes[i]) || may_be_absent(&nodes[i]) || seen[i]) < 0)
			return -1;
	}
	/* From any other one `..` would lead on, whatever the root is. */
	if (MUST(fault, LAYER_MOUNT, "the working directory lies on one of them", cwd) < 0 ||
	    MUST(fault, LAYER_MOUNT, "the program lies on one of them", exe) < 0)
		return -1;
	return 0;
}
