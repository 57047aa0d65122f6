/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid 1 inside, and the process that becomes the program. Everything here runs between clone and
 * exec: no allocation, no stdio, no locks. Init never execs; after set-up it reaps, and ends when
 * the launcher does.
 *
 *   launcher              init (pid 1)                        program's process (pid 2)
 *   maps ids
 *   ── go ──────────────> layers of init, in table order
 *   v1: makes the cgroups
 *   ── go, their files ─> enters them; layers that follow the cgroups
 *                         copies inputs, forks ─────────────> says so
 *   <── born, pid ───────────────────────────────────────────
 *   seizes it             layers settle                       layers of the program
 *   ── go ──────────────────────────────────────────────────> proof, in the socket
 *                         layer `init`: non-dumpable, no caps
 *                         ── go ────────────────────────────> working directory, execve
 *   <── ready ─────────── reaps
 *   exec stop: the proof is read; receipt; detach
 *   <── status ────────── pid 2 ended: so does init, and with it everything here
 */
#include "base/io.h"
#include "files/beneath.h"
#include "files/files.h"
#include "layers/step.h"
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

CHILD_CODE static void say(int socket, enum child_message_kind kind, const struct fault *fault,
			   const struct child_proof *proof, const int *fds, size_t fd_count)
{
	struct child_message message;
	memset(&message, 0, sizeof(message));
	message.kind = kind;
	if (fault)
		message.fault = *fault;
	if (proof)
		message.proof = *proof;
	/* A launcher that is gone needs no message: our end follows. */
	(void)send_packet(socket, &message, sizeof(message), fds, fd_count);
}

CHILD_CODE __attribute__((noreturn)) static void give_up(int socket, enum child_message_kind kind,
							 const struct fault *fault)
{
	say(socket, kind, fault, NULL, NULL, 0);
	_exit(125);
}

CHILD_CODE static void wait_for_go(int socket, int *fds, size_t *fd_count)
{
	char byte = 0;
	ssize_t n = recv_packet(socket, &byte, 1, fds, fd_count, NULL);
	if (n != 1 || byte != GO_BYTE)
		_exit(125);
}

CHILD_CODE static int enter_cgroups(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (write_whole(fds[i], "0", 1) < 0 || close(fds[i]) < 0)
			return -1;
	}
	return 0;
}

/* v1: by the files that came with one of its two gos. The receipt sees whether it is there. */
CHILD_CODE static int init_go(int socket, struct fault *fault)
{
	int doors[V1_COUNT];
	size_t count = V1_COUNT;
	wait_for_go(socket, doors, &count);
	if (count == 0)
		return 0;
	return STEP(fault, LAYER_CGROUP, HOOK_CHILD, "enter the cgroups",
		    enter_cgroups(doors, count)) < 0
		       ? -1
		       : 0;
}

/* Runs the child hooks of one place, in the order of the table. */
CHILD_CODE static int put_up(struct run *run, enum layer_where where, struct fault *fault)
{
	for (int id = 0; id < LAYER_COUNT; id++) {
		const struct layer *layer = &layers[id];
		if (!layer->child || layer->where != where || id == LAYER_INIT ||
		    !(run->launch.required & LAYER_BIT(id)))
			continue;
		if (layer->child(&run->child, fault) < 0)
			return -1;
		if (!layer->settle)
			run->proof.layers |= LAYER_BIT(id);
	}
	return 0;
}

/* What was left for when the program's process is there, see struct layer. */
CHILD_CODE static int settle(struct run *run, struct fault *fault)
{
	for (int id = 0; id < LAYER_COUNT; id++) {
		const struct layer *layer = &layers[id];
		if (!layer->settle || !(run->launch.required & LAYER_BIT(id)))
			continue;
		if (layer->settle(&run->child, fault) < 0)
			return -1;
		run->proof.layers |= LAYER_BIT(id);
	}
	return 0;
}

