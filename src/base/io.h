/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes, descriptors over a socket, and the one clock. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in nanoseconds; safe between clone and exec. */
uint64_t clock_ns(void);

/* Reads until `size` bytes or the end; -1 with errno. Safe between clone and exec. */
ssize_t read_whole(int fd, void *data, size_t size);
/* Writes all of it; -1 with errno. Safe between clone and exec. */
int write_whole(int fd, const void *data, size_t size);

/* A small file beneath a directory, in one go: what procfs and cgroupfs want. Safe between clone
 * and exec. `read_at` ends the text with NUL and fails with EFBIG when it does not fit; `set_at`
 * writes and then reads back what is in force. */
int write_at(int dir_fd, const char *name, const char *text);
ssize_t read_at(int dir_fd, const char *name, char *text, size_t size);
ssize_t set_at(int dir_fd, const char *name, const char *text, char *back, size_t size);

#define SEND_FDS_MAX 250

/* One packet of a SOCK_SEQPACKET socket, with descriptors. -1 with errno; `recv_packet` gives 0
 * when the other side is gone. Received descriptors are O_CLOEXEC; more than `*fd_count` of
 * them, or a packet larger than `size`, is EMSGSIZE and none is kept. `pid` is the sender's, 0
 * where the socket does not pass credentials. Safe between clone and exec. */
int send_packet(int socket, const void *data, size_t size, const int *fds, size_t fd_count);
ssize_t recv_packet(int socket, void *data, size_t size, int *fds, size_t *fd_count, pid_t *pid);

#endif
