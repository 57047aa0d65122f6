/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on processes, privileges and the kernel's rarer calls. */
#include "inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * sys NUMBER ARG…: any system call. An argument is a number, "s:TEXT" for a string, "z:SIZE" for
 * that many zero bytes, or "n:SIZE" for a buffer that starts with its own size as a 32-bit number.
 */
static void do_sys(int argc, char **argv)
{
	long arg[7] = {0};

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "s:", 2)) {
			arg[i] = (long)(argv[i] + 2);
		} else if (!strncmp(argv[i], "z:", 2) || !strncmp(argv[i], "n:", 2)) {
			size_t size = (size_t)number(argv[i] + 2);
			uint32_t *room = calloc(1, size < 8 ? 8 : size);

			if (room && argv[i][0] == 'n')
				room[0] = (uint32_t)size;
			arg[i] = (long)room;
		} else {
			arg[i] = (long)number(argv[i]);
		}
	}
	errno = 0;
	say("sys", syscall(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6]));
}

static void do_unshare(int argc, char **argv)
{
	(void)argc;
	say("unshare", unshare((int)number(argv[0])));
}

static void do_setns(int argc, char **argv)
{
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

	(void)argc;
	if (fd < 0) {
		say("setns_open", fd);
		return;
	}
	say("setns", setns(fd, (int)number(argv[1])));
}

/* clone with these flags; the child leaves at once. */
static void do_clone(int argc, char **argv)
{
	long pid = syscall(SYS_clone, number(argv[0]) | SIGCHLD, 0, 0, 0, 0);

	(void)argc;
	if (pid == 0)
		_exit(0);
	say("clone", pid);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
}

static void do_clone3(int argc, char **argv)
{
	uint64_t args[11] = {(uint64_t)number(argv[0]), [4] = SIGCHLD};
	long pid = syscall(SYS_clone3, args, sizeof(args));

	(void)argc;
	if (pid == 0)
		_exit(0);
	say("clone3", pid);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
}

static void do_ptrace(int argc, char **argv)
{
	pid_t pid = (pid_t)number(argv[1]);
	long request = !strcmp(argv[0], "seize") ? PTRACE_SEIZE : PTRACE_ATTACH;

	(void)argc;
	say("ptrace", ptrace(request, pid, 0, 0));
}

static void do_kill(int argc, char **argv)
{
	(void)argc;
	say("kill", kill((pid_t)number(argv[0]), (int)number(argv[1])));
}

static void do_vm_read(int argc, char **argv)
{
	char here[8];
	struct iovec local = {here, sizeof(here)};
	struct iovec remote = {(void *)(uintptr_t)number(argv[1]), sizeof(here)};

	(void)argc;
	say("vm_read", process_vm_readv((pid_t)number(argv[0]), &local, 1, &remote, 1, 0));
}

static void do_vm_write(int argc, char **argv)
{
	char here[8] = "";
	struct iovec local = {here, sizeof(here)};
	struct iovec remote = {(void *)(uintptr_t)number(argv[1]), sizeof(here)};

	(void)argc;
	say("vm_write", process_vm_writev((pid_t)number(argv[0]), &local, 1, &remote, 1, 0));
}

static void do_pidfd_getfd(int argc, char **argv)
{
	long pidfd = syscall(SYS_pidfd_open, number(argv[0]), 0);

	(void)argc;
	if (!say("pidfd_open", pidfd))
		return;
	say("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, number(argv[1]), 0));
}

/* Reads eight bytes of memory through /proc/PID/mem, at a mapping that maps says is readable. */
static void do_proc_mem(int argc, char **argv)
{
	char path[64], here[8], line[256] = "";
	unsigned long from = 0;

	(void)argc;
	(void)snprintf(path, sizeof(path), "/proc/%s/maps", argv[0]);
	FILE *maps = fopen(path, "re");
	bool got_maps = say("proc_maps", maps && fgets(line, sizeof(line), maps) ? 0 : -1);

	if (got_maps && sscanf(line, "%lx", &from) != 1)
		from = 0;
	(void)snprintf(path, sizeof(path), "/proc/%s/mem", argv[0]);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!say("proc_mem_open", fd))
		return;
	say("proc_mem_read", pread(fd, here, sizeof(here), (off_t)from));
}

