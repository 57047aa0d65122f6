/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that use things up, refuse to die, or end in some particular way. All are bounded. */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FORKS_MOST = 40, THREADS_MOST = 200, MB_MOST = 600 };

static long bounded(const char *text, long most)
{
	long long value = number(text);

	if (value < 0 || value > most) {
		fprintf(stderr, "inside: %s is more than %ld\n", text, most);
		exit(99);
	}
	return (long)value;
}

/* One byte of each page, so that the memory is really there. */
static void touch(char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		((volatile char *)at)[i] = 1;
}

static int eat(long mb, int flags)
{
	size_t size = (size_t)mb << 20;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -1;
	touch(at, size);
	return 0;
}

static void do_alloc(int argc, char **argv)
{
	(void)argc;
	say("alloc", eat(bounded(argv[0], MB_MOST), MAP_PRIVATE));
}

static void do_alloc_shared(int argc, char **argv)
{
	(void)argc;
	say("alloc_shared", eat(bounded(argv[0], MB_MOST), MAP_SHARED));
}

static void do_alloc_memfd(int argc, char **argv)
{
	size_t size = (size_t)bounded(argv[0], MB_MOST) << 20;
	int fd = (int)syscall(SYS_memfd_create, "room", 0);

	(void)argc;
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
		say("alloc_memfd", -1);
		return;
	}
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		touch(at, size);
	say("alloc_memfd", at == MAP_FAILED ? -1 : 0);
}

static void do_alloc_shm(int argc, char **argv)
{
	size_t size = (size_t)bounded(argv[0], MB_MOST) << 20;
	int id = shmget(IPC_PRIVATE, size, 0600);
	char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

	(void)argc;
	if (at != (char *)-1)
		touch(at, size);
	say("alloc_shm", at == (char *)-1 ? -1 : 0);
}

