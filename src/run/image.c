/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image `host`. What a run may read of the host is this file's tables: /usr, and of /etc what the
 * dynamic linker, TLS and alternatives need. All else in the tree is made for it.
 */
#include "run/image.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "files/beneath.h"
#include "run/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Links on a host with merged /usr, directories on others. */
static const char *const roots[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* Bound read-only where the host has them; `into` are made first. */
static const char *const etc_dirs[] = {"/etc/ssl", "/etc/pki", "/etc/pki/tls", "/etc/pki/ca-trust"};
static const char *const etc_binds[] = {"/etc/ld.so.cache",
					"/etc/alternatives",
					"/etc/ssl/certs",
					"/etc/ssl/openssl.cnf",
					"/etc/pki/tls/certs",
					"/etc/pki/tls/openssl.cnf",
					"/etc/pki/ca-trust/extracted",
					"/etc/crypto-policies"};

static const struct {
	const char *path;
	unsigned int major, minor;
} devices[] = {
	{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
	{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
	const char *text, *path;
} links[] = {
	{"/proc/self/fd", "/dev/fd"},	    {"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
	{"/proc/self/mounts", "/etc/mtab"}, {"/tmp", "/var/tmp"},
};

/*
 * Parts of proc that speak of the host or steer it; which of them exist depends on the kernel. What
 * only the host's root may open needs no cover, since no id of a run is root's; those that were
 * the way out of other sandboxes are covered all the same. Each cover costs every run 10 us.
 */
static const char *const proc_ro[] = {"/proc/sys"};
static const struct {
	const char *path;
	uint32_t type;
} proc_hide[] = {
	{"/proc/cmdline", S_IFREG},    {"/proc/iomem", S_IFREG},
	{"/proc/ioports", S_IFREG},    {"/proc/acpi", S_IFDIR},
	{"/proc/asound", S_IFDIR},     {"/proc/diskstats", S_IFREG},
	{"/proc/interrupts", S_IFREG}, {"/proc/kallsyms", S_IFREG},
	{"/proc/kcore", S_IFREG},      {"/proc/key-users", S_IFREG},
	{"/proc/keys", S_IFREG},       {"/proc/modules", S_IFREG},
	{"/proc/partitions", S_IFREG}, {"/proc/scsi", S_IFDIR},
	{"/proc/swaps", S_IFREG},      {"/proc/sysrq-trigger", S_IFREG},
	{"/proc/timer_list", S_IFREG},
};

static void file_node(struct builder *b, const char *path, const char *text)
{
	struct plan_span data = builder_bytes(b, text, strlen(text));
	builder_node(b, NODE_FILE, path, 0444)->data = data;
}

/*
 * What `host` is, links not followed. The caller's own was resolved when it was asked for, and the
 * ceiling judged that: a link on the way now leads elsewhere, and is ELOOP.
 */
static int look_at(const char *host, uint32_t mode, struct stat *ret)
{
	if (!(mode & NODE_AS_CALLER))
		return lstat(host, ret);
	/* Not O_NOFOLLOW, under which O_PATH opens a link itself. */
	auto_close int fd =
		open_beneath(AT_FDCWD, host, O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
	return fd < 0 ? -1 : fstat(fd, ret);
}

/* Binds what `host` is now; a target of the same kind is made first. 1: not there. */
static int bind_node(struct builder *b, const char *host, const char *target, uint32_t mode)
{
	struct stat st;
	auto_free char *real = NULL;
	if (look_at(host, mode, &st) < 0)
		return errno == ENOENT ? 1 : -1;
	/* The launcher follows no link in the last component. */
	if (S_ISLNK(st.st_mode)) {
		real = realpath(host, NULL);
		if (!real || stat(real, &st) < 0)
			return errno == ENOENT ? 1 : -1;
	}
	if (S_ISDIR(st.st_mode))
		(void)builder_node(b, NODE_DIR, target, 0755);
	else if (S_ISREG(st.st_mode))
		file_node(b, target, "");
	else
		return errno = EINVAL, -1;
	uint32_t source = builder_string(b, real ? real : host);
	struct plan_node *node = builder_node(b, NODE_BIND, target, mode);
	node->source = source;
	node->dev = st.st_dev;
	node->ino = st.st_ino;
	return 0;
}

static int add_root(struct builder *b, const char *path, struct bj_error *err)
{
	char text[PLAN_PATH_MAX];
	ssize_t n = readlink(path, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		uint32_t source = builder_string(b, text);
		builder_node(b, NODE_LINK, path, 0)->source = source;
		return 0;
	}
	if (bind_node(b, path, path, 0) < 0)
		return fail_errno(err, BJ_UNSUPPORTED, "image host: %s", path);
	return 0;
}

static int add_etc(struct builder *b, struct bj_error *err)
{
	struct stat st;
	(void)builder_node(b, NODE_DIR, "/etc", 0755);
	file_node(b, "/etc/passwd", synth_passwd);
	file_node(b, "/etc/group", synth_group);
	file_node(b, "/etc/hosts", synth_hosts);
	file_node(b, "/etc/nsswitch.conf", synth_nsswitch);
	for (size_t i = 0; i < ARRAY_SIZE(etc_dirs); i++) {
		if (stat(etc_dirs[i], &st) == 0)
			(void)builder_node(b, NODE_DIR, etc_dirs[i], 0755);
	}
	for (size_t i = 0; i < ARRAY_SIZE(etc_binds); i++) {
		if (bind_node(b, etc_binds[i], etc_binds[i], 0) < 0)
			return fail_errno(err, BJ_UNSUPPORTED, "image host: %s", etc_binds[i]);
	}
	return 0;
}

static int add_devices(struct builder *b, struct bj_error *err)
{
	struct stat st;
	(void)builder_node(b, NODE_DIR, "/dev", 0755);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		dev_t number = makedev(devices[i].major, devices[i].minor);
		if (lstat(devices[i].path, &st) < 0)
			return fail_errno(err, BJ_UNSUPPORTED, "device %s", devices[i].path);
		if (!S_ISCHR(st.st_mode) || st.st_rdev != number)
			return fail(err, BJ_UNSUPPORTED,
				    "device %s is not the character device %u:%u", devices[i].path,
				    devices[i].major, devices[i].minor);
		file_node(b, devices[i].path, "");
		uint32_t source = builder_string(b, devices[i].path);
		struct plan_node *node = builder_node(b, NODE_DEVICE, devices[i].path, 0);
		node->source = source;
		node->number = number;
		node->dev = st.st_dev;
		node->ino = st.st_ino;
	}
	return 0;
}

static void add_private(struct builder *b, const struct policy *policy)
{
	static const struct {
		const char *path;
		enum field_id size;
	} mounts[] = {
		{"/tmp", FIELD_tmp}, {"/workspace", FIELD_workspace}, {"/dev/shm", FIELD_shm}};
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		(void)builder_node(b, NODE_DIR, mounts[i].path, 0755);
		struct plan_node *node = builder_node(b, NODE_TMPFS, mounts[i].path, 0);
		node->size = policy->number[mounts[i].size];
		node->number = policy->number[FIELD_inodes];
	}
}

unsigned int image_cpus(const struct policy *policy)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t cpus = (policy->number[FIELD_cpus] + 999) / 1000;
	return online > 0 && cpus > (uint64_t)online ? (unsigned int)online : (unsigned int)cpus;
}

static void cover_node(struct builder *b, const char *path, const char *text, size_t size)
{
	struct plan_span data = builder_bytes(b, text, size);
	builder_node(b, NODE_COVER, path, 0)->data = data;
}

static int add_proc(struct builder *b, const struct policy *policy, struct bj_error *err)
{
	unsigned int cpus = image_cpus(policy);
	auto_free char *text = malloc(SYNTH_MAX);
	if (!text)
		return fail(err, BJ_INTERNAL, "out of memory for the plan");
	(void)builder_node(b, NODE_DIR, "/proc", 0555);
	(void)builder_node(b, NODE_PROC, "/proc", 0);
	for (size_t i = 0; i < ARRAY_SIZE(proc_ro); i++)
		(void)builder_node(b, NODE_RO, proc_ro[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(proc_hide); i++)
		(void)builder_node(b, NODE_HIDE, proc_hide[i].path, proc_hide[i].type);
	cover_node(b, "/proc/meminfo", text,
		   synth_meminfo(text, SYNTH_MAX, policy->number[FIELD_memory]));
	cover_node(b, "/proc/cpuinfo", text, synth_cpuinfo(text, SYNTH_MAX, cpus));
	cover_node(b, "/proc/stat", text, synth_stat(text, SYNTH_MAX, cpus));
	cover_node(b, "/proc/uptime", text, synth_uptime(text, SYNTH_MAX));
	cover_node(b, "/proc/loadavg", text, synth_loadavg(text, SYNTH_MAX));
	return 0;
}

static const struct plan_node *node_at(const struct builder *b, const char *path)
{
	for (uint32_t i = 0; !b->failed && i < b->node_count; i++) {
		if (strcmp(b->data + b->nodes[i].target, path) == 0)
			return &b->nodes[i];
	}
	return NULL;
}

/*
 * The directories above a bind's target, where the tree does not have them yet. Not through a link
 * of the tree: until the root is changed, its text means a place of the host.
 */
static int add_parents(struct builder *b, const char *path)
{
	char dir[PLAN_PATH_MAX];
	(void)snprintf(dir, sizeof(dir), "%s", path);
	for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		const struct plan_node *node = node_at(b, dir);
		if (node && node->kind == NODE_LINK)
			return -1;
		if (!node)
			(void)builder_node(b, NODE_DIR, dir, 0755);
		*slash = '/';
	}
	return 0;
}

static int add_bind(struct builder *b, const struct image_bind *bind, struct bj_error *err)
{
	char host[TEXT_PATH_SIZE], path[TEXT_PATH_SIZE];
	(void)text_quote(host, sizeof(host), bind->host);
	(void)text_quote(path, sizeof(path), bind->path);
	if (node_at(b, bind->path) || add_parents(b, bind->path) < 0)
		return fail(err, BJ_INVALID, "--ro %s: %s is in the image already, or another's",
			    host, path);
	if (bind_node(b, bind->host, bind->path, NODE_AS_CALLER) != 0)
		return fail_errno(err, BJ_INVALID, "--ro %s", host);
	return 0;
}

int image_host(struct builder *b, const struct policy *policy, const struct image_bind *binds,
	       size_t bind_count, struct bj_error *err)
{
	if (bind_node(b, "/usr", "/usr", 0) != 0)
		return fail_errno(err, BJ_UNSUPPORTED, "image host: /usr");
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (add_root(b, roots[i], err) < 0)
			return -1;
	}
	if (add_etc(b, err) < 0)
		return -1;
	(void)builder_node(b, NODE_DIR, "/var", 0755);
	(void)builder_node(b, NODE_DIR, "/run", 0755);
	if (add_devices(b, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		uint32_t source = builder_string(b, links[i].text);
		builder_node(b, NODE_LINK, links[i].path, 0)->source = source;
	}
	add_private(b, policy);
	if (add_proc(b, policy, err) < 0)
		return -1;
	for (size_t i = 0; i < bind_count; i++) {
		if (add_bind(b, &binds[i], err) < 0)
			return -1;
	}
	return 0;
}
