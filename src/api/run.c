/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bj_run(): resolves a request, starts a launcher, passes output on, and makes the result. Whatever
 * happens to a run becomes a result; only where there is no memory for one is there an error.
 */
#include "api/request.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "files/files.h"
#include "run/host_cgroup.h"
#include "run/launcher.h"
#include "run/plan_build.h"
#include "run/report_check.h"
#include "run/result.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define CODE_DIR    ".belljar/"
#define ENTRIES_MAX 16384

/* One run in the making: all of it is released in one place, run_free(). */
struct run_state {
	struct bj_request *req;
	struct policy ceiling;
	struct languages languages;
	const struct language *language; /* of the table, or NULL */
	const char **env;		 /* owned array: the language's, then the caller's */
	char run_id[24];
	const char **argv; /* owned array, borrowed strings, where there is a language */
	char *source_name; /* path inside, and below /workspace from CODE_DIR on */

	int inputs[INPUTS_MAX];
	struct plan_input planned[INPUTS_MAX];
	size_t input_count;

	struct plan_result plan;
	struct launcher launcher;
	struct files_list files;
	struct bj_error files_error;
	uint64_t begin_ns;
};

static void run_free(struct run_state *run)
{
	policy_free(&run->ceiling);
	languages_free(&run->languages);
	free(run->argv);
	free(run->env);
	free(run->source_name);
	for (size_t i = 0; i < run->input_count; i++)
		(void)close(run->inputs[i]);
	cleanup_close(&run->plan.fd);
	launcher_free(&run->launcher);
	files_list_free(&run->files);
}

