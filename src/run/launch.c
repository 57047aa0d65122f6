/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, from its plan to its report. launch_run() is the order, in full; DESIGN.md says why it
 * is this one. Each step either works or ends the run with a fault that names it, and whatever
 * happened, end_run() (end.c) leaves nothing behind.
 */
#include "run/launch.h"

#include "base/io.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_hooks(struct run *run, enum hook_id hook, struct fault *fault)
{
	for (int id = 0; id < LAYER_COUNT; id++) {
		const struct layer *layer = &layers[id];
		if (!(run->launch.required & LAYER_BIT(id)))
			continue;
		if (hook == HOOK_PREPARE && layer->prepare &&
		    layer->prepare(&run->launch, fault) < 0)
			return -1;
		if (hook == HOOK_PARENT && layer->parent && layer->parent(&run->launch, fault) < 0)
			return -1;
		if (hook == HOOK_JOIN && layer->join && layer->join(&run->launch, fault) < 0)
			return -1;
		if (hook == HOOK_STOPPED && layer->stopped &&
		    layer->stopped(&run->launch, fault) < 0)
			return -1;
	}
	return 0;
}

static uint64_t clone_flags(uint32_t required)
{
	uint64_t flags = CLONE_PIDFD;
	for (int id = 0; id < LAYER_COUNT; id++) {
		if (required & LAYER_BIT(id))
			flags |= layers[id].clone;
	}
	return flags;
}

