/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about a layer that is not proven, by the kind of host. The error of a run already
 * names the likeliest mend for this very host; these are the rest, for whoever sets the host up.
 */
#include "base/cleanup.h"
#include "cli/doctor.h"
#include "config.h"

#define DOCKER_WALLS                                                                               \
	"docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "         \
	"--security-opt systempaths=unconfined --cgroupns=private"

/* Layers that stand or fall with user namespaces. */
#define NAMESPACES                                                                                 \
	(LAYER_BIT(LAYER_USER) | LAYER_BIT(LAYER_PID) | LAYER_BIT(LAYER_MOUNT) |                   \
	 LAYER_BIT(LAYER_NET) | LAYER_BIT(LAYER_IPC) | LAYER_BIT(LAYER_UTS) |                      \
	 LAYER_BIT(LAYER_CGROUPNS))
#define CGROUP	 LAYER_BIT(LAYER_CGROUP)
#define MOUNT	 LAYER_BIT(LAYER_MOUNT)
#define INIT	 LAYER_BIT(LAYER_INIT)
#define LANDLOCK LAYER_BIT(LAYER_LANDLOCK)
#define SECCOMP	 LAYER_BIT(LAYER_SECCOMP)

static const struct {
	uint32_t layers;
	struct doctor_mend mend;
} mends[] = {
	{MOUNT,
	 {"masked /proc",
	  "where parts of /proc are covered, the kernel refuses a fresh one: run outside the "
	  "container, or with --security-opt systempaths=unconfined (Docker), --security-opt "
	  "unmask=ALL (Podman), procMount: Unmasked (Kubernetes)"}},
	{NAMESPACES,
	 {"Debian",
	  "as root: sysctl -w kernel.unprivileged_userns_clone=1 (before Debian 11 it was 0), "
	  "and user.max_user_namespaces must not be 0"}},
	{NAMESPACES,
	 {"Ubuntu 24.04",
	  "AppArmor (kernel.apparmor_restrict_unprivileged_userns=1) lets only programs with a "
	  "profile "
	  "use user namespaces. As root: cp " BELLJAR_DATADIR
	  "/apparmor/belljar /etc/apparmor.d/ && "
	  "apparmor_parser -r /etc/apparmor.d/belljar. It is attached to " BELLJAR_LIBEXECDIR
	  "/belljar-launch only; a copy elsewhere does not have it"}},
	{NAMESPACES, {"Fedora", "as root: sysctl -w user.max_user_namespaces=15000 where it is 0"}},
	{NAMESPACES, {"inside Docker", DOCKER_WALLS}},
	{INIT,
	 {"Yama", "kernel.yama.ptrace_scope=3 forbids the tracing by which the receipt is taken, "
		  "and can only "
		  "be lowered by a restart: remove it from /etc/sysctl.d, use 2 at most as root "
		  "and 1 as an "
		  "ordinary user"}},
	{INIT, {"inside Docker", DOCKER_WALLS}},
	{CGROUP,
	 {"an ordinary user, with systemd",
	  "with cgroup v2 alone: systemd-run --user --scope -p Delegate=yes belljar ...; with v1 "
	  "or hybrid only root has a cgroup to give: boot with "
	  "systemd.unified_cgroup_hierarchy=1 for v2"}},
	{CGROUP,
	 {"root, with systemd",
	  "needs nothing as a rule; where the top of the hierarchy cannot be written, with cgroup "
	  "v2: systemd-run --scope -p Delegate=yes belljar ...; with v1, memory, pids, cpu and "
	  "cpuacct must each be mounted: /proc/cgroups shows which are on, cgroup_enable=memory on "
	  "the kernel's command line turns that one on"}},
	{CGROUP,
	 {"inside Docker", DOCKER_WALLS
	  " --security-opt writable-cgroups=true (Docker 28 and cgroup v2; before that "
	  "--privileged)"}},
	{CGROUP,
	 {"anywhere", "a policy file with \"accept_missing\": [\"cgroup\"]: the tree is then "
		      "watched by polling, "
		      "which can miss a fast burst, and every result says so"}},
	{LANDLOCK,
	 {"Debian, Ubuntu, Fedora",
	  "Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in lsm= of the kernel's "
	  "command line: cat /sys/kernel/security/lsm shows what is on"}},
	{LANDLOCK, {"inside Docker", "seccomp=unconfined, or a Docker of 2022 or later"}},
	{LANDLOCK,
	 {"anywhere",
	  "a policy file with \"accept_missing\": [\"landlock\"]; every result says so"}},
	{SECCOMP,
	 {"anywhere", "a kernel with CONFIG_SECCOMP_FILTER, which every distribution's has"}},
};

const struct doctor_mend *doctor_mend(enum layer_id layer, size_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(mends); i++)
		if ((mends[i].layers & LAYER_BIT(layer)) && index-- == 0)
			return &mends[i].mend;
	return NULL;
}
