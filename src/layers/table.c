/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE list of layers, in order of set-up. The launcher walks it, `belljar layers` and `belljar
 * doctor` print it, the receipt has a row for each, and the documentation is made from it.
 */
#include "layers/hooks.h"
#include "layers/layer.h"

#include <sched.h>
#include <string.h>

/* clang-format off */
const struct layer layers[LAYER_COUNT] = {
	[LAYER_CGROUP] = {
		.name = "cgroup",
		.stops = "taking the host's memory, CPU or tasks; surviving the kill",
		.leaves = "memory bandwidth and cache are shared with the host",
		.needs = "cgroup v2 delegated to the caller, or cgroup v1 or v2 as root",
		.may_be_missing = true,
		.prepare = cgroup_prepare,
		.join = cgroup_join,
		.verify = cgroup_verify,
	},
	[LAYER_USER] = {
		.name = "user",
		.stops = "acting as a user of the host; an id of its own owns nothing there",
		.leaves = "started by an ordinary user, the outside id is that user's",
		.needs = "user namespaces",
		.clone = CLONE_NEWUSER,
		.parent = user_parent,
		.child = user_child,
		.verify = user_verify,
	},
	[LAYER_PID] = {
		.name = "pid",
		.stops = "seeing or signalling any process outside; outliving the run",
		.leaves = "processes of the same run see each other",
		.needs = "Linux 5.15",
		.clone = CLONE_NEWPID,
		.after = LAYER_BIT(LAYER_USER),
		.verify = pid_verify,
	},
	[LAYER_INIT] = {
		.name = "init",
		.stops = "reading or steering pid 1, which has the program's own id",
		.leaves = "that pid 1 exists can be seen",
		.needs = "Yama ptrace_scope below 3",
		.shared = "ptrace of init is also refused by seccomp and landlock",
		.after = LAYER_BIT(LAYER_USER) | LAYER_BIT(LAYER_PID),
		.child = init_child,
		.verify = init_verify,
	},
	[LAYER_MOUNT] = {
		.name = "mount",
		.stops = "reading or changing the host's files; filling its disk; leaving anything",
		.leaves = "the image (/usr of the host) can be read; sizes of its own mounts",
		.needs = "a /proc that is not masked, for a fresh proc",
		.clone = CLONE_NEWNS,
		.after = LAYER_BIT(LAYER_USER) | LAYER_BIT(LAYER_PID),
		.prepare = mount_prepare,
		.child = mount_child,
		.settle = mount_settle,
		.verify = mount_verify,
	},
	[LAYER_NET] = {
		.name = "net",
		.stops = "reaching any network, the host's loopback and abstract sockets included",
		.leaves = "the run's own loopback works",
		.needs = "network namespaces",
		.clone = CLONE_NEWNET,
		.after = LAYER_BIT(LAYER_USER),
		.settle = net_settle,
		.verify = net_verify,
	},
	[LAYER_IPC] = {
		.name = "ipc",
		.stops = "System V and POSIX queues, shared memory and keys of others",
		.leaves = "file locks on the image are a covert channel",
		.needs = "IPC namespaces",
		.clone = CLONE_NEWIPC,
		.after = LAYER_BIT(LAYER_USER),
		.where = IN_PROGRAM,
		.child = ipc_child,
		.verify = ipc_verify,
	},
	[LAYER_UTS] = {
		.name = "uts",
		.stops = "learning the host's name",
		.leaves = "the kernel's version can be read",
		.needs = "UTS namespaces",
		.clone = CLONE_NEWUTS,
		.after = LAYER_BIT(LAYER_USER),
		.settle = uts_settle,
		.verify = uts_verify,
	},
	[LAYER_CGROUPNS] = {
		.name = "cgroupns",
		.stops = "learning where in the host's cgroups it runs",
		.leaves = "that it runs in a cgroup can be seen",
		.needs = "cgroup namespaces",
		.after = LAYER_BIT(LAYER_USER),
		.where = IN_INIT_JOINED,
		.child = cgroupns_child,
		.verify = cgroupns_verify,
	},
	[LAYER_ENV] = {
		.name = "env",
		.stops = "reading secrets from the caller's environment",
		.leaves = "what the caller names is passed",
		.needs = "nothing",
		.verify = env_verify,
	},
	[LAYER_TERMINAL] = {
		.name = "terminal",
		.stops = "typing into the caller's terminal; signalling its session",
		.leaves = "escape sequences in output reach whoever prints it",
		.needs = "nothing",
		.where = IN_PROGRAM,
		.child = terminal_child,
		.verify = terminal_verify,
	},
	[LAYER_RLIMIT] = {
		.name = "rlimit",
		.stops = "huge files, thousands of descriptors, locked memory, core dumps and the "
			 "host's handler of them",
		.leaves = "limits of one process, not of all together; a core_pattern that is a socket",
		.needs = "nothing",
		.where = IN_PROGRAM,
		.child = rlimit_child,
		.stopped = rlimit_stopped,
		.verify = rlimit_verify,
	},
	[LAYER_CAPS] = {
		.name = "caps",
		.stops = "every privilege of the run's own namespaces",
		.leaves = "as an ordinary user supplementary groups stay (the kernel's rule), unmapped",
		.needs = "nothing",
		.shared = "what a capability would allow inside, seccomp refuses too",
		.after = LAYER_BIT(LAYER_USER),
		.where = IN_PROGRAM,
		.child = caps_child,
		.verify = caps_verify,
	},
	[LAYER_NNP] = {
		.name = "nnp",
		.stops = "gaining privilege by set-user-id and file capabilities",
		.leaves = "nothing",
		.needs = "nothing",
		.shared = "every mount is nosuid, and the ids of such files are not mapped",
		.where = IN_PROGRAM,
		.child = nnp_child,
		.verify = nnp_verify,
	},
	[LAYER_LANDLOCK] = {
		.name = "landlock",
		.stops = "writing outside /workspace, /tmp and /dev/shm, once more, should mount fail",
		.leaves = "TCP inside: the run's loopback must work; net is the wall there",
		.needs = "Linux 5.13 with landlock among the active security modules",
		.shared = "a second wall behind mount, pid and net",
		.after = LAYER_BIT(LAYER_NNP) | LAYER_BIT(LAYER_MOUNT),
		.where = IN_PROGRAM,
		.may_be_missing = true,
		.child = landlock_child,
		.verify = landlock_verify,
	},
	[LAYER_SECCOMP] = {
		.name = "seccomp",
		.stops = "kernel interfaces that programs of this kind do not need",
		.leaves = "the calls it allows are the kernel's surface that remains",
		.needs = "CONFIG_SECCOMP_FILTER",
		.after = LAYER_BIT(LAYER_NNP),
		.where = IN_PROGRAM,
		.child = seccomp_child,
		.verify = seccomp_verify,
	},
	[LAYER_FDS] = {
		.name = "fds",
		.stops = "using a descriptor that somebody left open",
		.leaves = "its three pipes",
		.needs = "close_range (Linux 5.9)",
		.where = IN_PROGRAM,
		.child = fds_child,
		.verify = fds_verify,
	},
	[LAYER_DEADLINE] = {
		.name = "deadline",
		.stops = "running for ever, awake or asleep",
		.leaves = "nothing",
		.needs = "nothing",
		.verify = deadline_verify,
	},
	[LAYER_OUTPUT] = {
		.name = "output",
		.stops = "flooding whoever reads the output",
		.leaves = "what the output says",
		.needs = "nothing",
		.verify = output_verify,
	},
	[LAYER_MONITOR] = {
		.name = "monitor",
		.stops = "without a cgroup: taking memory, CPU or tasks, by polling",
		.leaves = "a burst faster than its polls",
		.needs = "nothing; takes cgroup's place where a policy accepts that",
		.verify = monitor_verify,
	},
};
/* clang-format on */

enum layer_id layer_by_name(const char *name)
{
	int id = 0;
	while (id < LAYER_COUNT && strcmp(layers[id].name, name) != 0)
		id++;
	return (enum layer_id)id;
}