/* Which layer a refusal of clone3 is about: it is mostly user namespaces that hosts refuse. */
static int clone_init(struct run *run, struct fault *fault)
{
	struct launch *launch = &run->launch;
	int pidfd = -1, cgroup = cgroup_clone_fd(launch);
	struct clone_args args = {.flags = clone_flags(launch->required),
				  .pidfd = (uint64_t)(uintptr_t)&pidfd,
				  .exit_signal = SIGCHLD};
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	long pid = STEP(fault, LAYER_USER, HOOK_PARENT, "clone with new namespaces",
			syscall(SYS_clone3, &args, sizeof(args)));
	if (pid < 0)
		return -1;
	if (pid == 0)
		init_main(run);
	launch->init = (pid_t)pid;
	launch->init_pidfd = pidfd;
	/* From here on its end is the only copy, so that its death is the end of the socket. */
	(void)close(run->init_socket_end);
	(void)close(run->program_socket_end);
	run->init_socket_end = run->program_socket_end = -1;
	for (int i = 0; i < 3; i++) {
		(void)close(run->child.stdio[i]);
		run->child.stdio[i] = -1;
	}
	/* The deadline's one means of killing: seen to work before it is needed. */
	if (STEP(fault, LAYER_DEADLINE, HOOK_PARENT, "signal init by its pidfd",
		 syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0)) < 0)
		return -1;
	char name[16];
	(void)snprintf(name, sizeof(name), "%d", launch->init);
	launch->init_dir =
		(int)STEP(fault, LAYER_USER, HOOK_PARENT, "open /proc of init",
			  openat(launch->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
	return launch->init_dir < 0 ? -1 : 0;
}

static int broken(struct fault *fault, enum layer_id layer, const char *what, int os)
{
	struct step step = {(uint8_t)layer, HOOK_PARENT, what};
	return step_failed(fault, &step, os);
}

/* Set-up was cancelled, or takes longer than Belljar allows itself. */
static int wait_readable(struct run *run, int fd, struct fault *fault)
{
	for (;;) {
		struct pollfd polled[] = {{.fd = fd, .events = POLLIN},
					  {.fd = run->control, .events = POLLIN}};
		uint64_t now = clock_ns();
		if (now >= run->setup_until_ns)
			return broken(fault, LAYER_COUNT, "set up in time", ETIMEDOUT);
		uint64_t ms = (run->setup_until_ns - now) / 1000000 + 1;
		int n = poll(polled, 2, ms < INT_MAX ? (int)ms : INT_MAX);
		if (n < 0 && errno != EINTR)
			return broken(fault, LAYER_COUNT, "wait for init", errno);
		if (n > 0 && polled[1].revents) {
			run->report->end = END_CANCEL;
			return broken(fault, LAYER_COUNT, "the caller is there", ECANCELED);
		}
		if (n > 0 && polled[0].revents)
			return 0;
	}
}

/* The next message of a child, which must be of this kind; a fault it reports becomes ours. */
static int expect(struct run *run, int socket, enum child_message_kind kind,
		  struct child_message *message, int *fds, size_t *fd_count, pid_t *pid,
		  struct fault *fault)
{
	if (wait_readable(run, socket, fault) < 0)
		return -1;
	ssize_t n = recv_packet(socket, message, sizeof(*message), fds, fd_count, pid);
	/* It ended with our go unread, which is told first; what it said before comes next. */
	if (n < 0 && errno == ECONNRESET)
		n = recv_packet(socket, message, sizeof(*message), fds, fd_count, pid);
	if (n == (ssize_t)sizeof(*message) && message->kind == (uint32_t)kind)
		return 0;
	if (n == (ssize_t)sizeof(*message) &&
	    (message->kind == MESSAGE_FAULT || message->kind == MESSAGE_EXEC)) {
		message->fault.what[sizeof(message->fault.what) - 1] = '\0';
		*fault = message->fault;
		if (message->kind == MESSAGE_EXEC)
			run->report->end = END_EXEC;
		return -1;
	}
	/* No process of the program's, or no more: init knows why, or is what failed. */
	if (n == 0 && socket != run->init_socket)
		return expect(run, run->init_socket, MESSAGE_NONE, message, NULL, NULL, NULL,
			      fault);
	return broken(fault, LAYER_INIT, "init answers", n < 0 ? errno : EPIPE);
}

static int expect_program(struct run *run, enum child_message_kind kind,
			  struct child_message *message, pid_t *pid, struct fault *fault)
{
	return expect(run, run->program_socket, kind, message, NULL, NULL, pid, fault);
}

/*
 * Why the program's process, which has ended, failed: by its own last word, behind its proof for
 * one, or by that of init, with which it ended. False: there is none, and `fault` stays as it is.
 */
static bool last_word(struct run *run, struct fault *fault)
{
	struct child_message message;
	struct fault said;
	do {
		said = (struct fault){0};
		memset(&message, 0, sizeof(message));
		(void)expect_program(run, MESSAGE_NONE, &message, NULL, &said);
	} while (message.kind == MESSAGE_BORN || message.kind == MESSAGE_PROOF);
	if (message.kind != MESSAGE_FAULT && message.kind != MESSAGE_EXEC)
		return false;
	*fault = said;
	return true;
}

/* Lets a child go on; one that is gone has left its reason in the socket. */
static int let_go(struct run *run, int socket, const int *fds, size_t fd_count, struct fault *fault)
{
	static const struct step step __attribute__((section("bj_steps"), used)) = {
		LAYER_INIT, HOOK_PARENT, "let init go on"};
	struct child_message message;
	char go = GO_BYTE;
	int os = step_fault(&step);
	if (os)
		return step_failed(fault, &step, os);
	if (send_packet(socket, &go, 1, fds, fd_count) == 0)
		return 0;
	if (socket == run->init_socket)
		(void)expect(run, socket, MESSAGE_NONE, &message, NULL, NULL, NULL, fault);
	else if (!last_word(run, fault))
		(void)broken(fault, LAYER_INIT, "let the program's process go on", EPIPE);
	return -1;
}

static int wait_ready(struct run *run, struct fault *fault)
{
	struct child_message message;
	size_t count = READY_COUNT;
	if (expect(run, run->init_socket, MESSAGE_READY, &message, run->private_fd, &count, NULL,
		   fault) < 0)
		return -1;
	if (count != READY_COUNT)
		return broken(fault, LAYER_MOUNT, "receive the private mounts", EPROTO);
	run->launch.init_proof = message.proof;
	if (run->launch.plan->cgroup == CGROUP_NONE)
		run->launch.inside_proc = run->private_fd[READY_PROC];
	return 0;
}

static int wait_proof(struct run *run, struct fault *fault)
{
	struct child_message message;
	if (expect_program(run, MESSAGE_PROOF, &message, NULL, fault) < 0)
		return -1;
	run->launch.program_proof = message.proof;
	return 0;
}

/*
 * As soon as it is there, while init and its layers have work: from now on it cannot exec without
 * stopping before its first instruction.
 */
static int seize(struct run *run, struct fault *fault)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	struct child_message message;
	char name[48];
	if (expect_program(run, MESSAGE_BORN, &message, &run->launch.program, fault) < 0)
		return -1;
	if (run->launch.program <= 1)
		return broken(fault, LAYER_PID, "learn the program's pid", ESRCH);
	/*
	 * It sets this itself. Written once more by whoever has CAP_SYS_RESOURCE on the host, it is
	 * also the least that the program may set; nobody else can bring that about.
	 */
	(void)snprintf(name, sizeof(name), "%d/oom_score_adj", run->launch.program);
	(void)write_at(run->launch.proc_fd, name, run->oom_adjust);
	if (STEP(fault, LAYER_INIT, HOOK_PARENT, "seize the program's process",
		 ptrace(PTRACE_SEIZE, run->launch.program, NULL, options)) == 0)
		return 0;
	/*
	 * One of its layers may have failed already: then that is why it could not be seized. It
	 * ends with init now, so that there is a last word to wait for.
	 */
	(void)syscall(SYS_pidfd_send_signal, run->launch.init_pidfd, SIGKILL, NULL, 0);
	(void)last_word(run, fault);
	return -1;
}

