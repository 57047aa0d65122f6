/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `mount`: the run's own file tree. A tmpfs becomes the root; the plan's nodes are made in
 * it, in order; the new root is pivoted into and made read-only; the old one is detached.
 *
 * Until pivot_root the current directory is the new root and every path inside is relative to it:
 * it is a fresh tmpfs that only this process can see, so nobody can put a link in the way. What
 * lies in a bind of the host is the exception: who may write there can lead the mount elsewhere in
 * this process's own namespace, and then the receipt misses it in its place. Sources are paths of
 * the host: a plain descriptor opened before clone belongs to the other mount namespace and cannot
 * be bound, and a detached copy takes a privilege. What is found must be the very file that the
 * plan saw.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"

/* From <sys/mount.h>, which does not go together with <linux/mount.h> on glibc 2.36. */
extern int mount(const char *source, const char *target, const char *type, unsigned long flags,
		 const void *data);
extern int umount2(const char *target, int flags);
#define FLAG_DETACH 2

#define QUIET (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* Where covers live: files of the new root that are bound over files of proc. */
#define COVERS ".belljar"

CHILD_CODE static int set_attributes(const char *path, unsigned int flags, uint64_t set,
				     uint64_t clear)
{
	struct mount_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.attr_set = set;
	attr.attr_clr = clear;
	return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attr, sizeof(attr));
}

/* The mode is as given: the umask is 0 here. An empty file needs no descriptor. */
CHILD_CODE static int make_file(const char *path, const void *data, size_t size, mode_t mode)
{
	if (size == 0)
		return mknod(path, S_IFREG | mode, 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || write_whole(fd, data, size) < 0)
		return -1;
	return close(fd);
}

CHILD_CODE static int is_planned(const struct plan_node *node, const struct stat *st)
{
	if (st->st_dev == node->dev && st->st_ino == node->ino &&
	    (node->kind != NODE_DEVICE || (S_ISCHR(st->st_mode) && st->st_rdev == node->number)))
		return 0;
	errno = ESTALE;
	return -1;
}

/* A detached copy of what is at `source`, made where the caller's rights still hold. */
static int open_host(const struct plan_node *node, const char *source)
{
	struct stat st;
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, source,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
					AT_RECURSIVE);
	if (tree < 0 || fstat(tree, &st) < 0 || is_planned(node, &st) < 0)
		return -1;
	return tree;
}

/*
 * By mount(2): a detached copy costs a mount namespace of its own for a moment, 30 us each time.
 * What is looked at afterwards is what is mounted, however the path to it may have changed.
 */
CHILD_CODE static int bind_host(const struct plan_node *node, int opened, const char *source,
				const char *target)
{
	struct stat st;
	bool device = node->kind == NODE_DEVICE;
	int got = opened >= 0 ? (int)syscall(SYS_move_mount, opened, "", AT_FDCWD, target,
					     MOVE_MOUNT_F_EMPTY_PATH)
			      : mount(source, target, NULL, MS_BIND | (device ? 0U : MS_REC), NULL);
	if (got < 0 || fstatat(AT_FDCWD, target, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    is_planned(node, &st) < 0)
		return -1;
	if (device)
		return set_attributes(target, 0,
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, 0);
	return set_attributes(target, AT_RECURSIVE, QUIET, 0);
}

int mount_prepare(struct launch *launch, struct fault *fault)
{
	const struct plan *plan = launch->plan;
	const struct plan_node *nodes = plan_at(plan, plan->nodes);
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		if (nodes[i].kind != NODE_BIND || !(nodes[i].mode & NODE_AS_CALLER) ||
		    plan->ids != IDS_OWN)
			continue;
		launch->tree[i] =
			(int)STEP(fault, LAYER_MOUNT, HOOK_PREPARE, "open a directory of the host",
				  open_host(&nodes[i], plan_string(plan, nodes[i].source)));
		if (launch->tree[i] < 0)
			return -1;
	}
	return 0;
}

/*
 * Binds a place of the new tree over a part of proc; one that this kernel does not have is left
 * out. Its flags come last, for all of proc at once: see quiet_proc().
 */
CHILD_CODE static int bind_own(const char *source, const char *target)
{
	return mount(source, target, NULL, MS_BIND, NULL) < 0 && errno != ENOENT ? -1 : 0;
}

/* Read-only with all that lies on it, but for proc itself, where processes write to their own. */
CHILD_CODE static int quiet_proc(const struct plan *plan)
{
	const struct plan_node *nodes = plan_at(plan, plan->nodes);
	for (uint32_t i = 0; i < plan->nodes.count; i++) {
		const char *target = plan_string(plan, nodes[i].target) + 1;
		if (nodes[i].kind == NODE_PROC &&
		    (set_attributes(target, AT_RECURSIVE, QUIET | MOUNT_ATTR_NOEXEC, 0) < 0 ||
		     set_attributes(target, 0, 0, MOUNT_ATTR_RDONLY) < 0))
			return -1;
	}
	return 0;
}

CHILD_CODE static int cover(const struct plan *plan, const struct plan_node *node,
			    const char *target)
{
	static const char letters[] = "0123456789abcdef";
	static unsigned int count;
	char name[] = COVERS "/c.";
	name[sizeof(name) - 2] = letters[count++ % 16];
	if (count > 16) {
		errno = E2BIG;
		return -1;
	}
	if (make_file(name, plan_at(plan, node->data), node->data.count, 0444) < 0)
		return -1;
	return bind_own(name, target);
}

/* "name=N" into `text`, in decimal, without stdio. */
CHILD_CODE static char *option(char *text, const char *name, uint64_t value)
{
	char digits[24] = {0};
	size_t n = 0;
	while (*name)
		*text++ = *name++;
	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	while (n)
		*text++ = digits[--n];
	*text = '\0';
	return text;
}

