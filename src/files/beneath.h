/* SPDX-License-Identifier: Apache-2.0 */
/* Opening by directory descriptor, and never outside it. */
#ifndef FILES_BENEATH_H
#define FILES_BENEATH_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>

/* In a workspace. On the host a caller's own tree may span mounts, so BENEATH_HOST allows that. */
#define BENEATH_HOST (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define BENEATH	     (BENEATH_HOST | RESOLVE_NO_XDEV)

/* To read something of unknown kind: a FIFO or a device must neither block nor become ours. */
#define OPEN_WARILY (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
/* To look at it, or to use it as a directory. */
#define OPEN_LOOK (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/*
 * openat2, or -1 with errno. ENOSYS stays ENOSYS: no other call gives the same promise, so there
 * is none to fall back to. Safe between clone and exec.
 */
int open_beneath(int dir_fd, const char *path, int flags, uint32_t mode, uint64_t resolve);

#endif
