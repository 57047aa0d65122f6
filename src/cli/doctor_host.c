/* SPDX-License-Identifier: Apache-2.0 */
/* What the host is like, as far as the layers care. */
#include "cli/doctor.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CORE_PATTERN "/proc/sys/kernel/core_pattern"

/* "Debian GNU/Linux 12 (bookworm)" */
static void distribution(char *text, size_t size)
{
	auto_fclose FILE *file = fopen("/etc/os-release", "re");
	char line[256];
	(void)snprintf(text, size, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "PRETTY_NAME=", 12) != 0)
			continue;
		char *name = line + 12;
		name[strcspn(name, "\n")] = '\0';
		size_t len = strlen(name);
		if (len >= 2 && name[0] == '"' && name[len - 1] == '"') {
			name[len - 1] = '\0';
			name++;
		}
		(void)snprintf(text, size, "%.100s", name);
		return;
	}
}

static bool is_filesystem(const char *path, unsigned long magic)
{
	struct statfs fs;
	return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == magic;
}

static const char *cgroup_version(void)
{
	if (is_filesystem("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC))
		return "v2";
	if (is_filesystem("/sys/fs/cgroup/unified", CGROUP2_SUPER_MAGIC))
		return "v1, with v2 beside it (hybrid)";
	if (is_filesystem("/sys/fs/cgroup/memory", CGROUP_SUPER_MAGIC))
		return "v1";
	return "none mounted at /sys/fs/cgroup";
}

static void identity(char *text, size_t size, const struct host_facts *facts)
{
	if (facts->root)
		(void)snprintf(text, size, "root: outside, each run has an id of its own");
	else
		(void)snprintf(text, size, "uid %ld: outside, a run has this id too",
			       (long)geteuid());
}

/* Mounts on top of parts of /proc: then the kernel refuses a fresh one to an ordinary namespace. */
static int proc_masks(void)
{
	auto_fclose FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096], target[2048];
	int count = 0;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %2047s", target) == 1 &&
		    strncmp(target, "/proc/", 6) == 0 &&
		    strcmp(target, "/proc/sys/fs/binfmt_misc") != 0)
			count++;
	return count;
}

static void setting(char *text, size_t size, long value)
{
	if (value < 0)
		(void)snprintf(text, size, "not there");
	else
		(void)snprintf(text, size, "%ld", value);
}

/* The first line of a file of proc; false: it cannot be read. */
static bool first_line(const char *path, char *line, size_t size)
{
	auto_fclose FILE *file = fopen(path, "re");
	if (!file || !fgets(line, (int)size, file))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static void core_pattern(char *text, size_t size)
{
	char line[256], shown[TEXT_VALUE_SIZE];
	if (first_line(CORE_PATTERN, line, sizeof(line)))
		(void)snprintf(text, size, "%s", text_escape(shown, sizeof(shown), line));
	else
		(void)snprintf(text, size, "not there");
}

/*
 * Whether runs cannot have the limit of 1 by which layer `rlimit` keeps a handler that is a pipe
 * away. Root can raise a hard limit, if it is the host's root: the kernel's answer says which. Only
 * the hard limit of this process is tried, after its runs.
 */
static bool core_limit_is_stuck(void)
{
	struct rlimit own;
	if (getrlimit(RLIMIT_CORE, &own) < 0 || own.rlim_max > 0)
		return false;
	own.rlim_max = 1;
	return setrlimit(RLIMIT_CORE, &own) < 0;
}

size_t doctor_warnings(struct doctor_warning warnings[WARNINGS_MAX])
{
	char line[256], shown[TEXT_VALUE_SIZE];
	if (!first_line(CORE_PATTERN, line, sizeof(line)))
		return 0;
	if (line[0] == '|' && core_limit_is_stuck()) {
		(void)snprintf(
			warnings[0].text, sizeof(warnings[0].text),
			"a program that crashes inside makes the kernel run %s as root of this "
			"host and give it the program's memory: kernel.core_pattern is a pipe, and "
			"a run cannot have the RLIMIT_CORE of 1 that keeps its handler away, for "
			"the hard limit here is 0",
			text_quote(shown, sizeof(shown), line + 1));
		warnings[0].mend =
			"give whoever starts runs a hard limit of 1 byte or more: LimitCORE=0:1 in "
			"a unit of systemd, \"hard core 1\" in /etc/security/limits.conf; or "
			"start runs as root; or, as root: sysctl -w kernel.core_pattern=core, and "
			"the same line in /etc/sysctl.d";
		return 1;
	}
	if (line[0] == '@') {
		(void)snprintf(
			warnings[0].text, sizeof(warnings[0].text),
			"a program that crashes inside makes the kernel give its memory to whoever "
			"listens at %s on this host: kernel.core_pattern is a socket, which no "
			"namespace and no limit of a run changes",
			text_quote(shown, sizeof(shown), line));
		warnings[0].mend =
			"where people run programs that are not to reach that handler, as root: "
			"sysctl -w kernel.core_pattern=core, and the same line in /etc/sysctl.d; a "
			"handler that is a pipe is not started for runs";
		return 1;
	}
	return 0;
}

size_t doctor_host(struct host_line lines[HOST_LINES_MAX])
{
	struct host_facts facts;
	struct utsname name;
	struct host_line *line = lines;
	host_facts_read(&facts);
	const size_t size = sizeof(line->text);

	line->name = "system";
	distribution(line++->text, size);
	line->name = "kernel";
	if (uname(&name) == 0)
		(void)snprintf(line++->text, size, "%.60s %.40s", name.release, name.machine);
	line->name = "landlock ABI";
	if (facts.landlock_abi)
		(void)snprintf(line++->text, size, "%d", facts.landlock_abi);
	else
		(void)snprintf(line++->text, size, "not there");
	line->name = "cgroup";
	(void)snprintf(line++->text, size, "%s", cgroup_version());
	line->name = "started by";
	identity(line++->text, size, &facts);
	line->name = "container";
	(void)snprintf(line++->text, size, "%s", facts.container ? "yes" : "no sign of one");
	line->name = "mounts over /proc";
	(void)snprintf(line++->text, size, "%d", proc_masks());
	line->name = "user.max_user_namespaces";
	setting(line++->text, size, facts.userns_max);
	line->name = "kernel.unprivileged_userns_clone";
	setting(line++->text, size, facts.userns_clone);
	line->name = "kernel.apparmor_restrict_unprivileged_userns";
	setting(line++->text, size, facts.userns_apparmor);
	line->name = "kernel.yama.ptrace_scope";
	setting(line++->text, size, facts.ptrace_scope);
	line->name = "kernel.core_pattern";
	core_pattern(line++->text, size);
	return (size_t)(line - lines);
}