CHILD_CODE static int private_tmpfs(const struct plan *plan, const struct plan_node *node,
				    const char *target)
{
	char data[96];
	char *end = option(data, "size=", node->size);
	end = option(end, ",nr_inodes=", node->number);
	memcpy(end, ",mode=1777", sizeof(",mode=1777"));
	/* Named after the run, so that end_run() can tell what is left of it from anybody else's.
	 */
	return mount(plan->run_id, target, "tmpfs", MS_NOSUID | MS_NODEV, data);
}

CHILD_CODE static int make_node(const struct child *child, const struct plan_node *node, int opened)
{
	const struct plan *plan = child->plan;
	const char *target = plan_string(plan, node->target) + 1;
	const char *source = node->source ? plan_string(plan, node->source) : NULL;

	switch ((enum node_kind)node->kind) {
	case NODE_DIR:
		return mkdir(target, node->mode);
	case NODE_FILE:
		return make_file(target, plan_at(plan, node->data), node->data.count, node->mode);
	case NODE_LINK:
		return symlink(source, target);
	case NODE_BIND:
	case NODE_DEVICE:
		return bind_host(node, opened, source, target);
	case NODE_TMPFS:
		return private_tmpfs(plan, node, target);
	case NODE_PROC:
		return mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	case NODE_RO:
		return bind_own(target, target);
	case NODE_HIDE:
		return bind_own(S_ISDIR(node->mode) ? COVERS "/empty" : COVERS "/nothing", target);
	case NODE_COVER:
		return cover(plan, node, target);
	case NODE_KIND_COUNT:
		break;
	}
	errno = EINVAL;
	return -1;
}

static const char *const steps[] = {
	[NODE_DIR] = "make a directory",     [NODE_FILE] = "make a file",
	[NODE_LINK] = "make a link",	     [NODE_BIND] = "bind a directory of the host",
	[NODE_DEVICE] = "bind a device",     [NODE_TMPFS] = "mount a private tmpfs",
	[NODE_PROC] = "mount a fresh proc",  [NODE_RO] = "make a part of proc read-only",
	[NODE_HIDE] = "hide a part of proc", [NODE_COVER] = "cover a file of proc",
};
_Static_assert(sizeof(steps) / sizeof(steps[0]) == NODE_KIND_COUNT, "a step per kind");

CHILD_CODE static int make_nodes(const struct child *child, struct fault *fault)
{
	const struct plan_node *nodes = plan_at(child->plan, child->plan->nodes);
	for (uint32_t i = 0; i < child->plan->nodes.count; i++) {
		if (STEP(fault, LAYER_MOUNT, HOOK_CHILD, "make a node of the tree",
			 make_node(child, &nodes[i], child->trees[i])) < 0) {
			const char *step = steps[nodes[i].kind];
			memset(fault->what, 0, sizeof(fault->what));
			memcpy(fault->what, step, strnlen(step, sizeof(fault->what) - 1));
			return -1;
		}
	}
	return 0;
}

/* mkdir and open take no umask into account: what the plan says is what is there. */
CHILD_CODE int mount_child(const struct child *child, struct fault *fault)
{
	(void)umask(0);
	/*
	 * Where the new root is mounted does not matter, only that the directory exists; it is gone
	 * after pivot_root. /proc is needed by the launcher anyway, and covering it hides nothing
	 * from the kernel's check that a full proc is visible before a fresh one may be mounted.
	 */
	if (STEP(fault, LAYER_MOUNT, HOOK_CHILD, "make all mounts private",
		 mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) < 0 ||
	    STEP(fault, LAYER_MOUNT, HOOK_CHILD, "mount the new root",
		 mount(child->plan->run_id, "/proc", "tmpfs", MS_NOSUID | MS_NODEV,
		       "size=1m,nr_inodes=1024,mode=755")) < 0 ||
	    STEP(fault, LAYER_MOUNT, HOOK_CHILD, "enter the new root", chdir("/proc")) < 0 ||
	    STEP(fault, LAYER_MOUNT, HOOK_CHILD, "make the covers' directory",
		 mkdir(COVERS, 0755) < 0 || mkdir(COVERS "/empty", 0555) < 0
			 ? -1
			 : make_file(COVERS "/nothing", "", 0, 0444)) < 0)
		return -1;
	if (make_nodes(child, fault) < 0 ||
	    STEP(fault, LAYER_MOUNT, HOOK_CHILD, "make parts of proc read-only",
		 quiet_proc(child->plan)) < 0)
		return -1;
	/*
	 * With both names the same, the old root ends up on top of the new one, which "/" still
	 * means. Read-only now, while this process is alone: later the kernel may find it busy with
	 * the access time of a link that another follows.
	 */
	if (STEP(fault, LAYER_MOUNT, HOOK_CHILD, "pivot into the new root",
		 syscall(SYS_pivot_root, ".", ".")) < 0 ||
	    STEP(fault, LAYER_MOUNT, HOOK_CHILD, "make the root read-only",
		 set_attributes("/", 0, QUIET, 0)) < 0)
		return -1;
	(void)umask(022);
	return 0;
}

/*
 * Apart, since umount waits for every CPU of the host to pass a quiet state: 0.1 to 0.6 ms. Until
 * then the old root lies on "/" where only "." of init leads to it; paths that begin with / do not.
 */
CHILD_CODE int mount_settle(const struct child *child, struct fault *fault)
{
	(void)child;
	if (STEP(fault, LAYER_MOUNT, HOOK_CHILD, "detach the old root", umount2(".", FLAG_DETACH)) <
		    0 ||
	    STEP(fault, LAYER_MOUNT, HOOK_CHILD, "enter the root", chdir("/")) < 0)
		return -1;
	return 0;
}
