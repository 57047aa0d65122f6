/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `landlock`: a second wall behind `mount`. Everything may be read and executed (what is
 * there is what `mount` put there); writing is for the private mounts, six devices and proc. Every
 * right that this kernel's ABI knows is handled, so a right that no rule names is denied.
 *
 * TCP is not handled: a rule names one port, so "the run's own loopback" cannot be said, and
 * programs expect it to work. The network namespace is the wall there.
 *
 * Landlock does not show in /proc. The proof is a denied action: making a block device in
 * /dev/shm must fail with EACCES, which Landlock says; asked afterwards, the kernel would say
 * EPERM. (Not a whiteout, which takes no privilege: newer kernels let Landlock pass it.) Not in
 * /workspace, where an input may have any name: one that is there is EEXIST.
 *
 * The constants are ours because the headers of the build host may be older than its kernel.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

#define RIGHT(n)	(UINT64_C(1) << (n))
#define EXECUTE		RIGHT(0)
#define WRITE_FILE	RIGHT(1)
#define READ_FILE	RIGHT(2)
#define READ_DIR	RIGHT(3)
#define MAKE_CHAR	RIGHT(6)
#define MAKE_BLOCK	RIGHT(11)
#define TRUNCATE	RIGHT(14)
#define IOCTL_DEV	RIGHT(15)
#define ABI_GET_VERSION (1U << 0)
#define PATH_BENEATH	1

/* What each ABI added: file rights up to here, scopes (abstract sockets, signals). */
static const struct {
	uint64_t fs;
	uint64_t scopes;
} abis[] = {
	[1] = {RIGHT(13) - 1, 0}, [2] = {RIGHT(14) - 1, 0}, /* moving between directories */
	[3] = {RIGHT(15) - 1, 0},			    /* truncating */
	[4] = {RIGHT(15) - 1, 0},			    /* TCP, see above */
	[5] = {RIGHT(16) - 1, 0},			    /* ioctl on devices */
	[6] = {RIGHT(16) - 1, 3}, /* abstract sockets and signals stay inside */
};
#define ABI_KNOWN ((uint32_t)(sizeof(abis) / sizeof(abis[0]) - 1))

struct ruleset {
	uint64_t fs, net, scoped;
};
struct rule {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

#define READING (EXECUTE | READ_FILE | READ_DIR)
#define OWN	(~(MAKE_CHAR | MAKE_BLOCK))

static const struct {
	const char *path;
	uint64_t rights;
} rules[] = {
	{"/", READING},
	{"/workspace", OWN},
	{"/tmp", OWN},
	{"/dev/shm", OWN},
	{"/proc", READING | WRITE_FILE | TRUNCATE}, /* /proc/self/comm and its like */
	{"/dev",
	 READING | WRITE_FILE | TRUNCATE | IOCTL_DEV}, /* six devices, on a read-only root */
};

CHILD_CODE static int add_rules(int ruleset, uint64_t handled)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct rule rule = {.allowed = rules[i].rights & handled};
		rule.parent_fd = open(rules[i].path, O_PATH | O_CLOEXEC);
		if (rule.parent_fd < 0)
			return -1;
		if (syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0) < 0)
			return -1;
		if (close(rule.parent_fd) < 0)
			return -1;
	}
	return 0;
}

CHILD_CODE static uint32_t refused_device(void)
{
	static const char name[] = "/dev/shm/belljar-landlock";
	return mknodat(AT_FDCWD, name, S_IFCHR | 0600, makedev(1, 3)) < 0 && errno == EACCES;
}

CHILD_CODE int landlock_child(const struct child *child, struct fault *fault)
{
	long abi = STEP(fault, LAYER_LANDLOCK, HOOK_CHILD, "ask for the ABI",
			syscall(SYS_landlock_create_ruleset, NULL, 0, ABI_GET_VERSION));
	if (abi < 0)
		return -1;
	if (STEP(fault, LAYER_LANDLOCK, HOOK_CHILD, "an ABI of landlock_abi_min or newer",
		 abi >= (long)child->plan->landlock_abi_min ? 0 : (errno = EOPNOTSUPP, -1)) < 0)
		return -1;
	uint32_t use = abi < (long)ABI_KNOWN ? (uint32_t)abi : ABI_KNOWN;
	struct ruleset set = {.fs = abis[use].fs, .scoped = abis[use].scopes};
	/* Older kernels know a shorter struct and refuse a longer one only if its rest is not 0. */
	int fd = (int)STEP(fault, LAYER_LANDLOCK, HOOK_CHILD, "create the ruleset",
			   syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0));
	if (fd < 0)
		return -1;
	if (STEP(fault, LAYER_LANDLOCK, HOOK_CHILD, "add the rules", add_rules(fd, set.fs)) < 0 ||
	    STEP(fault, LAYER_LANDLOCK, HOOK_CHILD, "restrict this process",
		 syscall(SYS_landlock_restrict_self, fd, 0)) < 0)
		return -1;
	child->proof->landlock_abi = (uint32_t)abi;
	child->proof->landlock_denied = refused_device();
	return close(fd);
}

int landlock_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	(void)posture;
	const struct child_proof *proof = &launch->program_proof;
	(void)snprintf(launch->note[LAYER_LANDLOCK], sizeof(launch->note[0]), "ABI %u%s",
		       proof->landlock_abi,
		       proof->landlock_abi < 2 ? "; lacks moves, truncate, ioctl, signals, sockets"
		       : proof->landlock_abi < 3 ? "; lacks truncate, ioctl, signals, sockets"
		       : proof->landlock_abi < 5 ? "; lacks ioctl, signals, abstract sockets"
		       : proof->landlock_abi < 6 ? "; lacks signals, abstract sockets"
						 : "");
	if (MUST(fault, LAYER_LANDLOCK, "an ABI of landlock_abi_min or newer",
		 proof->landlock_abi >= launch->plan->landlock_abi_min) < 0 ||
	    MUST(fault, LAYER_LANDLOCK, "making a device node was refused",
		 proof->landlock_denied == 1) < 0)
		return -1;
	return 0;
}
