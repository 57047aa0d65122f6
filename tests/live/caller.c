/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C callers of libbelljar, each odd in its own way. Prints what went wrong, or "ok".
 *
 *   caller WAY [POLICY-FILE]
 */
#include <belljar/belljar.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, RUNS = 4 };

static const char *policy;
static int report_fd = 2;

static void wrong(const char *what, const struct bj_error *err)
{
	dprintf(report_fd, "%s: %s\n", what, err ? err->message : "");
	exit(1);
}

static struct bj_request *request(const char *const argv[])
{
	struct bj_error err = {0};
	struct bj_request *req = bj_request_new();

	if (!req)
		wrong("bj_request_new", NULL);
	if (policy && bj_request_policy_file(req, policy, &err) < 0)
		wrong("bj_request_policy_file", &err);
	if (bj_request_program(req, argv, &err) < 0)
		wrong("bj_request_program", &err);
	return req;
}

/* Runs a shell that prints TEXT and exits with CODE, and checks that this is the result. */
static void run_one(const char *text, int code)
{
	char script[128];
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct bj_error err = {0};
	struct bj_result *res = NULL;

	(void)snprintf(script, sizeof(script), "cat; printf %%s %s; exit %d", text, code);
	struct bj_request *req = request(argv);
	if (bj_run(req, -1, &res, &err) < 0)
		wrong("bj_run", &err);
	struct bj_output out = bj_result_output(res, BJ_STDOUT);
	if (bj_result_outcome(res) != BJ_EXITED || bj_result_exit_code(res) != code ||
	    bj_result_status(res) != code || !bj_result_started(res) || out.size != strlen(text) ||
	    memcmp(out.data, text, out.size) != 0) {
		dprintf(report_fd, "%s\n", bj_result_json(res));
		wrong("another result", bj_result_error(res));
	}
	bj_result_free(res);
	bj_request_free(req);
}

static void *run_some(void *which)
{
	char text[32];
	int base = (int)(intptr_t)which;

	for (int i = 0; i < RUNS; i++) {
		(void)snprintf(text, sizeof(text), "thread%drun%d", base, i);
		run_one(text, base * RUNS + i);
	}
	return NULL;
}

/* Keeps locks of the C library and the heap busy while others clone. */
static void *allocate(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
		char *piece = malloc(100000);
		FILE *file = fopen("/dev/null", "we");

		if (file)
			(void)fclose(file);
		free(piece);
	}
	return NULL;
}

static void way_threads(void)
{
	pthread_t thread[THREADS], busy[2];
	bool stop = false;

	for (int i = 0; i < 2; i++)
		(void)pthread_create(&busy[i], NULL, allocate, &stop);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run_some, (void *)(intptr_t)i) != 0)
			wrong("pthread_create", NULL);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		(void)pthread_join(busy[i], NULL);
}

static void way_closed_stdio(void)
{
	report_fd = fcntl(2, F_DUPFD_CLOEXEC, 100);
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	run_one("closed", 7);
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			wrong("a descriptor of stdio was left open", NULL);
}

static void way_ignored_sigchld(void)
{
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	run_one("ignored", 8);
	if (signal(SIGCHLD, SIG_IGN) != SIG_IGN)
		wrong("SIGCHLD was changed", NULL);
}

static volatile sig_atomic_t children_taken;

static void take_children(int number)
{
	int saved = errno;

	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		children_taken++;
	errno = saved;
}

/* A caller that reaps every child it sees, as some servers do. */
static void way_reaping_handler(void)
{
	struct sigaction action = {.sa_handler = take_children, .sa_flags = SA_RESTART};

	(void)sigaction(SIGCHLD, &action, NULL);
	run_one("reaped", 9);
	action.sa_flags = 0; /* and without SA_RESTART, calls are interrupted */
	(void)sigaction(SIGCHLD, &action, NULL);
	run_one("interrupted", 10);
}

static void way_umask(void)
{
	(void)umask(0777);
	run_one("umask", 11);
	if (umask(0777) != 0777)
		wrong("the umask was changed", NULL);
}

static void way_blocked_signals(void)
{
	sigset_t all, now;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	run_one("blocked", 12);
	(void)sigprocmask(SIG_SETMASK, NULL, &now);
	if (!sigismember(&now, SIGTERM) || !sigismember(&now, SIGCHLD))
		wrong("the mask was changed", NULL);
}

