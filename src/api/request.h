/* SPDX-License-Identifier: Apache-2.0 */
/* A request: what bj_request_* gathered and bj_run() turns into a plan. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "policy/policy.h"
#include "run/image.h"
#include "run/languages.h"

struct request_in {
	char *host;
	char *name;
};
struct request_out {
	char *name;
	char *host; /* NULL: the same name, in the working directory */
};

struct request_list {
	char **item;
	size_t count;
};

struct bj_request {
	struct policy policy; /* where `loaded`: of file, profile and what is asked for */
	bool loaded;
	struct policy asked; /* the options alone */
	char *policy_file;   /* NULL: the user's own */
	char *profile;

	enum { RUN_NOTHING, RUN_PROGRAM, RUN_CODE, RUN_SOURCE } what;
	struct request_list argv; /* the program's, or what follows the source */
	char *language;
	char *source; /* path on the host */
	void *code;
	size_t code_size;

	struct request_in *in;
	size_t in_count;
	struct request_out *out;
	size_t out_count;
	struct image_bind *ro;
	size_t ro_count;
	struct request_list env;
	char *cwd;
	int stdin_fd; /* borrowed, or -1 */

	bj_output_fn on_output;
	void *on_output_user;
};

#endif
