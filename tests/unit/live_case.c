/* SPDX-License-Identifier: Apache-2.0 */
#include "live_case.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct files_put_how put_plainly = {.most = 1 << 20};

void assert_failed(struct world *w, int result, int os, const char *message)
{
	assert_int_equal(result, -1);
	if (!strstr(w->err.message, message))
		fail_msg("\"%s\" is not in: %s", message, w->err.message);
	if (w->err.os_error != os)
		fail_msg("errno %d: %s", w->err.os_error, w->err.message);
	for (const unsigned char *c = (const unsigned char *)w->err.message; *c; c++)
		assert_false(*c < 0x20 || *c == 0x7f);
}

void assert_done(struct world *w, int result)
{
	if (result != 0)
		fail_msg("%s", w->err.message);
}

int put_whole(struct world *w, const char *name, const char *text, const struct files_put_how *how)
{
	struct files_put *put = NULL;
	if (files_put_begin(w->ws, name, how, &put, &w->err) < 0)
		return -1;
	/* In two pieces, as it comes from a socket. */
	size_t size = strlen(text), half = size / 2;
	if (files_put_write(put, text, half, &w->err) < 0 ||
	    files_put_write(put, text + half, size - half, &w->err) < 0) {
		files_put_abort(put);
		return -1;
	}
	return files_put_commit(put, &w->err);
}

int get_whole(struct world *w, const char *name, struct files_got *got)
{
	const struct files_get_how how = {.most = 64 << 20};
	int fd = -1;
	return files_get(w->ws, name, &how, &fd, got, &w->err) < 0 ? -1 : fd;
}

int names_in(int dir_fd, const char *path)
{
	int count = 0;
	DIR *dir = fdopendir(openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	(void)closedir(dir);
	return count;
}

void make_trap(struct world *w, const char *in)
{
	char target[128];
	(void)snprintf(target, sizeof(target), "%s/outside", w->host);
	auto_close int dir = openat(w->ws, in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(
		mkdir("outside", 0755) | mkdirat(dir, "d", 0755) | symlinkat(target, dir, "l"), 0);
	put_text(AT_FDCWD, "outside/f", "canary", 0644);
	put_text(AT_FDCWD, "outside/secret", "canary", 0644);
	put_text(dir, "d/f", "mine", 0644);
}

void assert_canary(void)
{
	assert_true(has_text(AT_FDCWD, "outside/f", "canary"));
	assert_true(has_text(AT_FDCWD, "outside/secret", "canary"));
	assert_int_equal(names_in(AT_FDCWD, "outside"), 2);
}

struct swapper {
	int ws;
	const char *one, *other;
	atomic_bool stop;
};

static void *swap(void *user)
{
	struct swapper *s = user;
	/* Where one of them is removed meanwhile, there is nothing to exchange until it is made
	 * anew. */
	while (!atomic_load(&s->stop))
		(void)renameat2(s->ws, s->one, s->ws, s->other, RENAME_EXCHANGE);
	return NULL;
}

void while_swapped(struct world *w, const char *one, const char *other,
		   void (*body)(struct world *))
{
	struct swapper s = {.ws = w->ws, .one = one, .other = other};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
	body(w);
	atomic_store(&s.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}
