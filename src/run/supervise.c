/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers `deadline`, `output` and, without a cgroup, `monitor`: from the program's release to its
 * end. One poll loop that never blocks on anything the program can hold up: its pipes, init, and
 * the caller's pipes are all non-blocking, and the deadline is a timer of its own.
 */
#include "base/io.h"
#include "layers/step.h"
#include "run/launch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHUNK	   (1 << 16)
#define MONITOR_NS UINT64_C(20000000)
#define FIRST_NS   UINT64_C(1000000)
#define NS_PER_MS  UINT64_C(1000000)

enum {
	POLL_INIT,
	POLL_CONTROL,
	POLL_DEADLINE,
	POLL_OUT,		      /* 2: the program's output */
	POLL_STREAM = POLL_OUT + 2,   /* 2: the caller's pipes, while something waits for them */
	POLL_INPUT = POLL_STREAM + 2, /* the caller's standard input, while the buffer is empty */
	POLL_INPUT_PIPE,	      /* the program's, while the buffer is not */
	POLL_COUNT,
};

/* What is on its way from one descriptor to another. */
struct pending {
	size_t at, size;
	char data[CHUNK];
};
static struct pending output[2], input;

static void end_with(struct run *run, enum report_end end)
{
	if (run->report->end == END_NONE)
		run->report->end = end;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Head first, then a ring: see report.h. `inflight` marks a copy that a killed launcher leaves. */
static void keep(struct run *run, int stream, const char *data, size_t size)
{
	struct report *report = run->report;
	struct report_stream *kept = &report->stream[stream];
	uint64_t keep_bytes = run->launch.plan->keep_bytes;
	uint64_t head_max = keep_bytes / 2, ring = keep_bytes - head_max;
	report->inflight = 1;
	if (kept->bytes < head_max) {
		size_t n = head_max - kept->bytes < size ? (size_t)(head_max - kept->bytes) : size;
		memcpy(run->kept[stream] + kept->bytes, data, n);
		kept->bytes += n;
		data += n;
		size -= n;
	}
	/* Only the last `ring` bytes of a chunk can survive it. */
	if (size > ring) {
		kept->tail_bytes += size - ring;
		kept->bytes += size - ring;
		data += size - ring;
		size = (size_t)ring;
	}
	while (size > 0) {
		uint64_t at = kept->tail_bytes % ring;
		size_t n = ring - at < size ? (size_t)(ring - at) : size;
		memcpy(run->kept[stream] + head_max + at, data, n);
		kept->tail_bytes += n;
		kept->bytes += n;
		data += n;
		size -= n;
	}
	report->inflight = 0;
}

/* Hands what waits on to the caller; a caller that closed its pipe wants no more. */
static void flush(struct run *run, int stream)
{
	struct pending *out = &output[stream];
	while (out->at < out->size) {
		ssize_t n = write(run->stream[stream], out->data + out->at, out->size - out->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			close_fd(&run->stream[stream]);
			end_with(run, END_CANCEL);
			break;
		}
		out->at += (size_t)n;
	}
	out->at = out->size = 0;
}

/* Reads one chunk of the program's output. Returns false when there is none now, or at its end. */
static bool take_output(struct run *run, int stream)
{
	struct pending *out = &output[stream];
	int *fd = &run->launch.output_fd[stream];
	ssize_t n = read(*fd, out->data, sizeof(out->data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	keep(run, stream, out->data, (size_t)n);
	if (run_has(run, LAYER_OUTPUT) &&
	    run->report->stream[0].bytes + run->report->stream[1].bytes >
		    run->launch.plan->max_output_bytes)
		end_with(run, END_OUTPUT);
	if (run->stream[stream] < 0)
		return true;
	out->at = 0;
	out->size = (size_t)n;
	flush(run, stream);
	return true;
}

/* The caller's input may be a file, which poll() calls readable always; its end closes the pipe. */
static void take_input(struct run *run)
{
	ssize_t n = read(run->input, input.data, sizeof(input.data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_fd(&run->input);
		close_fd(&run->input_pipe);
		return;
	}
	input.at = 0;
	input.size = (size_t)n;
}

static void give_input(struct run *run)
{
	ssize_t n = write(run->input_pipe, input.data + input.at, input.size - input.at);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* the program closed its standard input */
		close_fd(&run->input);
		close_fd(&run->input_pipe);
		input.at = input.size = 0;
		return;
	}
	input.at += (size_t)n;
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value < least ? least : value;
}

/* The one word that init still has to say; its silence means that it is gone: false. */
static bool hear_init(struct run *run)
{
	struct child_message message;
	ssize_t n = recv_packet(run->init_socket, &message, sizeof(message), NULL, NULL, NULL);
	if (n == (ssize_t)sizeof(message) && message.kind == MESSAGE_STATUS) {
		run->report->wait_status = message.status;
		run->report->has_status = 1;
		/* Where only `monitor` counts, a short run is over before its first look. */
		if (run_has(run, LAYER_MONITOR)) {
			struct report *report = run->report;
			report->usage_by = 2;
			report->cpu_ns = at_least(report->cpu_ns, message.cpu_ns);
			report->memory_peak = at_least(report->memory_peak, message.memory_peak);
			report->tasks_peak = at_least(report->tasks_peak, 1);
		}
		end_with(run, END_STATUS);
		return true;
	}
	static const struct step gone = {LAYER_INIT, HOOK_WATCH, "init lives as long as the run"};
	if (n == (ssize_t)sizeof(message) && message.kind == MESSAGE_FAULT)
		run->report->fault = message.fault;
	else
		(void)step_failed(&run->report->fault, &gone, n < 0 ? errno : EPIPE);
	return false;
}

/*
 * When to look at the CPU time next: at full speed the rest cannot be used up before then. Returns
 * that moment; ends the run when none is left.
 */
static uint64_t check_cpu(struct run *run, uint64_t used_ns, uint64_t now)
{
	const struct plan *plan = run->launch.plan;
	uint64_t most = plan->cpu_time_ms * NS_PER_MS;
	if (!run_has(run, LAYER_DEADLINE))
		return UINT64_MAX;
	if (used_ns >= most) {
		end_with(run, END_CPU);
		return now;
	}
	uint64_t rest = (uint64_t)((double)(most - used_ns) * (double)plan->cpu_period_us /
				   (double)plan->cpu_quota_us);
	return now + (rest > NS_PER_MS ? rest : NS_PER_MS);
}

/*
 * What ends without being waited for takes its CPU time out of the sum; it was used all the same.
 * Two looks must agree on that: between the look at a parent and the one at its child, the child's
 * may pass from one to the other.
 */
static uint64_t used_so_far(uint64_t sum_ns)
{
	static uint64_t before_ns, most_ns, gone_ns;
	uint64_t higher_ns = sum_ns > before_ns ? sum_ns : before_ns;
	if (higher_ns < most_ns)
		gone_ns += most_ns - higher_ns;
	most_ns = higher_ns;
	before_ns = sum_ns;
	return gone_ns + higher_ns;
}

static uint64_t monitor(struct run *run, uint64_t now)
{
	struct report *report = run->report;
	const struct plan *plan = run->launch.plan;
	struct usage usage;
	if (monitor_poll(&run->launch, run->private_fd, &usage) < 0)
		return now + MONITOR_NS;
	usage.cpu_ns = used_so_far(usage.cpu_ns);
	report->usage_by = 2;
	if (usage.memory_bytes > report->memory_peak)
		report->memory_peak = usage.memory_bytes;
	if (usage.tasks > report->tasks_peak)
		report->tasks_peak = usage.tasks;
	if (usage.cpu_ns > report->cpu_ns)
		report->cpu_ns = usage.cpu_ns;
	if (usage.memory_bytes > plan->memory_bytes)
		end_with(run, END_MEMORY);
	if (usage.tasks > plan->pids)
		end_with(run, END_TASKS);
	(void)check_cpu(run, usage.cpu_ns, now);
	return now + MONITOR_NS;
}

static uint64_t look(struct run *run, uint64_t now)
{
	if (run_has(run, LAYER_MONITOR))
		return monitor(run, now);
	uint64_t used = run_has(run, LAYER_CGROUP) ? cgroup_cpu_ns(&run->launch) : UNKNOWN;
	return used == UNKNOWN ? now + MONITOR_NS : check_cpu(run, used, now);
}

static void set_polled(const struct run *run, struct pollfd polled[POLL_COUNT])
{
	bool input_waits = input.at < input.size;
	for (int i = 0; i < POLL_COUNT; i++)
		polled[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	polled[POLL_INIT].fd = run->init_socket;
	polled[POLL_CONTROL].fd = run->control;
	polled[POLL_DEADLINE].fd = run->launch.deadline_fd;
	for (int i = 0; i < 2; i++) {
		bool waits = output[i].at < output[i].size;
		polled[POLL_OUT + i].fd = waits ? -1 : run->launch.output_fd[i];
		polled[POLL_STREAM + i].fd = waits ? run->stream[i] : -1;
		polled[POLL_STREAM + i].events = POLLOUT;
	}
	polled[POLL_INPUT].fd = run->input_pipe >= 0 && !input_waits ? run->input : -1;
	polled[POLL_INPUT_PIPE].fd = run->input_pipe;
	polled[POLL_INPUT_PIPE].events = input_waits ? POLLOUT : 0;
}

static void serve(struct run *run, const struct pollfd polled[POLL_COUNT])
{
	/* An end that came by itself counts before one that Belljar would bring about. */
	bool silent = polled[POLL_INIT].revents && !hear_init(run);
	if (polled[POLL_DEADLINE].revents)
		end_with(run, END_TIME);
	if (polled[POLL_CONTROL].revents)
		end_with(run, END_CANCEL);
	/* Last: at the deadline, and when the caller ends it, init may be gone by the guard. */
	if (silent)
		end_with(run, END_FAULT);
	for (int i = 0; i < 2; i++) {
		if (polled[POLL_STREAM + i].revents)
			flush(run, i);
		if (polled[POLL_OUT + i].revents)
			(void)take_output(run, i);
	}
	if (polled[POLL_INPUT].revents)
		take_input(run);
	if (polled[POLL_INPUT_PIPE].revents && input.at < input.size)
		give_input(run);
	else if (polled[POLL_INPUT_PIPE].revents & (POLLERR | POLLHUP)) {
		close_fd(&run->input);
		close_fd(&run->input_pipe);
	}
}

void supervise(struct run *run)
{
	/*
	 * Nothing can be used up sooner than this; the first look is then. One of `monitor` right
	 * away would only take the CPU from a program that has just been let go.
	 */
	uint64_t next =
		run_has(run, LAYER_MONITOR) ? clock_ns() + FIRST_NS : check_cpu(run, 0, clock_ns());
	while (run->report->end == END_NONE) {
		struct pollfd polled[POLL_COUNT];
		uint64_t now = clock_ns();
		if (now >= next) {
			next = look(run, now);
			continue;
		}
		uint64_t ms = (next - now) / NS_PER_MS + 1;
		set_polled(run, polled);
		if (poll(polled, POLL_COUNT, ms > 3600000 ? 3600000 : (int)ms) < 0 &&
		    errno != EINTR) {
			static const struct step step = {LAYER_DEADLINE, HOOK_WATCH, "poll"};
			(void)step_failed(&run->report->fault, &step, errno);
			end_with(run, END_FAULT);
			return;
		}
		serve(run, polled);
	}
}

static uint64_t held_by(int pipe_fd)
{
	int held = 0;
	return pipe_fd >= 0 && ioctl(pipe_fd, FIONREAD, &held) == 0 ? (uint64_t)held : 0;
}

/*
 * After the kill nobody writes any more: what the pipes hold is read to its end, however slowly the
 * caller takes it, unless the caller has gone. Where something outlived the kill, it may write as
 * fast as this reads, so that there is no end: nothing is read that was not there at its beginning.
 */
void supervise_drain(struct run *run)
{
	enum report_end end = run->report->end;
	for (int i = 0; i < 2; i++) {
		const uint64_t *bytes = &run->report->stream[i].bytes;
		uint64_t last = *bytes + held_by(run->launch.output_fd[i]);
		while (run->launch.output_fd[i] >= 0 || output[i].at < output[i].size) {
			struct pollfd polled[] = {{.fd = run->stream[i], .events = POLLOUT},
						  {.fd = run->control, .events = 0}};
			if (output[i].at < output[i].size) {
				if (poll(polled, 2, -1) < 0 && errno != EINTR)
					break;
				if (polled[1].revents & (POLLHUP | POLLERR))
					close_fd(&run->stream[i]);
				flush(run, i);
			} else if (*bytes >= last || !take_output(run, i)) {
				close_fd(&run->launch.output_fd[i]);
			}
		}
	}
	/* What was found in the pipes does not change why the run ended. */
	run->report->end = end;
}
