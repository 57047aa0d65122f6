/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a live workspace beside what a user would do by hand: one large file with cp, many small
 * ones with tar. They take turns, a round each, in a directory of DIR, a tmpfs.
 *
 *   files [-n ROUNDS] [-m MEBIBYTES] [-f FILES] [DIR]
 *
 * Standard output: a JSON object; times in nanoseconds, a number for each round, and the ratio of
 * the medians. `get_twice` is a get without anybody to stop the program; `get_hash` has the
 * SHA-256.
 */
#include "samples.h"

#include "files/tar.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_MAX = 100, PATH_ROOM = 512 };

enum what { CP, PUT, GET, GET_TWICE, GET_HASH, GET_TO, TAR_C, TAR_OUT, TAR_X, TAR_IN, WHATS };

static const struct {
	const char *name;
	int against; /* -1: it is what others are compared with */
} rows[] = {
	[CP] = {"cp", -1},
	[PUT] = {"put", CP},
	[GET] = {"get", CP},
	[GET_TWICE] = {"get_twice", CP},
	[GET_HASH] = {"get_hash", CP},
	[GET_TO] = {"get_to", CP},
	[TAR_C] = {"tar_c", -1},
	[TAR_OUT] = {"tar_out", TAR_C},
	[TAR_X] = {"tar_x", -1},
	[TAR_IN] = {"tar_in", TAR_X},
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == WHATS, "a row for each");

static size_t rounds = 5, mebibytes = 1024, files = 10000;
static uint64_t ns[WHATS][ROUNDS_MAX];
static char dir[PATH_ROOM];
static int dir_fd;
static struct bj_error error;

static void must(int result)
{
	if (result < 0)
		errx(1, "%s", error.message);
}

static void run(const char *const argv[])
{
	pid_t pid;
	int status;
	char *const environment[] = {NULL};
	if (posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environment) !=
		    0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "%s failed", argv[0]);
}

static const char *in_dir(const char *name)
{
	static char path[4][PATH_ROOM + 32];
	static unsigned next;
	char *made = path[next++ % 4];
	(void)snprintf(made, sizeof(path[0]), "%s/%s", dir, name);
	return made;
}

static void forget(const char *name)
{
	struct files_removed removed;
	must(files_rm(dir_fd, name, true, FILES_RM_MAX, &removed, &error));
}

static void make_large(void)
{
	static char block[1 << 20];
	int fd = openat(dir_fd, "large", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 2654435761U >> 13);
	for (size_t i = 0; i < mebibytes; i++)
		if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			err(1, "large");
	(void)close(fd);
}

static void make_small(void)
{
	char name[32];
	must(files_mkdir(dir_fd, "small", false, &error));
	for (size_t i = 0; i < files; i++) {
		struct files_put *put;
		const struct files_put_how how = {.most = 1000, .parents = true};
		(void)snprintf(name, sizeof(name), "small/%zu/%zu", i % 100, i);
		must(files_put_begin(dir_fd, name, &how, &put, &error));
		must(files_put_write(put, name, strlen(name), &error));
		must(files_put_commit(put, &error));
	}
}

static int no_pause(void *user)
{
	(void)user;
	return 0;
}

static void no_resume(void *user)
{
	(void)user;
}

static void get(const struct files_pause *pause, bool hash)
{
	const struct files_get_how how = {.most = UINT64_MAX, .hash = hash, .pause = pause};
	struct files_got got;
	int fd;
	must(files_get(dir_fd, "large", &how, &fd, &got, &error));
	(void)close(fd);
}

