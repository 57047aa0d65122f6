/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_build.h. What this host lacks is found here, and refused before anything is made. */
#include "run/plan_build.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "layers/pid.h"
#include "run/explain.h"
#include "run/host_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_INSIDE   "/usr/local/bin:/usr/bin:/bin"
#define CPU_PERIOD_US 100000
#define STACK_BYTES   (UINT64_C(8) << 20)
#define MEMLOCK_BYTES (UINT64_C(64) << 10)
#define MS_PER_S      1000
#define TASKS_OF_INIT 1

/* The built-in environment; a variable that the caller names takes the place of one of these. */
static const char *const environment[] = {("PATH=" PATH_INSIDE), "HOME=/workspace", "LANG=C.UTF-8",
					  "TZ=UTC", "TMPDIR=/tmp"};

static bool same_variable(const char *a, const char *b)
{
	size_t size = strcspn(a, "=");
	return strncmp(a, b, size + 1) == 0;
}

static bool named_later(const char *const *list, size_t at, size_t count)
{
	for (size_t i = at + 1; i < count; i++) {
		if (same_variable(list[at], list[i]))
			return true;
	}
	return false;
}

/* Built-in first, then the caller's; of one name the last counts. Returns PATH's value. */
static int add_environment(struct builder *b, const char *const *named, const char **ret_path,
			   struct bj_error *err)
{
	const char *all[PLAN_ENV_MAX], *kept[PLAN_ENV_MAX];
	size_t count = 0, kept_count = 0, bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(environment); i++)
		all[count++] = environment[i];
	for (size_t i = 0; named && named[i]; i++) {
		if (count == PLAN_ENV_MAX)
			return fail(err, BJ_INVALID, "--env: more than %d variables", PLAN_ENV_MAX);
		all[count++] = named[i];
	}
	*ret_path = PATH_INSIDE;
	for (size_t i = 0; i < count; i++) {
		if (!named_later(all, i, count)) {
			bytes += strlen(all[i]) + 1;
			kept[kept_count++] = all[i];
		}
		if (strncmp(all[i], "PATH=", 5) == 0)
			*ret_path = all[i] + 5;
	}
	/* The receipt reads it back whole. */
	if (bytes >= PLAN_ENV_BYTES)
		return fail(err, BJ_INVALID, "--env: the environment has %zu bytes, more than %d",
			    bytes, PLAN_ENV_BYTES - 1);
	struct plan_span env = builder_strings(b, kept, kept_count);
	builder_plan(b)->env = env;
	return 0;
}

/* Where the program may be, in the order in which a shell would look. */
static int add_execs(struct builder *b, const char *program, const char *cwd, const char *path,
		     struct bj_error *err)
{
	char text[PLAN_EXECS_MAX][512];
	const char *list[PLAN_EXECS_MAX];
	char quoted[TEXT_PATH_SIZE];
	size_t count = 0;
	(void)text_quote(quoted, sizeof(quoted), program);
	if (strlen(program) > 400)
		return fail(err, BJ_INVALID, "program %s: the name is longer than 400 bytes",
			    quoted);
	if (program[0] == '/') {
		list[count++] = program;
	} else if (strchr(program, '/')) {
		int size = snprintf(text[0], sizeof(text[0]), "%s/%s", strcmp(cwd, "/") ? cwd : "",
				    program);
		if (size < 0 || (size_t)size >= sizeof(text[0]))
			return fail(err, BJ_INVALID,
				    "program %s: its path, below the working directory, is longer "
				    "than %zu bytes",
				    quoted, sizeof(text[0]) - 1);
		list[count++] = text[0];
	} else {
		while (*path && count < PLAN_EXECS_MAX) {
			size_t size = strcspn(path, ":");
			if (path[0] == '/' && size + strlen(program) + 2 <= sizeof(text[0])) {
				(void)snprintf(text[count], sizeof(text[0]), "%.*s/%s", (int)size,
					       path, program);
				list[count] = text[count];
				count++;
			}
			path += size;
			path += *path == ':';
		}
		if (count == 0)
			return fail(err, BJ_INVALID,
				    "program %s: PATH holds no absolute directory to look in",
				    quoted);
	}
	struct plan_span execs = builder_strings(b, list, count);
	builder_plan(b)->execs = execs;
	return 0;
}

/*
 * A limit of ours above the caller's own hard one cannot be set; lower is stricter, and stands. Of
 * most limits 0 is none that anything runs under; programs do run without locked memory.
 */
static uint64_t limited(int resource, uint64_t want)
{
	struct rlimit64 mine;
	if (getrlimit64(resource, &mine) < 0 || mine.rlim_max == RLIM64_INFINITY ||
	    mine.rlim_max > want || (mine.rlim_max == 0 && resource != RLIMIT_MEMLOCK))
		return want;
	return mine.rlim_max;
}

