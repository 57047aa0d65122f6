/* SPDX-License-Identifier: Apache-2.0 */
/* From a fault to a sentence and its mend, on hosts of every kind. */
#include "base/cleanup.h"
#include "run/explain.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Hosts: everything works on PLAIN, for an ordinary user. */
enum host {
	PLAIN,
	NO_USERNS,
	ROOT_USERNS,
	ROOT_USERNS_AS_ROOT,
	APPARMOR,
	DOCKER,
	YAMA_3,
	NO_LANDLOCK,
	OLD_LANDLOCK,
	SYSTEMD,
	SYSTEMD_AS_ROOT,
	CONTAINER,
	ROOT_ALONE,
	V1,
	V1_AS_ROOT,
	V1_CONTAINER
};

/* Limit, Debian's switch, AppArmor's switch, Yama, Landlock; root, container, systemd, v1. */
static const struct host_facts hosts[] = {
	[PLAIN] = {30000, 1, 0, 1, 7, false, false, false},
	[NO_USERNS] = {0, 1, 0, 1, 7, false, false, false},
	[ROOT_USERNS] = {30000, 0, 0, 1, 7, false, false, false},
	[ROOT_USERNS_AS_ROOT] = {30000, 0, 0, 1, 7, true, false, false},
	[APPARMOR] = {30000, 1, 1, 1, 7, false, false, false},
	[DOCKER] = {30000, 1, 0, 1, 7, true, true, false},
	[YAMA_3] = {30000, 1, 0, 3, 7, false, false, false},
	[NO_LANDLOCK] = {30000, 1, 0, 1, 0, false, false, false},
	[OLD_LANDLOCK] = {30000, 1, 0, 1, 1, false, false, false},
	[SYSTEMD] = {30000, 1, 0, 1, 7, false, false, true},
	[SYSTEMD_AS_ROOT] = {30000, 1, 0, 1, 7, true, false, true},
	[CONTAINER] = {30000, 1, 0, 1, 7, false, true, false},
	[ROOT_ALONE] = {30000, 1, 0, 1, 7, true, false, false},
	[V1] = {30000, 1, 0, 1, 7, false, false, true, true},
	[V1_AS_ROOT] = {30000, 1, 0, 1, 7, true, false, true, true},
	[V1_CONTAINER] = {30000, 1, 0, 1, 7, true, true, false, true},
};

