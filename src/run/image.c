/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image `host`. What a run may read of the host is this file's tables: /usr, and of /etc what the
 * dynamic linker, TLS and alternatives need. All else in the tree is made for it.
 */
#include "run/image.h"

#include "base/cleanup.h"
#include "base/os_names.h"
#include "base/text.h"
#include "files/beneath.h"
#include "files/files.h"
#include "files/show.h"
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
 * The caller's own was resolved when it was asked for, and the ceiling judged that: a link on the
 * way now leads elsewhere, and is ELOOP.
 */
static int open_as_judged(const char *host)
{
	/* Not O_NOFOLLOW, under which O_PATH opens a link itself. */
	return open_beneath(AT_FDCWD, host, O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
}

/* What `host` is, links not followed. */
static int look_at(const char *host, uint32_t mode, struct stat *ret)
{
	if (!(mode & NODE_AS_CALLER))
		return lstat(host, ret);
	auto_close int fd = open_as_judged(host);
	return fd < 0 ? -1 : fstat(fd, ret);
}

/* Binds what `host` is now; a target of the same kind is made first, if `make`. 1: not there. */
static int bind_node(struct builder *b, const char *host, const char *target, uint32_t mode,
		     bool make)
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
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return errno = EINVAL, -1;
	if (make && S_ISDIR(st.st_mode))
		(void)builder_node(b, NODE_DIR, target, 0755);
	else if (make)
		file_node(b, target, "");
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
	if (bind_node(b, path, path, 0, true) < 0)
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
		if (bind_node(b, etc_binds[i], etc_binds[i], 0, true) < 0)
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

/* The innermost of the binds before it, in order of paths, that `bind` is to lie in; or NULL. */
static const struct image_bind *bind_above(const struct image_bind *const *binds,
					   const struct image_bind *bind)
{
	const struct image_bind *above = NULL;
	for (; *binds != bind; binds++) {
		size_t size = strlen((*binds)->path);
		if (strncmp(bind->path, (*binds)->path, size) == 0 && bind->path[size] == '/')
			above = *binds;
	}
	return above;
}

/*
 * What is bound read-only gets no new names, so what lies in it needs a place that is there. Init
 * has to reach it: with an id of the run's own it has the rights of others, and no more.
 */
static int look_for_place(struct builder *b, const struct image_bind *above,
			  const struct image_bind *bind, struct stat *ret)
{
	char part[FILES_PART_MAX + 1];
	const char *rest = bind->path + strlen(above->path);
	auto_close int at = open_as_judged(above->host);
	bool own = builder_plan(b)->ids == IDS_OWN;
	for (;;) {
		if (at < 0 || fstat(at, ret) < 0)
			return -1;
		if (!*rest)
			return 0;
		if (S_ISDIR(ret->st_mode) && own && !(ret->st_mode & S_IXOTH))
			return errno = EACCES, -1;
		size_t size = strcspn(++rest, "/");
		(void)snprintf(part, sizeof(part), "%.*s", (int)size, rest);
		rest += size;
		int next = open_beneath(at, part, OPEN_LOOK, 0, BENEATH_HOST);
		cleanup_close(&at);
		at = next;
	}
}

static int check_place(struct builder *b, const struct image_bind *above,
		       const struct image_bind *bind, mode_t mode, struct bj_error *err)
{
	struct stat st;
	int got = look_for_place(b, above, bind, &st), os = errno;
	if (got == 0 && (st.st_mode & S_IFMT) == (mode & S_IFMT))
		return 0;
	char host[TEXT_VALUE_SIZE], path[TEXT_VALUE_SIZE], other[TEXT_VALUE_SIZE];
	(void)fail(err, BJ_INVALID, "--ro %s: no place for %s in %s, which is read-only: %s%s",
		   text_quote(host, sizeof(host), bind->host),
		   text_quote(path, sizeof(path), bind->path),
		   text_quote(other, sizeof(other), above->host), got < 0 ? "" : "there is ",
		   got < 0 ? errno_words(os) : show_kind(st.st_mode));
	return fail_hint(err,
			 "Make %s there first, in directories that all may enter; or give "
			 "another path.",
			 S_ISDIR(mode) ? "an empty directory" : "an empty file");
}

static int add_bind(struct builder *b, const struct image_bind *above,
		    const struct image_bind *bind, struct bj_error *err)
{
	struct stat st;
	char host[TEXT_PATH_SIZE], path[TEXT_PATH_SIZE];
	(void)text_quote(host, sizeof(host), bind->host);
	(void)text_quote(path, sizeof(path), bind->path);
	if (look_at(bind->host, NODE_AS_CALLER, &st) < 0)
		return fail_errno(err, BJ_INVALID, "--ro %s", host);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return fail(err, BJ_INVALID, "--ro %s is %s, not a file or a directory", host,
			    show_kind(st.st_mode));
	if (node_at(b, bind->path) || (!above && add_parents(b, bind->path) < 0)) {
		(void)fail(err, BJ_INVALID, "--ro %s: %s is in the image already, or another's",
			   host, path);
		return fail_hint(err, "Give another path, such as /data.");
	}
	if (above && check_place(b, above, bind, st.st_mode, err) < 0)
		return -1;
	if (bind_node(b, bind->host, bind->path, NODE_AS_CALLER, !above) != 0)
		return fail_errno(err, BJ_INVALID, "--ro %s", host);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(const struct image_bind *const *)a)->path,
		      (*(const struct image_bind *const *)b)->path);
}

/* Whatever order they were asked for in: what lies in another comes after it. */
static int add_binds(struct builder *b, const struct image_bind *binds, size_t count,
		     struct bj_error *err)
{
	const struct image_bind *sorted[PLAN_NODES_MAX];
	if (count > PLAN_NODES_MAX)
		return fail(err, BJ_INVALID, "--ro: more than %d of them", PLAN_NODES_MAX);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &binds[i];
	if (count)
		qsort(sorted, count, sizeof(*sorted), by_path);
	for (size_t i = 0; i < count; i++) {
		if (add_bind(b, bind_above(sorted, sorted[i]), sorted[i], err) < 0)
			return -1;
	}
	if (count && b->node_count == PLAN_NODES_MAX && b->failed)
		return fail(err, BJ_INVALID,
			    "--ro: the tree would have more than %d places: bind fewer "
			    "directories, or less deep",
			    PLAN_NODES_MAX);
	return 0;
}

int image_host(struct builder *b, const struct policy *policy, const struct image_bind *binds,
	       size_t bind_count, struct bj_error *err)
{
	if (bind_node(b, "/usr", "/usr", 0, true) != 0)
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
	return add_binds(b, binds, bind_count, err);
}