CHILD_CODE static int copy_inputs(const struct run *run, struct fault *fault)
{
	const struct plan *plan = run->launch.plan;
	const struct plan_copy *copies = plan_at(plan, plan->copies);
	if (plan->copies.count == 0)
		return 0;
	int workspace = (int)STEP(fault, LAYER_MOUNT, HOOK_CHILD, "open the workspace",
				  open("/workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (workspace < 0)
		return -1;
	for (uint32_t i = 0; i < plan->copies.count; i++) {
		if (files_copy_in(workspace, plan_string(plan, copies[i].name), copies[i].mode,
				  run->child.inputs[copies[i].fd], fault) < 0) {
			fault->input = (uint16_t)(copies[i].fd + 1);
			return -1;
		}
	}
	return close(workspace);
}

/* Not by a link of proc that jumps: whatever has a directory of the host open, it is none of these.
 */
CHILD_CODE static int change_directory(const char *path)
{
	int fd = open_beneath(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
			      RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || fchdir(fd) < 0)
		return -1;
	return close(fd);
}

/* The caller named it, and only here is it seen whether the tree has it: like a missing program. */
CHILD_CODE static int enter_cwd(const struct run *run, struct fault *fault)
{
	if (STEP(fault, LAYER_MOUNT, HOOK_CHILD, "enter the working directory",
		 change_directory(plan_string(run->launch.plan, run->launch.plan->cwd))) == 0)
		return 0;
	fault->code = BJ_EXEC;
	return -1;
}

/* An interpreter that a #! line names and nobody has: ENOENT for a file that is there. */
CHILD_CODE __attribute__((noreturn)) static void exec_failed(const char *path, int os)
{
	static const struct step not_found = {LAYER_COUNT, HOOK_NONE, "find the program"};
	static const struct step bad = {LAYER_COUNT, HOOK_NONE, "start the program"};
	static const struct step interpreter = {LAYER_COUNT, HOOK_NONE,
						"find the interpreter of the program"};
	struct fault fault = {0};
	bool there = os == ENOENT && faccessat(AT_FDCWD, path, F_OK, 0) == 0;
	(void)step_failed(&fault, there ? &interpreter : os == ENOENT ? &not_found : &bad, os);
	fault.code = BJ_EXEC;
	give_up(PROGRAM_CONTROL_FD, MESSAGE_EXEC, &fault);
}

/* Tries the planned paths in order; like a shell, the first that is there but cannot run counts. */
CHILD_CODE __attribute__((noreturn)) static void exec_program(struct run *run)
{
	const char *which = "";
	int os = ENOENT;
	for (size_t i = 0; run->child.execs[i]; i++) {
		(void)execve(run->child.execs[i], run->child.argv, run->child.env);
		if ((errno == ENOENT || errno == ENOTDIR) &&
		    faccessat(AT_FDCWD, run->child.execs[i], F_OK, 0) < 0)
			continue;
		which = run->child.execs[i];
		os = errno;
		if (os != EACCES)
			break;
	}
	exec_failed(which, os);
}

/* The program's pipes, and above them its socket to the launcher, which ends with the exec. */
CHILD_CODE static int place_descriptors(const struct child *child, struct fault *fault)
{
	for (int i = 0; i < 3; i++) {
		if (STEP(fault, LAYER_FDS, HOOK_CHILD, "place a pipe",
			 dup3(child->stdio[i], i, 0)) < 0)
			return -1;
	}
	if (child->control != PROGRAM_CONTROL_FD &&
	    STEP(fault, LAYER_FDS, HOOK_CHILD, "place the control socket",
		 dup3(child->control, PROGRAM_CONTROL_FD, O_CLOEXEC)) < 0)
		return -1;
	return 0;
}

CHILD_CODE __attribute__((noreturn)) static void program_main(struct run *run)
{
	struct fault fault = {0};
	int socket = run->program_socket_end;
	(void)close(run->program_socket);
	say(socket, MESSAGE_BORN, NULL, NULL, NULL, 0);
	/*
	 * Where memory of the whole host runs out, the program goes before anything else of it.
	 * Only in the run's own tree: without it there is no proc here.
	 */
	if (run_has(run, LAYER_MOUNT) &&
	    STEP(&fault, LAYER_MOUNT, HOOK_CHILD, "set oom_score_adj",
		 write_at(AT_FDCWD, "/proc/self/oom_score_adj", run->oom_adjust)) < 0)
		give_up(socket, MESSAGE_FAULT, &fault);
	if (place_descriptors(&run->child, &fault) < 0 || put_up(run, IN_PROGRAM, &fault) < 0)
		give_up(socket, MESSAGE_FAULT, &fault);
	say(PROGRAM_CONTROL_FD, MESSAGE_PROOF, NULL, &run->proof, NULL, 0);
	/* The launcher's, which has seized this process, and that of init, which has settled. */
	wait_for_go(PROGRAM_CONTROL_FD, NULL, NULL);
	wait_for_go(PROGRAM_CONTROL_FD, NULL, NULL);
	/* By the program's own rights, and when nothing of the launcher's is open any more. */
	if (run_has(run, LAYER_MOUNT) && enter_cwd(run, &fault) < 0)
		give_up(PROGRAM_CONTROL_FD, fault.code == BJ_EXEC ? MESSAGE_EXEC : MESSAGE_FAULT,
			&fault);
	exec_program(run);
}

CHILD_CODE static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

/*
 * Reaps whatever ends. When that was the program's first process, says so and ends: the kernel
 * kills every other process of a pid namespace before it lets its first one go.
 */
CHILD_CODE static void reap(const struct run *run, pid_t program)
{
	for (;;) {
		struct child_message message;
		struct rusage usage;
		int status;
		pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &usage);
		if (pid <= 0)
			return;
		if (pid != program)
			continue;
		memset(&message, 0, sizeof(message));
		message.kind = MESSAGE_STATUS;
		message.status = status;
		message.cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
		message.memory_peak = (uint64_t)usage.ru_maxrss * 1024;
		(void)send_packet(run->init_socket_end, &message, sizeof(message), NULL, 0);
		_exit(0);
	}
}

/* Until the launcher's end of the socket is closed: then everything here ends with pid 1. */
CHILD_CODE __attribute__((noreturn)) static void watch(const struct run *run, int signals,
						       pid_t program)
{
	struct pollfd polled[] = {{.fd = signals, .events = POLLIN},
				  {.fd = run->init_socket_end, .events = POLLIN}};
	for (;;) {
		struct signalfd_siginfo info;
		reap(run, program);
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			_exit(125);
		if (polled[1].revents)
			_exit(0);
		if (polled[0].revents)
			(void)!read(signals, &info, sizeof(info));
	}
}

CHILD_CODE static int open_private(const struct run *run, int fds[READY_COUNT])
{
	static const char *const paths[READY_COUNT] = {
		[READY_WORKSPACE] = "/workspace",
		[READY_TMP] = "/tmp",
		[READY_SHM] = "/dev/shm",
		[READY_PROC] = "/proc",
	};
	for (int i = 0; i < READY_COUNT; i++) {
		const char *path = run_has(run, LAYER_MOUNT) ? paths[i] : "/";
		fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fds[i] < 0)
			return -1;
	}
	return 0;
}