static void way_limits(void)
{
	struct rlimit nofile = {64, 64}, stack = {1 << 20, 1 << 20}, core = {0, 0};
	const char *const argv[] = {"/bin/echo", "small", NULL};
	struct bj_error err = {0};
	struct bj_result *res = NULL;

	(void)setrlimit(RLIMIT_NOFILE, &nofile);
	(void)setrlimit(RLIMIT_CORE, &core);
	(void)setrlimit(RLIMIT_STACK, &stack);
	struct bj_request *req = request(argv);
	if (bj_request_set(req, "nofile", "64", &err) < 0)
		wrong("bj_request_set", &err);
	if (bj_run(req, -1, &res, &err) < 0)
		wrong("bj_run", &err);
	/* It runs, or the limit that is too low is named. */
	if (bj_result_outcome(res) != BJ_EXITED && !strstr(bj_result_json(res), "limit") &&
	    !strstr(bj_result_json(res), "stack"))
		wrong(bj_result_json(res), bj_result_error(res));
	bj_result_free(res);
	bj_request_free(req);
}

static void way_many_descriptors(void)
{
	int last = 0;

	for (int i = 0; i < 900; i++)
		last = open(i % 2 ? "/dev/null" : "/", O_RDONLY); /* not close-on-exec */
	if (last < 900)
		wrong("open", NULL);
	run_one("descriptors", 13);
	const char *const argv[] = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l", NULL};
	struct bj_request *req = request(argv);
	struct bj_error err = {0};
	struct bj_result *res = NULL;
	if (bj_run(req, -1, &res, &err) < 0)
		wrong("bj_run", &err);
	/* 0, 1, 2 and the directory that ls reads. */
	if (bj_result_output(res, BJ_STDOUT).data[0] != '4')
		wrong("descriptors came in", NULL);
	bj_result_free(res);
	bj_request_free(req);
	if (fcntl(last, F_GETFD) < 0)
		wrong("a descriptor of the caller was closed", NULL);
}

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Whatever the outcome, no descriptor and no child of this process is left. */
static void way_leaks(void)
{
	int before = open_descriptors();

	for (int i = 0; i < 50; i++) {
		const char *const ok[] = {"/bin/true", NULL}, *const none[] = {"/no/such", NULL};
		struct bj_error err = {0};
		struct bj_result *res = NULL;
		struct bj_request *req = request(i % 2 ? ok : none);

		if (bj_run(req, -1, &res, &err) < 0)
			wrong("bj_run", &err);
		bj_result_free(res);
		bj_request_free(req);
	}
	if (open_descriptors() != before)
		wrong("descriptors are left", NULL);
	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
		wrong("a child is left", NULL);
}

static void *cancel(void *fd)
{
	uint64_t one = 1;

	if (write(*(int *)fd, &one, sizeof(one)) != sizeof(one))
		wrong("write", NULL);
	return NULL;
}

static int on_output(void *user, enum bj_stream stream, const void *data, size_t size)
{
	size_t *total = user;

	(void)data;
	*total += stream == BJ_STDOUT ? size : 0;
	return 0;
}

static int cancel_on_output(void *user, enum bj_stream stream, const void *data, size_t size)
{
	pthread_t thread;

	(void)stream;
	(void)data;
	(void)size;
	if (pthread_create(&thread, NULL, cancel, user) == 0)
		(void)pthread_join(thread, NULL);
	return 0;
}

static int refuse_output(void *user, enum bj_stream stream, const void *data, size_t size)
{
	(void)user;
	(void)stream;
	(void)data;
	(void)size;
	return 1;
}

static enum bj_outcome run_with(const char *script, bj_output_fn fn, void *user, int cancel_fd)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct bj_request *req = request(argv);
	struct bj_error err = {0};
	struct bj_result *res = NULL;

	bj_request_on_output(req, fn, user);
	if (bj_run(req, cancel_fd, &res, &err) < 0)
		wrong("bj_run", &err);
	enum bj_outcome outcome = bj_result_outcome(res);
	bj_result_free(res);
	bj_request_free(req);
	return outcome;
}

static void way_output(void)
{
	size_t total = 0;
	int event = eventfd(0, EFD_CLOEXEC);

	if (run_with("head -c 1000000 /dev/zero", on_output, &total, -1) != BJ_EXITED ||
	    total != 1000000)
		wrong("output was lost", NULL);
	if (run_with("echo on; sleep 60", cancel_on_output, &event, event) != BJ_CANCELLED)
		wrong("was not cancelled by its descriptor", NULL);
	if (run_with("echo on; sleep 60", refuse_output, NULL, -1) != BJ_CANCELLED)
		wrong("was not cancelled by its callback", NULL);
}

/* One request, run again and again, and freed twice over nothing. */
static void way_reuse(void)
{
	const char *const argv[] = {"/bin/echo", "again", NULL};
	struct bj_request *req = request(argv);
	struct bj_error err = {0};

	for (int i = 0; i < 3; i++) {
		struct bj_result *res = NULL;

		if (bj_run(req, -1, &res, &err) < 0)
			wrong("bj_run", &err);
		if (bj_result_exit_code(res) != 0)
			wrong("another result", bj_result_error(res));
		bj_result_free(res);
	}
	bj_request_free(req);
	bj_request_free(NULL);
	bj_result_free(NULL);
}

