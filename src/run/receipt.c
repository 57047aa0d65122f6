/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receipt: what the kernel says of the program, at its exec stop, against what the plan asked
 * for. Taken from outside, from the program's own process: nothing inside is asked, except for the
 * few things that /proc does not show (struct child_proof).
 */
#include "base/io.h"
#include "layers/posture.h"
#include "layers/step.h"
#include "run/launch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One process takes one receipt: 200 KiB that need not be on a stack or allocated. */
static struct posture posture;
static char mounts[1 << 16];

static const char *const ns_names[NS_COUNT] = {
	[NS_USER] = "user", [NS_PID] = "pid", [NS_MNT] = "mnt",	      [NS_NET] = "net",
	[NS_IPC] = "ipc",   [NS_UTS] = "uts", [NS_CGROUP] = "cgroup",
};

/*
 * The inode number in a link's text, "net:[4026531840]", is the namespace's identity. Read, not
 * followed: that would make an inode of it each time.
 */
static int read_namespaces(int dir, uint64_t ns[NS_COUNT])
{
	char text[64], *end;
	int ns_dir = openat(dir, "ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ns_dir < 0)
		return -1;
	for (int i = 0; i < NS_COUNT; i++) {
		ssize_t n = readlinkat(ns_dir, ns_names[i], text, sizeof(text) - 1);
		if (n < 0)
			return -1;
		text[n] = '\0';
		const char *open = strchr(text, '[');
		ns[i] = open ? strtoull(open + 1, &end, 10) : 0;
		if (ns[i] == 0 || *end != ']')
			return errno = EBADMSG, -1;
	}
	return close(ns_dir);
}

int receipt_prepare(struct launch *launch, struct fault *fault)
{
	int self = (int)STEP(fault, LAYER_COUNT, HOOK_PREPARE, "open /proc/self",
			     openat(launch->proc_fd, "self", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (self < 0 || STEP(fault, LAYER_COUNT, HOOK_PREPARE, "read the launcher's namespaces",
			     read_namespaces(self, posture.ns_host)) < 0)
		return -1;
	launch->mounts_fd =
		(int)STEP(fault, LAYER_COUNT, HOOK_PREPARE, "open the host's table of mounts",
			  openat(self, "mountinfo", O_RDONLY | O_CLOEXEC));
	if (launch->mounts_fd < 0)
		return -1;
	return close(self);
}

/* The text after "Key:" and white space, or NULL. */
static const char *value_of(const char *status, const char *key)
{
	size_t size = strlen(key);
	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, size) == 0 && line[size] == ':') {
			line += size + 1;
			return line + strspn(line, " \t");
		}
	}
	return NULL;
}

static bool number_of(const char *status, const char *key, int base, uint64_t *ret)
{
	const char *value = value_of(status, key);
	char *end;
	if (!value)
		return false;
	uint64_t got = strtoull(value, &end, base);
	if (end == value)
		return false;
	*ret = got;
	return true;
}

static bool ids_of(const char *status, const char *key, uint32_t ids[4])
{
	const char *value = value_of(status, key);
	return value && sscanf(value, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4;
}

static uint32_t words_of(const char *value)
{
	uint32_t count = 0;
	while (*value && *value != '\n') {
		count += isdigit((unsigned char)*value) != 0;
		value += strcspn(value, " \n");
		value += *value == ' ';
	}
	return count;
}

/* The last of the pids in NSpid is the one in the innermost namespace. */
static uint32_t inner_pid(const char *status)
{
	const char *value = value_of(status, "NSpid");
	uint32_t pid = 0;
	while (value && isdigit((unsigned char)*value)) {
		pid = (uint32_t)strtoul(value, NULL, 10);
		value += strcspn(value, "\t\n");
		value += *value == '\t';
	}
	return pid;
}

/* Bits set in a mask that is written as hexadecimal words with commas. */
static uint32_t bits_of(const char *value)
{
	uint32_t count = 0;
	for (; *value && *value != '\n'; value++) {
		const char digit[2] = {*value, '\0'};
		count += (uint32_t)__builtin_popcountl(strtoul(digit, NULL, 16));
	}
	return count;
}

static int read_status(int dir)
{
	static const char *const cap_names[CAP_SET_COUNT] = {
		[CAP_INH] = "CapInh", [CAP_PRM] = "CapPrm", [CAP_EFF] = "CapEff",
		[CAP_BND] = "CapBnd", [CAP_AMB] = "CapAmb",
	};
	static char text[1 << 16]; /* a user may be in thousands of groups */
	uint64_t nnp, mode, filters, mask, threads;
	if (read_at(dir, "status", text, sizeof(text)) < 0)
		return -1;
	errno = EBADMSG;
	const char *groups = value_of(text, "Groups"), *cpus = value_of(text, "Cpus_allowed");
	if (!groups || !cpus || !ids_of(text, "Uid", posture.uid) ||
	    !ids_of(text, "Gid", posture.gid) || !number_of(text, "NoNewPrivs", 10, &nnp) ||
	    !number_of(text, "Seccomp", 10, &mode) || !number_of(text, "Umask", 8, &mask) ||
	    !number_of(text, "Threads", 10, &threads) ||
	    !number_of(text, "SigBlk", 16, &posture.sig_blocked) ||
	    !number_of(text, "SigIgn", 16, &posture.sig_ignored) ||
	    !number_of(text, "SigCgt", 16, &posture.sig_caught))
		return -1;
	for (int i = 0; i < CAP_SET_COUNT; i++) {
		if (!number_of(text, cap_names[i], 16, &posture.caps[i]))
			return -1;
	}
	posture.groups = words_of(groups);
	posture.cpus = bits_of(cpus);
	posture.no_new_privs = (int)nnp;
	posture.seccomp_mode = (int)mode;
	posture.seccomp_filters =
		number_of(text, "Seccomp_filters", 10, &filters) ? (int)filters : -1;
	posture.umask = (uint32_t)mask;
	posture.threads = (uint32_t)threads;
	posture.ns_pid = inner_pid(text);
	return 0;
}

/* Fields 6, 7 and 18 of stat, counted from the last ")": a name may hold anything. */
static int read_session(int dir)
{
	char text[1024];
	int tty;
	if (read_at(dir, "stat", text, sizeof(text)) < 0)
		return -1;
	const char *after = strrchr(text, ')');
	errno = EBADMSG;
	if (!after ||
	    sscanf(after, ") %*c %*d %*d %u %d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d",
		   &posture.session, &tty, &posture.priority) != 3)
		return -1;
	posture.tty = (uint32_t)tty;
	return 0;
}

static int read_fds(int dir)
{
	posture.fds = 0;
	posture.fds_are_pipes = true;
	int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	if (!list)
		return -1;
	errno = 0;
	for (struct dirent *entry; (entry = readdir(list));) {
		char link[64] = "";
		if (entry->d_name[0] == '.')
			continue;
		unsigned long n = strtoul(entry->d_name, NULL, 10);
		posture.fds |= UINT64_C(1) << (n < 63 ? n : 63);
		if (readlinkat(dirfd(list), entry->d_name, link, sizeof(link) - 1) < 0 ||
		    strncmp(link, "pipe:", 5) != 0)
			posture.fds_are_pipes = false;
	}
	int os = errno;
	(void)closedir(list);
	errno = os;
	return os ? -1 : 0;
}

/* On which mount a link of /proc/PID leads: a path of the host may be spelled like one inside. */
static int read_mount_of(int dir, const char *link, uint64_t *ret_id)
{
	struct statx st = {0};
	int fd = openat(dir, link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -1;
	long got = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st);
	(void)close(fd);
	if (got < 0)
		return -1;
	*ret_id = st.stx_mnt_id;
	return st.stx_mask & STATX_MNT_ID ? 0 : (errno = EBADMSG, -1);
}

static int read_limits(pid_t pid)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		if (syscall(SYS_prlimit64, pid, i, NULL, &posture.limit[i]) < 0)
			return -1;
	}
	return 0;
}

