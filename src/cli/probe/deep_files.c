/* SPDX-License-Identifier: Apache-2.0 */
/* Actions against the layer mount. */
#include "deep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- mount: what is read-only ------------------------------------------------------------------
 */

/* A file without a name, gone when it is closed: where it can be made nothing is left. */
static long unnamed_file(const char *directory)
{
	return open_close(directory, O_TMPFILE | O_WRONLY);
}

long file_in_usr(void)
{
	return unnamed_file("/usr");
}

long file_in_workspace(void)
{
	return unnamed_file("/workspace");
}

long file_in_root(void)
{
	return unnamed_file("/");
}

long file_in_tmp(void)
{
	return unnamed_file("/tmp");
}

long file_in_etc(void)
{
	return unnamed_file("/etc");
}

long read_passwd(void)
{
	return open_close("/etc/passwd", O_RDONLY);
}

long file_in_dev(void)
{
	return unnamed_file("/dev");
}

long file_in_shm(void)
{
	return unnamed_file("/dev/shm");
}

/* To what it is already. */
static long keep_mode(const char *path)
{
	struct stat st;
	return stat(path, &st) < 0 ? -1 : chmod(path, st.st_mode & 07777);
}

long mode_of_usr(void)
{
	return keep_mode("/usr");
}

long mode_of_own(void)
{
	int fd = own_file();
	if (fd < 0)
		return -1;
	(void)close(fd);
	return keep_mode(OWN_FILE);
}

/* A name onto itself is no change, but the kernel asks for a mount that can be written first. */
long rename_usr_bin(void)
{
	return rename("/usr/bin", "/usr/bin");
}

long rename_own(void)
{
	int fd = own_file();
	if (fd < 0)
		return -1;
	(void)close(fd);
	return rename(OWN_FILE, OWN_FILE);
}

long mode_of_sysctl(void)
{
	return keep_mode("/proc/sys/kernel");
}

long read_sysctl(void)
{
	return open_close("/proc/sys/kernel/ostype", O_RDONLY);
}

/* ---- mount: what is of the host ----------------------------------------------------------------
 */

static long open_bait(const char *prefix, int flags)
{
	char path[96];
	if (!facts[FACT_PATH])
		return UNTRIED;
	(void)snprintf(path, sizeof(path), "%s%s", prefix, facts[FACT_PATH]);
	return open_close(path, flags);
}

long climb(void)
{
	return open_bait("/usr/../../../../..", O_RDONLY);
}

long by_root_link(void)
{
	return open_bait("/proc/self/root", O_RDONLY);
}

long write_host_file(void)
{
	return open_bait("", O_WRONLY);
}

long host_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (!facts[FACT_PATH])
		return UNTRIED;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.64s.socket",
		       facts[FACT_PATH]);
	return connect_to((const struct sockaddr *)&address, sizeof(address));
}

static long find(const char *path)
{
	struct stat st;
	return lstat(path, &st);
}

/* A host that has none has none to hide. */
static long find_outside(const char *path)
{
	return find(path) == 0 ? 0 : UNTRIED;
}

long find_shadow(void)
{
	return find("/etc/shadow");
}

long find_shadow_outside(void)
{
	return find_outside("/etc/shadow");
}

long find_home(void)
{
	return facts[FACT_HOME] ? find(facts[FACT_HOME]) : UNTRIED;
}

long find_sys(void)
{
	return find("/sys/kernel");
}

long find_sys_outside(void)
{
	return find_outside("/sys/kernel");
}

long find_kmsg(void)
{
	return find("/dev/kmsg");
}

long find_kmsg_outside(void)
{
	return find_outside("/dev/kmsg");
}

