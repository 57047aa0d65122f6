/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `belljar run`. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/cli.h"

/* Passing the program's output through: pass.c. */
struct pass {
	struct {
		int fd;	      /* of belljar itself, or a second opening of the same pipe */
		size_t chunk; /* what may be written after POLLOUT without waiting long */
	} to[2];
	int cancel_fd; /* readable when the run is to end; never read here */
	int error;     /* errno of the stream that took nothing more, or 0 */
};

void pass_init(struct pass *pass, int cancel_fd);
void pass_close(struct pass *pass);
/* A bj_output_fn; `user` is the struct pass. */
int pass_output(void *user, enum bj_stream stream, const void *data, size_t size);

/* SIGINT and SIGTERM as a descriptor: interrupt.c. */
struct interrupt {
	int fd;
};

int interrupt_init(struct interrupt *interrupt, struct bj_error *err);
/* The signal that came, or 0. */
int interrupt_signal(const struct interrupt *interrupt);
void interrupt_close(struct interrupt *interrupt);

/* The receipt as a short table on stderr: receipt.c. */
void receipt_print(const struct bj_result *res);

/* Code on standard input: code.c. */
struct code {
	char *data; /* allocated */
	size_t size;
	bool cancelled; /* the run is to end before it begins: what was read is not all */
};

/* Whether "-" stands where a FILE would. */
bool code_on_stdin(const struct invocation *invocation);
/* Reads it to its end, or until `cancel_fd` is readable. */
int code_read(const struct invocation *invocation, int cancel_fd, struct code *ret,
	      struct bj_error *err);

/* Options and what is to run become a request: request.c. `stdin_fd` must outlive it. */
int request_options(const struct invocation *invocation, struct bj_request *req, int *ret_stdin_fd,
		    struct bj_error *err);
/* `code` is what code_read() read, or NULL. */
int request_program(const struct invocation *invocation, const struct code *code,
		    struct bj_request *req, struct bj_error *err);

#endif