static int read_environment(int dir)
{
	int fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read_whole(fd, posture.environment, sizeof(posture.environment));
	(void)close(fd);
	if (n < 0 || (size_t)n == sizeof(posture.environment))
		return n < 0 ? -1 : (errno = EFBIG, -1);
	posture.environment_size = (uint32_t)n;
	return 0;
}

static int read_posture(const struct launch *launch, struct fault *fault)
{
	char name[16];
	(void)snprintf(name, sizeof(name), "%d", launch->program);
	int dir = (int)STEP(fault, LAYER_COUNT, HOOK_VERIFY, "open /proc of the program",
			    openat(launch->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (dir < 0)
		return -1;
	if (STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its status", read_status(dir)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its session", read_session(dir)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its namespaces",
		 read_namespaces(dir, posture.ns)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its mounts",
		 read_at(dir, "mountinfo", mounts, sizeof(mounts))) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its working directory",
		 read_mount_of(dir, "cwd", &posture.cwd_mount)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its program",
		 read_mount_of(dir, "exe", &posture.exe_mount)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its cgroups",
		 read_at(dir, "cgroup", posture.cgroup, sizeof(posture.cgroup))) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its descriptors", read_fds(dir)) < 0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its environment", read_environment(dir)) <
		    0 ||
	    STEP(fault, LAYER_COUNT, HOOK_VERIFY, "read its limits", read_limits(launch->program)) <
		    0)
		return -1;
	return close(dir);
}

/* Whose word a row is: the kernel's, init's where /proc shows nothing, or the launcher's own. */
static enum proof proof_of(enum layer_id id)
{
	switch ((int)id) {
	case LAYER_INIT:
	case LAYER_LANDLOCK:
		return BY_INIT;
	case LAYER_OUTPUT:
	case LAYER_MONITOR:
		return BY_LAUNCHER;
	default:
		return BY_KERNEL;
	}
}

int receipt_read(struct run *run, struct fault *fault)
{
	posture.mounts = mounts;
	return read_posture(&run->launch, fault);
}

int receipt_compare(struct run *run, struct fault *fault)
{
	struct launch *launch = &run->launch;
	uint32_t by_hook = launch->init_proof.layers | launch->program_proof.layers;
	for (int id = 0; id < LAYER_COUNT; id++) {
		if (!(launch->required & LAYER_BIT(id)))
			continue;
		/* A hook that was skipped is a fault even where the kernel would not show it. */
		struct step ran = {(uint8_t)id, HOOK_VERIFY, "its hook ran inside"};
		if ((layers[id].child || layers[id].settle) && !(by_hook & LAYER_BIT(id)))
			return step_failed(fault, &ran, EBADMSG);
		if (layers[id].verify(launch, &posture, fault) < 0)
			return -1;
		struct report_layer *row = &run->report->layer[id];
		memcpy(row->note, launch->note[id], sizeof(row->note));
		row->proof = (uint8_t)proof_of(id);
	}
	return 0;
}