/* A policy file or a profile that is not there is told at the latest by the run. */
static void refused_when_run(const char *file, const char *profile)
{
	const char *const argv[] = {"/bin/echo", "ran", NULL};
	struct bj_error err = {0};
	struct bj_request *req = bj_request_new();
	struct bj_result *res = NULL;

	if ((file && bj_request_policy_file(req, file, &err) < 0) ||
	    (profile && bj_request_profile(req, profile, &err) < 0) ||
	    bj_request_program(req, argv, &err) < 0 || bj_run(req, -1, &res, &err) < 0) {
		if (err.code != BJ_INVALID)
			wrong("another error", &err);
	} else if (bj_result_outcome(res) != BJ_OUTCOME_REFUSED || bj_result_started(res) ||
		   bj_result_error(res)->code != BJ_INVALID) {
		wrong("it ran", bj_result_error(res));
	}
	bj_result_free(res);
	bj_request_free(req);
}

/* Errors come back; nothing is printed, nothing exits; NULL for the error is allowed. */
static void way_errors(void)
{
	struct bj_error err = {0};
	struct bj_request *req = bj_request_new();
	const char *const none[] = {NULL};

	if (bj_request_set(req, "memory", "-1", &err) != -1 || err.code != BJ_INVALID ||
	    !strstr(err.message, "memory"))
		wrong("a negative size", &err);
	if (bj_request_set(req, "memory", "=64m", NULL) != -1 ||
	    bj_request_set(req, "memory", "64m=", NULL) != -1 ||
	    bj_request_set(req, "memory=64m", "64m", NULL) != -1 ||
	    bj_request_set(req, "", "memory=64m", NULL) != -1)
		wrong("a name or a value with = in it", NULL);
	if (bj_request_set(req, "memory", "0", NULL) != -1 ||
	    bj_request_set(req, "nosuch", "1", NULL) != -1 ||
	    bj_request_program(req, none, NULL) != -1 || bj_request_env(req, "novalue", NULL) != -1)
		wrong("a bad value passed", NULL);
	struct bj_result *res = NULL;
	if (bj_run(req, -1, &res, &err) == 0) {
		if (bj_result_started(res) || bj_result_outcome(res) != BJ_OUTCOME_REFUSED)
			wrong("an empty request ran", NULL);
		bj_result_free(res);
	}
	bj_request_free(req);
	/* What bj_request_new() gives without memory. */
	res = NULL;
	bj_request_on_output(NULL, NULL, NULL);
	if (bj_request_set(NULL, "memory", "1m", NULL) != -1 ||
	    bj_request_cwd(NULL, "/", NULL) != -1 || bj_request_program(NULL, none, NULL) != -1 ||
	    bj_run(NULL, -1, &res, &err) != -1 || res || err.code != BJ_INTERNAL ||
	    !strstr(err.message, "memory"))
		wrong("a request that is none", &err);
	refused_when_run("/no/such/policy.json", NULL);
	refused_when_run(NULL, "nosuchprofile");
	for (int i = 0; i < BJ_OUTCOME_COUNT; i++)
		if (!bj_outcome_name((enum bj_outcome)i))
			wrong("an outcome without a name", NULL);
}

/* A thread that asked for a run ends while another of its runs goes on elsewhere. */
static void *start_and_end(void *unused)
{
	(void)unused;
	run_one("thread", 14);
	return NULL;
}

static void way_thread_that_ends(void)
{
	for (int i = 0; i < 5; i++) {
		pthread_t one, two;

		(void)pthread_create(&one, NULL, start_and_end, NULL);
		(void)pthread_create(&two, NULL, start_and_end, NULL);
		(void)pthread_join(one, NULL);
		(void)pthread_join(two, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{"threads", way_threads},
		{"closed-stdio", way_closed_stdio},
		{"ignored-sigchld", way_ignored_sigchld},
		{"reaping-handler", way_reaping_handler},
		{"umask", way_umask},
		{"blocked-signals", way_blocked_signals},
		{"limits", way_limits},
		{"many-descriptors", way_many_descriptors},
		{"leaks", way_leaks},
		{"output", way_output},
		{"reuse", way_reuse},
		{"errors", way_errors},
		{"thread-that-ends", way_thread_that_ends},
	};

	policy = argc > 2 ? argv[2] : NULL;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (argc > 1 && !strcmp(ways[i].name, argv[1])) {
			ways[i].run();
			dprintf(report_fd, "ok\n");
			return 0;
		}
	return 2;
}