static int prctl_deathsig_off(void)
{
	return prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

/* A child eats MB and tells how it ended; the parent prints "fine" and exits 0. */
static void do_child_alloc(int argc, char **argv)
{
	long mb = bounded(argv[0], MB_MOST);
	int status = 0;
	pid_t pid = fork();

	(void)argc;
	if (pid == 0)
		_exit(eat(mb, MAP_PRIVATE) == 0 ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		say("child_alloc", -1);
		return;
	}
	say("child_alloc", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	puts("fine");
	exit(0);
}

/* COUNT children, each with MB of its own, held until all have theirs or one was killed. */
static void do_children_alloc(int argc, char **argv)
{
	long count = bounded(argv[0], FORKS_MOST), mb = bounded(argv[1], 64), fine = 0, killed = 0;
	int full[2], hold[2], status = 0;
	char byte = 0;

	(void)argc;
	if (pipe(full) < 0 || pipe(hold) < 0)
		exit(99);
	for (long i = 0; i < count; i++)
		if (fork() == 0) {
			close(hold[1]);
			if (eat(mb, MAP_PRIVATE) < 0 || write(full[1], &byte, 1) < 0)
				_exit(1);
			_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
		}
	while (fine < count && killed == 0) {
		struct pollfd wait_full = {.fd = full[0], .events = POLLIN};

		if (poll(&wait_full, 1, 10) > 0 && read(full[0], &byte, 1) == 1)
			fine++;
		if (waitpid(-1, &status, WNOHANG) > 0)
			killed++;
	}
	close(hold[1]);
	while (wait(&status) > 0)
		killed += WIFSIGNALED(status);
	say("children_alloc", killed);
}

/* Forks until COUNT children wait or fork fails; says how many there were and why it stopped. */
static void do_forks(int argc, char **argv)
{
	long most = bounded(argv[0], 400), made = 0;
	pid_t pid = 0;

	(void)argc;
	for (; made < most; made++) {
		pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		if (pid < 0)
			break;
	}
	int os = errno;
	char text[32];
	int size = snprintf(text, sizeof(text), "%ld", made);
	errno = os;
	say_text("forks", pid < 0 ? -1 : made, text, size);
}

static void *wait_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static void do_threads(int argc, char **argv)
{
	long most = bounded(argv[0], 400), made = 0;
	pthread_attr_t attr;
	pthread_t thread;
	int os = 0;
	char text[32];

	(void)argc;
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 65536);
	for (; made < most && os == 0; made += os == 0)
		os = pthread_create(&thread, &attr, wait_for_ever, NULL);
	int size = snprintf(text, sizeof(text), "%ld", made);
	errno = os;
	say_text("threads", os ? -1 : made, text, size);
	exit(0);
}

/* Leaves the session and the parent behind and runs on; "keep" keeps stdout and stderr open. */
static void do_daemon(int argc, char **argv)
{
	int ready[2];
	char byte;

	(void)argc;
	if (pipe(ready) < 0)
		exit(99);
	if (fork() == 0) {
		(void)setsid();
		if (fork() != 0)
			_exit(0);
		for (int s = 1; s < 32; s++)
			(void)signal(s, SIG_IGN);
		(void)prctl_deathsig_off();
		if (strcmp(argv[0], "keep") != 0)
			for (int fd = 0; fd < 3; fd++)
				close(fd);
		close(ready[0]);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	long got = read(ready[0], &byte, 1); /* ends when the daemon is on its own */
	say("daemon", got);
}

/* COUNT processes, each orphaned, that spin for ever: their CPU time is nobody's child's. */
static void do_burners(int argc, char **argv)
{
	long count = bounded(argv[0], FORKS_MOST);

	(void)argc;
	for (long i = 0; i < count; i++)
		if (fork() == 0) {
			if (fork() == 0)
				for (volatile long n = 0;; n++)
					;
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	say("burners", count);
}

/* COUNT tasks that for ever replace themselves by a child in a session of its own. */
static void do_storm(int argc, char **argv)
{
	long count = bounded(argv[0], FORKS_MOST);

	(void)argc;
	for (long i = 0; i < count; i++)
		if (fork() == 0)
			for (;;) {
				(void)setsid();
				if (fork() > 0)
					_exit(0);
			}
	say("storm", count);
	for (;;)
		pause();
}

/* COUNT orphans one after the other; init must reap them or forking ends before the count. */
static void do_orphans(int argc, char **argv)
{
	long count = bounded(argv[0], 5000), made = 0;

	(void)argc;
	/* The last may not have been reaped yet: a fork that fails is tried again, not for ever. */
	for (long tries = 0; made < count && tries < 3000 + count; tries++) {
		pid_t pid = fork();

		if (pid == 0) {
			pid_t orphan = fork();

			_exit(orphan < 0 ? 1 : 0);
		}
		int status = 1;
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status) {
			struct timespec moment = {.tv_nsec = 1000000};

			if (errno && errno != EAGAIN)
				break;
			(void)nanosleep(&moment, NULL);
			continue;
		}
		made++;
	}
	say("orphans", made == count ? made : -1);
}

/* A child made with CLONE_PARENT, so that it is its grandparent's, leaves with status 7. */
static void do_clone_parent(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	long pid = syscall(SYS_clone, 0x8000 /* CLONE_PARENT */ | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(7);
	say("clone_parent", pid);
}

/* Fills DIR with a file of at most MB; says how many bytes went in before it failed. */
static void do_fill(int argc, char **argv)
{
	static char block[1 << 16];
	char path[4096], text[32];
	long long most = (long long)bounded(argv[1], MB_MOST) << 20, done = 0;
	long got = 0;

	(void)argc;
	(void)snprintf(path, sizeof(path), "%s/filled", argv[0]);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		say("fill", -1);
		return;
	}
	memset(block, 'x', sizeof(block));
	while (done < most && (got = write(fd, block, sizeof(block))) > 0)
		done += got;
	int os = errno;
	int size = snprintf(text, sizeof(text), "%lld", done);
	errno = os;
	say_text("fill", got < 0 ? -1 : 0, text, size);
}

static void do_mkfiles(int argc, char **argv)
{
	char path[4096], text[32];
	long most = bounded(argv[1], 100000), made = 0;
	int fd = 0;

	(void)argc;
	for (; made < most; made++) {
		(void)snprintf(path, sizeof(path), "%s/f%ld", argv[0], made);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			break;
		close(fd);
	}
	int os = errno;
	int size = snprintf(text, sizeof(text), "%ld", made);
	errno = os;
	say_text("mkfiles", fd < 0 ? -1 : made, text, size);
}

/* Directories one in the other, COUNT deep, and at the bottom one that nobody may enter. */
static void do_deep(int argc, char **argv)
{
	long count = bounded(argv[1], 6000), made = 0;

	(void)argc;
	int got = chdir(argv[0]);
	for (; got == 0 && made < count; made++) {
		got = mkdir("d", 0755);
		if (got == 0)
			got = chdir("d");
	}
	if (got == 0)
		got = mkdir("closed", 0);
	say("deep", got < 0 ? -1 : made);
}

/* Pipes filled to the brim: memory of the kernel. Says how many bytes there were. */
static void do_pipes(int argc, char **argv)
{
	static char block[65536];
	long most = bounded(argv[0], 20000), made = 0;
	long long bytes = 0;
	int ends[2], got = 0;
	char text[64];

	(void)argc;
	for (; made < most; made++) {
		got = pipe2(ends, O_NONBLOCK);
		if (got < 0)
			break;
		long n = write(ends[1], block, sizeof(block));
		bytes += n > 0 ? n : 0;
	}
	int os = errno;
	int size = snprintf(text, sizeof(text), "%ld %lld", made, bytes);
	errno = os;
	say_text("pipes", got < 0 ? -1 : made, text, size);
}

static void do_sparse(int argc, char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)argc;
	say("sparse", fd < 0 ? -1 : ftruncate(fd, number(argv[1])));
}

/* output FD BYTES: that many "x", in blocks. */
static void do_output(int argc, char **argv)
{
	static char block[65536];
	int fd = (int)number(argv[0]);
	long long left = number(argv[1]);

	(void)argc;
	memset(block, 'x', sizeof(block));
	while (left > 0) {
		size_t size = left < (long long)sizeof(block) ? (size_t)left : sizeof(block);
		long got = write(fd, block, size);

		if (got < 0)
			exit(90);
		left -= got;
	}
}

/* bytes FD HEX: exactly these bytes. */
static void do_bytes(int argc, char **argv)
{
	int fd = (int)number(argv[0]);
	size_t size = strlen(argv[1]) / 2;

	(void)argc;
	for (size_t i = 0; i < size; i++) {
		unsigned value = 0;
		unsigned char byte;

		(void)sscanf(argv[1] + 2 * i, "%2x", &value);
		byte = (unsigned char)value;
		if (write(fd, &byte, 1) != 1)
			exit(90);
	}
}

static void do_exit(int argc, char **argv)
{
	(void)argc;
	exit((int)number(argv[0]));
}

static void do_raise(int argc, char **argv)
{
	struct rlimit none = {0};
	int number_ = (int)number(argv[0]);
	sigset_t all;

	(void)argc;
	(void)setrlimit(RLIMIT_CORE, &none); /* on the host too, nothing is to be left */
	(void)signal(number_, SIG_DFL);
	(void)sigemptyset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)kill(getpid(), number_);
	pause();
}

