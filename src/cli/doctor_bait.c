/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things of the host, put there for a program inside to reach for: a file, a listening port, an
 * abstract socket, shared memory, an open descriptor, a variable. Each works for any process
 * outside, so that not to get at it inside means something.
 */
#include "cli/doctor.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Room for one more argument, NAME=VALUE; the caller writes it. */
static char *tell(struct bait *bait)
{
	size_t count = 1;
	while (bait->argv[count])
		count++;
	/* There is room for every bait of this file. */
	assert(count <= ARRAY_SIZE(bait->args));
	bait->argv[count] = bait->args[count - 1];
	return bait->args[count - 1];
}

#define TELL(bait_, ...) (void)snprintf(tell(bait_), sizeof((bait_)->args[0]), __VA_ARGS__)

static int set_file(struct bait *bait)
{
	(void)snprintf(bait->path, sizeof(bait->path), "/tmp/belljar-doctor-XXXXXX");
	bait->file_fd = mkostemp(bait->path, O_CLOEXEC);
	if (bait->file_fd < 0 || fchmod(bait->file_fd, 0644) < 0)
		return -1;
	char *arg = tell(bait);
	(void)memcpy(arg, "path=", 5);
	(void)memcpy(arg + 5, bait->path, sizeof(bait->path));
	return 0;
}

static int set_port(struct bait *bait)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bait->tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bait->tcp_fd < 0 || bind(bait->tcp_fd, (struct sockaddr *)&address, size) < 0 ||
	    listen(bait->tcp_fd, 4) < 0 ||
	    getsockname(bait->tcp_fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	TELL(bait, "port=%u", (unsigned)ntohs(address.sin_port));
	return 0;
}

static int set_abstract(struct bait *bait, unsigned random)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[32];
	int len = snprintf(name, sizeof(name), "belljar-doctor-%08x", random);
	memcpy(address.sun_path + 1, name, (size_t)len);
	(void)snprintf(bait->word, sizeof(bait->word), "%s", name);
	bait->abstract_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bait->abstract_fd < 0 ||
	    bind(bait->abstract_fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0 ||
	    listen(bait->abstract_fd, 4) < 0)
		return -1;
	TELL(bait, "abstract=%s", name);
	return 0;
}

static int set_socket(struct bait *bait)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(bait->socket_path, sizeof(bait->socket_path), "%s.socket", bait->path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", bait->socket_path);
	bait->socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bait->socket_fd < 0 ||
	    bind(bait->socket_fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		bait->socket_path[0] = '\0'; /* nothing of ours is there */
		return -1;
	}
	return listen(bait->socket_fd, 4);
}

/* A host whose kernel has none of these has none to hide. */
static void set_ipc(struct bait *bait, unsigned random)
{
	key_t key = (key_t)((random & 0x3fffffff) | 1);
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
	bait->shm_id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	bait->left_key = key ^ 0x40000000;
	if (bait->shm_id >= 0) {
		TELL(bait, "shm_key=%ld", (long)key);
		TELL(bait, "left_key=%ld", (long)bait->left_key);
	}
	bait->sem_id = semget(key, 1, IPC_CREAT | IPC_EXCL | 0666);
	if (bait->sem_id >= 0)
		TELL(bait, "sem_key=%ld", (long)key);
	bait->msg_id = msgget(key, IPC_CREAT | IPC_EXCL | 0666);
	if (bait->msg_id >= 0)
		TELL(bait, "msg_key=%ld", (long)key);
	(void)snprintf(bait->queue, sizeof(bait->queue), "/%s", bait->word);
	mqd_t queue = mq_open(bait->queue, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644, &attr);
	if (queue < 0) {
		bait->queue[0] = '\0';
		return;
	}
	(void)mq_close(queue);
	TELL(bait, "queue=%s", bait->queue);
}

/* What the image never has, so that to find it is to find the host's. */
static void set_names(struct bait *bait)
{
	struct utsname name;
	const char *home = getenv("HOME");
	if (uname(&name) == 0 && strcmp(name.nodename, "belljar") != 0)
		TELL(bait, "name=%.64s", name.nodename);
	if (home && strlen(home) < 80 &&
	    (strncmp(home, "/home/", 6) == 0 || strcmp(home, "/root") == 0))
		TELL(bait, "home=%s", home);
}

static void set_namespaces(struct bait *bait)
{
	static const char *const names[] = {"pid", "ipc", "uts", "net", "cgroup"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[32], text[64];
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		ssize_t len = readlink(path, text, sizeof(text) - 1);
		if (len < 0)
			continue;
		text[len] = '\0';
		TELL(bait, "ns_%s=%s", names[i], text);
	}
}

int bait_set(struct bait *bait, struct bj_error *err)
{
	*bait = (struct bait){.file_fd = -1,
			      .tcp_fd = -1,
			      .abstract_fd = -1,
			      .socket_fd = -1,
			      .left_open_fd = -1,
			      .shm_id = -1,
			      .sem_id = -1,
			      .msg_id = -1};
	bait->argv[0] = "inside";
	unsigned random;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
	    set_file(bait) < 0 || set_port(bait) < 0 || set_abstract(bait, random) < 0 ||
	    set_socket(bait) < 0)
		return fail_errno(err, BJ_INTERNAL, "prepare the host for the checks");
	set_ipc(bait, random);
	set_names(bait);
	/* Without O_CLOEXEC, on purpose. */
	bait->left_open_fd = fcntl(bait->file_fd, F_DUPFD, 100);
	if (bait->left_open_fd < 0 || setenv("BELLJAR_DOCTOR_SECRET", "1", 1) < 0)
		return fail_errno(err, BJ_INTERNAL, "prepare the host for the checks");
	TELL(bait, "fd=%d", bait->left_open_fd);
	TELL(bait, "pid=%ld", (long)getpid());
	set_namespaces(bait);
	return 0;
}

/*
 * What runs leave is of their own mounts and namespaces, and gone with them; should a wall be
 * missing it is here, and must not stay.
 */
static void remove_what_runs_left(const struct bait *bait)
{
	static const char *const directories[] = {"/tmp", "/dev/shm", "/workspace"};
	for (size_t i = 0; bait->word[0] && i < ARRAY_SIZE(directories); i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "%s/%s", directories[i], bait->word);
		(void)unlink(path);
	}
	int id = bait->left_key ? shmget(bait->left_key, 0, 0) : -1;
	if (id >= 0)
		(void)shmctl(id, IPC_RMID, NULL);
}

void bait_take_away(struct bait *bait)
{
	remove_what_runs_left(bait);
	int fds[] = {bait->file_fd, bait->tcp_fd, bait->abstract_fd, bait->socket_fd,
		     bait->left_open_fd};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (bait->file_fd >= 0)
		(void)unlink(bait->path);
	if (bait->shm_id >= 0)
		(void)shmctl(bait->shm_id, IPC_RMID, NULL);
	if (bait->sem_id >= 0)
		(void)semctl(bait->sem_id, 0, IPC_RMID);
	if (bait->msg_id >= 0)
		(void)msgctl(bait->msg_id, IPC_RMID, NULL);
	if (bait->queue[0])
		(void)mq_unlink(bait->queue);
	if (bait->socket_path[0])
		(void)unlink(bait->socket_path);
}
