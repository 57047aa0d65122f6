/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the proc at /proc is, asked in pid namespaces of the test's own, which has the outer one's.
 * Only root may also give a process inside the number that it has outside.
 */
#include "base/cleanup.h"
#include "layers/pid.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NUMBER 31415 /* free, in all likelihood; else it is the next that is tried */
#define TRIES  20

/* The errno of the answer, 0 where it is yes, as an exit status. */
static int answer(int proc)
{
	return pid_own_proc(proc) == 0 ? 0 : errno;
}

static int status_of(pid_t pid)
{
	int status;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 255;
}

static pid_t clone_as(pid_t *numbers, size_t count, uint64_t flags)
{
	struct clone_args args = {.flags = flags,
				  .exit_signal = SIGCHLD,
				  .set_tid = (uint64_t)(uintptr_t)numbers,
				  .set_tid_size = count};
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* In init of a new namespace: a second process there, that has one number in both. */
static int of_one_number(int proc)
{
	for (pid_t number = NUMBER; number < NUMBER + TRIES; number++) {
		pid_t both[] = {number, number};
		pid_t pid = clone_as(both, 2, 0);
		if (pid < 0 && errno == EEXIST)
			continue;
		if (pid == 0) {
			char self[16];
			ssize_t n = readlinkat(proc, "self", self, sizeof(self) - 1);
			self[n > 0 ? n : 0] = '\0';
			/* What looking at the link alone would be taken in by. */
			_exit(atoi(self) == getpid() ? answer(proc) : 254);
		}
		return status_of(pid);
	}
	return 253;
}

static void a_proc_of_ones_own_is_told_from_another(void **state)
{
	(void)state;
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc >= 0);
	assert_int_equal(answer(proc), 0);
	pid_t pid = clone_as(NULL, 0, CLONE_NEWUSER | CLONE_NEWPID);
	if (pid == 0)
		_exit(answer(proc));
	assert_int_equal(status_of(pid), EXDEV);
	if (geteuid() != 0)
		return;
	pid = clone_as(NULL, 0, CLONE_NEWPID);
	if (pid == 0)
		_exit(of_one_number(proc));
	assert_int_equal(status_of(pid), EXDEV);
}

/* With descriptors of its own, and a number of its own. */
static void *of_own_descriptors(void *proc)
{
	static int got;
	got = unshare(CLONE_FILES) < 0 ? errno : answer(*(int *)proc);
	return &got;
}

static void a_thread_may_have_descriptors_of_its_own(void **state)
{
	(void)state;
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_t thread;
	void *got;
	assert_int_equal(pthread_create(&thread, NULL, of_own_descriptors, &proc), 0);
	assert_int_equal(pthread_join(thread, &got), 0);
	assert_int_equal(*(int *)got, 0);
}

static void what_is_no_proc_is_not_ones_own(void **state)
{
	(void)state;
	auto_close int usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(usr >= 0);
	assert_int_equal(answer(usr), EXDEV);
	assert_int_equal(answer(-1), EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_proc_of_ones_own_is_told_from_another),
		cmocka_unit_test(a_thread_may_have_descriptors_of_its_own),
		cmocka_unit_test(what_is_no_proc_is_not_ones_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