static int make_run_id(char id[24], struct bj_error *err)
{
	uint8_t bytes[8];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return fail_errno(err, BJ_INTERNAL, "make a run id");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Built-in, the user's file and the profile come beneath what is asked for, whenever it was. */
static int load_policy(struct bj_request *req, struct bj_error *err)
{
	struct policy fresh;
	if (req->loaded)
		return 0;
	if (policy_copy(&fresh, &req->asked, err) < 0)
		return -1;
	if (policy_load(&fresh, req->policy_file, err) < 0 ||
	    (req->profile && policy_profile(&fresh, req->profile, err) < 0)) {
		policy_free(&fresh);
		return -1;
	}
	policy_free(&req->policy);
	req->policy = fresh;
	req->loaded = true;
	return 0;
}

static int check_binds(const struct run_state *run, struct bj_error *err)
{
	for (size_t i = 0; i < run->req->ro_count; i++) {
		char quoted[TEXT_PATH_SIZE];
		const char *host = run->req->ro[i].host;
		if (ceiling_allows_ro(&run->ceiling, host))
			continue;
		(void)fail(err, BJ_REFUSED,
			   "--ro %s: not beneath a directory that the ceiling allows (ro_prefixes)",
			   text_quote(quoted, sizeof(quoted), host));
		return fail_hint(err, "The operator lists them in /etc/belljar/policy.json; --in "
				      "copies a file instead.");
	}
	return 0;
}

/* Whether a directory is meant, into which things of several names go. */
static bool is_directory(const char *path)
{
	struct stat st;
	return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Of two files of one name on the host the second would take the place of the first. */
static int check_outs(const struct bj_request *req, struct bj_error *err)
{
	for (size_t i = 1; i < req->out_count; i++) {
		const struct request_out *out = &req->out[i];
		const char *where = out->host ? out->host : out->name;
		for (size_t j = 0; j < i; j++) {
			const struct request_out *other = &req->out[j];
			char name[TEXT_VALUE_SIZE], host[TEXT_VALUE_SIZE];
			if (strcmp(where, other->host ? other->host : other->name) != 0 ||
			    strcmp(out->name, other->name) == 0 || is_directory(where))
				continue;
			(void)fail(err, BJ_INVALID, "--out %s: another output is to be %s already",
				   text_quote(name, sizeof(name), out->name),
				   text_quote(host, sizeof(host), where));
			return fail_hint(err, "Give one of them another name on the host: "
					      "NAME:HOST; or a directory that is there: "
					      "NAME:HOST/.");
		}
	}
	return 0;
}

/* Whether there can be something below `name`, which is to be a file. */
static bool is_below(const char *below, const struct plan_input *name)
{
	size_t size = strlen(name->name);
	return S_ISREG(name->mode) && size && strncmp(below, name->name, size) == 0 &&
	       below[size] == '/';
}

static int check_names(const struct plan_input *one, const struct plan_input *other,
		       const char *host, struct bj_error *err)
{
	char shown[TEXT_VALUE_SIZE], its[TEXT_VALUE_SIZE], others[TEXT_VALUE_SIZE];
	bool same = strcmp(one->name, other->name) == 0;
	if (!same && !is_below(one->name, other) && !is_below(other->name, one))
		return 0;
	(void)text_quote(shown, sizeof(shown), host);
	(void)text_quote(its, sizeof(its), one->name);
	(void)text_quote(others, sizeof(others), other->name);
	if (same)
		return fail(err, BJ_INVALID, "--in %s: another input has the name %s already",
			    shown, its);
	(void)fail(err, BJ_INVALID,
		   "--in %s: %s and %s, the name of another input, cannot both be: one is a file, "
		   "the other below it",
		   shown, its, others);
	return fail_hint(err, "Give one of them another name: HOST:NAME.");
}

/* `host` is what --in named, or NULL for the source. */
static int add_input(struct run_state *run, int fd, const char *host, const char *name,
		     uint32_t mode, struct bj_error *err)
{
	if (run->input_count == INPUTS_MAX) {
		(void)close(fd);
		return fail(err, BJ_INVALID, "more than %d files to copy in", INPUTS_MAX);
	}
	struct plan_input input = {.name = name, .mode = mode, .host = host, .in = host != NULL};
	for (size_t i = 0; i < run->input_count; i++) {
		if (check_names(&input, &run->planned[i], host, err) == 0)
			continue;
		(void)close(fd);
		return -1;
	}
	run->inputs[run->input_count] = fd;
	run->planned[run->input_count] = input;
	run->input_count++;
	return 0;
}

/* Where the source is inside: /workspace/.belljar/NAME. */
static int name_source(struct run_state *run, const char *name, struct bj_error *err)
{
	size_t size = sizeof("/workspace/" CODE_DIR) + strlen(name);
	run->source_name = malloc(size);
	if (!run->source_name)
		return fail(err, BJ_INTERNAL, "out of memory");
	(void)snprintf(run->source_name, size, "/workspace/" CODE_DIR "%s", name);
	return 0;
}

static const char *below_workspace(const struct run_state *run)
{
	return run->source_name + sizeof("/workspace/") - 1;
}

static int use_language(struct run_state *run, const struct language *language,
			struct bj_error *err)
{
	run->language = language;
	return language_argv(language, run->source_name, (const char *const *)run->req->argv.item,
			     &run->argv, err);
}

static int prepare_code(struct run_state *run, struct bj_error *err)
{
	struct bj_request *req = run->req;
	const struct language *language;
	if (languages_load(&run->languages, err) < 0 ||
	    language_find(&run->languages, req->language, &language, err) < 0 ||
	    name_source(run, language->file, err) < 0)
		return -1;
	auto_close int fd = memfd_create("belljar-code", MFD_CLOEXEC);
	if (fd < 0 || write_whole(fd, req->code, req->code_size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return fail_errno(err, BJ_INTERNAL, "keep the code");
	if (add_input(run, TAKE_FD(fd), NULL, below_workspace(run), S_IFREG | 0755, err) < 0)
		return -1;
	return use_language(run, language, err);
}

static int prepare_source(struct run_state *run, struct bj_error *err)
{
	struct bj_request *req = run->req;
	struct files_caps caps = {.bytes = req->policy.number[FIELD_workspace], .entries = 1};
	struct files_input input;
	const struct language *language;
	char head[LANGUAGE_HEAD], quoted[TEXT_PATH_SIZE];
	const char *slash = strrchr(req->source, '/');
	if (files_open_host(req->source, false, &caps, &input, err) < 0)
		return -1;
	ssize_t n = pread(input.fd, head, sizeof(head), 0);
	int os = errno;
	/* Executable inside whatever it is on the host: an unknown #! line is run by the kernel. */
	if (add_input(run, input.fd, NULL, "", S_IFREG | 0755, err) < 0)
		return -1;
	if (n < 0)
		return errno = os, fail_errno(err, BJ_INVALID, "read %s",
					      text_quote(quoted, sizeof(quoted), req->source));
	if (languages_load(&run->languages, err) < 0 ||
	    (req->language ? language_find(&run->languages, req->language, &language, err)
			   : language_detect(&run->languages, req->source, head, (size_t)n,
					     &language, err)) < 0 ||
	    name_source(run, slash ? slash + 1 : req->source, err) < 0)
		return -1;
	run->planned[run->input_count - 1].name = below_workspace(run);
	run->planned[run->input_count - 1].host = req->source;
	return use_language(run, language, err);
}

static int prepare_program(struct run_state *run, struct bj_error *err)
{
	switch (run->req->what) {
	case RUN_PROGRAM:
		return 0;
	case RUN_CODE:
		return prepare_code(run, err);
	case RUN_SOURCE:
		return prepare_source(run, err);
	case RUN_NOTHING:
		break;
	}
	return fail(err, BJ_INVALID, "the request names nothing to run");
}

static int prepare_inputs(struct run_state *run, struct bj_error *err)
{
	const struct bj_request *req = run->req;
	struct files_caps caps = {.bytes = req->policy.number[FIELD_workspace],
				  .entries = (uint32_t)req->policy.number[FIELD_inodes]};
	for (size_t i = 0; i < req->in_count; i++) {
		struct files_input input;
		if (files_open_host(req->in[i].host, true, &caps, &input, err) < 0)
			return fail_from(err, "--in");
		if (add_input(run, input.fd, req->in[i].host, req->in[i].name, input.mode, err) < 0)
			return -1;
		/* So that the one that does not fit is named, and not only that something did not.
		 */
		caps.bytes -= input.bytes;
	}
	return 0;
}

/* Of one name the last counts: the caller's takes the place of the language's. */
static int prepare_env(struct run_state *run, struct bj_error *err)
{
	const struct request_list *named = &run->req->env;
	size_t count = 0;
	while (run->language && run->language->env[count])
		count++;
	run->env = calloc(count + named->count + 1, sizeof(*run->env));
	if (!run->env)
		return fail(err, BJ_INTERNAL, "out of memory");
	for (size_t i = 0; i < count; i++)
		run->env[i] = run->language->env[i];
	for (size_t i = 0; i < named->count; i++)
		run->env[count + i] = named->item[i];
	return 0;
}

/* Everything that can be refused before a process exists. */
static int prepare(struct run_state *run, struct bj_error *err)
{
	struct bj_request *req = run->req;
	if (make_run_id(run->run_id, err) < 0 || load_policy(req, err) < 0 ||
	    ceiling_load(&run->ceiling, err) < 0 ||
	    ceiling_check(&req->policy, &run->ceiling, err) < 0 || check_binds(run, err) < 0 ||
	    check_outs(req, err) < 0 || prepare_program(run, err) < 0 ||
	    prepare_env(run, err) < 0 || prepare_inputs(run, err) < 0)
		return -1;
	struct plan_request plan = {
		.policy = &req->policy,
		.run_id = run->run_id,
		.argv = run->argv ? run->argv : (const char *const *)req->argv.item,
		.env = run->env,
		.cwd = req->cwd,
		.binds = req->ro,
		.bind_count = req->ro_count,
		.inputs = run->planned,
		.input_count = run->input_count,
	};
	return plan_build(&plan, &run->plan, err);
}

/* What was asked for is copied out, whatever the program's end: it may have left what helps. */
static void collect(struct run_state *run)
{
	struct bj_request *req = run->req;
	struct files_caps caps = {.bytes = req->policy.number[FIELD_workspace],
				  .entries = ENTRIES_MAX};
	for (size_t i = 0; i < req->out_count && run->launcher.workspace >= 0; i++) {
		struct bj_error err;
		if (files_collect(run->launcher.workspace, req->out[i].name, req->out[i].host,
				  &caps, &run->files, &err) < 0 &&
		    run->files_error.code == BJ_OK)
			run->files_error = err;
	}
	/* A run that came to nothing says so itself; here no descriptor was free for it. */
	if (req->out_count && run->launcher.workspace < 0 && report_started(run->launcher.report))
		(void)fail(&run->files_error, BJ_INTERNAL,
			   "nothing was copied out: the workspace did not reach the caller");
}

static int make_result(struct run_state *run, const struct bj_error *why, bool cancelled,
		       struct bj_result **ret, struct bj_error *err)
{
	struct bj_request *req = run->req;
	size_t count = run->files.count;
	auto_free struct result_file *files = calloc(count ? count : 1, sizeof(*files));
	if (!files)
		return fail(err, BJ_INTERNAL, "out of memory for the result");
	for (size_t i = 0; i < count; i++) {
		const struct files_item *item = &run->files.item[i];
		files[i] = (struct result_file){.path = item->path,
						.bytes = item->bytes,
						.type = files_type_name(item->type),
						.risky = item->risky};
		memcpy(files[i].sha256, item->sha256, sizeof(files[i].sha256));
	}
	struct result_input in = {
		.run_id = run->run_id[0] ? run->run_id : NULL,
		.policy = &req->policy,
		.language = run->language ? run->language->name : NULL,
		.program = req->what == RUN_PROGRAM ? req->argv.item[0] : NULL,
		.cwd = req->cwd,
		.inputs = run->planned,
		.input_count = run->input_count,
		.required = run->plan.required,
		.missing = run->plan.missing & ~LAYER_BIT(LAYER_MONITOR),
		.begin_ns = run->begin_ns,
		.cancelled = cancelled,
		.files = files,
		.file_count = count,
		.files_error = run->files_error.code != BJ_OK ? &run->files_error : NULL,
	};
	if (why)
		return result_from_error(why, &in, ret, err);
	struct report *report = run->launcher.report;
	report->left_files += run->files.left;
	return result_from_report(report, run->launcher.report_size, &in, ret, err);
}

/*
 * A caller whose files may not be large (RLIMIT_FSIZE) would be killed by SIGXFSZ for a plan or a
 * report: here it becomes EFBIG, and the signal, which is this thread's own, is taken away again.
 */
struct quiet {
	sigset_t before;
};

static void quiet_begin(struct quiet *quiet)
{
	sigset_t xfsz;
	(void)sigemptyset(&xfsz);
	(void)sigaddset(&xfsz, SIGXFSZ);
	(void)pthread_sigmask(SIG_BLOCK, &xfsz, &quiet->before);
}

static void quiet_end(const struct quiet *quiet)
{
	static const struct timespec now = {0};
	sigset_t xfsz;
	(void)sigemptyset(&xfsz);
	(void)sigaddset(&xfsz, SIGXFSZ);
	if (!sigismember(&quiet->before, SIGXFSZ))
		(void)sigtimedwait(&xfsz, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

static int prepare_quietly(struct run_state *run, struct bj_error *err)
{
	struct quiet quiet;
	quiet_begin(&quiet);
	int got = launcher_start(&run->launcher, err);
	if (got == 0)
		got = prepare(run, err);
	if (got == 0)
		got = launcher_make_report(&run->launcher,
					   run->req->policy.number[FIELD_keep_output], err);
	quiet_end(&quiet);
	return got;
}

static int run_state(struct run_state *run, int cancel_fd, struct bj_result **ret,
		     struct bj_error *err)
{
	struct bj_error why;
	struct bj_request *req = run->req;
	if (prepare_quietly(run, &why) < 0)
		return make_result(run, &why, false, ret, err);
	struct launcher_request ask = {
		.plan_fd = run->plan.fd,
		.stdin_fd = req->stdin_fd,
		.inputs = run->inputs,
		.input_count = run->input_count,
		.on_output = req->on_output,
		.user = req->on_output_user,
		.cancel_fd = cancel_fd,
	};
	if (launcher_run(&run->launcher, &ask, &why) < 0)
		return make_result(run, &why, false, ret, err);
	if (run->launcher.report->phase != PHASE_DONE)
		(void)host_cgroup_remove(run->run_id);
	collect(run);
	return make_result(run, NULL, run->launcher.cancelled, ret, err);
}

int bj_run(struct bj_request *req, int cancel_fd, struct bj_result **ret_result,
	   struct bj_error *err)
{
	auto_free struct run_state *run = req ? calloc(1, sizeof(*run)) : NULL;
	if (!run)
		return fail(err, BJ_INTERNAL, "out of memory");
	run->req = req;
	run->begin_ns = clock_ns();
	run->plan.fd = -1;
	launcher_init(&run->launcher);
	int got = run_state(run, cancel_fd, ret_result, err);
	run_free(run);
	return got;
}