static const struct {
	const char *name;
	struct fault fault;
	enum host host;
	const char *message, *hint;
} cases[] = {
	{"user namespaces off",
	 {BJ_SETUP, LAYER_USER, HOOK_PARENT, ENOSPC, "clone with all namespaces"},
	 NO_USERNS,
	 "layer user: clone with all namespaces: No space left on device",
	 "user.max_user_namespaces="},
	{"user namespaces off, no layer named",
	 {BJ_SETUP, LAYER_COUNT, HOOK_NONE, ENOSPC, "clone init"},
	 NO_USERNS,
	 "clone init: No space left on device",
	 "user.max_user_namespaces="},
	{"Debian's switch",
	 {BJ_SETUP, LAYER_USER, HOOK_PARENT, EPERM, "clone init"},
	 ROOT_USERNS,
	 "layer user: clone init: Operation not permitted",
	 "kernel.unprivileged_userns_clone=1"},
	{"Debian's switch does not bind root",
	 {BJ_SETUP, LAYER_USER, HOOK_PARENT, EPERM, "clone init"},
	 ROOT_USERNS_AS_ROOT,
	 "layer user: clone init: Operation not permitted",
	 "User namespaces are not allowed here"},
	{"Ubuntu's AppArmor",
	 {BJ_SETUP, LAYER_USER, HOOK_PARENT, EPERM, "write uid_map"},
	 APPARMOR,
	 "layer user: write uid_map: Operation not permitted",
	 "apparmor_parser"},
	{"Ubuntu's AppArmor takes effect at the first mount",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, EACCES, "make every mount private"},
	 APPARMOR,
	 "layer mount: make every mount private: Permission denied",
	 "apparmor_parser"},
	{"inside Docker",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, EPERM, "mount a fresh proc"},
	 DOCKER,
	 "layer mount: mount a fresh proc: Operation not permitted",
	 "systempaths=unconfined"},
	{"a masked /proc outside any container",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, EPERM, "mount a fresh proc"},
	 PLAIN,
	 "layer mount: mount a fresh proc: Operation not permitted",
	 "/proc is covered"},
	{"Yama 3",
	 {BJ_SETUP, LAYER_INIT, HOOK_VERIFY, EPERM, "seize the program"},
	 YAMA_3,
	 "layer init: seize the program: Operation not permitted",
	 "ptrace_scope is 3"},
	{"Yama 1 is not to blame",
	 {BJ_SETUP, LAYER_INIT, HOOK_VERIFY, EPERM, "seize the program"},
	 PLAIN,
	 "layer init: seize the program: Operation not permitted",
	 "belljar doctor"},
	{"no Landlock",
	 {BJ_UNSUPPORTED, LAYER_LANDLOCK, HOOK_CHILD, ENOSYS, "make a ruleset"},
	 NO_LANDLOCK,
	 "layer landlock: make a ruleset: Function not implemented",
	 "accept_missing\": [\"landlock\"]"},
	{"an old Landlock",
	 {BJ_UNSUPPORTED, LAYER_LANDLOCK, HOOK_CHILD, 0, "ABI below landlock_abi_min"},
	 OLD_LANDLOCK,
	 "layer landlock: ABI below landlock_abi_min",
	 "newer kernel"},
	{"no delegated cgroup, with systemd",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_PREPARE, EACCES, "make the run's cgroup"},
	 SYSTEMD,
	 "layer cgroup: make the run's cgroup: Permission denied",
	 "systemd-run --user --scope -p Delegate=yes belljar"},
	{"no delegated cgroup, without systemd",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_PREPARE, EACCES, "make the run's cgroup"},
	 PLAIN,
	 "layer cgroup: make the run's cgroup: Permission denied",
	 "accept_missing\": [\"cgroup\"]"},
	{"no cgroup in a container",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_PREPARE, EROFS, "make the run's cgroup"},
	 DOCKER,
	 "layer cgroup: make the run's cgroup: Read-only file system",
	 "docker: --privileged"},
	{"no cgroup for root, with systemd",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_PREPARE, ENOENT, "open the base"},
	 SYSTEMD_AS_ROOT,
	 "layer cgroup: open the base: No such file or directory",
	 "systemd-run --scope -p Delegate=yes belljar"},
	{"no cgroup for root, without systemd",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_PREPARE, ENOENT, "open the base"},
	 ROOT_ALONE,
	 "layer cgroup: open the base: No such file or directory",
	 "Mount cgroup v2"},
	{"a controller of v1 is missing for root",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_CHILD, 0, "find a cgroup"},
	 V1_AS_ROOT,
	 "layer cgroup: find a cgroup",
	 "memory, pids, cpu and cpuacct must each be mounted"},
	{"v1 gives an ordinary user nothing, with systemd or without",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_CHILD, 0, "find a cgroup"},
	 V1,
	 "layer cgroup: find a cgroup",
	 "only root has one to give"},
	{"v1 in a container",
	 {BJ_UNSUPPORTED, LAYER_CGROUP, HOOK_CHILD, 0, "find a cgroup"},
	 V1_CONTAINER,
	 "layer cgroup: find a cgroup",
	 "docker: --privileged"},
	{"a call of no layer is refused",
	 {BJ_SETUP, LAYER_COUNT, HOOK_PREPARE, EPERM, "open a signalfd"},
	 APPARMOR,
	 "open a signalfd: Operation not permitted",
	 "A seccomp filter or a security module around Belljar"},
	{"a call of no layer is refused in a container",
	 {BJ_SETUP, LAYER_COUNT, HOOK_PREPARE, EPERM, "open a signalfd"},
	 CONTAINER,
	 "open a signalfd: Operation not permitted",
	 "seccomp=unconfined"},
	{"a call of no layer is not there",
	 {BJ_SETUP, LAYER_COUNT, HOOK_PREPARE, ENOSYS, "open a signalfd"},
	 PLAIN,
	 "open a signalfd: Function not implemented",
	 "a filter around it can also hide system calls"},
	{"too much is copied in",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, ENOSPC, "copy into the workspace"},
	 PLAIN,
	 "layer mount: copy into the workspace: No space left on device",
	 "files of --in"},
	{"an input has nothing to read now",
	 {BJ_INVALID, LAYER_MOUNT, HOOK_CHILD, EAGAIN, "read a file to copy in"},
	 PLAIN,
	 "layer mount: read a file to copy in: Resource temporarily unavailable",
	 "It cannot be read to its end"},
	{"an input may not be read",
	 {BJ_INVALID, LAYER_MOUNT, HOOK_CHILD, EPERM, "read a file to copy in"},
	 CONTAINER,
	 "layer mount: read a file to copy in: Operation not permitted",
	 "It cannot be read to its end"},
	{"a proc of another pid namespace",
	 {BJ_SETUP, LAYER_PID, HOOK_PREPARE, EXDEV, "find this pid namespace in /proc"},
	 CONTAINER,
	 "layer pid: find this pid namespace in /proc: Invalid cross-device link",
	 "mount -t proc proc /proc"},
	{"two inputs of one name",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, EEXIST, "copy into the workspace"},
	 PLAIN,
	 "layer mount: copy into the workspace: File exists",
	 "Two files of --in"},
	{"an input below a file",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, ENOTDIR, "copy into the workspace"},
	 PLAIN,
	 "layer mount: copy into the workspace: Not a directory",
	 "where another needs a directory"},
	{"a comparison is no question of rights",
	 {BJ_SETUP, LAYER_CGROUP, HOOK_VERIFY, EBADMSG, "memory as planned"},
	 SYSTEMD,
	 "layer cgroup: memory as planned: not so when read back",
	 "not what the policy asked for"},
	{"a comparison that could not be made is one",
	 {BJ_SETUP, LAYER_CGROUP, HOOK_VERIFY, EACCES, "read its cgroups"},
	 SYSTEMD,
	 "layer cgroup: read its cgroups: Permission denied",
	 "systemd-run"},
	{"EBADMSG where nothing is compared",
	 {BJ_SETUP, LAYER_UTS, HOOK_CHILD, EBADMSG, "set the host name"},
	 PLAIN,
	 "layer uts: set the host name: Bad message",
	 "not what the policy asked for"},
	{"set-up does not come to its end",
	 {BJ_SETUP, LAYER_COUNT, HOOK_PARENT, ETIMEDOUT, "set up in time"},
	 PLAIN,
	 "set up in time: Connection timed out",
	 "what --in names does not come"},
	{"seccomp is refused",
	 {BJ_SETUP, LAYER_SECCOMP, HOOK_CHILD, EACCES, "load the filter"},
	 PLAIN,
	 "layer seccomp: load the filter: Permission denied",
	 "belljar doctor"},
	{"an old kernel",
	 {BJ_SETUP, LAYER_FDS, HOOK_CHILD, ENOSYS, "close all others"},
	 PLAIN,
	 "layer fds: close all others: Function not implemented",
	 "Linux 5.15"},
	{"no seccomp filters",
	 {BJ_SETUP, LAYER_SECCOMP, HOOK_CHILD, EINVAL, "load the filter"},
	 PLAIN,
	 "layer seccomp: load the filter: Invalid argument",
	 "CONFIG_SECCOMP_FILTER"},
	{"a full host",
	 {BJ_INTERNAL, LAYER_COUNT, HOOK_NONE, EAGAIN, "clone init"},
	 PLAIN,
	 "clone init: Resource temporarily unavailable",
	 "ulimit -u"},
	{"a full workspace",
	 {BJ_SETUP, LAYER_MOUNT, HOOK_CHILD, ENOSPC, "copy in"},
	 PLAIN,
	 "layer mount: copy in: No space left on device",
	 "`workspace`"},
	{"of no known mend",
	 {BJ_SETUP, LAYER_UTS, HOOK_CHILD, EIO, "set the host name"},
	 PLAIN,
	 "layer uts: set the host name: Input/output error",
	 ""},
	{"the program is not there",
	 {BJ_EXEC, LAYER_COUNT, HOOK_NONE, ENOENT, "execve"},
	 CONTAINER,
	 "cannot run no such\\nthing: No such file or directory",
	 "neither in the image"},
	{"its interpreter is not there",
	 {BJ_EXEC, LAYER_COUNT, HOOK_NONE, ENOENT, "find the interpreter of the program"},
	 PLAIN,
	 "cannot run no such\\nthing: its interpreter: No such file or directory",
	 "interpreter that its first line"},
	{"the program may not be run",
	 {BJ_EXEC, LAYER_COUNT, HOOK_NONE, EACCES, "execve"},
	 CONTAINER,
	 "cannot run no such\\nthing: Permission denied",
	 "chmod +x"},
	{"the program is for another machine",
	 {BJ_EXEC, LAYER_COUNT, HOOK_NONE, ENOEXEC, "execve"},
	 PLAIN,
	 "cannot run no such\\nthing: Exec format error",
	 "no program for this machine"},
};

