/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The comparisons of the receipt: what is in force as planned passes, one difference does not, and
 * is named. Those of the mounts and the cgroup have files of their own.
 */
#include "receipt_case.h"

#include "base/cleanup.h"
#include "run/launch.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

struct wrong {
	enum layer_id layer;
	const char *what;
	size_t offset, size; /* in struct facts */
	uint64_t value;
};

#define WRONG(layer_, member_, value_, what_)                                                      \
	{                                                                                          \
		LAYER_##layer_, what_, offsetof(struct facts, member_),                            \
			sizeof(((struct facts *)NULL)->member_), (uint64_t)(value_)                \
	}

#define SAME_NS(layer_, ns_, what_)                                                                \
	WRONG(layer_, posture.ns[ns_], 100 + (ns_), "a" what_ " namespace of its own")

#define UIDS	  "all four user ids are the run's"
#define GIDS	  "all four group ids are the run's"
#define SIGNALS	  "no signal blocked, ignored or caught"
#define FDS	  "descriptors 0, 1, 2 and no other"
#define CAP_SETS  "all five capability sets are empty"
#define SECURE	  "securebits locked"
#define PRIORITY  "no scheduling above the usual"
#define ABI_MIN	  "an ABI of landlock_abi_min or newer"
#define OUTPUT	  "output pipes do not block the launcher"
#define ONE_MORE  "one filter more than the launcher has"
#define READ_BACK "count the launcher's own filters"

