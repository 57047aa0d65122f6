/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the cgroups of this host. Three kinds of it:
 *  - v2: one hierarchy. Root makes runs at its root. An ordinary user makes them beside the leaf
 *    that the caller sits in, in a cgroup that was delegated to the user.
 *  - v1: a hierarchy for each controller, for root only; runs are made at their roots.
 *  - hybrid: v1 controllers and a v2 hierarchy without them, which can still kill.
 */
#include "run/host_cgroup.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const controllers[V1_COUNT] = {
	[V1_MEMORY] = "memory", [V1_PIDS] = "pids", [V1_CPU] = "cpu", [V1_CPUACCT] = "cpuacct"};

static bool has_word(const char *list, const char *word, const char *separators)
{
	size_t size = strlen(word);
	while (*list) {
		size_t n = strcspn(list, separators);
		if (n == size && strncmp(list, word, n) == 0)
			return true;
		list += n;
		list += strspn(list, separators);
	}
	return false;
}

/* The mount points of cgroup file systems, from this process's own mountinfo. */
static int find_mounts(struct host_cgroup *found)
{
	auto_free char *line = NULL;
	size_t room = 0;
	auto_fclose FILE *file = fopen("/proc/thread-self/mountinfo", "re");
	if (!file)
		return -1;
	while (getline(&line, &room, file) > 0) {
		char point[HOST_CGROUP_PATH], type[32], super[256];
		const char *dash = strstr(line, " - ");
		/* Most lines are of other file systems, and sscanf() is slow. */
		if (!dash || strncmp(dash + 3, "cgroup", 6) != 0 ||
		    sscanf(line, "%*u %*u %*s %*s %4095s", point) != 1 ||
		    sscanf(dash, " - %31s %*s %255s", type, super) != 2)
			continue;
		if (strcmp(type, "cgroup2") == 0 && !found->v2[0])
			memcpy(found->v2, point, sizeof(point));
		for (int i = 0; strcmp(type, "cgroup") == 0 && i < V1_COUNT; i++) {
			if (!found->v1[i][0] && has_word(super, controllers[i], ",\n"))
				memcpy(found->v1[i], point, sizeof(point));
		}
	}
	return 0;
}

/* This process's own v2 cgroup, as a path below the mount; -1 where there is none. */
static int own_cgroup(char path[HOST_CGROUP_PATH], bool *ret_is_only)
{
	char text[8192];
	if (read_at(AT_FDCWD, "/proc/thread-self/cgroup", text, sizeof(text)) < 0)
		return -1;
	const char *at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!at)
		return -1;
	/* The hierarchies of v1 come before it. */
	*ret_is_only = at == text;
	at = strchr(at, '/');
	size_t size = at ? strcspn(at, "\n") : 0;
	if (size == 0 || size >= HOST_CGROUP_PATH)
		return -1;
	memcpy(path, at, size);
	path[size] = '\0';
	return 0;
}

/* Whether the children of this cgroup get the three controllers that a run needs. */
static bool gives_controllers(const char *dir)
{
	char name[2 * HOST_CGROUP_PATH + 32], text[512];
	(void)snprintf(name, sizeof(name), "%s/cgroup.subtree_control", dir);
	return read_at(AT_FDCWD, name, text, sizeof(text)) >= 0 &&
	       has_word(text, "memory", " \n") && has_word(text, "pids", " \n") &&
	       has_word(text, "cpu", " \n");
}

static bool may_make_in(const char *dir)
{
	char name[2 * HOST_CGROUP_PATH + 32];
	(void)snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	return faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0 &&
	       faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) == 0;
}

/* Enabling is idempotent and gives nothing to anybody who did not have it. */
static bool enable_controllers(const char *dir)
{
	char name[2 * HOST_CGROUP_PATH + 32];
	if (gives_controllers(dir))
		return true;
	(void)snprintf(name, sizeof(name), "%s/cgroup.subtree_control", dir);
	return write_at(AT_FDCWD, name, "+memory +pids +cpu") == 0 && gives_controllers(dir);
}

/* v2 as root: at the root of what is mounted, where a process may sit beside children. */
static bool find_v2_root(struct host_cgroup *found)
{
	return may_make_in(found->v2) && enable_controllers(found->v2);
}

/* v2 otherwise: in the parent of the leaf that this process sits in, where that was delegated. */
static bool find_v2_leaf(struct host_cgroup *found)
{
	char own[HOST_CGROUP_PATH], dir[2 * HOST_CGROUP_PATH];
	bool only;
	if (own_cgroup(own, &only) < 0)
		return false;
	char *last = strrchr(own, '/');
	if (!last || last == own)
		return false;
	*last = '\0';
	int n = snprintf(dir, sizeof(dir), "%s%s", found->v2, own);
	if (n < 0 || (size_t)n >= HOST_CGROUP_PATH || !may_make_in(dir) || !gives_controllers(dir))
		return false;
	memcpy(found->v2, dir, (size_t)n + 1);
	return true;
}

static bool all_v1(const struct host_cgroup *found)
{
	for (int i = 0; i < V1_COUNT; i++) {
		if (!found->v1[i][0] || faccessat(AT_FDCWD, found->v1[i], W_OK, AT_EACCESS) < 0)
			return false;
	}
	return true;
}

static bool any_v1(const struct host_cgroup *found)
{
	for (int i = 0; i < V1_COUNT; i++) {
		if (found->v1[i][0])
			return true;
	}
	return false;
}

