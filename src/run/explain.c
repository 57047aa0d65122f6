/* SPDX-License-Identifier: Apache-2.0 */
/* From a fault to a sentence and its mend: see explain.h. */
#include "run/explain.h"

#include "base/cleanup.h"
#include "base/os_names.h"
#include "base/text.h"
#include "files/files.h"
#include "run/kept.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#define LANDLOCK_ABI_QUESTION 1 /* LANDLOCK_CREATE_RULESET_VERSION */

/* ---- What this host is like ---------------------------------------------------------------- */

static long read_number(const char *path)
{
	auto_fclose FILE *file = fopen(path, "re");
	char text[32];
	if (!file || !fgets(text, sizeof(text), file))
		return -1;
	errno = 0;
	char *end;
	long value = strtol(text, &end, 10);
	return errno != 0 || end == text || value < 0 ? -1 : value;
}

static bool pid1_is_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

static bool in_container(void)
{
	/* systemd and LXC say so here; docker and podman leave a file. */
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
	       access("/run/systemd/container", F_OK) == 0;
}

/* "4:memory:/user.slice": a hierarchy with a number of its own is one of version 1. */
static bool has_cgroup_v1(void)
{
	auto_fclose FILE *file = fopen("/proc/thread-self/cgroup", "re");
	char line[4352];
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "0::", 3) != 0)
			return true;
	return false;
}

void host_facts_read(struct host_facts *ret)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_ABI_QUESTION);
	*ret = (struct host_facts){
		.userns_max = read_number("/proc/sys/user/max_user_namespaces"),
		.userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone"),
		.userns_apparmor =
			read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		.ptrace_scope = read_number("/proc/sys/kernel/yama/ptrace_scope"),
		.landlock_abi = abi > 0 && abi < INT_MAX ? (int)abi : 0,
		.root = geteuid() == 0,
		.container = in_container(),
		.systemd = pid1_is_systemd(),
		.cgroup_v1 = has_cgroup_v1(),
	};
}

/* ---- Mends --------------------------------------------------------------------------------- */

static bool userns_off(const struct host_facts *f)
{
	return f->userns_max == 0;
}

static bool userns_root_only(const struct host_facts *f)
{
	return !f->root && f->userns_clone == 0;
}

static bool userns_by_profile(const struct host_facts *f)
{
	return !f->root && f->userns_apparmor > 0;
}

static bool ptrace_off(const struct host_facts *f)
{
	return f->ptrace_scope >= 3;
}

static bool landlock_absent(const struct host_facts *f)
{
	return f->landlock_abi == 0;
}

static bool contained(const struct host_facts *f)
{
	return f->container;
}

static bool root_with_v1(const struct host_facts *f)
{
	return f->root && !f->container && f->cgroup_v1;
}

static bool user_with_v1(const struct host_facts *f)
{
	return !f->root && !f->container && f->cgroup_v1;
}

static bool root_of_systemd(const struct host_facts *f)
{
	return f->root && !f->container && f->systemd;
}

static bool user_of_systemd(const struct host_facts *f)
{
	return !f->root && !f->container && f->systemd;
}

static bool user_alone(const struct host_facts *f)
{
	return !f->root;
}

#define ANY_LAYER   0xff
#define ANY_ERRNO   0
#define NOT_ALLOWED (-1) /* EPERM or EACCES */
#define NOT_THERE   (-2) /* ENOSYS, EOPNOTSUPP or EINVAL */

#define ACCEPT(layer)                                                                              \
	"a policy file (~/.config/belljar/policy.json) with \"accept_missing\": [\"" layer         \
	"\"] lets runs do without it, and every result says so."
#define DOCKER                                                                                     \
	"A container around Belljar must allow namespaces and mounts: start it with "              \
	"--security-opt "                                                                          \
	"seccomp=unconfined --security-opt apparmor=unconfined --security-opt "                    \
	"systempaths=unconfined."

