/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run needs whatever its plan, made by the launcher while the caller makes that: channels to
 * init, to the program's process and to its output; the timer; what the receipt compares with.
 */
#include "run/launch.h"

#include "base/io.h"
#include "layers/pid.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int socket_pair(int *ret_mine, int *ret_other)
{
	int pair[2], on = 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return -1;
	*ret_mine = pair[0];
	*ret_other = pair[1];
	return 0;
}

/* The program's three pipes: a fresh one each, so that nothing of the host is inherited. */
static int make_pipes(struct run *run)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	run->child.stdio[0] = pair[0];
	run->input_pipe = pair[1];
	if (fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (pipe2(pair, O_CLOEXEC) < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
			return -1;
		/* Fewer wake-ups under a flood; the default size where a user's quota is used up.
		 */
		(void)fcntl(pair[0], F_SETPIPE_SZ, 1 << 18);
		run->launch.output_fd[i] = pair[0];
		run->child.stdio[1 + i] = pair[1];
	}
	return 0;
}

static int make_channels(struct run *run, struct fault *fault)
{
	sigset_t chld;
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (STEP(fault, LAYER_COUNT, HOOK_PREPARE, "make a socket pair",
		 socket_pair(&run->init_socket, &run->init_socket_end)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_PREPARE, "make a socket pair",
		 socket_pair(&run->program_socket, &run->program_socket_end)) < 0 ||
	    STEP(fault, LAYER_FDS, HOOK_PREPARE, "make the pipes", make_pipes(run)) < 0)
		return -1;
	run->child.control = run->program_socket_end;
	run->child.trees = run->launch.tree;
	run->signals = (int)STEP(fault, LAYER_COUNT, HOOK_PREPARE, "open a signalfd",
				 signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK));
	run->launch.deadline_fd =
		(int)STEP(fault, LAYER_DEADLINE, HOOK_PREPARE, "make the timer",
			  timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	return run->signals < 0 || run->launch.deadline_fd < 0 ? -1 : 0;
}

/* Lowering it would need a privilege; a launcher that is itself first to go stays that. */
static void set_oom_adjust(struct run *run)
{
	char text[16];
	long mine = 0;
	if (read_at(run->launch.proc_fd, "self/oom_score_adj", text, sizeof(text)) > 0)
		mine = strtol(text, NULL, 10);
	(void)snprintf(run->oom_adjust, sizeof(run->oom_adjust), "%ld", mine > 500 ? mine : 500);
}

/* What a start packet brings with one file to copy in: what has no room is lost, and all with it.
 */
#define ROOM_MIN 5

/* What is open lies without a gap. */
static int room_for_more(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);
	int last = fd < 0 ? -1 : fcntl(0, F_DUPFD_CLOEXEC, fd + ROOM_MIN - 1);
	int os = errno == EINVAL ? EMFILE : errno; /* EINVAL: that number is above the limit */
	if (fd >= 0)
		(void)close(fd);
	if (last >= 0)
		return close(last);
	errno = os;
	return -1;
}

int launch_prepare(struct run *run, struct fault *fault)
{
	run->launch.proc_fd = (int)STEP(fault, LAYER_COUNT, HOOK_PREPARE, "open /proc",
					open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (run->launch.proc_fd < 0)
		return -1;
	if (STEP(fault, LAYER_PID, HOOK_PREPARE, "find this pid namespace in /proc",
		 pid_own_proc(run->launch.proc_fd)) < 0) {
		/* The caller's children are born in another namespace: its to mend, as in the plan.
		 */
		if (fault->os == EXDEV)
			fault->code = BJ_UNSUPPORTED;
		return -1;
	}
	set_oom_adjust(run);
	if (receipt_prepare(&run->launch, fault) < 0 || make_channels(run, fault) < 0)
		return -1;
	return STEP(fault, LAYER_FDS, HOOK_PREPARE, "have descriptors left", room_for_more());
}