static void every_fault_has_its_sentence_and_mend(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bj_error err;
		print_message("# %s\n", cases[i].name);
		fault_explain_on(&cases[i].fault, "no such\nthing", &hosts[cases[i].host], &err);
		assert_string_equal(err.message, cases[i].message);
		if (cases[i].host != V1 && cases[i].host != SYSTEMD)
			assert_null(strstr(err.hint, "--user"));
		if (cases[i].host == V1)
			assert_null(strstr(err.hint, "systemd-run"));
		assert_int_equal(err.code, cases[i].fault.code);
		assert_int_equal(err.os_error, cases[i].fault.os);
		uint8_t layer = cases[i].fault.layer;
		assert_string_equal(err.layer, layer < LAYER_COUNT ? layers[layer].name : "");
		if (cases[i].hint[0])
			assert_non_null(strstr(err.hint, cases[i].hint));
		else
			assert_string_equal(err.hint, "");
	}
}

/* Each layer, hook and errno, on every kind of host: a sentence always, cut nowhere. */
static void no_fault_is_without_a_whole_sentence(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 128; n++) {
		const struct host_facts host = {
			.userns_max = n & 1,
			.userns_clone = n >> 1 & 1,
			.userns_apparmor = n >> 2 & 1,
			.ptrace_scope = n & 1 ? 3 : 1,
			.landlock_abi = (int)(n >> 3 & 1),
			.root = n >> 4 & 1,
			.container = n >> 5 & 1,
			.cgroup_v1 = n >> 6 & 1,
		};
		for (int layer = 0; layer <= LAYER_COUNT; layer++) {
			for (int os = 0; os < 134; os++) {
				struct fault fault = {BJ_SETUP, (uint8_t)layer, HOOK_CHILD, os, ""};
				struct bj_error err;
				memset(fault.what, 'w', sizeof(fault.what) - 1);
				fault_explain_on(&fault, NULL, &host, &err);
				size_t size = strlen(err.hint);
				assert_non_null(strstr(err.message, fault.what));
				assert_true(size < sizeof(err.hint) - 1);
				assert_true(size == 0 || err.hint[size - 1] == '.');
			}
		}
	}
}

