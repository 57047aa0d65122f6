/* SPDX-License-Identifier: Apache-2.0 */
/* Code on standard input: `belljar run --lang NAME -`. */
#include "base/cleanup.h"
#include "cli/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define STEP (64 * 1024)

/* 1 when standard input may be read, 0 when the run is to end before it began. */
static int wait_readable(int cancel_fd)
{
	struct pollfd fds[] = {{.fd = 0, .events = POLLIN}, {.fd = cancel_fd, .events = POLLIN}};
	for (;;) {
		int got = poll(fds, 2, -1);
		if (got < 0 && errno != EINTR)
			return -1;
		if (got > 0 && fds[1].revents)
			return 0;
		if (got > 0 && fds[0].revents)
			return 1;
	}
}

/* What the workspace holds, into which the code is copied. */
static int most_bytes(const struct invocation *invocation, uint64_t *ret, struct bj_error *err)
{
	struct policy policy;
	policy_init(&policy);
	int got = policy_from(invocation, &policy, err);
	if (got == 0)
		*ret = policy.number[FIELD_workspace];
	policy_free(&policy);
	return got;
}

static int grow(struct code *code, size_t *room, struct bj_error *err)
{
	if (code->size < *room)
		return 0;
	char *more = realloc(code->data, *room + *room / 2 + STEP);
	if (!more)
		return fail(err, BJ_INTERNAL, "out of memory for the code on standard input");
	code->data = more;
	*room += *room / 2 + STEP;
	return 0;
}

static int read_all(struct code *code, uint64_t most, int cancel_fd, struct bj_error *err)
{
	size_t room = 0;
	for (;;) {
		if (grow(code, &room, err) < 0)
			return -1;
		int ready = wait_readable(cancel_fd);
		if (ready == 0) {
			code->cancelled = true;
			return 0;
		}
		ssize_t n = ready < 0 ? -1 : read(0, code->data + code->size, room - code->size);
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return fail_errno(err, BJ_INVALID, "read the code from standard input");
		code->size += (size_t)n;
		if (code->size <= most)
			continue;
		(void)fail(err, BJ_INVALID,
			   "the code on standard input is longer than the %" PRIu64
			   " bytes that the workspace holds",
			   most);
		return fail_hint(err, "Give a larger --workspace, or less code.");
	}
}

bool code_on_stdin(const struct invocation *invocation)
{
	return !option_given(invocation, OPT_CODE) && !invocation->dashes &&
	       invocation->arg_count > 0 && strcmp(invocation->args[0], "-") == 0;
}

int code_read(const struct invocation *invocation, int cancel_fd, struct code *ret,
	      struct bj_error *err)
{
	const char *given = option_value(invocation, OPT_STDIN);
	uint64_t most = 0;
	if (!option_value(invocation, OPT_LANG)) {
		(void)fail(err, BJ_INVALID,
			   "- needs --lang, the language of the code on standard input");
		return fail_hint(err, "For example: belljar run --lang python - <code.py; a file "
				      "that is called - is ./-");
	}
	if (given && strcmp(given, "-") == 0) {
		(void)fail(err, BJ_INVALID,
			   "standard input holds the code (-), so it cannot be --stdin - as well");
		return fail_hint(err, "Give the program's input as --stdin FILE, or the code as a "
				      "FILE.");
	}
	return most_bytes(invocation, &most, err) < 0 ? -1 : read_all(ret, most, cancel_fd, err);
}