/* Handles one stop of the program's process. 1: it is at its exec stop; 0: go on waiting. */
static int one_stop(struct run *run, int status, struct fault *fault)
{
	pid_t pid = run->launch.program;
	if (!WIFSTOPPED(status)) /* it ended: its message, read next, says why */
		return 0;
	if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8)))
		return 1;
	/* A signal on its way: deliver it, as if nobody watched. */
	int signal = status >> 16 ? 0 : WSTOPSIG(status);
	return ptrace(PTRACE_CONT, pid, NULL, signal) < 0
		       ? broken(fault, LAYER_INIT, "continue the program's process", errno)
		       : 0;
}

/* A header that the kernel took, and segments that it then could not map. */
static int bad_image(struct run *run, struct fault *fault)
{
	struct step step = {LAYER_COUNT, HOOK_NONE, "start the program"};
	(void)step_failed(fault, &step, ENOEXEC);
	fault->code = BJ_EXEC;
	run->report->end = END_EXEC;
	return -1;
}

static int wait_exec_stop(struct run *run, struct fault *fault)
{
	struct signalfd_siginfo info;
	for (;;) {
		int status, got = 0;
		pid_t pid = waitpid(run->launch.program, &status, WNOHANG | __WALL);
		if (pid < 0)
			return broken(fault, LAYER_INIT, "wait for the exec stop", errno);
		if (pid > 0)
			got = one_stop(run, status, fault);
		if (got)
			return got < 0 ? -1 : 0;
		/* The kernel's answer once the old memory is gone, when execve can fail no more. */
		if (pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
			return bad_image(run, fault);
		if (pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status))) {
			if (!last_word(run, fault))
				(void)broken(fault, LAYER_INIT, "start the program", EPROTO);
			return -1;
		}
		if (pid == 0 && wait_readable(run, run->signals, fault) < 0)
			return -1;
		(void)!read(run->signals, &info, sizeof(info));
	}
}

static int arm_deadline(struct run *run, struct fault *fault)
{
	if (!run_has(run, LAYER_DEADLINE))
		return 0;
	uint64_t ms = run->launch.plan->time_ms;
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(ms / 1000),
					     .tv_nsec = (long)(ms % 1000) * 1000000}};
	return STEP(fault, LAYER_DEADLINE, HOOK_PARENT, "arm the timer",
		    timerfd_settime(run->launch.deadline_fd, 0, &at, NULL)) < 0
		       ? -1
		       : 0;
}