static const struct wrong wrongs[] = {
	SAME_NS(USER, NS_USER, " user"),
	SAME_NS(PID, NS_PID, " pid"),
	SAME_NS(MOUNT, NS_MNT, " mount"),
	SAME_NS(NET, NS_NET, " network"),
	SAME_NS(IPC, NS_IPC, "n IPC"),
	SAME_NS(UTS, NS_UTS, " UTS"),
	SAME_NS(CGROUPNS, NS_CGROUP, " cgroup"),
	WRONG(CGROUP, launch.cgroup[CG_V2], -1, "memory, tasks and CPU are limited as planned"),
	WRONG(USER, posture.uid[0], 0, UIDS),
	WRONG(USER, posture.uid[1], PLAN_ID_BASE + 8, UIDS),
	WRONG(USER, posture.uid[2], 1000, UIDS),
	WRONG(USER, posture.uid[3], UINT32_MAX, UIDS),
	WRONG(USER, posture.gid[0], 0, GIDS),
	WRONG(USER, posture.gid[1], PLAN_ID_BASE + 7, GIDS),
	WRONG(USER, posture.gid[2], 1000, GIDS),
	WRONG(USER, posture.gid[3], UINT32_MAX, GIDS),
	WRONG(USER, posture.groups, 1, "no supplementary groups"),
	WRONG(PID, posture.ns_pid, 1, "process 2 of that namespace"),
	WRONG(PID, posture.ns_pid, 3, "process 2 of that namespace"),
	WRONG(PID, posture.threads, 2, "one thread"),
	WRONG(INIT, launch.init_proof.init_dumpable, 1, "init is not dumpable"),
	WRONG(INIT, launch.init_proof.init_caps, 1, "init has no capabilities"),
	WRONG(NET, launch.init_proof.loopback, 0, "loopback is up"),
	WRONG(IPC, launch.program_proof.keyring, 0, "a session keyring of its own"),
	WRONG(TERMINAL, posture.session, 1, "leader of a session of its own"),
	WRONG(TERMINAL, posture.tty, 34816, "no controlling terminal"),
	WRONG(TERMINAL, posture.sig_blocked, 1, SIGNALS),
	WRONG(TERMINAL, posture.sig_ignored, UINT64_C(1) << 63, SIGNALS),
	WRONG(TERMINAL, posture.sig_caught, 2, SIGNALS),
	WRONG(TERMINAL, posture.umask, 0, "umask 022"),
	WRONG(RLIMIT, posture.priority, 19, PRIORITY),
	WRONG(RLIMIT, posture.priority, -2, PRIORITY),
	WRONG(RLIMIT, posture.cpus, 3, "no more CPUs than the run's share"),
	WRONG(CAPS, posture.caps[CAP_INH], 1, CAP_SETS),
	WRONG(CAPS, posture.caps[CAP_PRM], 1, CAP_SETS),
	WRONG(CAPS, posture.caps[CAP_EFF], 1, CAP_SETS),
	WRONG(CAPS, posture.caps[CAP_BND], UINT64_C(1) << 63, CAP_SETS),
	WRONG(CAPS, posture.caps[CAP_AMB], 1, CAP_SETS),
	WRONG(CAPS, launch.program_proof.securebits, 0, SECURE),
	WRONG(CAPS, launch.program_proof.securebits, UINT32_MAX, SECURE),
	WRONG(NNP, posture.no_new_privs, 0, "no_new_privs is set"),
	WRONG(LANDLOCK, launch.program_proof.landlock_abi, 2, ABI_MIN),
	WRONG(LANDLOCK, launch.program_proof.landlock_abi, 0, ABI_MIN),
	WRONG(LANDLOCK, launch.program_proof.landlock_denied, 0,
	      "making a device node was refused"),
	WRONG(SECCOMP, posture.seccomp_mode, 0, "filter mode is in force"),
	WRONG(SECCOMP, posture.seccomp_mode, 1, "filter mode is in force"),
	WRONG(SECCOMP, posture.seccomp_filters, 0, ONE_MORE),
	WRONG(SECCOMP, posture.seccomp_filters, 2, ONE_MORE),
	WRONG(SECCOMP, posture.seccomp_filters, -1, ONE_MORE),
	WRONG(FDS, posture.fds, 0, FDS),
	WRONG(FDS, posture.fds, 3, FDS),
	WRONG(FDS, posture.fds, 6, FDS),
	WRONG(FDS, posture.fds, 15, FDS),
	WRONG(FDS, posture.fds, 7 | UINT64_C(1) << 63, FDS),
	WRONG(FDS, posture.fds_are_pipes, false, "all three are pipes"),
	WRONG(OUTPUT, launch.output_fd[0], -1, OUTPUT),
	WRONG(OUTPUT, launch.output_fd[1], -1, OUTPUT),
	WRONG(MONITOR, launch.inside_proc, -1, "the run's processes can be read"),
};

static void one_wrong_number_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
		const struct wrong *w = &wrongs[i];
		char *at = (char *)&facts + w->offset;
		as_planned();
		accepts(w->layer);
		assert_memory_not_equal(at, &w->value, w->size);
		memcpy(at, &w->value, w->size);
		refuses(w->layer, w->what);
	}
}

static void ids_that_agree_and_are_not_the_runs_are_refused(void **state)
{
	(void)state;
	for (int group = 0; group < 2; group++) {
		uint32_t *ids = group ? facts.posture.gid : facts.posture.uid;
		as_planned();
		accepts(LAYER_USER);
		for (int i = 0; i < 4; i++)
			ids[i] = 0;
		refuses(LAYER_USER, group ? GIDS : UIDS);
	}
}

static void the_other_side_of_each_bound_is_accepted(void **state)
{
	(void)state;
	as_planned();
	facts.posture.priority = 39;
	facts.posture.cpus = 1;
	accepts(LAYER_RLIMIT);
	facts.launch.program_proof.landlock_abi = 3;
	accepts(LAYER_LANDLOCK);
	facts.launch.program_proof.keyring = 2;
	accepts(LAYER_IPC);
	plan->ids = IDS_CALLER; /* the kernel lets an ordinary user drop no groups */
	facts.posture.groups = 3;
	accepts(LAYER_USER);
}