static void get_to(void)
{
	static const struct files_pause pause = {.pause = no_pause, .resume = no_resume};
	const struct files_get_how how = {.most = UINT64_MAX, .pause = &pause};
	struct files_got got;
	int fd = openat(dir_fd, "copy", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	must(files_get_to(dir_fd, "large", &how, fd, &got, &error));
	(void)close(fd);
}

static void put(void)
{
	const struct files_put_how how = {.most = UINT64_MAX};
	struct files_put *made;
	int fd = openat(dir_fd, "large", O_RDONLY | O_CLOEXEC);
	must(files_put_begin(dir_fd, "copy", &how, &made, &error));
	must(files_put_from(made, fd, &error));
	must(files_put_commit(made, &error));
	(void)close(fd);
}

static void tar_out(void)
{
	const struct files_caps caps = {.bytes = UINT64_MAX, .entries = UINT32_MAX};
	struct files_list list = {0};
	int fd = openat(dir_fd, "out.tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	must(files_tar_out(dir_fd, "small", &caps, fd, &list, &error));
	files_list_free(&list);
	(void)close(fd);
}

static void tar_in(void)
{
	const struct files_caps caps = {.bytes = UINT64_MAX, .entries = UINT32_MAX};
	struct files_unpacked in = {0};
	int fd = openat(dir_fd, "kept.tar", O_RDONLY | O_CLOEXEC);
	must(files_tar_in(dir_fd, "copy", false, &caps, fd, &in, &error));
	files_list_free(&in.list);
	(void)close(fd);
}

static void turn(enum what what)
{
	static const struct files_pause pause = {.pause = no_pause, .resume = no_resume};
	switch (what) {
	case CP:
		run((const char *[]){"/bin/cp", in_dir("large"), in_dir("copy"), NULL});
		break;
	case PUT:
		put();
		break;
	case GET:
		get(&pause, false);
		break;
	case GET_TWICE:
		get(NULL, false);
		break;
	case GET_HASH:
		get(&pause, true);
		break;
	case GET_TO:
		get_to();
		break;
	case TAR_C:
		run((const char *[]){"/bin/tar", "-C", in_dir("small"), "-cf", in_dir("out.tar"),
				     ".", NULL});
		break;
	case TAR_OUT:
		tar_out();
		break;
	case TAR_X:
		must(files_mkdir(dir_fd, "copy", false, &error));
		run((const char *[]){"/bin/tar", "-C", in_dir("copy"), "-xf", in_dir("kept.tar"),
				     NULL});
		break;
	case TAR_IN:
		tar_in();
		break;
	case WHATS:
		break;
	}
}

static void take_turns(void)
{
	static const char *const made[] = {"copy", "out.tar"};
	struct files_stat st;
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < WHATS; i++) {
			enum what what = (enum what)((i + round) % WHATS);
			uint64_t begin_ns = now_ns();
			turn(what);
			ns[what][round] = now_ns() - begin_ns;
			for (size_t m = 0; m < 2; m++)
				if (files_stat(dir_fd, made[m], &st, NULL) == 0)
					forget(made[m]);
		}
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t median(enum what what)
{
	uint64_t sorted[ROUNDS_MAX];
	memcpy(sorted, ns[what], sizeof(sorted));
	qsort(sorted, rounds, sizeof(*sorted), by_number);
	return sorted[rounds / 2];
}

static void print_all(void)
{
	printf("{\"mebibytes\": %zu, \"files\": %zu", mebibytes, files);
	for (enum what what = 0; what < WHATS; what++) {
		printf(", \"%s_ns\": [", rows[what].name);
		for (size_t i = 0; i < rounds; i++)
			printf("%s%" PRIu64, i ? ", " : "", ns[what][i]);
		printf("]");
		if (rows[what].against >= 0)
			printf(", \"%s_ratio\": %.3f", rows[what].name,
			       (double)median(what) /
				       (double)median((enum what)rows[what].against));
	}
	printf("}\n");
}

static size_t number(const char *text, size_t most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (*end || value == 0 || value > most)
		errx(2, "%s: not a number from 1 to %zu", text, most);
	return value;
}

int main(int argc, char **argv)
{
	for (int option; (option = getopt(argc, argv, "n:m:f:")) != -1;) {
		if (option == 'n')
			rounds = number(optarg, ROUNDS_MAX);
		else if (option == 'm')
			mebibytes = number(optarg, 1 << 20);
		else if (option == 'f')
			files = number(optarg, 1 << 20);
		else
			errx(2, "usage: files [-n ROUNDS] [-m MEBIBYTES] [-f FILES] [DIR]");
	}
	(void)snprintf(dir, sizeof(dir), "%s/bench-files-XXXXXX",
		       optind < argc ? argv[optind] : "/dev/shm");
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		err(1, "%s", dir);
	make_large();
	make_small();
	tar_out();
	must(files_mv(dir_fd, "out.tar", "kept.tar", false, &error));
	take_turns();
	print_all();
	forget("large");
	forget("small");
	forget("kept.tar");
	if (rmdir(dir) < 0)
		err(1, "%s", dir);
	return 0;
}