static void do_setrlimit(int argc, char **argv)
{
	struct rlimit limit = {0};
	int which = (int)number(argv[0]);

	(void)argc;
	if (getrlimit(which, &limit) < 0) {
		say("getrlimit", -1);
		return;
	}
	char text[64];
	int size = snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)limit.rlim_cur,
			    (unsigned long long)limit.rlim_max);
	say_text("getrlimit", 0, text, size);
	limit.rlim_max = limit.rlim_max == RLIM_INFINITY ? RLIM_INFINITY : limit.rlim_max + 1;
	limit.rlim_cur = limit.rlim_max;
	say("setrlimit", setrlimit(which, &limit));
}

static void do_prctl(int argc, char **argv)
{
	long a[5] = {0};

	for (int i = 0; i < argc; i++)
		a[i] = (long)number(argv[i]);
	say("prctl", prctl((int)a[0], a[1], a[2], a[3], a[4]));
}

static void do_capset(int argc, char **argv)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	(void)argc;
	(void)argv;
	data[0].effective = data[0].permitted = 1u << CAP_SYS_ADMIN;
	say("capset", syscall(SYS_capset, &head, data));
}

static void do_sched_fifo(int argc, char **argv)
{
	struct sched_param param = {.sched_priority = 1};

	(void)argc;
	(void)argv;
	say("sched_fifo", syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param));
}

static void do_nice(int argc, char **argv)
{
	(void)argc;
	say("nice", setpriority(PRIO_PROCESS, 0, (int)number(argv[0])));
}

/* ioctl FD REQUEST: the request goes to the kernel as 64 bits, the argument is one letter. */
static void do_ioctl(int argc, char **argv)
{
	char letter[64] = "x";

	(void)argc;
	say("ioctl", syscall(SYS_ioctl, number(argv[0]), number(argv[1]), letter));
}

/* A terminal of this program's own, to push a letter into; its own, so that nothing else sees it.
 */
static void do_tiocsti(int argc, char **argv)
{
	char letter = 'x';
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	(void)argc;
	if (!say("openpt", master))
		return;
	if (grantpt(master) < 0 || unlockpt(master) < 0) {
		say("unlockpt", -1);
		return;
	}
	int fd = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (!say("openpts", fd))
		return;
	if (setsid() >= 0)
		(void)ioctl(fd, TIOCSCTTY, 0);
	say("tiocsti", syscall(SYS_ioctl, fd, TIOCSTI | number(argv[0]) << 32, &letter));
}

static void do_x32_getpid(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	say("x32_getpid", syscall(SYS_getpid | 0x40000000));
}

/* getpid by the i386 gate, where it is number 20. */
static void do_int80_getpid(int argc, char **argv)
{
	long got = 20;

	(void)argc;
	(void)argv;
	__asm__ volatile("int $0x80" : "+a"(got) : : "memory", "r8", "r9", "r10", "r11");
	if (got < 0) {
		errno = (int)-got;
		got = -1;
	}
	say("int80_getpid", got);
}

/* Runs PROGRAM from memory: what it prints shows that any program can be run, whatever its path. */
static void do_memfd_exec(int argc, char **argv)
{
	char room[65536];
	int from = open(argv[0], O_RDONLY | O_CLOEXEC);
	int to = (int)syscall(SYS_memfd_create, "program", 1 /* MFD_CLOEXEC */);

	if (from < 0 || to < 0) {
		say("memfd_exec", -1);
		return;
	}
	for (long n; (n = read(from, room, sizeof(room))) > 0;)
		if (write(to, room, (size_t)n) != n)
			_exit(99);
	char *envp[] = {NULL};
	argv[argc] = NULL;
	(void)fflush(stdout);
	(void)syscall(SYS_execveat, to, "", argv, envp, 0x1000 /* AT_EMPTY_PATH */);
	say("memfd_exec", -1);
}

static void do_ids(int argc, char **argv)
{
	uid_t u[3];
	gid_t g[3], groups[64];
	char text[512];
	int count = getgroups(64, groups);

	(void)argc;
	(void)argv;
	(void)getresuid(&u[0], &u[1], &u[2]);
	(void)getresgid(&g[0], &g[1], &g[2]);
	int size = snprintf(text, sizeof(text), "%u %u %u %u %u %u", u[0], u[1], u[2], g[0], g[1],
			    g[2]);
	for (int i = 0; i < count; i++)
		size += snprintf(text + size, sizeof(text) - (size_t)size, " %u", groups[i]);
	say_text("ids", count, text, size);
}

