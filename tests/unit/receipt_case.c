/* SPDX-License-Identifier: Apache-2.0 */
#include "receipt_case.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "run/builder.h"

#include <fcntl.h>
#include <linux/securebits.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

struct facts facts;
struct plan *plan;

static struct builder b;
static struct plan header; /* its numbers, which a test may change */
static char place[] = "/tmp/belljar-receipt-XXXXXX";
static int dir = -1, timer = -1, pipes[2][2] = {{-1, -1}, {-1, -1}};
static uint32_t refused;

static const char mounts[] =
	"40 39 0:35 / / ro,nosuid,nodev,relatime - tmpfs tmpfs rw,size=4096k,mode=755\n"
	"41 40 8:1 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/sda1 rw\n"
	"42 41 8:2 / /usr/share ro,nosuid,nodev,relatime master:3 - xfs /dev/sda2 rw\n"
	"43 40 0:5 /null /dev/null ro,nosuid,noexec - devtmpfs udev rw,size=4096k\n"
	"44 40 0:36 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw,size=1028k,nr_inodes=100\n"
	"45 40 8:1 /d /my\\040data ro,nosuid,nodev shared:1 master:2 - ext4 /dev/sda1 rw\n"
	"46 40 0:37 / /proc rw,nosuid,nodev,noexec - proc proc rw\n"
	"47 46 0:37 /sys /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n"
	"48 46 0:35 /.e /proc/kcore ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4096k\n"
	"49 46 0:35 /.m /proc/meminfo ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4096k\n";

static void plan_nodes(void)
{
	(void)builder_node(&b, NODE_DIR, "/etc", 0755);
	(void)builder_node(&b, NODE_FILE, "/etc/passwd", 0444);
	(void)builder_node(&b, NODE_LINK, "/bin", 0);
	(void)builder_node(&b, NODE_BIND, "/usr", 0);
	(void)builder_node(&b, NODE_DEVICE, "/dev/null", 0);
	/* Not a multiple of a page, nor of 1024. */
	builder_node(&b, NODE_TMPFS, "/tmp", 01777)->size = (1 << 20) + 1;
	(void)builder_node(&b, NODE_BIND, "/my data", 0);
	(void)builder_node(&b, NODE_PROC, "/proc", 0);
	(void)builder_node(&b, NODE_RO, "/proc/sys", 0);
	(void)builder_node(&b, NODE_HIDE, "/proc/kcore", S_IFREG);
	(void)builder_node(&b, NODE_COVER, "/proc/meminfo", 0);
}

static void plan_numbers(void)
{
	plan->ids = IDS_OWN;
	plan->cgroup = CGROUP_V2;
	plan->memory_bytes = 1 << 20;
	plan->pids = 64;
	plan->cpu_quota_us = 5000;
	plan->cpu_period_us = 10000;
	plan->time_ms = 3600000;
	plan->cpu_s = 11;
	plan->fsize = 12;
	plan->nofile = 13;
	plan->nproc = 14;
	plan->stack = 15;
	plan->memlock = 16;
	plan->cpus_seen = 2;
	plan->landlock_abi_min = 3;
}

/* Of a plan only what the comparisons read. */
static void make_plan(void)
{
	static const char *const env[] = {"PATH=/bin", "HOME=/"};
	struct bj_error err;
	assert_int_equal(builder_start(&b, &err), 0);
	plan_nodes();
	struct plan_span variables = builder_strings(&b, env, ARRAY_SIZE(env));
	struct plan_span nodes = builder_bytes(&b, b.nodes, b.node_count * sizeof(b.nodes[0]));
	assert_false(b.failed);
	plan = builder_plan(&b);
	plan->env = variables;
	plan->nodes = (struct plan_span){nodes.offset, b.node_count};
	plan_numbers();
	header = *plan;
}

int receipt_setup(void **state)
{
	(void)state;
	make_plan();
	assert_non_null(mkdtemp(place));
	dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(mkdirat(dir, "self", 0700), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	assert_true(timer >= 0);
	return 0;
}

static const char *const files[] = {
	"memory.max",	    "pids.max",		 "cpu.max",    "memory.limit_in_bytes",
	"cpu.cfs_quota_us", "cpu.cfs_period_us", "self/status"};

int receipt_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(files[i], NULL);
	assert_int_equal(unlinkat(dir, "self", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(place), 0);
	cleanup_close(&dir);
	cleanup_close(&timer);
	for (int i = 0; i < 4; i++)
		cleanup_close(&pipes[i / 2][i % 2]);
	builder_free(&b);
	return 0;
}

void put(const char *name, const char *text)
{
	(void)unlinkat(dir, name, 0);
	if (!text)
		return;
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_whole(fd, text, strlen(text)), 0);
}

