/* SPDX-License-Identifier: Apache-2.0 */
#include "files/show.h"

#include <sys/stat.h>

struct shown show(const char *name)
{
	struct shown shown;
	(void)text_quote(shown.text, sizeof(shown.text), name);
	return shown;
}

const char *show_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "of an unknown kind";
	}
}