/* Only what init needs from here on; the launcher's own descriptors are not for its eyes. */
CHILD_CODE int keep_only(const int *keep, size_t count)
{
	for (int from = 0;;) {
		int next = -1; /* the lowest kept one that is not behind us */
		for (size_t i = 0; i < count; i++) {
			if (keep[i] >= from && (next < 0 || keep[i] < next))
				next = keep[i];
		}
		if (next < 0)
			return (int)syscall(SYS_close_range, from, ~0U, 0);
		if (next > from && syscall(SYS_close_range, from, next - 1, 0) < 0)
			return -1;
		from = next + 1;
	}
}

/* One that has ended left its reason with the launcher, which looks for it. */
CHILD_CODE static int let_program_go(int socket)
{
	const char go = GO_BYTE;
	return send_packet(socket, &go, 1, NULL, 0) < 0 && errno != EPIPE && errno != ECONNRESET
		       ? -1
		       : 0;
}

/*
 * Both go on at init's word, the program's process at once and not by way of the launcher: whatever
 * may fail in init comes before it.
 */
CHILD_CODE static int get_ready(struct run *run, int signals, const int fds[READY_COUNT],
				struct fault *fault)
{
	int socket = run->init_socket_end, program = run->program_socket;
	int keep[3 + READY_COUNT] = {signals, socket, program};
	memcpy(keep + 3, fds, READY_COUNT * sizeof(*fds));
	if (run_has(run, LAYER_INIT) && layers[LAYER_INIT].child(&run->child, fault) < 0)
		return -1;
	run->proof.layers |= run->launch.required & LAYER_BIT(LAYER_INIT);
	if (STEP(fault, LAYER_INIT, HOOK_CHILD, "close what init does not need",
		 keep_only(keep, sizeof(keep) / sizeof(keep[0]))) < 0 ||
	    STEP(fault, LAYER_INIT, HOOK_CHILD, "let the program's process go on",
		 let_program_go(program)) < 0)
		return -1;
	say(socket, MESSAGE_READY, NULL, &run->proof, fds, READY_COUNT);
	for (int i = 0; i < READY_COUNT; i++)
		(void)close(fds[i]);
	(void)close(program);
	return 0;
}

