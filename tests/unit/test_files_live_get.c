/* SPDX-License-Identifier: Apache-2.0 */
/* Getting a file of a live workspace, while a program writes to it. */
#include "live_case.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_file_is_got_with_its_hash(void **state)
{
	struct world *w = *state;
	const struct files_get_how how = {.most = 1 << 20, .hash = true};
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
					  {.tv_sec = 1000000001, .tv_nsec = 23}};
	struct files_got got;
	int fd = -1;
	char text[8] = "", sha[SHA256_DIGEST_STRING_LENGTH];
	put_text(w->ws, "setup.py", "abc", 0755);
	assert_int_equal(utimensat(w->ws, "setup.py", times, 0), 0);
	assert_done(w, files_get(w->ws, "setup.py", &how, &fd, &got, &w->err));
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
	assert_int_equal(got.bytes, 3);
	assert_string_equal(got.sha256,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_true(got.executable);
	assert_int_equal(got.mtime_ns, INT64_C(1000000001000000023));
	assert_string_equal(got.risky, "pip runs it");
	/* Sealed. */
	assert_int_equal(fcntl(fd, F_GET_SEALS),
			 F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	(void)close(fd);

	put_bytes(w->ws, "large", 1000001);
	assert_done(w, files_get(w->ws, "large", &how, &fd, &got, &w->err));
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/large", w->ws_path);
	assert_string_equal(got.sha256, SHA256File(path, sha));
	assert_int_equal(got.bytes, 1000001);
	(void)close(fd);

	put_text(w->ws, "empty", "", 0644);
	fd = get_whole(w, "empty", &got);
	assert_true(fd >= 0);
	assert_int_equal(got.bytes, 0);
	assert_string_equal(got.sha256, "");
	(void)close(fd);
	assert_done(w, files_get(w->ws, "empty", &how, &fd, &got, &w->err));
	assert_string_equal(got.sha256,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	(void)close(fd);
}

static void only_files_are_got(void **state)
{
	struct world *w = *state;
	struct files_got got;
	make_trap(w, ".");
	assert_int_equal(symlinkat("/etc/passwd", w->ws, "passwd") |
				 symlinkat("/proc/self/root", w->ws, "magic") |
				 mkfifoat(w->ws, "fifo", 0644),
			 0);
	char byte;
	assert_int_equal(naive(w, "passwd", &byte, 1), 1);
	assert_int_equal(naive(w, "l/f", &byte, 1), 1);
	assert_int_equal(naive(w, "magic/etc/passwd", &byte, 1), 1);
	assert_failed(w, get_whole(w, "passwd", &got), ELOOP, "is a symbolic link; only");
	assert_failed(w, get_whole(w, "l/f", &got), ELOOP, "on the way is a symbolic link");
	assert_failed(w, get_whole(w, "magic/etc/passwd", &got), ELOOP, "on the way is a symbolic");
	assert_failed(w, get_whole(w, "fifo", &got), 0, "is a FIFO; only");
	assert_failed(w, get_whole(w, "d", &got), EISDIR, "\"d\" is a directory, not a file");
	assert_failed(w, get_whole(w, "none", &got), ENOENT, "\"none\" is not there");
	assert_failed(w, get_whole(w, "d/../d/f", &got), 0, "a component \".\" or \"..\"");
	int fd = get_whole(w, "d/f", &got);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void bytes_are_bounded_and_a_hole_counts(void **state)
{
	struct world *w = *state;
	const struct files_get_how three = {.most = 3};
	struct files_got got;
	int fd = -1;
	put_text(w->ws, "f", "abc", 0644);
	put_text(w->ws, "g", "abcd", 0644);
	put_text(w->ws, "hole", "", 0644);
	auto_close int hole = openat(w->ws, "hole", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(hole, INT64_C(1) << 40), 0);
	assert_done(w, files_get(w->ws, "f", &three, &fd, &got, &w->err));
	(void)close(fd);
	assert_failed(w, files_get(w->ws, "g", &three, &fd, &got, &w->err), EFBIG,
		      "\"g\" has 4 bytes, more than the 3 allowed");
	assert_failed(w, get_whole(w, "hole", &got), EFBIG, "has 1099511627776 bytes");
}

static void a_time_that_does_not_fit_is_the_last_that_does(void **state)
{
	struct world *w = *state;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = INT64_MAX}};
	struct files_stat st;
	put_text(w->ws, "f", "x", 0644);
	assert_int_equal(utimensat(w->ws, "f", times, 0), 0);
	assert_done(w, files_stat(w->ws, "f", &st, &w->err));
	assert_int_equal(st.mtime_ns, INT64_MAX);
	times[1].tv_sec = INT64_MIN;
	assert_int_equal(utimensat(w->ws, "f", times, 0), 0);
	assert_done(w, files_stat(w->ws, "f", &st, &w->err));
	assert_int_equal(st.mtime_ns, INT64_MIN);
}

/* ---- to a descriptor ----------------------------------------------------------------------- */

struct drain {
	int fd;
	size_t bytes;
};

static void *drain(void *user)
{
	struct drain *d = user;
	char data[4096];
	for (ssize_t n; (n = read(d->fd, data, sizeof(data))) > 0;)
		d->bytes += (size_t)n;
	return NULL;
}

static void it_goes_to_a_pipe_or_a_socket(void **state)
{
	struct world *w = *state;
	const struct files_get_how how = {.most = 4 << 20, .hash = true};
	put_bytes(w->ws, "f", 3 << 20);
	for (int kind = 0; kind < 3; kind++) {
		struct files_got got;
		struct drain d = {0};
		pthread_t thread;
		int ends[2];
		if (kind == 0)
			assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		else
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
					 0);
		if (kind == 2)
			assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
		d.fd = ends[0];
		assert_int_equal(pthread_create(&thread, NULL, drain, &d), 0);
		assert_done(w, files_get_to(w->ws, "f", &how, ends[1], &got, &w->err));
		(void)close(ends[1]);
		assert_int_equal(pthread_join(thread, NULL), 0);
		(void)close(ends[0]);
		assert_int_equal(d.bytes, 3 << 20);
		assert_int_equal(got.bytes, 3 << 20);
	}
	/* To the end of a file, where sendfile does not. */
	struct files_got got;
	struct stat st;
	auto_close int log = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	assert_int_equal(write(log, "x", 1), 1);
	assert_done(w, files_get_to(w->ws, "f", &how, log, &got, &w->err));
	assert_int_equal(fstat(log, &st), 0);
	assert_int_equal(st.st_size, (3 << 20) + 1);
	/* Nobody there: an error, and no signal. */
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	(void)close(ends[0]);
	assert_failed(w, files_get_to(w->ws, "f", &how, ends[1], &got, &w->err), EPIPE,
		      "send \"f\"");
	(void)close(ends[1]);
}