/* pid, parent, process group, session: where this program thinks it is. */
static void do_pids(int argc, char **argv)
{
	char text[128];
	int size = snprintf(text, sizeof(text), "%d %d %d %d", getpid(), getppid(), getpgid(0),
			    getsid(0));

	(void)argc;
	(void)argv;
	say_text("pids", 0, text, size);
}

/* Leaves an object in System V memory and POSIX queues, or looks for it. */
static void do_ipc(int argc, char **argv)
{
	int make = !strcmp(argv[0], "make");
	key_t key = (key_t)number(argv[1]);

	(void)argc;
	say("shmget", syscall(SYS_shmget, key, 4096, make ? 01600 : 0));
	say("semget", syscall(SYS_semget, key, 1, make ? 01600 : 0));
	say("msgget", syscall(SYS_msgget, key, make ? 01600 : 0));
	say("mq_open",
	    syscall(SYS_mq_open, "belljar-test", make ? O_RDWR | O_CREAT : O_RDWR, 0600, NULL));
}

static void do_getenv(int argc, char **argv)
{
	extern char **environ;
	static char text[65536];
	size_t used = 0;
	long count = 0;

	(void)argc;
	(void)argv;
	for (char **e = environ; *e; e++, count++) {
		int size = snprintf(text + used, sizeof(text) - used, "%s\n", *e);

		if (size < 0 || used + (size_t)size >= sizeof(text))
			break;
		used += (size_t)size;
	}
	say_text("getenv", count, text, (long)used);
}

/*
 * Looks at every process that proc shows, except itself: NAME of each, and for root, cwd, exe,
 * environ, fd, maps, mem and ns how many could be opened or read. The text holds the pids.
 */
static void do_walk_proc(int argc, char **argv)
{
	static const char *const names[] = {"root", "cwd", "exe",    "environ", "fd",
					    "maps", "mem", "ns/net", "cmdline", "stack"};
	char path[300], text[4096] = "", here[256];
	size_t used = 0;
	DIR *proc = opendir("/proc");
	long count[10] = {0}, pids = 0;

	(void)argc;
	(void)argv;
	for (struct dirent *e = proc ? readdir(proc) : NULL; e; e = readdir(proc)) {
		int pid = atoi(e->d_name);

		if (pid <= 0 || pid == getpid())
			continue;
		pids++;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d ", pid);
		for (int i = 0; i < 10; i++) {
			(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, names[i]);
			bool is_link = i < 3 || i == 7;
			int fd = is_link ? -1 : open(path, O_RDONLY | O_CLOEXEC);
			long got = is_link ? readlink(path, here, sizeof(here)) : fd;
			if (fd >= 0 && i != 4 && i != 6)
				got = read(fd, here, sizeof(here));
			if (got > 0)
				count[i]++;
			if (fd >= 0)
				close(fd);
		}
	}
	say_text("pids", proc ? pids : -1, text, (long)used);
	for (int i = 0; i < 10; i++)
		say_text("seen", count[i], names[i], (long)strlen(names[i]));
}

const struct verb verbs_calls[] = {
	{"sys", 1, 7, do_sys},
	{"unshare", 1, 1, do_unshare},
	{"setns", 2, 2, do_setns},
	{"clone", 1, 1, do_clone},
	{"clone3", 1, 1, do_clone3},
	{"ptrace", 2, 2, do_ptrace},
	{"kill", 2, 2, do_kill},
	{"vm_read", 2, 2, do_vm_read},
	{"vm_write", 2, 2, do_vm_write},
	{"pidfd_getfd", 2, 2, do_pidfd_getfd},
	{"proc_mem", 1, 1, do_proc_mem},
	{"setrlimit", 1, 1, do_setrlimit},
	{"prctl", 1, 5, do_prctl},
	{"capset", 0, 0, do_capset},
	{"sched_fifo", 0, 0, do_sched_fifo},
	{"nice", 1, 1, do_nice},
	{"ioctl", 2, 2, do_ioctl},
	{"tiocsti", 1, 1, do_tiocsti},
	{"x32_getpid", 0, 0, do_x32_getpid},
	{"int80_getpid", 0, 0, do_int80_getpid},
	{"memfd_exec", 1, 8, do_memfd_exec},
	{"ids", 0, 0, do_ids},
	{"pids", 0, 0, do_pids},
	{"ipc", 2, 2, do_ipc},
	{"getenv", 0, 0, do_getenv},
	{"walk_proc", 0, 0, do_walk_proc},
	{0},
};
