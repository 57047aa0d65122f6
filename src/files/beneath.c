/* SPDX-License-Identifier: Apache-2.0 */
#include "files/beneath.h"

#include "base/child_code.h"

#include <sys/syscall.h>
#include <unistd.h>

CHILD_CODE int open_beneath(int dir_fd, const char *path, int flags, uint32_t mode,
			    uint64_t resolve)
{
	/* Unlike open, openat2 refuses a mode that is not used. */
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = resolve,
	};
	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}