/* The first row that fits is the mend: the special before the general. */
static const struct mend {
	uint8_t layer; /* or ANY_LAYER */
	int os;
	const char *what; /* part of the fault's words, or NULL */
	bool (*holds)(const struct host_facts *facts);
	const char *text;
} mends[] = {
	{ANY_LAYER, ANY_ERRNO, FILES_READ_STEP, NULL,
	 "It cannot be read to its end: give a regular file with its content."},
	{ANY_LAYER, ENOSPC, "clone", userns_off,
	 "User namespaces are switched off: as root, sysctl -w user.max_user_namespaces=15000."},
	{LAYER_USER, ANY_ERRNO, NULL, userns_off,
	 "User namespaces are switched off: as root, sysctl -w user.max_user_namespaces=15000."},
	{ANY_LAYER, NOT_ALLOWED, "clone", userns_root_only,
	 "Only root may make user namespaces here: as root, sysctl -w "
	 "kernel.unprivileged_userns_clone=1."},
	{LAYER_USER, NOT_ALLOWED, NULL, userns_root_only,
	 "Only root may make user namespaces here: as root, sysctl -w "
	 "kernel.unprivileged_userns_clone=1."},
	{ANY_LAYER, NOT_ALLOWED, "seize", ptrace_off,
	 "Yama's kernel.yama.ptrace_scope is 3, under which no receipt can be taken; it can only "
	 "be "
	 "lowered by a restart with another setting (/etc/sysctl.d)."},
	{LAYER_INIT, NOT_ALLOWED, NULL, ptrace_off,
	 "Yama's kernel.yama.ptrace_scope is 3, under which no receipt can be taken; it can only "
	 "be "
	 "lowered by a restart with another setting (/etc/sysctl.d)."},
	{LAYER_LANDLOCK, ANY_ERRNO, NULL, landlock_absent,
	 "This kernel has no Landlock, or it is not switched on: add landlock to lsm= on the "
	 "kernel's "
	 "command line, or " ACCEPT("landlock")},
	{LAYER_LANDLOCK, ANY_ERRNO, "ABI", NULL,
	 "This kernel's Landlock is older than the policy wants: use a newer kernel, or lower "
	 "`landlock_abi_min`."},
	{LAYER_CGROUP, ANY_ERRNO, NULL, root_with_v1,
	 "Of cgroup v1, memory, pids, cpu and cpuacct must each be mounted and writable: "
	 "/proc/cgroups shows which this kernel has and has on (cgroup_enable=memory on its "
	 "command "
	 "line); or " ACCEPT("cgroup")},
	{LAYER_CGROUP, ANY_ERRNO, NULL, user_with_v1,
	 "Of cgroup v1 only root has one to give: start this host with cgroup v2 alone "
	 "(systemd.unified_cgroup_hierarchy=1 on the kernel's command line); or " ACCEPT("cgroup")},
	{LAYER_CGROUP, ANY_ERRNO, NULL, root_of_systemd,
	 "Give it a cgroup of its own: systemd-run --scope -p Delegate=yes belljar …; or " ACCEPT(
		 "cgroup")},
	{LAYER_CGROUP, ANY_ERRNO, NULL, user_of_systemd,
	 "Give it a cgroup of its own: systemd-run --user --scope -p Delegate=yes belljar …; "
	 "or " ACCEPT("cgroup")},
	{LAYER_CGROUP, ANY_ERRNO, NULL, contained,
	 "A container around Belljar must have a cgroup that can be written (docker: --privileged, "
	 "podman: --systemd=always); or " ACCEPT("cgroup")},
	{LAYER_CGROUP, ANY_ERRNO, NULL, user_alone,
	 "Start it alone in a cgroup that belongs to you, with memory, pids and cpu; or " ACCEPT(
		 "cgroup")},
	{LAYER_CGROUP, ANY_ERRNO, NULL, NULL,
	 "Mount cgroup v2, or v1 with memory, pids, cpu and cpuacct, at /sys/fs/cgroup; or " ACCEPT(
		 "cgroup")},
	{ANY_LAYER, NOT_ALLOWED, NULL, contained, DOCKER},
	{LAYER_COUNT, NOT_ALLOWED, NULL, NULL,
	 "A seccomp filter or a security module around Belljar refuses this call: allow it there, "
	 "or "
	 "start Belljar outside of it; the kernel's log may say which."},
	{ANY_LAYER, NOT_ALLOWED, NULL, userns_by_profile,
	 "AppArmor allows user namespaces only to programs with a profile here: install Belljar's "
	 "package, which brings one, or as root: apparmor_parser -r /etc/apparmor.d/belljar."},
	{LAYER_MOUNT, NOT_ALLOWED, "fresh proc", NULL,
	 "If /proc is covered in parts here, the kernel refuses a fresh one: run Belljar where "
	 "/proc is "
	 "whole. `belljar doctor` tries each mount alone."},

	{LAYER_PID, EXDEV, NULL, NULL,
	 "Mount the /proc of this pid namespace: as its root, mount -t proc proc /proc "
	 "(`unshare --pid --fork --mount-proc` does)."},
	{LAYER_SECCOMP, NOT_THERE, NULL, NULL,
	 "This kernel was built without CONFIG_SECCOMP_FILTER."},
	{ANY_LAYER, ENOSPC, "clone", NULL,
	 "The limit of namespaces is reached (/proc/sys/user/max_*_namespaces), or they are nested "
	 "too "
	 "deep: try again when less runs, or raise it."},
	{LAYER_USER, NOT_ALLOWED, NULL, NULL,
	 "User namespaces are not allowed here: look at the kernel's log for what refused them, "
	 "and run "
	 "`belljar doctor`."},
	{LAYER_INIT, EPIPE, NULL, NULL,
	 "A process of Belljar died inside without a word: the kernel's log says whether it was "
	 "killed, "
	 "for memory perhaps; try again, with more `memory`."},
	{ANY_LAYER, EBADMSG, NULL, NULL,
	 "What the kernel shows is not what the policy asked for, so nothing ran: run `belljar "
	 "doctor`, "
	 "and report it with the kernel's version."},
	{ANY_LAYER, ENOSYS, NULL, NULL,
	 "Belljar needs Linux 5.15 or later; a filter around it can also hide system calls."},
	{LAYER_COUNT, ETIMEDOUT, NULL, NULL,
	 "This host is too busy, or what --in names does not come (a network file system that is "
	 "gone?): try again when less runs, or copy it to a disk of this host first."},
	{ANY_LAYER, ENOMEM, NULL, NULL,
	 "This host, or the cgroup around Belljar, has no memory left: try again when less runs."},
	{ANY_LAYER, EAGAIN, NULL, NULL,
	 "No more processes may be started here now (ulimit -u, or the pids limit around Belljar): "
	 "try "
	 "again when less runs."},
	{ANY_LAYER, EMFILE, NULL, NULL, "Too many files are open here: raise ulimit -n."},
	{ANY_LAYER, ENFILE, NULL, NULL,
	 "This host has too many files open: try again when less runs."},
	{ANY_LAYER, ENOSPC, FILES_COPY_IN_STEP, NULL,
	 "The files of --in and the code are together more than the workspace holds: ask for more "
	 "`workspace` or `inodes`, or copy less in."},
	{ANY_LAYER, EEXIST, FILES_COPY_IN_STEP, NULL,
	 "Two files of --in are to have one name inside: give one another name (HOST:NAME)."},
	{ANY_LAYER, ENOTDIR, FILES_COPY_IN_STEP, NULL,
	 "A file of --in is to be where another needs a directory: give one another name "
	 "(HOST:NAME)."},
	{ANY_LAYER, ENOSPC, NULL, NULL,
	 "A mount is full: if it is the run's own, ask for more `workspace`, `tmp` or `inodes`."},
	{ANY_LAYER, NOT_ALLOWED, NULL, NULL,
	 "Something on this host refuses it: run `belljar doctor`, which tries each layer alone."},
};

