/* SPDX-License-Identifier: Apache-2.0 */
/*
 * belljar-launch: builds one sandbox and watches it. Started by libbelljar (or the keeper) with an
 * empty environment, no arguments and one socket, descriptor 0. Over it comes the plan and what
 * belongs to it; its end is the end of the run. Links nothing but libc, statically, and allocates
 * only before clone.
 */
#include "base/io.h"
#include "layers/step.h"
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

/* Descriptors 0 to 3 are the program's in the end: what the launcher keeps lies above them. */
#define FIRST_FD 4

static struct run run;

/*
 * How the caller is scheduled is not meant for the program, which inherits it: no quota of a cgroup
 * holds a real-time class. What is humbler than usual stays. Nor is a personality, which exec
 * keeps.
 */
static int be_ordinary(void)
{
	static const struct sched_param none = {0};
	/* By number: musl has these functions answer ENOSYS, since they speak of a thread. */
	long class = syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
	bool humble = class == SCHED_OTHER || class == SCHED_BATCH || class == SCHED_IDLE;
	if (!humble && syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none) < 0)
		return -1;
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return -1;
	long io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	if (io >= 0 && IOPRIO_PRIO_CLASS((unsigned long)io) == IOPRIO_CLASS_RT &&
	    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0) < 0)
		return -1;
	return personality(0) < 0 ? -1 : 0;
}

/* Descriptor 0, the socket, moves above the program's four; they become /dev/null. */
static int take_socket(void)
{
	run.control = fcntl(0, F_DUPFD_CLOEXEC, FIRST_FD);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (run.control < 0 || null < 0)
		return -1;
	for (int fd = 0; fd < FIRST_FD; fd++) {
		if (fd != null && dup3(null, fd, O_CLOEXEC) < 0)
			return -1;
	}
	return null >= FIRST_FD ? close(null) : 0;
}

/* A caller's lowered soft limits are not meant for set-up; its hard ones stand. */
static int raise_limits(void)
{
	static const int raised[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS};
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++) {
		struct rlimit limit;
		if (getrlimit(raised[i], &limit) < 0)
			return -1;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(raised[i], &limit) < 0)
			return -1;
	}
	return 0;
}

/* Where the caller ignores SIGCHLD waiting would fail. The program's process resets all. */
static int known_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t all;
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return -1;
	return sigaction(SIGCHLD, &action, NULL);
}

/*
 * Before anything is received: nothing inherited but the socket, known signals and umask. What
 * fails here is told once there is a report to tell it in; nothing is built then.
 */
static int start_clean(struct fault *fault)
{
	(void)umask(077);
	if (STEP(fault, LAYER_ENV, HOOK_PREPARE, "start with an empty environment",
		 environ[0] ? (errno = E2BIG, -1) : 0) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_PREPARE, "set up signals", known_signals()) < 0 ||
	    STEP(fault, LAYER_RLIMIT, HOOK_PREPARE, "be scheduled like others", be_ordinary()) <
		    0 ||
	    STEP(fault, LAYER_FDS, HOOK_PREPARE, "close inherited descriptors",
		 syscall(SYS_close_range, 3, ~0U, 0)) < 0 ||
	    STEP(fault, LAYER_RLIMIT, HOOK_PREPARE, "raise soft limits", raise_limits()) < 0 ||
	    /* A session of its own: signals of the caller's terminal are the caller's to handle. */
	    STEP(fault, LAYER_TERMINAL, HOOK_PREPARE, "start a session",
		 setsid() < 0 && errno != EPERM ? -1 : 0) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_PREPARE, "enter the root", chdir("/")) < 0)
		return -1;
	return 0;
}

static int take_report(int fd, uint64_t keep_bytes)
{
	struct stat st;
	size_t size = sizeof(struct report) + 2 * (size_t)keep_bytes;
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)size) {
		errno = EINVAL;
		return -1;
	}
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	run.report = memory;
	run.kept[0] = (char *)memory + sizeof(struct report);
	run.kept[1] = run.kept[0] + keep_bytes;
	return 0;
}

static const struct plan *map_plan(int fd, struct fault *fault)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	/* Sealed: what is checked now is what is read later. */
	int want = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	if (seals < 0 || (seals & want) != want || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    st.st_size > PLAN_SIZE_MAX)
		return NULL;
	const void *plan = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (plan == MAP_FAILED)
		return NULL;
	return plan_check(plan, (size_t)st.st_size, fault) < 0 ? NULL : plan;
}

/* Pointers to the plan's strings, made before clone: afterwards nothing is allocated. */
static char **pointers(const struct plan *plan, struct plan_span span)
{
	const uint32_t *offsets = plan_at(plan, span);
	char **list = calloc(span.count + 1, sizeof(*list));
	for (uint32_t i = 0; list && i < span.count; i++)
		list[i] = (char *)(uintptr_t)plan_string(plan, offsets[i]);
	return list;
}