static int is_device(int directory, const char *name)
{
	struct stat st;
	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

static int is_one_of_six(const char *name)
{
	static const char *const names[] = {"null", "zero", "full", "random", "urandom", "tty"};
	size_t i = 0;
	while (i < sizeof(names) / sizeof(names[0]) && strcmp(names[i], name) != 0)
		i++;
	return i < sizeof(names) / sizeof(names[0]);
}

long other_devices(void)
{
	DIR *dev = opendir("/dev");
	int seen = 0;
	if (!dev)
		return -1;
	for (struct dirent *entry; (entry = readdir(dev));)
		seen |= is_device(dirfd(dev), entry->d_name) && !is_one_of_six(entry->d_name);
	(void)closedir(dev);
	return seen_or_hidden(seen);
}

long find_zero(void)
{
	return is_device(AT_FDCWD, "/dev/zero") ? 0 : fail_with(ENOENT);
}

/* What covers it is empty. */
static long read_any(const char *path)
{
	char text[2];
	long size = read_text(path, text, sizeof(text));
	if (size < 0)
		return errno == ENOENT ? HIDDEN : -1;
	return seen_or_hidden(size > 0);
}

long read_kcore(void)
{
	return read_any("/proc/kcore");
}

long find_kcore(void)
{
	return find_outside("/proc/kcore");
}

long read_symbols(void)
{
	return read_any("/proc/kallsyms");
}

long find_symbols(void)
{
	return find_outside("/proc/kallsyms");
}

long read_keys(void)
{
	return read_any("/proc/keys");
}

long find_keys(void)
{
	return find_outside("/proc/keys");
}

/* ---- mount: the list ---------------------------------------------------------------------------
 */

struct mount {
	char target[512], options[256], type[64];
};

/* Mounts for which `wanted` says yes. */
static long count_mounts(int (*wanted)(const struct mount *mount))
{
	FILE *file = fopen("/proc/self/mounts", "re");
	struct mount mount;
	long count = 0;
	if (!file)
		return -1;
	while (fscanf(file, "%*s %511s %63s %255s %*d %*d", mount.target, mount.type,
		      mount.options) == 3)
		count += wanted(&mount);
	(void)fclose(file);
	return count;
}

static int has_option(const struct mount *mount, const char *option)
{
	size_t len = strlen(option);
	for (const char *at = mount->options; (at = strstr(at, option)); at += len)
		if ((at == mount->options || at[-1] == ',') && (at[len] == ',' || !at[len]))
			return 1;
	return 0;
}

static int heeds_suid(const struct mount *mount)
{
	return !has_option(mount, "nosuid");
}

static int ignores_suid(const struct mount *mount)
{
	return has_option(mount, "nosuid");
}

/* The six are files that are mounted, and work. */
static int heeds_devices(const struct mount *mount)
{
	struct stat st;
	return !has_option(mount, "nodev") && stat(mount->target, &st) == 0 && S_ISDIR(st.st_mode);
}

static int ignores_devices(const struct mount *mount)
{
	return has_option(mount, "nodev");
}

static int is_cgroup(const struct mount *mount)
{
	return strncmp(mount->type, "cgroup", 6) == 0;
}

static int is_proc(const struct mount *mount)
{
	return strcmp(mount->type, "proc") == 0;
}

static long any_mount(int (*wanted)(const struct mount *mount))
{
	long count = count_mounts(wanted);
	return count < 0 ? -1 : seen_or_hidden(count > 0);
}

static long some_mount(int (*wanted)(const struct mount *mount))
{
	long count = count_mounts(wanted);
	return count ? count : fail_with(ENOENT);
}

long suid_mount(void)
{
	return any_mount(heeds_suid);
}

long nosuid_mount(void)
{
	return some_mount(ignores_suid);
}

long dev_mount(void)
{
	return any_mount(heeds_devices);
}

long nodev_mount(void)
{
	return some_mount(ignores_devices);
}

long cgroup_mount(void)
{
	return any_mount(is_cgroup);
}

long proc_mount(void)
{
	return some_mount(is_proc);
}

/* ---- mount: what a run leaves ------------------------------------------------------------------
 */

static long left(const char *directory, int flags)
{
	char path[96];
	if (!facts[FACT_ABSTRACT])
		return UNTRIED;
	(void)snprintf(path, sizeof(path), "%s/%.48s", directory, facts[FACT_ABSTRACT]);
	return open_close(path, flags);
}

static long leave(const char *directory)
{
	long got = left(directory, O_CREAT | O_EXCL | O_WRONLY);
	return got < 0 ? got : left(directory, O_RDONLY);
}

long left_in_tmp(void)
{
	return left("/tmp", O_RDONLY);
}

long leave_in_tmp(void)
{
	return leave("/tmp");
}

long left_in_workspace(void)
{
	return left("/workspace", O_RDONLY);
}

long leave_in_workspace(void)
{
	return leave("/workspace");
}

long left_in_shm(void)
{
	return left("/dev/shm", O_RDONLY);
}

long leave_in_shm(void)
{
	return leave("/dev/shm");
}