/* Why the program itself could not be started. */
static const struct {
	int os;
	const char *text;
} exec_mends[] = {
	{ENOENT,
	 "It is neither in the image nor in the workspace: check the name, or copy it in (--in)."},
	{EACCES, "It is a directory, or not executable: chmod +x it, or name its interpreter."},
	{EPERM, "It is not executable here: name its interpreter."},
	{ENOEXEC,
	 "It is no program for this machine, and has no #! line: name its interpreter, or build "
	 "it for this processor."},
	{ENOTDIR, "A part of its path is a file: check the path."},
	{EISDIR, "It is a directory: name a program."},
	{ELOOP, "Its symbolic links, or the interpreters in its first line, go in a circle."},
	{E2BIG, "Arguments and environment are too large: pass data by a file or standard input."},
	{ENAMETOOLONG, "Its name is too long: check the path."},
	{ETXTBSY, "It is being written to: close it first."},
	{ENOMEM, "It does not fit into the run's memory: ask for more `memory`."},
	{EINVAL, "It is not a whole program: build it again."},
};

static bool errno_fits(int wanted, int os)
{
	switch (wanted) {
	case ANY_ERRNO:
		return true;
	case NOT_ALLOWED:
		return os == EPERM || os == EACCES;
	case NOT_THERE:
		return os == ENOSYS || os == EOPNOTSUPP || os == EINVAL;
	default:
		return os == wanted;
	}
}

