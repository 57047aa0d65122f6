/* SPDX-License-Identifier: Apache-2.0 */
/* From options and arguments to a request of the library. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/colon.h"
#include "cli/run.h"
#include "files/files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int set_stdin(struct bj_request *req, const char *value, int *ret_fd, struct bj_error *err)
{
	if (strcmp(value, "-") == 0)
		return bj_request_stdin(req, 0, err);
	char quoted[TEXT_PATH_SIZE];
	(void)text_quote(quoted, sizeof(quoted), value);
	auto_close int fd = open(value, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "--stdin %s", quoted);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INVALID, "--stdin %s", quoted);
	if (S_ISDIR(st.st_mode))
		return fail(err, BJ_INVALID, "--stdin %s: is a directory", quoted);
	if (bj_request_stdin(req, fd, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* "--in: …", as the library says it, with the words of the command line: "--in "a:b": …". */
static int as_typed(int got, const char *option, const char *value, struct bj_error *err)
{
	size_t len = strlen(option);
	char quoted[TEXT_VALUE_SIZE];
	struct bj_error why = *err;
	if (got == 0 || strncmp(why.message, option, len) != 0 || why.message[len] != ':')
		return got;
	(void)snprintf(err->message, sizeof(err->message), "%s %s%.400s", option,
		       text_quote(quoted, sizeof(quoted), value), why.message + len);
	return got;
}

static int set_pair(struct bj_request *req, enum option_id option, const char *value,
		    struct bj_error *err)
{
	auto_free char *left = NULL;
	auto_free char *right = NULL;
	if (colon_split(options_table()[option].name, value, &left, &right, err) < 0)
		return -1;
	if (option == OPT_IN)
		return as_typed(bj_request_in(req, left, right, err), "--in", value, err);
	if (option == OPT_OUT)
		return as_typed(bj_request_out(req, left, right, err), "--out", value, err);
	char quoted[TEXT_VALUE_SIZE];
	if (!right)
		return fail(err, BJ_INVALID,
			    "--ro %s: where it is to be inside is missing: HOST:PATH",
			    text_quote(quoted, sizeof(quoted), value));
	return bj_request_ro(req, left, right, err);
}

/* A relative path could be meant on the host or below the workspace: neither is guessed. */
static int set_cwd(struct bj_request *req, const char *value, struct bj_error *err)
{
	char quoted[TEXT_PATH_SIZE];
	if (bj_request_cwd(req, value, err) == 0)
		return 0;
	while (strncmp(value, "./", 2) == 0)
		value += 2 + strspn(value + 2, "/");
	bool below = value[0] != '/' && !files_name_check(value, strlen(value));
	return fail_hint(
		err, "It is a directory inside the sandbox, named from its root: /workspace%s%s%s.",
		below ? "/" : "", below ? text_escape(quoted, sizeof(quoted), value) : "",
		below ? "" : ", for example");
}

static int check_image(const char *value, struct bj_error *err)
{
	char quoted[TEXT_VALUE_SIZE];
	if (strcmp(value, "host") == 0)
		return 0;
	(void)fail(err, BJ_INVALID, "--image %s: there is no such image",
		   text_quote(quoted, sizeof(quoted), value));
	return fail_hint(err, "`host` is the only one.");
}

static int set_option(struct bj_request *req, const struct given *given, int *ret_stdin_fd,
		      struct bj_error *err)
{
	switch (given->option) {
	case OPT_IN:
	case OPT_OUT:
	case OPT_RO:
		return set_pair(req, given->option, given->value, err);
	case OPT_ENV:
		return bj_request_env(req, given->value, err);
	case OPT_CWD:
		return set_cwd(req, given->value, err);
	case OPT_STDIN:
		return set_stdin(req, given->value, ret_stdin_fd, err);
	case OPT_IMAGE:
		return check_image(given->value, err);
	case OPT_HELP:
	case OPT_CODE:
	case OPT_LANG:
	case OPT_PROFILE:
	case OPT_POLICY:
	case OPT_JSON:
	case OPT_SCHEMA:
	case OPT_QUIET:
	case OPT_RECEIPT:
	case OPT_DEEP:
	case OPT_FIELD:
	case OPTION_COUNT:
	default:
		break;
	}
	if (given->option < OPT_FIELD)
		return 0;
	return bj_request_set(req, policy_fields[given->option - OPT_FIELD].name, given->value,
			      err);
}

/* What is to run: code, here or on standard input, a program after "--", or a file. */
int request_program(const struct invocation *invocation, const struct code *read,
		    struct bj_request *req, struct bj_error *err)
{
	const char *code = option_value(invocation, OPT_CODE);
	const char *lang = option_value(invocation, OPT_LANG);
	const char *const *args = invocation->args;
	if (code && !lang) {
		(void)fail(err, BJ_INVALID, "-c needs --lang, the language of the code");
		return fail_hint(err, "For example: belljar run -c 'print(6 * 7)' --lang python");
	}
	if (code)
		return bj_request_code(req, lang, code, strlen(code), args, err);
	if (invocation->arg_count == 0) {
		(void)fail(err, BJ_INVALID,
			   "nothing to run: a FILE, -c CODE, - or -- PROGRAM is missing");
		return fail_hint(err, "`belljar run --help` shows the forms.");
	}
	if (read)
		return bj_request_code(req, lang, read->data, read->size, args + 1, err);
	if (!invocation->dashes)
		return bj_request_source(req, args[0], lang, args + 1, err);
	if (lang)
		return fail(err, BJ_INVALID, "--lang goes with FILE or -c, not with -- PROGRAM");
	return bj_request_program(req, args, err);
}

int request_options(const struct invocation *invocation, struct bj_request *req, int *ret_stdin_fd,
		    struct bj_error *err)
{
	const char *policy = option_value(invocation, OPT_POLICY);
	const char *profile = option_value(invocation, OPT_PROFILE);
	if (policy && bj_request_policy_file(req, policy, err) < 0)
		return -1;
	/* A profile may be defined in the file, and an option is above both. */
	if (profile && bj_request_profile(req, profile, err) < 0)
		return -1;
	for (size_t i = 0; i < invocation->given_count; i++)
		if (set_option(req, &invocation->given[i], ret_stdin_fd, err) < 0)
			return -1;
	return 0;
}
