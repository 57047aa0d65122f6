/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See launcher.h. Works in callers with many threads, closed stdio, ignored SIGCHLD and any
 * descriptors open: posix_spawn runs no code of ours in the child, one descriptor is placed, and
 * everything else goes over that socket.
 */
#include "run/launcher.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "run/launcher_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

void launcher_init(struct launcher *launcher)
{
	memset(launcher, 0, sizeof(*launcher));
	launcher->workspace = launcher->report_fd = launcher->socket = -1;
}

/* Where the caller ignores SIGCHLD, or waits for everything, it is gone already: ECHILD. */
static void reap(struct launcher *launcher)
{
	int status;
	cleanup_close(&launcher->socket);
	launcher->socket = -1;
	while (launcher->pid > 0 && waitpid(launcher->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	launcher->pid = 0;
}

void launcher_free(struct launcher *launcher)
{
	reap(launcher);
	cleanup_close(&launcher->workspace);
	cleanup_close(&launcher->report_fd);
	if (launcher->report)
		(void)munmap(launcher->report, launcher->report_size);
	launcher_init(launcher);
}

/* In memory of its own, so that facts and output outlive a launcher that is killed. */
int launcher_make_report(struct launcher *launcher, uint64_t keep_bytes, struct bj_error *err)
{
	size_t size = sizeof(struct report) + 2 * (size_t)keep_bytes;
	auto_close int fd = memfd_create("belljar-report", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return fail_errno(err, BJ_INTERNAL, "make the report's memory");
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return fail_errno(err, BJ_INTERNAL, "map the report's memory");
	launcher->report = memory;
	launcher->report_size = size;
	launcher->report->magic = REPORT_MAGIC;
	launcher->report->size = sizeof(struct report);
	launcher->report->keep_bytes = keep_bytes;
	launcher->report_fd = TAKE_FD(fd);
	return 0;
}

/*
 * An empty environment, no arguments, no blocked signals. Ones that the caller ignores are the
 * launcher's and the program's own to reset: posix_spawn would need a call for each of 64.
 */
static int spawn(int socket, pid_t *ret_pid, struct bj_error *err)
{
	static char *const argv[] = {(char *)(uintptr_t) "belljar-launch", NULL};
	static char *const env[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	(void)sigemptyset(&none);
	int os = posix_spawn_file_actions_init(&actions);
	if (os)
		return errno = os, fail_errno(err, BJ_INTERNAL, "start the launcher");
	os = posix_spawnattr_init(&attributes);
	if (!os)
		os = posix_spawn_file_actions_adddup2(&actions, socket, 0);
	if (!os)
		os = posix_spawnattr_setsigmask(&attributes, &none);
	if (!os)
		os = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (!os)
		os = posix_spawn(ret_pid, launcher_path(), &actions, &attributes, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	if (!os)
		return 0;
	errno = os;
	(void)fail_errno(err, BJ_INTERNAL, "start %s", launcher_path());
	/* Of processes, descriptors or memory there may be too few: what fits that is said
	 * elsewhere. */
	if (os == EAGAIN || os == ENOMEM || os == EMFILE || os == ENFILE)
		return -1;
	return fail_hint(err, "Is Belljar installed completely? `make install` puts it there.");
}

int launcher_start(struct launcher *launcher, struct bj_error *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno(err, BJ_INTERNAL, "make a socket for the launcher");
	auto_close int other = pair[1];
	launcher->socket = pair[0];
	return spawn(other, &launcher->pid, err);
}

/* Read ends of the program's output, or -1. */
struct streams {
	int fd[2];
};

static void streams_close(struct streams *streams)
{
	cleanup_close(&streams->fd[0]);
	cleanup_close(&streams->fd[1]);
}

#define auto_streams __attribute__((cleanup(streams_close)))

static int make_streams(struct streams *mine, struct streams *other, struct bj_error *err)
{
	for (int i = 0; i < 2; i++) {
		int pair[2];
		if (pipe2(pair, O_CLOEXEC) < 0)
			return fail_errno(err, BJ_INTERNAL, "make a pipe for output");
		mine->fd[i] = pair[0];
		other->fd[i] = pair[1];
		/* The launcher never waits for this caller. */
		if (fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
			return fail_errno(err, BJ_INTERNAL, "make a pipe for output");
	}
	return 0;
}

/*
 * The caller's input for the launcher alone, where that can be had: somebody else who reads from
 * the same pipe or terminal may be faster, and a read that was promised data would wait. Not the
 * caller's own descriptor made non-blocking: that is shared with whoever has it.
 */
static int own_input(int fd)
{
	char path[32];
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int send_start(const struct launcher *launcher, const struct launcher_request *ask,
		      const struct streams *streams, struct bj_error *err)
{
	int fds[5 + INPUTS_MAX];
	size_t count = 0;
	fds[count++] = ask->plan_fd;
	fds[count++] = launcher->report_fd;
	if (ask->on_output) {
		fds[count++] = streams->fd[0];
		fds[count++] = streams->fd[1];
	}
	auto_close int input = own_input(ask->stdin_fd);
	if (ask->stdin_fd >= 0)
		fds[count++] = input >= 0 ? input : ask->stdin_fd;
	for (size_t i = 0; i < ask->input_count; i++)
		fds[count++] = ask->inputs[i];
	struct start_message start = {.magic = START_MAGIC,
				      .has_streams = ask->on_output != NULL,
				      .has_input = ask->stdin_fd >= 0,
				      .inputs = (uint32_t)ask->input_count};
	if (send_packet(launcher->socket, &start, sizeof(start), fds, count) < 0)
		return fail_errno(err, BJ_INTERNAL, "send the plan to the launcher");
	return 0;
}

/* The launcher sees the end of our side and ends the run; its own side stays open until it exits.
 */
static void cancel(struct launcher *launcher)
{
	launcher->cancelled = true;
	(void)shutdown(launcher->socket, SHUT_WR);
}

static void pass_on(struct launcher *launcher, struct streams *streams,
		    const struct launcher_request *ask, int stream)
{
	char data[1 << 16];
	ssize_t n = read(streams->fd[stream], data, sizeof(data));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && ask->on_output &&
	    ask->on_output(ask->user, (enum bj_stream)stream, data, (size_t)n) == 0)
		return;
	if (n > 0) /* the callback wants no more: neither do we */
		cancel(launcher);
	(void)close(streams->fd[stream]);
	streams->fd[stream] = -1;
}

/* Its one packet, with the workspace: the run is done. Or its end, without a word. */
static void hear(struct launcher *launcher)
{
	char byte;
	int fd = -1;
	size_t count = 1;
	ssize_t n = recv_packet(launcher->socket, &byte, 1, &fd, &count, NULL);
	if (n > 0 && count == 1) {
		cleanup_close(&launcher->workspace);
		launcher->workspace = fd;
	}
}

/* Until the launcher is done, or gone, and all its output is passed on. */
static void serve(struct launcher *launcher, struct streams *streams,
		  const struct launcher_request *ask)
{
	bool alive = true;
	while (alive || streams->fd[0] >= 0 || streams->fd[1] >= 0) {
		struct pollfd polled[] = {
			{.fd = alive ? launcher->socket : -1, .events = POLLIN},
			{.fd = streams->fd[0], .events = POLLIN},
			{.fd = streams->fd[1], .events = POLLIN},
			{.fd = launcher->cancelled || !alive ? -1 : ask->cancel_fd,
			 .events = POLLIN},
		};
		if (poll(polled, ARRAY_SIZE(polled), -1) < 0) {
			if (errno == EINTR)
				continue;
			/* Out of kernel memory: end the run rather than lose sight of it. */
			cancel(launcher);
			return;
		}
		for (int i = 0; i < 2; i++) {
			if (polled[1 + i].revents)
				pass_on(launcher, streams, ask, i);
		}
		if (polled[3].revents)
			cancel(launcher);
		if (polled[0].revents) {
			hear(launcher);
			alive = false;
		}
	}
}

int launcher_run(struct launcher *launcher, const struct launcher_request *ask,
		 struct bj_error *err)
{
	auto_streams struct streams mine = {{-1, -1}};
	auto_streams struct streams other = {{-1, -1}};
	if (ask->on_output && make_streams(&mine, &other, err) < 0)
		return -1;
	if (send_start(launcher, ask, &other, err) < 0)
		return -1;
	streams_close(&other);
	other = (struct streams){{-1, -1}};
	serve(launcher, &mine, ask);
	/* One that is done may take its time to go; of another the locks must be gone first. */
	if (launcher->report->phase != PHASE_DONE)
		reap(launcher);
	return 0;
}