/* The library's own errors: what failed and why are theirs, the mend is looked for. */
static void a_refused_call_of_no_layer_has_a_mend(void **state)
{
	(void)state;
	static const struct {
		enum bj_code code;
		int os;
		const char *mend; /* NULL: none */
	} rows[] = {
		{BJ_INTERNAL, EPERM, "around Belljar"},
		{BJ_INTERNAL, ENOSYS, "Linux 5.15"},
		{BJ_INTERNAL, EMFILE, "ulimit -n"},
		{BJ_INTERNAL, EIO, NULL},
		{BJ_INTERNAL, 0, NULL},
		/* The request's fault, not the host's. */
		{BJ_INVALID, EPERM, NULL},
		{BJ_REFUSED, EPERM, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bj_error err = {.code = rows[i].code, .os_error = rows[i].os};
		char text[sizeof(err.hint)];
		assert_ptr_equal(error_mend(&err, text, sizeof(text)), text);
		if (rows[i].mend)
			assert_non_null(strstr(text, rows[i].mend));
		else
			assert_string_equal(text, "");
	}
}

static void this_host_is_read(void **state)
{
	(void)state;
	struct host_facts facts;
	host_facts_read(&facts);
	/* Linux 4.9 and later have this one, wherever /proc/sys can be read. */
	assert_true(facts.userns_max >= 0);
	assert_int_equal(facts.root, geteuid() == 0);
	assert_true(facts.landlock_abi >= 0 && facts.landlock_abi < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_has_its_sentence_and_mend),
		cmocka_unit_test(no_fault_is_without_a_whole_sentence),
		cmocka_unit_test(a_refused_call_of_no_layer_has_a_mend),
		cmocka_unit_test(this_host_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