static void one_wrong_limit_is_refused(void **state)
{
	(void)state;
	static const int limits[] = {RLIMIT_CPU,   RLIMIT_FSIZE,   RLIMIT_NOFILE, RLIMIT_NPROC,
				     RLIMIT_STACK, RLIMIT_MEMLOCK, RLIMIT_CORE,	  RLIMIT_RTPRIO,
				     RLIMIT_NICE,  RLIMIT_MSGQUEUE};
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit64 *limit = &facts.posture.limit[limits[i]];
		for (int hard = 0; hard < 2; hard++) {
			as_planned();
			accepts(LAYER_RLIMIT);
			*(hard ? &limit->rlim_max : &limit->rlim_cur) += 1;
			refuses(LAYER_RLIMIT, "every limit as planned, soft = hard");
		}
		as_planned();
		limit->rlim_cur = limit->rlim_max = RLIM64_INFINITY;
		refuses(LAYER_RLIMIT, "every limit as planned, soft = hard");
	}
}

static void a_lower_core_limit_is_the_callers_or_refused(void **state)
{
	(void)state;
	struct rlimit own;
	struct rlimit64 *limit = &facts.posture.limit[RLIMIT_CORE];
	assert_int_equal(getrlimit(RLIMIT_CORE, &own), 0);
	as_planned();
	*limit = (struct rlimit64){0, 0};
	if (own.rlim_max > 0)
		refuses(LAYER_RLIMIT, "every limit as planned, soft = hard");
	as_planned();
	*limit = (struct rlimit64){0, 1};
	refuses(LAYER_RLIMIT, "every limit as planned, soft = hard");
	/* For good where this is no root: no other test asks for it. */
	assert_int_equal(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}), 0);
	as_planned();
	*limit = (struct rlimit64){0, 0};
	accepts(LAYER_RLIMIT);
	assert_non_null(strstr(facts.launch.note[LAYER_RLIMIT], "RLIMIT_CORE is 0"));
	as_planned();
	accepts(LAYER_RLIMIT);
	assert_string_equal(facts.launch.note[LAYER_RLIMIT], "");
}

static void environment(const char *bytes, size_t size)
{
	as_planned();
	accepts(LAYER_ENV);
	memset(facts.posture.environment, 0, sizeof(facts.posture.environment));
	memcpy(facts.posture.environment, bytes, size);
	facts.posture.environment_size = (uint32_t)size;
}

static void another_environment_is_refused(void **state)
{
	(void)state;
#define BYTES(text) text, sizeof(text) - 1
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{BYTES("")},
		{BYTES("PATH=/bin\0")},
		{BYTES("HOME=/\0")},
		{BYTES("HOME=/\0PATH=/bin\0")},
		{BYTES("PATH=/bin\0HOME=/")}, /* its NUL is missing */
		{BYTES("PATH=/bin\0HOME=/x\0")},
		{BYTES("PATH=/bin\0HOME=x\0")},
		{BYTES("PATH=/bin\0HOME=/\0KEY=1\0")},
		{BYTES("PATH=/bin\0HOME=/\0\0")},
		{BYTES("KEY=1\0PATH=/bin\0HOME=/\0")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		environment(cases[i].bytes, cases[i].size);
		refuses(LAYER_ENV, "exactly the planned environment");
	}
	environment(BYTES("PATH=/bin\0HOME=/\0"));
	accepts(LAYER_ENV);
	plan->env.count = 0;
	refuses(LAYER_ENV, "exactly the planned environment");
	facts.posture.environment_size = 0;
	accepts(LAYER_ENV);
}