void CHILD_CODE init_main(struct run *run)
{
	struct fault fault = {0};
	int fds[READY_COUNT];
	sigset_t chld;
	int socket = run->init_socket_end;

	/* The launcher may die at any moment: its signal, then the end of its socket. */
	long tied = STEP(&fault, LAYER_INIT, HOOK_CHILD, "die with the launcher",
			 prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
	(void)close(run->init_socket);
	(void)close(run->control);
	(void)munmap(run->report, sizeof(*run->report));
	/* The program can read in /proc/1/status which signals its caller ignored. Now there is
	 * time. */
	long known =
		STEP(&fault, LAYER_INIT, HOOK_CHILD, "reset signals of init", default_actions());
	/* What failed is told after the go: the launcher listens only then. */
	if (init_go(socket, &fault) < 0 || tied < 0 || known < 0 ||
	    put_up(run, IN_INIT, &fault) < 0 || init_go(socket, &fault) < 0 ||
	    put_up(run, IN_INIT_JOINED, &fault) < 0 || copy_inputs(run, &fault) < 0)
		give_up(socket, MESSAGE_FAULT, &fault);
	/* A change of ids cleared the death signal. */
	if (STEP(&fault, LAYER_INIT, HOOK_CHILD, "die with the launcher, again",
		 prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) < 0 ||
	    STEP(&fault, LAYER_MOUNT, HOOK_CHILD, "open the private mounts",
		 open_private(run, fds)) < 0)
		give_up(socket, MESSAGE_FAULT, &fault);

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	int signals = (int)STEP(&fault, LAYER_INIT, HOOK_CHILD, "open a signalfd",
				signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK));
	pid_t program = signals < 0 ? -1
				    : (pid_t)STEP(&fault, LAYER_PID, HOOK_CHILD,
						  "fork the program's process",
						  syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	if (program < 0)
		give_up(socket, MESSAGE_FAULT, &fault);
	if (program == 0)
		program_main(run);

	if (settle(run, &fault) < 0 || get_ready(run, signals, fds, &fault) < 0)
		give_up(socket, MESSAGE_FAULT, &fault);
	watch(run, signals, program);
}
