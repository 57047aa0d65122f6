/* SPDX-License-Identifier: Apache-2.0 */
/* The receipt of `mount`: lines of mountinfo, one changed, left out or added at a time. */
#include "receipt_case.h"

#include "base/cleanup.h"

#include <stdio.h>

#define PLANNED "no mount but the planned ones, flags as planned"
#define ROOT	"the root is a mount of the run's own"
#define THERE	"every planned mount is there"
#define CWD	"the working directory lies on one of them"
#define EXE	"the program lies on one of them"

/* The planned lines with the first `from` in them become `to`. */
static void change(const char *from, const char *to)
{
	static char text[4096];
	as_planned();
	accepts(LAYER_MOUNT);
	as_planned();
	const char *at = strstr(facts.posture.mounts, from);
	if (!at)
		fail_msg("no such text: %s", from);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - facts.posture.mounts),
		       facts.posture.mounts, to, at + strlen(from));
	facts.posture.mounts = text;
}

struct edit {
	const char *from, *to;
};

static void a_changed_line_is_refused(void **state)
{
	(void)state;
	static const struct edit edits[] = {
		/* the root */
		{" / / ro,", " / / rw,"},
		{" / / ro,nosuid,", " / / ro,"},
		{" / / ro,nosuid,nodev,", " / / ro,nosuid,"},
		{"- tmpfs tmpfs rw,size=4096k,mode", "- ext4 /dev/sda1 rw,mode"},
		/* a bind, and what the host has mounted beneath */
		{"/usr ro,", "/usr rw,"},
		{"/usr ro,nosuid,", "/usr ro,"},
		{"/usr ro,nosuid,nodev,", "/usr ro,nosuid,"},
		{"/usr ro,nosuid,nodev,", "/usr ro,nosuid,nodevx,"},
		{"/usr ro,nosuid,nodev,", "/usr ro,nosuid,xnodev,"},
		{"/usr ro,", "/usr rox,"},
		{"/usr/share ro,", "/usr/share rw,"},
		{"/usr/share ro,nosuid,", "/usr/share ro,"},
		{"/usr/share ro,nosuid,nodev,", "/usr/share ro,nosuid,"},
		/* the file system's own flags do not count */
		{"/usr ro,nosuid,nodev,relatime - ext4 /dev/sda1 rw",
		 "/usr rw,relatime - ext4 /dev/sda1 ro,nosuid,nodev"},
		/* a device */
		{"/dev/null ro,", "/dev/null rw,"},
		{"/dev/null ro,nosuid,", "/dev/null ro,"},
		{"/dev/null ro,nosuid,noexec", "/dev/null ro,nosuid"},
		/* a private mount */
		{"/tmp rw,nosuid,", "/tmp rw,"},
		{"/tmp rw,nosuid,nodev", "/tmp rw,nosuid"},
		{"/tmp rw,nosuid,nodev - tmpfs", "/tmp rw,nosuid,nodev - ramfs"},
		{"size=1028k", "size=1032k"},
		{"size=1028k", "size=1024k"},
		{"size=1028k,", ""},
		/* proc */
		{"/proc rw,nosuid,", "/proc rw,"},
		{"/proc rw,nosuid,nodev,", "/proc rw,nosuid,"},
		{"/proc rw,nosuid,nodev,noexec", "/proc rw,nosuid,nodev"},
		{"/proc rw,nosuid,nodev,noexec - proc", "/proc rw,nosuid,nodev,noexec - sysfs"},
		/* parts of it: read-only, hidden, covered */
		{"/proc/sys ro,", "/proc/sys rw,"},
		{"/proc/sys ro,nosuid,", "/proc/sys ro,"},
		{"/proc/sys ro,nosuid,nodev,", "/proc/sys ro,nosuid,"},
		{"/proc/sys ro,nosuid,nodev,noexec", "/proc/sys ro,nosuid,nodev"},
		{"/proc/kcore ro,", "/proc/kcore rw,"},
		{"/proc/kcore ro,nosuid,nodev,noexec", "/proc/kcore ro,nosuid,nodev"},
		{"/proc/meminfo ro,", "/proc/meminfo rw,"},
		{"/proc/meminfo ro,nosuid,nodev,noexec", "/proc/meminfo ro,nosuid,nodev"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		change(edits[i].from, edits[i].to);
		refuses(LAYER_MOUNT, PLANNED);
	}
}

static void a_mount_that_is_not_planned_is_refused(void **state)
{
	(void)state;
	static const char *const points[] = {
		"/mnt",		"/etc",		   /* planned as a directory, a file and a link */
		"/etc/passwd",	"/bin",	 "/tmp/x", /* beneath private mounts there is none */
		"/proc/sys/fs", "/usr2",	   /* begins as a bind does */
		"/us",		"/dev",	 "/my",	   "/my data",
	};
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		char line[128];
		(void)snprintf(
			line, sizeof(line),
			"\n60 40 8:1 / %s ro,nosuid,nodev,noexec - tmpfs tmpfs ro,size=1028k\n",
			points[i]);
		change("\n", line);
		refuses(LAYER_MOUNT, PLANNED);
	}
	/* The same line in a place where it may be. */
	change("\n", "\n60 40 8:1 / /usr/x ro,nosuid,nodev,noexec - tmpfs tmpfs ro,size=1028k\n");
	accepts(LAYER_MOUNT);
}

