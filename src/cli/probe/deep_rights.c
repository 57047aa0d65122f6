/* SPDX-License-Identifier: Apache-2.0 */
/* Actions against the layers that take rights from the program: caps, nnp, landlock. */
#include "deep.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_VERSION 1U

/* ---- caps --------------------------------------------------------------------------------------
 */

long bounding(void)
{
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			return 0;
	return HIDDEN;
}

long ask_bounding(void)
{
	return prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0);
}

long raise_ambient(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

long ask_ambient(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_BIND_SERVICE, 0, 0);
}

static long set_capabilities(uint32_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];
	memset(sets, 0, sizeof(sets));
	sets[0].effective = sets[0].permitted = caps;
	return syscall(SYS_capset, &head, sets);
}

long take_capability(void)
{
	return set_capabilities(1U << CAP_SYS_ADMIN);
}

long take_none(void)
{
	return set_capabilities(0);
}

long loose_bits(void)
{
	long bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	const long locks = SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			   SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	return bits < 0 ? -1 : seen_or_hidden((bits & locks) != locks);
}

long read_bits(void)
{
	return prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
}

/* An ordinary caller's groups stay, as the kernel wills it, but none of them has a number here. */
long other_groups(void)
{
	static gid_t groups[65536];
	int count = getgroups(65536, groups);
	for (int i = 0; i < count; i++)
		if (groups[i] != getgid() && groups[i] != 65534)
			return 0;
	return count < 0 ? -1 : HIDDEN;
}

long own_groups(void)
{
	return getgid() == getegid() ? 0 : fail_with(EBADMSG);
}

long file_capability(void)
{
	const uint32_t none[5] = {0x02000000};
	int fd = own_file();
	if (fd < 0)
		return -1;
	long got = fsetxattr(fd, "security.capability", none, sizeof(none), 0);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

/* ---- nnp ---------------------------------------------------------------------------------------
 */

/* The exit status of this program after exec says whether it is set. */
static long exec_probe(void)
{
	char *const argv[] = {(char[]){"belljar-probe"}, (char[]){"nnp"}, NULL};
	return execv("/proc/self/exe", argv);
}

static long status_after_exec(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void)exec_probe();
		_exit(99);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : fail_with(EINTR);
}

long nnp_after_exec(void)
{
	long status = status_after_exec();
	if (status != NNP_SET && status != NNP_NOT_SET)
		return fail_with(EBADMSG);
	return seen_or_hidden(status == NNP_NOT_SET);
}

long exec_itself(void)
{
	long status = status_after_exec();
	return status == NNP_SET || status == NNP_NOT_SET ? 0 : fail_with(EBADMSG);
}

static long read_nnp(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

long nnp_in_child(void)
{
	long got = in_child(read_nnp);
	return got < 0 ? got : seen_or_hidden(got != 1);
}

static long nothing(void)
{
	return 0;
}

long have_child(void)
{
	return end_of_child(nothing);
}

/* ---- landlock ----------------------------------------------------------------------------------
 */

/* Signals stay inside since ABI 6. */
long signal_1(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_VERSION);
	return abi < 6 ? UNTRIED : kill(1, 0);
}

long signal_child(void)
{
	int fds[2];
	char byte;
	if (pipe(fds) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(fds[1]);
		_exit(read(fds[0], &byte, 1) < 0);
	}
	long got = pid < 0 ? -1 : kill(pid, 0);
	int os = errno;
	(void)close(fds[0]);
	(void)close(fds[1]);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	errno = os;
	return got;
}

long rulesets_16(void)
{
	return sixteenth_ruleset();
}

long rulesets_15(void)
{
	return fifteen_rulesets();
}
