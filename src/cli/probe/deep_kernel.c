/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions against the layer seccomp: what it must refuse is asked for with arguments that could
 * bring nothing about if it did not.
 */
#include "deep.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- seccomp: processes ------------------------------------------------------------------------
 */

static long reap(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -1;
	return waitpid((pid_t)pid, NULL, 0);
}

long by_clone3(void)
{
	const uint64_t args[8] = {[4] = SIGCHLD};
	return reap(syscall(SYS_clone3, args, sizeof(args)));
}

static long clone_with(unsigned long flags)
{
	return reap(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
}

long by_clone(void)
{
	return clone_with(0);
}

long clone_userns(void)
{
	return clone_with(CLONE_NEWUSER);
}

static long unshare_now(void)
{
	return unshare(CLONE_NEWNS);
}

long unshare_mounts(void)
{
	return in_child(unshare_now);
}

/* Its own: to enter it changes nothing. */
long enter_namespace(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_with(EBADMSG);
	long got = setns(fd, 0);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

long open_namespace(void)
{
	return open_close("/proc/self/ns/uts", O_RDONLY);
}

/* Which is not traced: the kernel would say ESRCH. */
long trace(void)
{
	return ptrace(PTRACE_CONT, getpid(), NULL, NULL);
}

long vm_read(void)
{
	char from = 1, to = 0;
	struct iovec here = {&to, 1}, there = {&from, 1};
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
}

long take_descriptor(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0)
		return fail_with(EBADMSG);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, 1, 0);
	int os = errno;
	(void)close(pidfd);
	if (fd >= 0)
		(void)close(fd);
	errno = os;
	return fd;
}

long duplicate(void)
{
	int fd = dup(1);
	return fd < 0 ? -1 : close(fd);
}

long compare(void)
{
	return syscall(SYS_kcmp, getpid(), getpid(), 0 /* KCMP_FILE */, 1, 1);
}

long ask_id(void)
{
	return syscall(SYS_getpid);
}

long limits_of_1(void)
{
	struct rlimit limit;
	return prlimit(1, RLIMIT_NOFILE, NULL, &limit);
}

long limits_of_self(void)
{
	struct rlimit limit;
	return prlimit(0, RLIMIT_NOFILE, NULL, &limit);
}

/* ---- seccomp: the kernel -----------------------------------------------------------------------
 */

/* Which keyring is its own thread's: none is made for the asking. */
long use_keys(void)
{
	return syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -1, 0);
}

long random_numbers(void)
{
	char byte;
	return syscall(SYS_getrandom, &byte, 1, 0);
}

long load_code(void)
{
	return syscall(SYS_bpf, 5 /* BPF_PROG_LOAD */, NULL, 0);
}

long measure_host(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

long measure_itself(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage);
}

long stop_kernel(void)
{
	return syscall(SYS_userfaultfd, ~0);
}

long map_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? -1 : munmap(page, 4096);
}

long async_io(void)
{
	return syscall(SYS_io_setup, 1, NULL);
}

long use_epoll(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

long make_handle(void)
{
	struct {
		struct file_handle head;
		char room[128];
	} handle;
	int mount;
	memset(&handle, 0, sizeof(handle));
	handle.head.handle_bytes = sizeof(handle.room);
	return name_to_handle_at(AT_FDCWD, "/usr", &handle.head, &mount, 0);
}

long open_handle(void)
{
	return syscall(SYS_open_by_handle_at, -1, NULL, O_RDONLY);
}

long look_at_file(void)
{
	struct stat st;
	return stat("/usr", &st);
}

long open_tree_here(void)
{
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", O_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

long open_path(void)
{
	return open_close("/usr", O_PATH);
}

static long set_personality(void)
{
	return personality(ADDR_NO_RANDOMIZE);
}

long no_randomising(void)
{
	return in_child(set_personality);
}

long ask_personality(void)
{
	return personality(0xffffffff);
}

long kernel_log(void)
{
	return syscall(SYS_syslog, 10 /* its size */, NULL, 0);
}

long ask_name(void)
{
	struct utsname name;
	return uname(&name);
}

/* A clock that there is not. */
long set_clock(void)
{
	struct timespec now = {1, 0};
	return syscall(SYS_clock_settime, 9999, &now);
}

long read_clock(void)
{
	struct timespec now;
	return syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
}

long own_filter(void)
{
	uint32_t action = 0x7fff0000; /* SECCOMP_RET_ALLOW: is it known? */
	return syscall(SYS_seccomp, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, &action);
}

long filter_in_force(void)
{
	long mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	return mode == 2 ? 0 : mode < 0 ? -1 : fail_with(EBADMSG);
}

/* ---- seccomp: files ----------------------------------------------------------------------------
 */

/* `act` on a file of its own. */
static long with_file(long (*act)(int fd))
{
	int fd = own_file();
	if (fd < 0)
		return fail_with(EBADMSG);
	long got = act(fd);
	int os = errno;
	(void)close(fd);
	errno = os;
	return got;
}

static long lease(int fd)
{
	return fcntl(fd, F_SETLEASE, F_WRLCK);
}

static long lock_it(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, F_SETLK, &whole);
}

static long flush_system(int fd)
{
	return syncfs(fd);
}

static long flush(int fd)
{
	return fsync(fd);
}

long take_lease(void)
{
	return with_file(lease);
}

long lock_file(void)
{
	return with_file(lock_it);
}

long flush_all(void)
{
	return with_file(flush_system);
}

long flush_file(void)
{
	return with_file(flush);
}

/* Its input is a pipe, for which the kernel would say ENOTTY. */
long type_letter(void)
{
	return syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI, "x");
}

long type_letter_high(void)
{
	return syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | 1UL << 32, "x");
}

static long node(mode_t type, dev_t device)
{
	static const char path[] = "/workspace/.belljar-deep-node";
	long got = mknod(path, type | 0600, device);
	int os = errno;
	(void)unlink(path);
	errno = os;
	return got;
}

long make_device(void)
{
	return node(S_IFCHR, makedev(1, 3));
}

long make_fifo(void)
{
	return node(S_IFIFO, 0);
}

static long memory_file_with(unsigned flags)
{
	int fd = memfd_create("belljar-deep", MFD_CLOEXEC | flags);
	return fd < 0 ? -1 : close(fd);
}

long huge_file(void)
{
	return memory_file_with(MFD_HUGETLB);
}

long memory_file(void)
{
	return memory_file_with(0);
}

/* ---- seccomp: other ways into the kernel -------------------------------------------------------
 */

#ifdef __x86_64__
/* A process that cannot be dumped starts no handler of the host when the filter ends it. */
static long by_x32(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return syscall(SYS_getpid | 0x40000000);
}

static long by_int80(void)
{
	long got = 20; /* getpid there */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	__asm__ volatile("int $0x80" : "+a"(got) : : "memory", "r8", "r9", "r10", "r11");
	return got;
}

long call_x32(void)
{
	return end_of_child(by_x32);
}

long call_int80(void)
{
	return end_of_child(by_int80);
}
#else
long call_x32(void)
{
	return UNTRIED;
}

long call_int80(void)
{
	return UNTRIED;
}
#endif
