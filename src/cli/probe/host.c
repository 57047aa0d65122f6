/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When no sandbox can be made: each feature alone, in a process of its own, so that all that is
 * missing is known at once. Nothing of the host is changed.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

/* A user namespace with more, as one step: what a run asks for. */
static long with_user(int flags)
{
	return unshare(CLONE_NEWUSER | flags);
}

static long user_namespace(void)
{
	return with_user(0);
}

static long pid_namespace(void)
{
	return with_user(CLONE_NEWPID);
}

static long net_namespace(void)
{
	return with_user(CLONE_NEWNET);
}

static long ipc_namespace(void)
{
	return with_user(CLONE_NEWIPC);
}

static long uts_namespace(void)
{
	return with_user(CLONE_NEWUTS);
}

static long cgroup_namespace(void)
{
	return with_user(CLONE_NEWCGROUP);
}

/* Capabilities in the new namespace: Ubuntu's AppArmor gives the namespace and keeps these. */
static long mount_tmpfs(void)
{
	if (with_user(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k");
}

static long mount_proc_here(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* A fresh proc: refused where the one that is there is covered in parts. */
static long mount_proc(void)
{
	if (with_user(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return in_child(mount_proc_here); /* the first process of the pid namespace */
}

static long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1U);
}

static long load_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static long no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* What the receipt needs. */
static long seize(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	if (pid < 0)
		return -1;
	long got = ptrace(PTRACE_SEIZE, pid, NULL, NULL);
	int os = errno;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	errno = os;
	return got;
}

static long open_pidfd(void)
{
	return syscall(SYS_pidfd_open, getpid(), 0);
}

static long open_beneath(void)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : syscall(SYS_openat2, dir, "usr", &how, sizeof(how));
}

static long close_all(void)
{
	return syscall(SYS_close_range, 64U, ~0U, 0U);
}

static const struct check features[] = {
	{"user", "make a user namespace", WORKS, {0}, user_namespace},
	{"pid", "make a pid namespace", WORKS, {0}, pid_namespace},
	{"init", "trace a process, for the receipt", WORKS, {0}, seize},
	{"init", "open a pidfd", WORKS, {0}, open_pidfd},
	{"mount", "mount a tmpfs in a namespace", WORKS, {0}, mount_tmpfs},
	{"mount", "mount a fresh proc", WORKS, {0}, mount_proc},
	{"mount", "open beneath a directory (openat2)", WORKS, {0}, open_beneath},
	{"net", "make a network namespace", WORKS, {0}, net_namespace},
	{"ipc", "make an IPC namespace", WORKS, {0}, ipc_namespace},
	{"uts", "make a UTS namespace", WORKS, {0}, uts_namespace},
	{"cgroupns", "make a cgroup namespace", WORKS, {0}, cgroup_namespace},
	{"nnp", "set no_new_privs", WORKS, {0}, no_new_privs},
	{"landlock", "ask for Landlock", WORKS, {0}, landlock_abi},
	{"seccomp", "load a filter", WORKS, {0}, load_filter},
	{"fds", "close a range of descriptors", WORKS, {0}, close_all},
};

void probe_host(void)
{
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		errno = 0;
		long got = in_child(features[i].act);
		int os = got < 0 ? errno : 0;
		print_check(features[i].layer, features[i].text, features[i].expect, got >= 0, os,
			    got);
	}
}
