/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar run` */
#include "cli/run.h"

#include "base/cleanup.h"
#include "base/os_names.h"
#include "base/text.h"
#include "cli/say.h"
#include "run/result.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static void cleanup_request(struct bj_request **req)
{
	bj_request_free(*req);
}

static void cleanup_result(struct bj_result **res)
{
	bj_result_free(*res);
}

static void cleanup_code(struct code *code)
{
	free(code->data);
}

#define auto_request __attribute__((cleanup(cleanup_request)))
#define auto_result  __attribute__((cleanup(cleanup_result)))
#define auto_code    __attribute__((cleanup(cleanup_code)))

/* What stands before the colon: "time limit", "exit 3", "signal 11". */
static const char *word_for(const struct bj_result *res, char *text, size_t size)
{
	enum bj_outcome outcome = bj_result_outcome(res);
	if (outcome == BJ_EXITED)
		(void)snprintf(text, size, "exit %d", bj_result_exit_code(res));
	else if (outcome == BJ_SIGNALED)
		(void)snprintf(text, size, "signal %d", bj_result_signal(res));
	else
		(void)snprintf(text, size, "%s", bj_outcome_name(outcome));
	for (char *c = text; *c; c++)
		if (*c == '_')
			*c = ' ';
	return text;
}

static void say_ending(const struct bj_result *res)
{
	const char *hint = bj_result_hint(res);
	bool plain = bj_result_outcome(res) == BJ_EXITED && bj_result_exit_code(res) == 0;
	char word[32];
	if (plain && hint[0])
		say_line(NULL, hint); /* a limit was touched, or not all could be copied out */
	else if (!plain)
		say_line(word_for(res, word, sizeof(word)), hint);
}

#define RISKY_MAX 5 /* of a whole repository that comes out nobody reads more */

static void say_risky(const struct bj_result *res)
{
	char quoted[TEXT_PATH_SIZE], word[TEXT_PATH_SIZE + 32];
	size_t risky = 0;
	for (size_t i = 0; i < res->file_count; i++) {
		const struct result_file *file = &res->files[i];
		if (!file->risky || ++risky > RISKY_MAX)
			continue;
		(void)snprintf(word, sizeof(word), "risky output %s",
			       text_quote(quoted, sizeof(quoted), file->path));
		say_line(word, file->risky);
	}
	if (risky <= RISKY_MAX)
		return;
	(void)snprintf(word, sizeof(word), "risky outputs: %zu more", risky - RISKY_MAX);
	say_line(word, "--json names all");
}

/* Output that could not be passed on makes no success, even where the program had ended by then. */
static int status_of(const struct bj_result *res, const struct pass *pass, int sig)
{
	if (pass->error == EPIPE || pass->error == EBADF)
		return STATUS_SIGNAL + SIGPIPE;
	if (pass->error)
		return STATUS_REFUSED;
	if (sig && bj_result_outcome(res) == BJ_CANCELLED)
		return STATUS_SIGNAL + sig;
	return bj_result_status(res);
}

static int report(const struct invocation *invocation, const struct bj_result *res,
		  const struct pass *pass, int sig)
{
	int status = status_of(res, pass, sig);
	if (option_given(invocation, OPT_RECEIPT))
		receipt_print(res);
	if (invocation->json)
		return say_result(res, status);
	if (invocation->quiet)
		return status;
	if (pass->error && pass->error != EPIPE)
		say_line("failed to pass the output on", errno_words(pass->error));
	say_risky(res);
	say_ending(res);
	return status;
}

/* Before anything was made: the same result as of a run that was cancelled later. */
static int cancelled(const struct invocation *invocation, int sig)
{
	struct bj_error err = {0};
	auto_result struct bj_result *res = NULL;
	const struct pass pass = {0};
	if (result_from_error(NULL, &(struct result_input){.cancelled = true}, &res, &err) < 0)
		return say_refused(invocation, &err);
	return report(invocation, res, &pass, sig);
}

static int run_request(const struct invocation *invocation, struct bj_request *req,
		       const struct interrupt *interrupt)
{
	struct bj_error err = {0};
	auto_result struct bj_result *res = NULL;
	struct pass pass;
	pass_init(&pass, interrupt->fd);
	if (!invocation->json)
		bj_request_on_output(req, pass_output, &pass);
	int status;
	if (bj_run(req, interrupt->fd, &res, &err) < 0)
		status = say_refused(invocation, &err);
	else
		status = report(invocation, res, &pass, interrupt_signal(interrupt));
	pass_close(&pass);
	return status;
}

static int run_interruptibly(const struct invocation *invocation, struct bj_request *req,
			     const struct interrupt *interrupt)
{
	struct bj_error err = {0};
	auto_code struct code code = {0};
	bool on_stdin = code_on_stdin(invocation);
	if (on_stdin && code_read(invocation, interrupt->fd, &code, &err) < 0)
		return say_refused(invocation, &err);
	if (code.cancelled)
		return cancelled(invocation, interrupt_signal(interrupt));
	if (request_program(invocation, on_stdin ? &code : NULL, req, &err) < 0)
		return say_refused(invocation, &err);
	return run_request(invocation, req, interrupt);
}

int run_verb(const struct invocation *invocation)
{
	struct bj_error err = {0};
	auto_request struct bj_request *req = bj_request_new();
	auto_close int stdin_fd = -1;
	struct interrupt interrupt;
	if (!req) {
		(void)fail(&err, BJ_INTERNAL, "out of memory");
		return say_refused(invocation, &err);
	}
	/* A --stdin that is a FIFO may wait here, while a signal still ends this process. */
	if (request_options(invocation, req, &stdin_fd, &err) < 0 ||
	    interrupt_init(&interrupt, &err) < 0)
		return say_refused(invocation, &err);
	int status = run_interruptibly(invocation, req, &interrupt);
	interrupt_close(&interrupt);
	return status;
}
