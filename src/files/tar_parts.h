/* SPDX-License-Identifier: Apache-2.0 */
/* What both ways of tar share, and the two halves of unpacking. */
#ifndef FILES_TAR_PARTS_H
#define FILES_TAR_PARTS_H

#include "files/live_parts.h"
#include "files/tar.h"

#include <archive.h>
#include <locale.h>

/*
 * libarchive passes names through the locale: in one of UTF-8 it writes those that are UTF-8 as
 * what they are, and in "C" it reads all of them as bytes. For the calling thread, until the scope
 * ends.
 */
struct tar_locale {
	locale_t made, before;
};

int tar_locale_enter(struct tar_locale *locale, const char *name, struct bj_error *err);
void tar_locale_leave(struct tar_locale *locale);

#define auto_locale __attribute__((cleanup(tar_locale_leave)))

/* What libarchive says of its last failure, in a message that begins with `what`. Returns -1. */
int tar_failed(struct archive *archive, const char *what, struct bj_error *err);

/* The whole archive into the empty directory `dir_fd`; listed in `ret` as it comes. */
int tar_unpack(int from_fd, int dir_fd, const struct files_caps *caps, struct files_unpacked *ret,
	       struct bj_error *err);

/* What is in the directory `from_fd` into the directory `to_fd`, by renames. Both are the call's.
 */
int tar_merge(int from_fd, int to_fd, struct files_list *list, struct bj_error *err);

#endif
