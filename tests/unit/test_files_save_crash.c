/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that dies between any two steps of taking, removing or restoring a save point. It is
 * traced and killed before its first system call that changes something, then before its second,
 * and so on until it gets through: no step is left out because nobody thought of it.
 */
#include "save_world.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

typedef int (*work_fn)(struct saver *s, struct save_store *store);

static bool changes_something(const struct __ptrace_syscall_info *info)
{
	switch (info->entry.nr) {
	case SYS_openat:
		return info->entry.args[2] & O_CREAT;
	case SYS_openat2: /* its flags are in memory; looking alone is harmless too */
#ifdef SYS_chmod
	case SYS_chmod:
#endif
	case SYS_mkdirat:
	case SYS_unlinkat:
	case SYS_linkat:
	case SYS_symlinkat:
	case SYS_renameat:
	case SYS_renameat2:
	case SYS_write:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_fchmod:
	case SYS_fchmodat:
	case SYS_utimensat:
	case SYS_fsync:
	case SYS_syncfs:
	case SYS_flock:
	case SYS_close:
		return true;
	default:
		return false;
	}
}

/* Runs on to the next entry into a system call; false when the process ended instead. */
static bool next_call(pid_t pid, struct __ptrace_syscall_info *info)
{
	int status;
	for (;;) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status)) {
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
		assert_int_equal(WSTOPSIG(status), SIGTRAP | 0x80);
		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(*info), info) > 0);
		if (info->op == PTRACE_SYSCALL_INFO_ENTRY)
			return true;
	}
}

/*
 * Does `work` in a process that dies before its change number `steps`. True when it got through.
 */
static bool die_at(struct saver *s, work_fn work, int steps)
{
	struct __ptrace_syscall_info info;
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct save_store *store = NULL;
		struct bj_error err;
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
			_exit(1);
		/* A handle of its own: a lock goes with the description, when its process goes. */
		if (save_open(s->store_fd, true, &store, &err) < 0)
			_exit(2);
		_exit(work(s, store) == 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				(void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
			 0);
	while (next_call(pid, &info)) {
		if (!changes_something(&info) || --steps > 0)
			continue;
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		return false;
	}
	return true;
}

static int take_two(struct saver *s, struct save_store *store)
{
	const struct save_request request = {
		.workspace_fd = s->ws, .name = "two", .previous = "one", .caps = save_wide};
	return save_take(store, &request, &s->made, &s->err);
}

static int remove_two(struct saver *s, struct save_store *store)
{
	struct save_freed freed;
	return save_remove(store, "two", &freed, &s->err);
}

static int restore_one(struct saver *s, struct save_store *store)
{
	return save_restore(store, "one", s->ws, &s->restored, &s->err);
}

static void make_one(int ws)
{
	assert_int_equal(mkdirat(ws, "d", 0750) | symlinkat("x", ws, "link"), 0);
	put_text(ws, "d/kept", "kept", 0644);
	put_text(ws, "d/changed", "first", 0755);
	put_text(ws, "gone", "gone", 0600);
}

static void make_two(int ws)
{
	assert_int_equal(unlinkat(ws, "gone", 0) | unlinkat(ws, "link", 0) |
				 mkdirat(ws, "link", 0700) | mkdirat(ws, "link/in", 0700),
			 0);
	put_text(ws, "d/changed", "second and longer", 0644);
	put_text(ws, "link/in/new", "new", 0644);
	/* The same each time. */
	static const char *const name[] = {"d/changed", "link/in/new", "link/in", "link", "d", "."};
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		set_mtime(ws, name[i], 1000 + (long)i, 5);
}

/* The store opens, "one" is whole in it, and "two" is whole or not there. Returns whether it is. */
static bool assert_store_is_good(struct saver *s, const char *one, const char *two)
{
	struct save_point *point = NULL;
	size_t count = 0;
	reopen(s);
	assert_int_equal(save_list(s->store, &point, &count, &s->err), 0);
	assert_true(count == 1 || count == 2);
	assert_string_equal(point[0].name, "one");
	assert_false(point[0].damaged || point[count - 1].damaged);
	free(point);
	if (count == 2) {
		assert_restores(s, "two");
		assert_is(s->ws, two);
	}
	assert_restores(s, "one");
	assert_is(s->ws, one);
	return count == 2;
}

static void make_both(struct saver *s, char **one, char **two)
{
	make_one(s->ws);
	*one = describe(s->ws);
	assert_takes(s, "one", NULL);
	make_two(s->ws);
	*two = describe(s->ws);
	assert_takes(s, "two", "one");
}

static void whoever_takes_dies_at_each_step(void **state)
{
	struct saver *s = *state;
	auto_free char *one = NULL;
	auto_free char *two = NULL;
	int whole = 0, step = 1;
	make_both(s, &one, &two);
	assert_int_equal(count_objects(s), 5);
	for (bool through = false; !through; step++) {
		assert_restores(s, "two");
		assert_removes(s, "two");
		assert_int_equal(count_objects(s), 3);
		through = die_at(s, take_two, step);
		bool there = assert_store_is_good(s, one, two);
		whole += there;
		assert_true(there || !through);
		/* Once more, beside whatever is left; then nothing is left but what is needed. */
		if (!there) {
			make_two(s->ws);
			assert_takes(s, "two", "one");
		}
		assert_int_equal(count_objects(s), 5);
	}
	print_message("# %d steps, whole after %d\n", step - 1, whole);
	assert_true(step > 30 && whole > 1 && whole < step - 1);
}

static void whoever_removes_dies_at_each_step(void **state)
{
	struct saver *s = *state;
	auto_free char *one = NULL;
	auto_free char *two = NULL;
	int whole = 0, step = 1;
	make_both(s, &one, &two);
	for (bool through = false; !through; step++) {
		through = die_at(s, remove_two, step);
		bool there = assert_store_is_good(s, one, two);
		whole += there;
		assert_false(there && through);
		if (!there) {
			make_two(s->ws);
			assert_takes(s, "two", "one");
		}
		assert_int_equal(count_objects(s), 5);
		assert_restores(s, "two");
	}
	print_message("# %d steps, whole after %d\n", step - 1, whole);
	assert_true(step > 10 && whole > 1 && whole < step - 1);
}

static void whoever_restores_dies_at_each_step(void **state)
{
	struct saver *s = *state;
	auto_free char *one = NULL;
	auto_free char *two = NULL;
	int step = 1, unchanged = 0;
	make_both(s, &one, &two);
	for (bool through = false; !through; step++) {
		assert_restores(s, "two");
		through = die_at(s, restore_one, step);
		auto_free char *now = describe(s->ws);
		unchanged += strcmp(now, two) == 0;
		assert_true(!through || strcmp(now, one) == 0);
		assert_true(assert_store_is_good(s, one, two));
	}
	print_message("# %d steps, nothing changed by %d\n", step - 1, unchanged);
	assert_true(step > 30 && unchanged > 1 && unchanged < step - 1);
}

static int group(void)
{
	static const struct CMUnitTest tests[] = {
		SAVE_TEST(whoever_takes_dies_at_each_step),
		SAVE_TEST(whoever_removes_dies_at_each_step),
		SAVE_TEST(whoever_restores_dies_at_each_step),
	};
	return cmocka_run_group_tests_name("files, save points, crash", tests, NULL, NULL);
}

int main(void)
{
	return world_run(group);
}
