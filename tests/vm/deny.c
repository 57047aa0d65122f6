// SPDX-License-Identifier: Apache-2.0
/*
 * deny SYSCALL=ERRNO … -- COMMAND [ARGS…]
 *
 * Runs COMMAND under a seccomp filter that makes each SYSCALL fail with ERRNO: how an older kernel
 * (ENOSYS) or a container's profile (EPERM) looks to a program. All else is left alone, foreign
 * ABIs included. Exits with 125 when it cannot, 126 or 127 when COMMAND cannot be executed.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_DENY 125
#define ERRNO_MAX 133

static int errno_by_name(const char *name)
{
	for (int number = 1; number <= ERRNO_MAX; number++) {
		const char *known = strerrorname_np(number);

		if (known && strcmp(known, name) == 0)
			return number;
	}
	return -1;
}

static int add_rule(scmp_filter_ctx filter, const char *rule)
{
	char name[64];
	const char *equals = strchr(rule, '=');
	size_t length = equals ? (size_t)(equals - rule) : 0;
	int call, number, rc;

	if (length == 0 || length >= sizeof(name)) {
		fprintf(stderr, "deny: '%s' is not SYSCALL=ERRNO\n", rule);
		return -1;
	}
	memcpy(name, rule, length);
	name[length] = '\0';
	call = seccomp_syscall_resolve_name(name);
	number = errno_by_name(equals + 1);
	if (call == __NR_SCMP_ERROR || number < 0) {
		fprintf(stderr, "deny: '%s': no such %s\n", rule,
			number < 0 ? "error" : "system call");
		return -1;
	}
	rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned int)number), call, 0);
	if (rc != 0) {
		fprintf(stderr, "deny: '%s': %s\n", rule, strerror(-rc));
		return -1;
	}
	return 0;
}

static int load_filter(char *const rules[], int count)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = filter ? 0 : -ENOMEM;

	if (filter) {
		/* As root no_new_privs is not needed, and leaving it off hides nothing from tests.
		 */
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, geteuid() != 0);
		if (rc == 0)
			rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
		for (int i = 0; rc == 0 && i < count; i++)
			if (add_rule(filter, rules[i]) < 0)
				exit(EXIT_DENY);
		if (rc == 0)
			rc = seccomp_load(filter);
		seccomp_release(filter);
	}
	if (rc != 0)
		fprintf(stderr, "deny: cannot load the filter: %s\n", strerror(-rc));
	return rc == 0 ? 0 : -1;
}

int main(int argc, char *argv[])
{
	int first = 1;

	while (first < argc && strcmp(argv[first], "--") != 0)
		first++;
	if (first == 1 || first + 1 >= argc) {
		fprintf(stderr, "usage: deny SYSCALL=ERRNO ... -- COMMAND [ARGS...]\n");
		return EXIT_DENY;
	}
	if (load_filter(&argv[1], first - 1) < 0)
		return EXIT_DENY;
	execvp(argv[first + 1], &argv[first + 1]);
	/* execve itself may be what is denied: say so as a shell would. */
	first = errno == ENOENT ? 127 : 126;
	perror("deny: exec");
	return first;
}
