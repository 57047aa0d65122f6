/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership by attribute: what a scope opened, the scope closes. There is no goto in this tree.
 * A descriptor that is not open is -1; TAKE_FD and TAKE_PTR hand ownership on.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

#define auto_close  __attribute__((cleanup(cleanup_close)))
#define auto_free   __attribute__((cleanup(cleanup_free)))
#define auto_fclose __attribute__((cleanup(cleanup_fclose)))

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *take_ = &(fd);                                                                \
		int fd_ = *take_;                                                                  \
		*take_ = -1;                                                                       \
		fd_;                                                                               \
	})

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *take_ = &(p);                                                       \
		__typeof__(p) ptr_ = *take_;                                                       \
		*take_ = NULL;                                                                     \
		ptr_;                                                                              \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