static void a_line_that_is_none_is_refused(void **state)
{
	(void)state;
	static const struct edit edits[] = {
		{"\n41 40 8:1 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/sda1 rw\n", "\n\n"},
		{" - ext4 /dev/sda1 rw\n", " ext4 /dev/sda1 rw\n"},
		{" - ext4 /dev/sda1 rw\n", " - ext4 /dev/sda1\n"},
		{" - ext4 /dev/sda1 rw\n", " - ext4\n"},
		{" /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/sda1 rw\n", " /usr /usr\n"},
		{"41 40 ", "41 "},
	};
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		change(edits[i].from, edits[i].to);
		refuses(LAYER_MOUNT, PLANNED);
	}
}

/* Leaves out the line that has `text`. */
static void leave_out(const char *text)
{
	char line[256];
	as_planned();
	const char *at = strstr(facts.posture.mounts, text);
	assert_non_null(at);
	while (at > facts.posture.mounts && at[-1] != '\n')
		at--;
	(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n") + 1, at);
	change(line, "");
}

static void a_mount_that_is_missing_is_refused(void **state)
{
	(void)state;
	static const char *const needed[] = {" /usr ", " /dev/null ", " /tmp ", " /my\\040data ",
					     " /proc "};
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		leave_out(needed[i]);
		refuses(LAYER_MOUNT, THERE);
	}
	leave_out(" / / ");
	refuses(LAYER_MOUNT, ROOT);
	as_planned();
	facts.posture.mounts[0] = '\0';
	refuses(LAYER_MOUNT, ROOT);
}

static void a_place_elsewhere_is_refused(void **state)
{
	(void)state;
	static const uint64_t others[] = {0, 4, 39, 50, 440, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		as_planned();
		facts.posture.cwd_mount = others[i];
		refuses(LAYER_MOUNT, CWD);
		as_planned();
		facts.posture.exe_mount = others[i];
		refuses(LAYER_MOUNT, EXE);
	}
	for (uint64_t id = 40; id < 50; id++) {
		as_planned();
		facts.posture.cwd_mount = id;
		facts.posture.exe_mount = 89 - id;
		accepts(LAYER_MOUNT);
	}
}

static void what_may_differ_is_accepted(void **state)
{
	(void)state;
	/* Parts of proc that a kernel has not, and mounts of the host beneath a bind. */
	static const char *const may_be_absent[] = {" /proc/sys ", " /proc/kcore ",
						    " /proc/meminfo ", " /usr/share "};
	for (size_t i = 0; i < ARRAY_SIZE(may_be_absent); i++) {
		leave_out(may_be_absent[i]);
		accepts(LAYER_MOUNT);
	}
	static const struct edit edits[] = {
		{" - ext4", " shared:1 master:2 - ext4"},
		{"/usr/share", "/usr/a\\040b\\134\\011"},
		{"/usr ro,nosuid,nodev", "/usr nodev,noexec,nosuid,ro"},
		{" 8:1 /usr /usr", " 8:1 - /usr"},
		{" /dev/sda1 rw", " - rw"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		change(edits[i].from, edits[i].to);
		accepts(LAYER_MOUNT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_line_is_refused),
		cmocka_unit_test(a_mount_that_is_not_planned_is_refused),
		cmocka_unit_test(a_line_that_is_none_is_refused),
		cmocka_unit_test(a_mount_that_is_missing_is_refused),
		cmocka_unit_test(a_place_elsewhere_is_refused),
		cmocka_unit_test(what_may_differ_is_accepted),
	};
	return cmocka_run_group_tests(tests, receipt_setup, receipt_teardown);
}