static void do_segv(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	static volatile uintptr_t nowhere = 8; /* a constant would be seen through */
	*(volatile int *)nowhere = 1;
}

static void do_stubborn(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int s = 1; s < 65; s++)
		(void)signal(s, SIG_IGN);
	say("stubborn", 0);
	for (;;)
		pause();
}

static void do_spin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int s = 1; s < 65; s++)
		(void)signal(s, SIG_IGN);
	for (volatile long n = 0;; n++)
		;
}

static void do_pause(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	say("pause", 0);
	for (;;)
		pause();
}

/* What the program can do to its own way of dying. */
static void do_deathsig_off(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	say("deathsig_off", prctl_deathsig_off());
}

static void do_close(int argc, char **argv)
{
	(void)argc;
	if (close((int)number(argv[0])) < 0)
		exit(91);
}

static void do_signals(int argc, char **argv)
{
	char text[2048], line[256];
	size_t used = 0;
	FILE *status = fopen("/proc/self/status", "re");

	(void)argc;
	(void)argv;
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "ShdPnd", 6))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", line);
	say_text("signals", status ? 0 : -1, text, (long)used);
}

const struct verb verbs_load[] = {
	{"alloc", 1, 1, do_alloc},
	{"alloc_shared", 1, 1, do_alloc_shared},
	{"alloc_memfd", 1, 1, do_alloc_memfd},
	{"alloc_shm", 1, 1, do_alloc_shm},
	{"child_alloc", 1, 1, do_child_alloc},
	{"children_alloc", 2, 2, do_children_alloc},
	{"forks", 1, 1, do_forks},
	{"threads", 1, 1, do_threads},
	{"daemon", 1, 2, do_daemon},
	{"burners", 1, 1, do_burners},
	{"storm", 1, 1, do_storm},
	{"orphans", 1, 1, do_orphans},
	{"clone_parent", 0, 0, do_clone_parent},
	{"fill", 2, 2, do_fill},
	{"mkfiles", 2, 2, do_mkfiles},
	{"deep", 2, 2, do_deep},
	{"pipes", 1, 1, do_pipes},
	{"sparse", 2, 2, do_sparse},
	{"output", 2, 2, do_output},
	{"bytes", 2, 2, do_bytes},
	{"exit", 1, 1, do_exit},
	{"raise", 1, 1, do_raise},
	{"segv", 0, 0, do_segv},
	{"stubborn", 0, 0, do_stubborn},
	{"spin", 0, 0, do_spin},
	{"pause", 0, 1, do_pause},
	{"deathsig_off", 0, 0, do_deathsig_off},
	{"close", 1, 1, do_close},
	{"signals", 0, 0, do_signals},
	{0},
};