/* Above the cgroup's own limit, where there is one: its refusals are counted, these are not. */
static uint64_t most_tasks(const struct plan *plan)
{
	return plan->pids + TASKS_OF_INIT + (plan->cgroup == CGROUP_NONE ? 0 : 1);
}

static void add_numbers(struct plan *plan, const struct policy *policy)
{
	const uint64_t *number = policy->number;
	plan->memory_bytes = number[FIELD_memory];
	plan->pids = number[FIELD_pids];
	plan->cpu_period_us = CPU_PERIOD_US;
	plan->cpu_quota_us = number[FIELD_cpus] * CPU_PERIOD_US / 1000;
	plan->time_ms = number[FIELD_time];
	plan->cpu_time_ms = number[FIELD_cpu_time];
	plan->keep_bytes = number[FIELD_keep_output];
	plan->max_output_bytes = number[FIELD_max_output];
	plan->nofile = limited(RLIMIT_NOFILE, number[FIELD_nofile]);
	plan->fsize = limited(RLIMIT_FSIZE, number[FIELD_fsize]);
	plan->nproc = limited(RLIMIT_NPROC, most_tasks(plan));
	plan->stack = limited(RLIMIT_STACK, STACK_BYTES);
	plan->memlock = limited(RLIMIT_MEMLOCK, MEMLOCK_BYTES);
	/* Whole seconds, at least one above: the finer count of the launcher comes first. */
	plan->cpu_s = limited(RLIMIT_CPU, number[FIELD_cpu_time] / MS_PER_S + 2);
	plan->cpus_seen = image_cpus(policy);
	plan->landlock_abi_min = (uint32_t)number[FIELD_landlock_abi_min];
}

/* First: of another pid namespace's /proc, even what it says of this process misleads. An empty
 * directory there is no better. */
static int check_proc(struct bj_error *err)
{
	auto_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc >= 0 && pid_own_proc(proc) == 0)
		return 0;
	const struct fault fault = {BJ_UNSUPPORTED, LAYER_PID, HOOK_PLAN, errno, ""};
	if (fault.os != EXDEV)
		return fail_errno(err, BJ_INTERNAL, "read /proc");
	struct host_facts facts;
	char mend[sizeof(err->hint)];
	host_facts_read(&facts);
	(void)fail(err, BJ_UNSUPPORTED, "layer pid: /proc is not that of this pid namespace");
	(void)fail_hint(err, "%s", fault_mend(&fault, &facts, mend, sizeof(mend)));
	return fail_layer(err, layers[LAYER_PID].name);
}

/* Whether this process may give each run an outside id of its own. */
static int find_ids(struct plan *plan, struct bj_error *err)
{
	plan->outside_uid = geteuid();
	plan->outside_gid = getegid();
	plan->ids = IDS_CALLER;
	if (geteuid() != 0)
		return 0;
	unsigned int in, out, count;
	bool all = false, host = false;
	auto_fclose FILE *map = fopen("/proc/thread-self/uid_map", "re");
	while (map && fscanf(map, "%u %u %u", &in, &out, &count) == 3) {
		all = all || (in <= PLAN_ID_BASE &&
			      (uint64_t)in + count >= (uint64_t)PLAN_ID_BASE + PLAN_ID_COUNT);
		host = host || (in == 0 && out == 0);
	}
	plan->join_first = !host;
	if (!all) {
		(void)fail(err, BJ_UNSUPPORTED,
			   "layer user: root of this user namespace has no ids %u to %u to give",
			   PLAN_ID_BASE, PLAN_ID_BASE + PLAN_ID_COUNT - 1);
		(void)fail_hint(err, "Run Belljar as an ordinary user of this container, or map "
				     "these ids into it.");
		return fail_layer(err, layers[LAYER_USER].name);
	}
	plan->ids = IDS_OWN;
	return 0;
}

static int find_cgroup(struct builder *b, const struct policy *policy, struct bj_error *err)
{
	struct host_cgroup found;
	host_cgroup_find(&found);
	if (found.kind == CGROUP_NONE &&
	    !(policy_accept_missing(policy) & LAYER_BIT(LAYER_CGROUP))) {
		const struct fault fault = {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_PLAN, 0, ""};
		struct host_facts facts;
		char mend[sizeof(err->hint)];
		host_facts_read(&facts);
		(void)fail(err, BJ_UNSUPPORTED, "layer cgroup: %s", found.why);
		(void)fail_hint(err, "%s", fault_mend(&fault, &facts, mend, sizeof(mend)));
		return fail_layer(err, layers[LAYER_CGROUP].name);
	}
	uint32_t base = found.kind != CGROUP_NONE && found.v2[0] ? builder_string(b, found.v2) : 0;
	uint32_t v1[V1_COUNT] = {0};
	for (int i = 0; i < V1_COUNT && found.kind == CGROUP_V1; i++)
		v1[i] = builder_string(b, found.v1[i]);
	struct plan *plan = builder_plan(b);
	plan->join_first &= found.kind == CGROUP_V1;
	plan->cgroup = found.kind;
	plan->cgroup_base = base;
	memcpy(plan->cgroup_v1, v1, sizeof(v1));
	return 0;
}