static bool mend_fits(const struct mend *mend, const struct fault *fault,
		      const struct host_facts *facts)
{
	return (mend->layer == ANY_LAYER || mend->layer == fault->layer) &&
	       errno_fits(mend->os, fault->os) &&
	       (!mend->what || strstr(fault->what, mend->what)) &&
	       (!mend->holds || mend->holds(facts));
}

static const char *find_exec_mend(const struct fault *fault)
{
	int os = fault->os;
	if (strstr(fault->what, "interpreter"))
		return "The interpreter that its first line or its header names is not in the "
		       "image: "
		       "check that line, or use an image that has it.";

	if (strstr(fault->what, "working directory"))
		return "Name one that the image has, or make it in the workspace first: --cwd "
		       "/workspace is the standard one.";

	for (size_t i = 0; i < ARRAY_SIZE(exec_mends); i++)
		if (exec_mends[i].os == os)
			return exec_mends[i].text;
	return "";
}

static const char *find_mend(const struct fault *fault, const struct host_facts *facts)
{
	if (fault->code == BJ_EXEC)
		return find_exec_mend(fault);
	/* A comparison that failed is no question of what this host allows. */
	struct fault plain = *fault;
	if (fault->hook == HOOK_VERIFY && fault->os == EBADMSG)
		plain.layer = LAYER_COUNT;
	for (size_t i = 0; i < ARRAY_SIZE(mends); i++)
		if (mend_fits(&mends[i], &plain, facts))
			return mends[i].text;
	return "";
}

const char *fault_mend(const struct fault *fault, const struct host_facts *facts, char *text,
		       size_t size)
{
	(void)snprintf(text, size, "%s", find_mend(fault, facts));
	return text;
}

const char *error_mend(const struct bj_error *err, char *text, size_t size)
{
	struct host_facts facts;
	const struct fault fault = {.code = (uint16_t)err->code,
				    .layer = (uint8_t)layer_by_name(err->layer),
				    .os = err->os_error};
	bool refused_call = err->os_error && (err->code == BJ_INTERNAL || err->code == BJ_SETUP ||
					      err->code == BJ_UNSUPPORTED);
	text[0] = '\0';
	if (!refused_call)
		return text;
	host_facts_read(&facts);
	return fault_mend(&fault, &facts, text, size);
}

/* ---- Sentences ----------------------------------------------------------------------------- */

/* errno's own words; a comparison has ones that say more. */
static const char *reason(const struct fault *fault)
{
	if (fault->hook == HOOK_VERIFY && fault->os == EBADMSG)
		return "not so when read back";
	const char *text = errno_words(fault->os);
	return text ? text : "unknown error";
}

void fault_explain_on(const struct fault *fault, const char *program,
		      const struct host_facts *facts, struct bj_error *ret)
{
	struct bj_error err = {.code = (enum bj_code)fault->code, .os_error = fault->os};
	const char *layer = fault->layer < LAYER_COUNT ? layers[fault->layer].name : "";
	char shown[TEXT_PATH_SIZE];
	size_t size = 0;
	if (layer[0])
		size = (size_t)snprintf(err.message, sizeof(err.message), "layer %s: ", layer);
	(void)snprintf(err.layer, sizeof(err.layer), "%s", layer);
	if (fault->code == BJ_EXEC && program && fault->layer == LAYER_COUNT)
		(void)snprintf(err.message + size, sizeof(err.message) - size,
			       "cannot run %s: %s%s", text_escape(shown, sizeof(shown), program),
			       strstr(fault->what, "interpreter") ? "its interpreter: " : "",
			       reason(fault));

	else
		(void)snprintf(err.message + size, sizeof(err.message) - size, "%.54s%s%s",
			       fault->what[0] ? fault->what : "a step without a name",
			       fault->os ? ": " : "", fault->os ? reason(fault) : "");
	(void)fault_mend(fault, facts, err.hint, sizeof(err.hint));
	make_line(err.message);
	*ret = err;
}

void fault_explain(const struct fault *fault, const char *program, struct bj_error *ret)
{
	struct host_facts facts;
	host_facts_read(&facts);
	fault_explain_on(fault, program, &facts, ret);
}