/* What root lacks of version 1; anybody else lacks being root. */
static void why_no_v1(struct host_cgroup *found)
{
	if (geteuid() != 0) {
		(void)snprintf(found->why, sizeof(found->why),
			       "cgroup v1 can be used by root only");
		return;
	}
	for (int i = 0; i < V1_COUNT; i++) {
		if (!found->v1[i][0])
			(void)snprintf(found->why, sizeof(found->why),
				       "cgroup v1's controller %s is not mounted here",
				       controllers[i]);
		else if (faccessat(AT_FDCWD, found->v1[i], W_OK, AT_EACCESS) < 0)
			(void)snprintf(found->why, sizeof(found->why),
				       "cgroup v1's controller %s cannot be written here",
				       controllers[i]);
		else
			continue;
		return;
	}
}

void host_cgroup_find(struct host_cgroup *ret)
{
	static const char none[] = "no cgroup file system is mounted";
	static const char v2_user[] = "this process is not in a leaf of a cgroup delegated to it";
	memset(ret, 0, sizeof(*ret));
	if (find_mounts(ret) < 0 || (!ret->v2[0] && !any_v1(ret))) {
		memcpy(ret->why, none, sizeof(none));
		return;
	}
	if (any_v1(ret)) {
		if (all_v1(ret)) {
			ret->kind = CGROUP_V1;
			if (ret->v2[0] && !may_make_in(ret->v2))
				ret->v2[0] = '\0';
			return;
		}
		why_no_v1(ret);
		return;
	}
	if (find_v2_leaf(ret) || (geteuid() == 0 && find_v2_root(ret)))
		ret->kind = CGROUP_V2;
	else
		memcpy(ret->why, v2_user, sizeof(v2_user));
}

static uint64_t remove_in(const char *dir, const char *run_id, uint64_t until_ns)
{
	char name[2 * HOST_CGROUP_PATH + 64];
	struct timespec moment = {.tv_nsec = 1000000};
	(void)snprintf(name, sizeof(name), "%s/belljar-%s/cgroup.kill", dir, run_id);
	(void)write_at(AT_FDCWD, name, "1");
	(void)snprintf(name, sizeof(name), "%s/belljar-%s", dir, run_id);
	while (rmdir(name) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || clock_ns() > until_ns)
			return 1;
		(void)nanosleep(&moment, NULL);
	}
	return 0;
}

uint64_t host_cgroup_remove(const char *run_id)
{
	struct host_cgroup found;
	uint64_t left = 0, until_ns = clock_ns() + UINT64_C(2000000000);
	host_cgroup_find(&found);
	for (int i = 0; i < V1_COUNT; i++) {
		if (found.kind == CGROUP_V1)
			left += remove_in(found.v1[i], run_id, until_ns);
	}
	if (found.kind != CGROUP_NONE && found.v2[0])
		left += remove_in(found.v2, run_id, until_ns);
	return left;
}

/* ---- The leaf of a program of ours --------------------------------------------------------- */

#define LEAF "belljar.self"
static char entered[2 * HOST_CGROUP_PATH]; /* the cgroup in which the leaf was made, or "" */

static bool sits_alone(const char *dir)
{
	char name[2 * HOST_CGROUP_PATH + 32], text[64], mine[32];
	(void)snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	(void)snprintf(mine, sizeof(mine), "%d\n", getpid());
	return read_at(AT_FDCWD, name, text, sizeof(text)) >= 0 && strcmp(text, mine) == 0;
}

static int move_self(const char *dir)
{
	char name[2 * HOST_CGROUP_PATH + 64];
	(void)snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	return write_at(AT_FDCWD, name, "0");
}

int host_cgroup_enter_leaf(struct bj_error *err)
{
	struct host_cgroup found;
	char own[HOST_CGROUP_PATH], dir[2 * HOST_CGROUP_PATH], leaf[2 * HOST_CGROUP_PATH + 32];
	bool only;
	/* Beside v1 a leaf is of no use. */
	if (own_cgroup(own, &only) < 0 || !only)
		return 0;
	host_cgroup_find(&found);
	if (found.kind != CGROUP_NONE || !found.v2[0])
		return 0;
	int n = snprintf(dir, sizeof(dir), "%s%s", found.v2, own);
	if (n < 0 || (size_t)n >= HOST_CGROUP_PATH || !may_make_in(dir) || !sits_alone(dir))
		return 0;
	(void)snprintf(leaf, sizeof(leaf), "%s/" LEAF, dir);
	if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
		return fail_errno(err, BJ_UNSUPPORTED, "make a leaf in the delegated cgroup");
	/* Whatever the umask is. */
	if (chmod(leaf, 0755) < 0)
		return fail_errno(err, BJ_UNSUPPORTED, "set the mode of the leaf");
	if (move_self(leaf) < 0)
		return fail_errno(err, BJ_UNSUPPORTED, "move into a leaf of the delegated cgroup");
	memcpy(entered, dir, (size_t)n + 1);
	if (!enable_controllers(dir)) {
		host_cgroup_leave_leaf();
		return fail(err, BJ_UNSUPPORTED,
			    "the delegated cgroup lacks one of memory, pids and cpu");
	}
	return 0;
}

void host_cgroup_leave_leaf(void)
{
	char name[2 * HOST_CGROUP_PATH + 64];
	if (!entered[0])
		return;
	(void)snprintf(name, sizeof(name), "%s/cgroup.subtree_control", entered);
	(void)write_at(AT_FDCWD, name, "-memory -pids -cpu");
	(void)move_self(entered);
	(void)snprintf(name, sizeof(name), "%s/" LEAF, entered);
	(void)rmdir(name);
	entered[0] = '\0';
}