static void a_timer_that_does_not_end_the_run_is_refused(void **state)
{
	(void)state;
	static const struct itimerspec never = {0}, late = {.it_value.tv_sec = 7200},
				       over = {.it_value.tv_nsec = 1};
	as_planned();
	accepts(LAYER_DEADLINE);
	assert_int_equal(timerfd_settime(facts.launch.deadline_fd, 0, &never, NULL), 0);
	refuses(LAYER_DEADLINE, "the timer runs and ends in time");
	assert_int_equal(timerfd_settime(facts.launch.deadline_fd, 0, &late, NULL), 0);
	refuses(LAYER_DEADLINE, "the timer runs and ends in time");
	/* Set-up may take longer than the program is given: that run ends at once. */
	assert_int_equal(timerfd_settime(facts.launch.deadline_fd, 0, &over, NULL), 0);
	struct pollfd ended = {.fd = facts.launch.deadline_fd, .events = POLLIN};
	assert_int_equal(poll(&ended, 1, -1), 1);
	accepts(LAYER_DEADLINE);
	facts.launch.deadline_fd = -1;
	refuses_with(LAYER_DEADLINE, "read the timer back", EBADF);
}

static void a_pipe_that_blocks_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		as_planned();
		accepts(LAYER_OUTPUT);
		assert_int_equal(fcntl(facts.launch.output_fd[i], F_SETFL, 0), 0);
		refuses(LAYER_OUTPUT, OUTPUT);
	}
}

/* With how many filters of the program this process, as a launcher, would be content. */
static int filters_wanted(void)
{
	int wanted = -1;
	for (int count = 0; count < 100; count++) {
		struct fault fault = {0};
		facts.posture.seccomp_filters = count;
		if (layers[LAYER_SECCOMP].verify(&facts.launch, &facts.posture, &fault) < 0)
			continue;
		if (wanted >= 0)
			return -1;
		wanted = count;
	}
	return wanted;
}