static bool inputs_ok(const struct plan *plan, uint32_t inputs)
{
	const struct plan_copy *copies = plan_at(plan, plan->copies);
	for (uint32_t i = 0; i < plan->copies.count; i++) {
		if (copies[i].fd >= inputs)
			return false;
	}
	return true;
}

/* The start packet: plan, report, streams, input, inputs. See message.h. */
static int receive(struct fault *fault)
{
	static int fds[SEND_FDS_MAX];
	struct start_message start;
	size_t count = SEND_FDS_MAX, at = 2;
	ssize_t n = recv_packet(run.control, &start, sizeof(start), fds, &count, NULL);
	if (n != (ssize_t)sizeof(start) || start.magic != START_MAGIC || start.has_streams > 1 ||
	    start.has_input > 1 || start.inputs > INPUTS_MAX ||
	    count != 2 + 2 * (size_t)start.has_streams + start.has_input + start.inputs)
		return -1;
	const struct plan *plan = map_plan(fds[0], fault);
	/* Without an acceptable plan there is no agreed size of the report: silence says enough. */
	if (!plan || take_report(fds[1], plan->keep_bytes) < 0 ||
	    run.report->magic != REPORT_MAGIC || run.report->size != sizeof(struct report) ||
	    run.report->keep_bytes != plan->keep_bytes || !inputs_ok(plan, start.inputs))
		return -1;
	run.launch.plan = plan;
	if (start.has_streams) {
		run.stream[0] = fds[at++];
		run.stream[1] = fds[at++];
	}
	if (start.has_input)
		run.input = fds[at++];
	run.child.inputs = fds + at;
	(void)close(fds[0]);
	(void)close(fds[1]);
	return 0;
}

static void set_empty(void)
{
	struct launch *launch = &run.launch;
	launch->mounts_fd = -1;
	launch->init_pidfd = launch->init_dir = launch->deadline_fd = launch->inside_proc = -1;
	launch->output_fd[0] = launch->output_fd[1] = -1;
	for (int i = 0; i < CG_COUNT; i++)
		launch->cgroup[i] = launch->cgroup_parent[i] = -1;
	run.stream[0] = run.stream[1] = run.input = run.input_pipe = -1;
	run.init_socket = run.init_socket_end = -1;
	run.program_socket = run.program_socket_end = -1;
	for (int i = 0; i < PLAN_NODES_MAX; i++)
		launch->tree[i] = -1;
	for (int i = 0; i < READY_COUNT; i++)
		run.private_fd[i] = -1;
	for (int i = 0; i < 3; i++)
		run.child.stdio[i] = -1;
	run.child.proof = &run.proof;
}

/* All but the standard ones and the socket, which lies just above them. */
static void forget_channels(void)
{
	int control = run.control;
	(void)syscall(SYS_close_range, control + 1, ~0U, 0);
	set_empty();
}

static int complete(struct fault *fault)
{
	const struct plan *plan = run.launch.plan;
	run.launch.required = plan->required & layers_required();
	for (int id = 0; id < LAYER_COUNT; id++) {
		run.report->layer[id].required = (run.launch.required & LAYER_BIT(id)) != 0;
		run.report->layer[id].missing =
			layers[id].may_be_missing && (plan->missing & LAYER_BIT(id));
	}
	run.child.plan = plan;
	run.child.argv = pointers(plan, plan->argv);
	/* The allow-list of `env`; the launcher's own environment is empty. */
	run.child.env =
		run.launch.required & LAYER_BIT(LAYER_ENV) ? pointers(plan, plan->env) : environ;
	run.child.execs = pointers(plan, plan->execs);
	return STEP(fault, LAYER_COUNT, HOOK_PREPARE, "find memory for pointers",
		    run.child.argv && run.child.env && run.child.execs ? 0 : -1);
}

int main(void)
{
	struct fault fault = {0};
	uint64_t entered = clock_ns();
	set_empty();
	/* Without a socket, a plan and a report there is nobody to tell. */
	bool clean = start_clean(&run.early) == 0;
	if (take_socket() < 0)
		return 125;
	/* While the plan is being made. What failed leaves room for what comes with that. */
	if (clean && launch_prepare(&run, &run.early) < 0)
		forget_channels();
	if (receive(&fault) < 0)
		return 125;
	run.report->stage_ns[STAGE_ENTER] = entered;
	(void)complete(&run.early);
	run.report->stage_ns[STAGE_PLANNED] = clock_ns();
	launch_run(&run);
	return 0;
}
