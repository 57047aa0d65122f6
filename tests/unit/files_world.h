/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world for tests of src/files: private mounts that vanish with the process, and every test run
 * by whoever may run it. As root the tests run twice, as root and as an ordinary user; started by
 * an ordinary user they run once, in a user namespace for the sake of the mounts alone.
 */
#ifndef TESTS_FILES_WORLD_H
#define TESTS_FILES_WORLD_H

#include "files/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants these first. */
#include <cmocka.h>
#include <stdbool.h>
#include <sys/types.h>

/* What one test gets: a fresh workspace, and a fresh directory of the host as working directory. */
struct world {
	int ws; /* the workspace's descriptor */
	char ws_path[64];
	char host[64];
	struct files_list list;
	struct bj_error err;
	int fds; /* descriptors open before the test */
};

extern const char *world_small;		   /* a tmpfs of 256 KiB, 64 inodes, on the host */
extern int world_gone;			   /* a workspace already unmounted; holds "file": "abc" */
extern bool world_root;			   /* these tests run as root */
extern const struct files_caps world_caps; /* 8 MiB, 1000 entries */

/* Runs `group` in every role; returns what main() returns. */
int world_run(int (*group)(void));

int world_setup(void **state);
/* Also fails the test when it left a temporary file on the host or in the workspace, or a
 * descriptor. */
int world_teardown(void **state);

void put_text(int dir_fd, const char *path, const char *text, mode_t mode);
void put_bytes(int dir_fd, const char *path, size_t size);
/* Whether the file has exactly this text. */
bool has_text(int dir_fd, const char *path, const char *text);
bool exists(int dir_fd, const char *path);
mode_t mode_of(int dir_fd, const char *path);
/* Directories "d/d/d…", `depth` of them, without a long path. */
void put_deep(int dir_fd, const char *first, int depth);

/* What a plain open() beneath the workspace reads: the control of each attack. -1 with errno. */
ssize_t naive(const struct world *w, const char *name, char *text, size_t size);

/* The list has this file, with the hash of what is now at `path` of the host. */
void assert_listed(const struct world *w, const char *name, const char *path);
/* files_collect() of `name` fails with this errno and message. */
void assert_collect_fails(struct world *w, const char *name, const char *host_path, int os,
			  const char *message);
void assert_collects(struct world *w, const char *name, const char *host_path);

#endif