/* The newest Landlock ABI of this kernel; 0: it has none, or it is not switched on. */
static uint64_t landlock_abi(void)
{
	long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1U /* get the version */);
	return abi > 0 ? (uint64_t)abi : 0;
}

/* Its absence is accepted only where there is none; where there is one it is used, or refused. */
static int find_landlock(uint32_t *missing, const struct policy *policy, struct bj_error *err)
{
	uint64_t abi = landlock_abi(), least = policy->number[FIELD_landlock_abi_min];
	if (abi == 0 && (policy_accept_missing(policy) & LAYER_BIT(LAYER_LANDLOCK))) {
		*missing |= LAYER_BIT(LAYER_LANDLOCK);
		return 0;
	}
	if (abi >= least)
		return 0;
	if (abi == 0) {
		(void)fail(err, BJ_UNSUPPORTED, "layer landlock: this kernel has none");
		(void)fail_hint(err,
				"It needs CONFIG_SECURITY_LANDLOCK, and `landlock` in the kernel's "
				"lsm= list; or accept the layer as missing in a policy file: "
				"{\"accept_missing\": [\"landlock\"]}.");
	} else {
		(void)fail(err, BJ_UNSUPPORTED,
			   "layer landlock: ABI %llu is older than landlock_abi_min, %llu",
			   (unsigned long long)abi, (unsigned long long)least);
		(void)fail_hint(err, "A newer kernel has it, or ask for a lower landlock_abi_min.");
	}
	return fail_layer(err, layers[LAYER_LANDLOCK].name);
}

static int find_layers(struct plan *plan, const struct policy *policy, struct bj_error *err)
{
	bool cgroup = plan->cgroup != CGROUP_NONE;
	uint32_t missing = LAYER_BIT(cgroup ? LAYER_MONITOR : LAYER_CGROUP);
	if (find_landlock(&missing, policy, err) < 0)
		return -1;
	plan->missing = missing;
	plan->required = LAYERS_ALL & ~missing;
	return 0;
}

static int fill(struct builder *b, const struct plan_request *request, struct bj_error *err)
{
	const char *path = NULL;
	const char *cwd = request->cwd ? request->cwd : "/workspace";
	size_t argc = 0;
	while (request->argv[argc])
		argc++;
	if (argc > PLAN_ARGS_MAX)
		return fail(err, BJ_INVALID, "more than %d arguments", PLAN_ARGS_MAX);
	if (check_proc(err) < 0 || find_ids(builder_plan(b), err) < 0 ||
	    find_cgroup(b, request->policy, err) < 0 ||
	    add_environment(b, request->env, &path, err) < 0 ||
	    add_execs(b, request->argv[0], cwd, path, err) < 0 ||
	    image_host(b, request->policy, request->binds, request->bind_count, err) < 0)
		return -1;
	for (size_t i = 0; i < request->input_count; i++)
		builder_copy(b, (uint32_t)i, request->inputs[i].name, request->inputs[i].mode);

	struct plan_span argv = builder_strings(b, request->argv, argc);
	uint32_t hostname = builder_string(b, "belljar"), where = builder_string(b, cwd);
	struct plan *plan = builder_plan(b);
	plan->argv = argv;
	plan->hostname = hostname;
	plan->cwd = where;
	(void)snprintf(plan->run_id, sizeof(plan->run_id), "%s", request->run_id);
	add_numbers(plan, request->policy);
	return find_layers(plan, request->policy, err);
}

int plan_build(const struct plan_request *request, struct plan_result *ret, struct bj_error *err)
{
	auto_free struct builder *b = malloc(sizeof(*b));
	if (!b || builder_start(b, err) < 0)
		return b ? -1 : fail(err, BJ_INTERNAL, "out of memory for the plan");
	int fd = -1;
	int got = fill(b, request, err);
	if (got == 0)
		got = builder_end(b, &fd, err);
	if (got == 0) {
		ret->required = builder_plan(b)->required;
		ret->missing = builder_plan(b)->missing;
		ret->fd = fd;
	}
	builder_free(b);
	return got;
}
