/* SPDX-License-Identifier: Apache-2.0 */
/* A store beside the workspace of files_world.h, for tests of save points. */
#ifndef TESTS_SAVE_WORLD_H
#define TESTS_SAVE_WORLD_H

#include "files_world.h"

#include "files/save.h"

struct saver {
	struct world *w;
	int ws; /* the workspace's descriptor, w->ws */
	int store_fd;
	struct save_store *store;
	struct save_made made;
	struct save_restored restored;
	struct bj_error err;
};

extern const struct save_caps save_wide; /* more than any test needs */

int save_setup(void **state);
int save_teardown(void **state);
#define SAVE_TEST(name) cmocka_unit_test_setup_teardown(name, save_setup, save_teardown)

/* Opens the store again, as another process would. */
void reopen(struct saver *s);

void assert_takes(struct saver *s, const char *name, const char *previous);
void assert_take_fails(struct saver *s, const struct save_request *request, enum bj_code code,
		       int os, const char *message);
void assert_restores(struct saver *s, const char *name);
void assert_restore_fails(struct saver *s, const char *name, enum bj_code code, int os,
			  const char *message);
void assert_removes(struct saver *s, const char *name);
/* The error has this code, errno and text, on one line. */
void assert_error(const struct bj_error *err, enum bj_code code, int os, const char *message);

/*
 * The tree at `fd` as text: type, mode, time, size, hash or link of everything in it, the
 * directory itself too. For free().
 */
char *describe(int fd);
void assert_is(int fd, const char *description);

/* Objects in the store, and what is in temp/. */
size_t count_objects(const struct saver *s);
size_t count_temp(const struct saver *s);
/* "objects/ab/cdef…" of this content. */
void object_path(char path[80], const void *data, size_t size);

void set_mtime(int dir_fd, const char *path, long s, long ns);

#endif