static void launch_as_planned(struct launch *launch)
{
	const struct itimerspec at_end = {.it_value.tv_sec = 3600};
	launch->plan = plan;
	launch->proc_fd = dir;
	launch->program = 77;
	launch->outside_uid = PLAN_ID_BASE + 7;
	launch->outside_gid = PLAN_ID_BASE + 8;
	memcpy(launch->cgroup_name, "belljar-0123", 13);
	for (int i = 0; i < CG_COUNT; i++)
		launch->cgroup[i] = i == CG_V2 ? dir : -1;
	launch->deadline_fd = timer;
	assert_int_equal(timerfd_settime(timer, 0, &at_end, NULL), 0);
	for (int i = 0; i < 2; i++) {
		launch->output_fd[i] = pipes[i][0];
		assert_int_equal(fcntl(pipes[i][0], F_SETFL, O_NONBLOCK), 0);
	}
	launch->init_proof.loopback = 1;
	launch->program_proof = (struct child_proof){
		.securebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		.keyring = 1,
		.landlock_abi = 6,
		.landlock_denied = 1,
	};
}

static void posture_as_planned(struct posture *posture)
{
	static const char environment[] = "PATH=/bin\0HOME=/";
	static char text[sizeof(mounts)];
	for (int i = 0; i < 4; i++) {
		posture->uid[i] = PLAN_ID_BASE + 7;
		posture->gid[i] = PLAN_ID_BASE + 8;
	}
	for (uint64_t i = 0; i < NS_COUNT; i++) {
		posture->ns_host[i] = 100 + i;
		posture->ns[i] = 200 + i;
	}
	posture->no_new_privs = 1;
	posture->seccomp_mode = 2;
	posture->seccomp_filters = 1;
	posture->umask = 022;
	posture->threads = 1;
	posture->cpus = 2;
	posture->ns_pid = 2;
	posture->session = 77;
	posture->priority = 20;
	posture->fds = 7;
	posture->fds_are_pipes = true;
	posture->limit[RLIMIT_CPU] = (struct rlimit64){11, 11};
	posture->limit[RLIMIT_FSIZE] = (struct rlimit64){12, 12};
	posture->limit[RLIMIT_NOFILE] = (struct rlimit64){13, 13};
	posture->limit[RLIMIT_NPROC] = (struct rlimit64){14, 14};
	posture->limit[RLIMIT_STACK] = (struct rlimit64){15, 15};
	posture->limit[RLIMIT_MEMLOCK] = (struct rlimit64){16, 16};
	posture->limit[RLIMIT_CORE] = (struct rlimit64){1, 1};
	memcpy(posture->cgroup, "0::/a/belljar-0123\n", 20);
	memcpy(text, mounts, sizeof(mounts)); /* the comparison cuts it */
	posture->mounts = text;
	posture->cwd_mount = 44;
	posture->exe_mount = 41;
	memcpy(posture->environment, environment, sizeof(environment));
	posture->environment_size = sizeof(environment);
}

void as_planned(void)
{
	memset(&facts, 0, sizeof(facts));
	*plan = header;
	launch_as_planned(&facts.launch);
	posture_as_planned(&facts.posture);
	put("memory.max", "1048576\n");
	put("memory.limit_in_bytes", "1048576\n");
	put("pids.max", "65\n"); /* init is one */
	put("cpu.max", "5000 10000\n");
	put("cpu.cfs_quota_us", "5000\n");
	put("cpu.cfs_period_us", "10000\n");
	put("self/status", "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\nSpeculation:\tx\n");
}

static int compare(enum layer_id id, struct fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	return layers[id].verify(&facts.launch, &facts.posture, fault);
}

void accepts(enum layer_id id)
{
	struct fault fault;
	if (compare(id, &fault) != 0)
		fail_msg("%s: %s", layers[id].name, fault.what);
	assert_int_equal(fault.code, BJ_OK);
}

void refuses_with(enum layer_id id, const char *what, int os)
{
	struct fault fault;
	if (compare(id, &fault) != -1)
		fail_msg("%s passes, and should not: %s", layers[id].name, what);
	assert_int_equal(fault.code, BJ_SETUP);
	assert_int_equal(fault.layer, id);
	assert_int_equal(fault.hook, HOOK_VERIFY);
	assert_string_equal(fault.what, what);
	assert_int_equal(fault.os, os);
	refused |= LAYER_BIT(id);
}

void refuses(enum layer_id id, const char *what)
{
	refuses_with(id, what, EBADMSG);
}

uint32_t refused_layers(void)
{
	return refused;
}