/* Said first: a launcher that dies at this very moment must not leave "nothing ran" behind. */
static int release(struct run *run, struct fault *fault)
{
	/* Again: what the receipt took is not the program's time. */
	if (arm_deadline(run, fault) < 0)
		return -1;
	run->report->phase = PHASE_STARTED;
	run_stage(run, STAGE_GO, clock_ns());
	if (STEP(fault, LAYER_INIT, HOOK_PARENT, "let the program go",
		 ptrace(PTRACE_DETACH, run->launch.program, NULL, 0)) == 0)
		return 0;
	/* It was killed at its stop, without having run. */
	run->report->phase = PHASE_SETUP;
	run_stage(run, STAGE_GO, 0);
	return -1;
}

/*
 * Init goes on once its ids are mapped. The cgroups of v1 are made while it builds its tree, and it
 * enters them at its second go; at its first, before it changes its ids, where the launcher is root
 * of a user namespace only: such a root may move no process but those of its own id.
 */
static int start_init(struct run *run, struct fault *fault)
{
	bool first = run->launch.plan->join_first;
	for (int go = 0; go < 2; go++) {
		bool join = first == (go == 0);
		if (join && run_hooks(run, HOOK_JOIN, fault) < 0)
			return -1;
		if (let_go(run, run->init_socket, run->launch.join_fd,
			   join ? run->launch.join_count : 0, fault) < 0)
			return -1;
	}
	return 0;
}

static uint64_t bytes_to_copy(const struct run *run)
{
	const struct plan *plan = run->launch.plan;
	const struct plan_copy *copies = plan_at(plan, plan->copies);
	uint64_t bytes = 0;
	struct stat st;
	for (uint32_t i = 0; i < plan->copies.count; i++) {
		if (fstat(run->child.inputs[copies[i].fd], &st) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

/* Set-up, in order: every step from plan to the program's first instruction. */
static int set_up(struct run *run, struct fault *fault)
{
	if (run->input < 0) {
		(void)close(run->input_pipe);
		run->input_pipe = -1;
	}
	if (run_hooks(run, HOOK_PREPARE, fault) < 0)
		return -1;
	run_stage(run, STAGE_PREPARED, clock_ns());
	if (clone_init(run, fault) < 0)
		return -1;
	run_stage(run, STAGE_CLONED, clock_ns());
	if (run_hooks(run, HOOK_PARENT, fault) < 0 || start_init(run, fault) < 0)
		return -1;
	run_stage(run, STAGE_MAPPED, clock_ns());
	/*
	 * No path of the program's is looked up before init has detached the old root: until then
	 * that lies on "/", and "/.." leads into it, in a path or in what a first line names.
	 */
	if (guard_start(run, fault) < 0 || seize(run, fault) < 0 ||
	    let_go(run, run->program_socket, NULL, 0, fault) < 0 || wait_ready(run, fault) < 0)
		return -1;
	run_stage(run, STAGE_READY, clock_ns());
	if (wait_exec_stop(run, fault) < 0 || wait_proof(run, fault) < 0)
		return -1;
	run_stage(run, STAGE_EXEC, clock_ns());
	if (run_hooks(run, HOOK_STOPPED, fault) < 0 || receipt_read(run, fault) < 0 ||
	    arm_deadline(run, fault) < 0 || receipt_compare(run, fault) < 0)
		return -1;
	run_stage(run, STAGE_PROVEN, clock_ns());
	return release(run, fault);
}

/* The guard acts on the same: what failed since then failed because of it. */
static bool caller_is_gone(const struct run *run)
{
	struct pollfd polled = {.fd = run->control, .events = POLLIN};
	return poll(&polled, 1, 0) > 0;
}

void launch_run(struct run *run)
{
	struct fault fault = run->early;
	run->report->phase = PHASE_SETUP;
	run->report->tasks_denied = UNKNOWN;
	run->setup_until_ns = run->report->stage_ns[STAGE_ENTER] + setup_ns(bytes_to_copy(run));
	if (fault.code == BJ_OK && set_up(run, &fault) == 0) {
		supervise(run);
	} else {
		run->report->fault = fault;
		if (run->report->end == END_NONE)
			run->report->end = caller_is_gone(run) ? END_CANCEL : END_FAULT;
	}
	end_run(run);
}