/* For the rest of this process: one filter more, which allows everything. */
static int add_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	/* By prctl: Valgrind 3.19 knows no seccomp(). */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void the_kernel_counts_filters_as_the_receipt_reads_them(void **state)
{
	(void)state;
	as_planned();
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc >= 0);
	facts.launch.proc_fd = proc;
	int wanted = filters_wanted(), status;
	assert_true(wanted >= 1);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(add_filter() == 0 && filters_wanted() == wanted + 1 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A container's launcher runs under filters itself; one that is under none need not look. */
static void filters_of_the_launcher_are_counted(void **state)
{
	(void)state;
	assert_int_equal(add_filter(), 0);
	as_planned();
	put("self/status", "Seccomp:\t2\nSeccomp_filters:\t3\n");
	refuses(LAYER_SECCOMP, ONE_MORE);
	facts.posture.seccomp_filters = 4;
	accepts(LAYER_SECCOMP);
	facts.posture.seccomp_filters = 3;
	refuses(LAYER_SECCOMP, ONE_MORE);

	/* An ordinary user may be in thousands of groups, which come before. */
	static char groups[30000];
	(void)snprintf(groups, sizeof(groups), "Groups:\t%029000d\nSeccomp_filters:\t3\n", 0);
	put("self/status", groups);
	facts.posture.seccomp_filters = 4;
	accepts(LAYER_SECCOMP);

	as_planned();
	put("self/status", "Seccomp:\t2\n");
	refuses_with(LAYER_SECCOMP, READ_BACK, ENOSYS);
	put("self/status", NULL);
	refuses_with(LAYER_SECCOMP, READ_BACK, ENOENT);
}

static void notes_say_what_a_layer_is_like(void **state)
{
	(void)state;
	static const char *const landlock[] = {
		[1] = "ABI 1; lacks moves, truncate, ioctl, signals, sockets",
		[2] = "ABI 2; lacks truncate, ioctl, signals, sockets",
		[3] = "ABI 3; lacks ioctl, signals, abstract sockets",
		[4] = "ABI 4; lacks ioctl, signals, abstract sockets",
		[5] = "ABI 5; lacks signals, abstract sockets",
		[6] = "ABI 6",
		[7] = "ABI 7",
	};
	for (uint32_t abi = 1; abi < ARRAY_SIZE(landlock); abi++) {
		as_planned();
		plan->landlock_abi_min = 1;
		facts.launch.program_proof.landlock_abi = abi;
		accepts(LAYER_LANDLOCK);
		assert_string_equal(facts.launch.note[LAYER_LANDLOCK], landlock[abi]);
	}
	accepts(LAYER_USER);
	assert_string_equal(facts.launch.note[LAYER_USER], "an outside id of its own");
	plan->ids = IDS_CALLER;
	accepts(LAYER_USER);
	assert_string_equal(facts.launch.note[LAYER_USER], "outside id is the caller's");
	facts.posture.groups = 1;
	accepts(LAYER_USER);
	assert_string_equal(facts.launch.note[LAYER_USER],
			    "outside id is the caller's; groups: retained, unmapped");
	accepts(LAYER_IPC);
	assert_string_equal(facts.launch.note[LAYER_IPC], "");
	facts.launch.program_proof.keyring = 2;
	accepts(LAYER_IPC);
	assert_string_equal(facts.launch.note[LAYER_IPC], "this kernel has no keyrings");
	accepts(LAYER_MONITOR);
	assert_string_equal(facts.launch.note[LAYER_MONITOR], "polls; can miss a fast burst");
}

/* Also of a layer that the kernel would show to be in force: what else did its hook leave out? */
static void a_hook_that_did_not_run_is_refused(void **state)
{
	(void)state;
	static struct run run;
	static struct report report;
	const char what[] = "its hook ran inside";
	as_planned();
	run.launch = facts.launch;
	run.report = &report;
	for (int id = 0; id < LAYER_COUNT; id++) {
		struct fault fault = {0};
		run.launch.required = LAYER_BIT(id);
		run.launch.init_proof.layers = run.launch.program_proof.layers = ~LAYER_BIT(id);
		if (!layers[id].child && !layers[id].settle)
			continue;
		assert_int_equal(receipt_compare(&run, &fault), -1);
		assert_int_equal(fault.layer, id);
		assert_int_equal(fault.os, EBADMSG);
		assert_string_equal(fault.what, what);
		for (int by_init = 0; by_init < 2; by_init++) {
			struct fault other = {0};
			run.launch.init_proof.layers = by_init ? LAYER_BIT(id) : 0;
			run.launch.program_proof.layers = by_init ? 0 : LAYER_BIT(id);
			(void)receipt_compare(&run, &other);
			assert_string_not_equal(other.what, what);
		}
	}
}

static void every_layer_passes_as_planned(void **state)
{
	(void)state;
	as_planned();
	for (int id = 0; id < LAYER_COUNT; id++)
		accepts((enum layer_id)id);
}

/* After all the others. */
static void no_layer_went_without_a_difference(void **state)
{
	(void)state;
	assert_int_equal(refused_layers(), LAYERS_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layer_passes_as_planned),
		cmocka_unit_test(one_wrong_number_is_refused),
		cmocka_unit_test(ids_that_agree_and_are_not_the_runs_are_refused),
		cmocka_unit_test(the_other_side_of_each_bound_is_accepted),
		cmocka_unit_test(one_wrong_limit_is_refused),
		cmocka_unit_test(a_lower_core_limit_is_the_callers_or_refused),
		cmocka_unit_test(another_environment_is_refused),
		cmocka_unit_test(a_timer_that_does_not_end_the_run_is_refused),
		cmocka_unit_test(a_pipe_that_blocks_is_refused),
		cmocka_unit_test(the_kernel_counts_filters_as_the_receipt_reads_them),
		cmocka_unit_test(filters_of_the_launcher_are_counted),
		cmocka_unit_test(notes_say_what_a_layer_is_like),
		cmocka_unit_test(a_hook_that_did_not_run_is_refused),
		cmocka_unit_test(no_layer_went_without_a_difference),
	};
	return cmocka_run_group_tests(tests, receipt_setup, receipt_teardown);
}