/* ---- while it is written --------------------------------------------------------------------- */

/* In order, all words get a number that was never there before. */
enum { WORDS = 1 << 16, BYTES = WORDS * 8 };

/*
 * Numbers of one moment: some words at the start have the next number already. Of more than one: a
 * later word is newer than an earlier one.
 */
static bool of_one_moment(const uint64_t *word)
{
	for (size_t i = 1; i < WORDS; i++)
		if (word[i] > word[i - 1])
			return false;
	return word[0] - word[WORDS - 1] <= 1;
}

__attribute__((noreturn)) static void write_mapping(int fd)
{
	volatile uint64_t *word = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED)
		_exit(1);
	for (uint64_t number = 1;; number++)
		for (size_t i = 0; i < WORDS; i++)
			word[i] = number;
}

__attribute__((noreturn)) static void write_calls(int fd)
{
	static uint64_t word[WORDS];
	for (uint64_t number = 1;; number++) {
		for (size_t i = 0; i < WORDS; i++)
			word[i] = number;
		if (pwrite(fd, word, BYTES, 0) != BYTES)
			_exit(1);
	}
}

__attribute__((noreturn)) static void grow_and_shrink(int fd)
{
	static const uint64_t zero[512];
	for (;;) {
		for (int i = 0; i < 64; i++)
			if (pwrite(fd, zero, sizeof(zero), BYTES + i * (off_t)sizeof(zero)) < 0)
				_exit(1);
		if (ftruncate(fd, BYTES / 2) < 0 || ftruncate(fd, BYTES) < 0)
			_exit(1);
	}
}

static pid_t start(struct world *w, void (*writer)(int))
{
	put_text(w->ws, "f", "", 0644);
	auto_close int fd = openat(w->ws, "f", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	pid_t parent = getpid(), pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		writer(fd);
	}
	return pid;
}

