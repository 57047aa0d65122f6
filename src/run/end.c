/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run, whatever it was: all of it dies, is counted and removed, and the facts taken.
 */
#include "base/io.h"
#include "run/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the dying may take before it is said that something is left. */
#define DEATH_MS 5000

/* Everything dies with init; the cgroup is killed as well, so that neither is waited on alone. */
static void kill_all(struct run *run)
{
	struct launch *launch = &run->launch;
	if (launch->required & LAYER_BIT(LAYER_CGROUP))
		cgroup_kill(launch);
	if (launch->init_pidfd < 0)
		return;
	(void)syscall(SYS_pidfd_send_signal, launch->init_pidfd, SIGKILL, NULL, 0);
	/* Now, so that the guard dies while init does. */
	guard_stop(run);
	/* A tracee that is stopped dies of the same signal; its stop must be collected here. */
	uint64_t until = clock_ns() + DEATH_MS * UINT64_C(1000000);
	while (clock_ns() < until) {
		struct pollfd polled = {.fd = launch->init_pidfd, .events = POLLIN};
		int status;
		if (launch->program > 1)
			(void)waitpid(launch->program, &status, WNOHANG | __WALL);
		if (poll(&polled, 1, 10) > 0)
			break;
	}
	int status;
	if (waitpid(launch->init, &status, WNOHANG | __WALL) == launch->init)
		launch->init = 0;
}

static void look_at_disks(struct run *run)
{
	static const uint32_t bits[] = {
		[READY_WORKSPACE] = DISK_WORKSPACE, [READY_TMP] = DISK_TMP, [READY_SHM] = DISK_SHM};
	for (int i = READY_WORKSPACE; i <= READY_SHM; i++) {
		struct statfs fs;
		if (run->private_fd[i] < 0 || fstatfs(run->private_fd[i], &fs) < 0)
			continue;
		if (fs.f_bavail * (uint64_t)fs.f_bsize < 4096 || fs.f_ffree == 0)
			run->report->disk_full |= bits[i];
	}
}

static void take_facts(struct run *run)
{
	struct report *report = run->report;
	struct cgroup_facts facts;
	if (!(run->launch.required & LAYER_BIT(LAYER_CGROUP)))
		return;
	cgroup_facts(&run->launch, &facts);
	report->oom_kills = facts.oom_kills;
	report->tasks_denied = facts.tasks_denied;
	report->memory_peak = facts.memory_peak;
	report->tasks_peak = facts.tasks_peak;
	report->cpu_ns = facts.cpu_ns;
	report->usage_by = 1;
}

/*
 * Mounts of the run live in its mount namespace and never in the host's: were propagation not cut,
 * the host's table would name our source, which is the run's id.
 */
static uint64_t mounts_left(const struct run *run)
{
	static char text[1 << 20];
	struct pollfd changed = {.fd = run->launch.mounts_fd, .events = POLLPRI};
	char ours[sizeof(run->launch.plan->run_id) + 16];
	uint64_t count = 0;
	/* Not one mount or unmount in the host's table since the run began. */
	if (poll(&changed, 1, 0) == 0)
		return 0;
	ssize_t n = read_whole(run->launch.mounts_fd, text, sizeof(text) - 1);
	if (n < 0)
		return UNKNOWN;
	(void)snprintf(ours, sizeof(ours), " - tmpfs %s ", run->launch.plan->run_id);
	for (const char *at = text; (at = strstr(at, ours)); at++)
		count++;
	return count;
}

static void count_what_is_left(struct run *run)
{
	struct report *report = run->report;
	bool cgroup = run->launch.required & LAYER_BIT(LAYER_CGROUP);
	bool made = run->launch.cgroup[CG_V2] >= 0 || run->launch.cgroup[V1_PIDS] >= 0;
	/* init collected: its pid namespace has ended, and with it every process in it. */
	report->left_processes = run->launch.init > 0 ? 1 : 0;
	report->left_cgroups = cgroup ? cgroup_remove(&run->launch) : 0;
	/* A cgroup that could be removed had no process in it. */
	if (report->left_cgroups && made)
		report->left_processes = cgroup_processes(&run->launch);
	report->left_mounts = mounts_left(run);
}

/*
 * Memory in files that no process maps counts for no process, so the OOM killer may find init the
 * largest of them. What ended the run then is its memory all the same.
 */
static void judge_silence(struct report *report)
{
	if (report->phase != PHASE_STARTED || report->end != END_FAULT ||
	    report->fault.layer != LAYER_INIT || report->oom_kills == 0)
		return;
	report->end = END_MEMORY;
	report->fault = (struct fault){0};
}

void end_run(struct run *run)
{
	struct report *report = run->report;
	run_stage(run, STAGE_END, clock_ns());
	kill_all(run);
	run_stage(run, STAGE_DEAD, clock_ns());
	supervise_drain(run);
	take_facts(run);
	judge_silence(report);
	look_at_disks(run);
	count_what_is_left(run);
	guard_reap(run);
	uint64_t from = report->stage_ns[STAGE_GO];
	report->wall_ns = from ? report->stage_ns[STAGE_END] - from : 0;
	run_stage(run, STAGE_CLEAN, clock_ns());
	report->phase = PHASE_DONE;
	/*
	 * The last word, with the ends of the caller's pipes: it is woken once, and goes on while
	 * this process is taken apart. The workspace outlives the run in this descriptor alone; the
	 * caller collects from it.
	 */
	for (int i = 0; i < 2; i++) {
		if (run->stream[i] >= 0)
			(void)close(run->stream[i]);
	}
	(void)send_packet(run->control, "w", 1, &run->private_fd[READY_WORKSPACE],
			  run->private_fd[READY_WORKSPACE] >= 0 ? 1 : 0);
}