static void stop(pid_t pid)
{
	int status;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A freezer for one process. */
struct freezer {
	pid_t pid;
	int pauses, resumes;
	bool broken;
};

static int freeze(void *user)
{
	struct freezer *f = user;
	int status;
	if (f->broken) {
		errno = ETIMEDOUT;
		return -1;
	}
	f->pauses++;
	if (kill(f->pid, SIGSTOP) < 0 || waitpid(f->pid, &status, WUNTRACED) != f->pid)
		return -1;
	return WIFSTOPPED(status) ? 0 : -1;
}

static void thaw(void *user)
{
	struct freezer *f = user;
	f->resumes++;
	(void)kill(f->pid, SIGCONT);
}

static uint64_t *words_of(int fd)
{
	static uint64_t word[WORDS];
	assert_int_equal(pread(fd, word, BYTES, 0), BYTES);
	return word;
}

/* Until a plain read() has seen two moments at once and files_get() has said so; not without end.
 */
static void get_while_written(struct world *w, void (*writer)(int))
{
	pid_t pid = start(w, writer);
	int torn = 0, refused = 0, turns = 0;
	for (; turns < 2000 || (turns < 40000 && !(torn && refused)); turns++) {
		struct files_got got;
		auto_close int plain = openat(w->ws, "f", O_RDONLY | O_CLOEXEC);
		torn += !of_one_moment(words_of(plain));
		auto_close int fd = get_whole(w, "f", &got);
		if (fd < 0) {
			assert_failed(w, -1, EBUSY, "\"f\" was changed while it was read");
			refused++;
			continue;
		}
		assert_int_equal(got.bytes, BYTES);
		assert_true(of_one_moment(words_of(fd)));
	}
	stop(pid);
	assert_true(torn > 0);
	assert_true(refused > 0);
	struct files_got got;
	auto_close int fd = get_whole(w, "f", &got);
	assert_true(fd >= 0 && of_one_moment(words_of(fd)));
}

static void what_a_mapping_changes_is_seen(void **state)
{
	get_while_written(*state, write_mapping);
}

static void what_write_changes_is_seen(void **state)
{
	get_while_written(*state, write_calls);
}

static void a_file_that_grows_and_shrinks_is_whole_or_refused(void **state)
{
	struct world *w = *state;
	pid_t pid = start(w, grow_and_shrink);
	int refused = 0, turns = 0;
	for (; turns < 2000 || (turns < 40000 && !refused); turns++) {
		struct files_got got;
		struct stat st;
		auto_close int fd = get_whole(w, "f", &got);
		if (fd < 0) {
			assert_failed(w, -1, EBUSY, "changed while it was read");
			refused++;
			continue;
		}
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(got.bytes, st.st_size);
	}
	stop(pid);
	assert_true(refused > 0);
}

static void a_program_that_is_stopped_meanwhile_is_no_hindrance(void **state)
{
	struct world *w = *state;
	struct freezer freezer = {.pid = start(w, write_mapping)};
	const struct files_pause pause = {.pause = freeze, .resume = thaw, .user = &freezer};
	struct files_get_how how = {.most = BYTES, .pause = &pause};
	uint64_t last = 0;
	for (int i = 0; i < 500; i++) {
		struct files_got got;
		int fd = -1;
		assert_done(w, files_get(w->ws, "f", &how, &fd, &got, &w->err));
		const uint64_t *word = words_of(fd);
		assert_true(of_one_moment(word));
		assert_true(word[0] >= last);
		last = word[0];
		(void)close(fd);
	}
	assert_int_equal(freezer.pauses, 500);
	assert_int_equal(freezer.resumes, 500);
	/* Also where it fails it runs on. */
	struct files_got got;
	int fd = -1;
	how.most = 1;
	assert_failed(w, files_get(w->ws, "f", &how, &fd, &got, &w->err), EFBIG, "more than the 1");
	assert_int_equal(freezer.resumes, 501);
	freezer.broken = true;
	assert_failed(w, files_get(w->ws, "f", &how, &fd, &got, &w->err), ETIMEDOUT,
		      "stop the program to read \"f\"");
	assert_int_equal(freezer.resumes, 501);
	stop(freezer.pid);
	assert_true(last > 0);
}

static int freeze_nobody(void *user)
{
	(void)user;
	return 0;
}

static void thaw_nobody(void *user)
{
	(void)user;
}

/* Its word is taken that nobody writes, but for what the times of the file say. */
static void a_pause_that_stops_nobody_is_noticed(void **state)
{
	struct world *w = *state;
	const struct files_pause pause = {.pause = freeze_nobody, .resume = thaw_nobody};
	const struct files_get_how how = {.most = BYTES, .pause = &pause};
	pid_t pid = start(w, write_calls);
	int refused = 0;
	for (int i = 0; i < 40000 && !refused; i++) {
		struct files_got got;
		int fd = -1;
		if (files_get(w->ws, "f", &how, &fd, &got, &w->err) == 0) {
			(void)close(fd);
			continue;
		}
		assert_failed(w, -1, EBUSY, "\"f\" was changed while it was read");
		refused++;
	}
	stop(pid);
	assert_true(refused > 0);
}

static void nothing_is_sent_of_a_file_that_changes(void **state)
{
	struct world *w = *state;
	pid_t pid = start(w, write_mapping);
	const struct files_get_how how = {.most = BYTES};
	int refused = 0;
	auto_close int to = memfd_create("sent", MFD_CLOEXEC);
	for (int i = 0; i < 200 || (i < 40000 && !refused); i++) {
		struct files_got got;
		struct stat st;
		assert_int_equal(ftruncate(to, 0) | (int)lseek(to, 0, SEEK_SET), 0);
		bool done = files_get_to(w->ws, "f", &how, to, &got, &w->err) == 0;
		assert_int_equal(fstat(to, &st), 0);
		assert_int_equal(st.st_size, done ? BYTES : 0);
		refused += !done;
	}
	stop(pid);
	assert_true(refused > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_file_is_got_with_its_hash),
		T(only_files_are_got),
		T(bytes_are_bounded_and_a_hole_counts),
		T(a_time_that_does_not_fit_is_the_last_that_does),
		T(it_goes_to_a_pipe_or_a_socket),
		T(what_a_mapping_changes_is_seen),
		T(what_write_changes_is_seen),
		T(a_file_that_grows_and_shrinks_is_whole_or_refused),
		T(a_program_that_is_stopped_meanwhile_is_no_hindrance),
		T(a_pause_that_stops_nobody_is_noticed),
		T(nothing_is_sent_of_a_file_that_changes),
	};
	return cmocka_run_group_tests_name("files, live: get", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
