/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in and out of a workspace. A workspace is what a program nobody has read made of it, so
 * it is only ever reached through its directory descriptor, one openat2 per access: beneath it,
 * no symbolic link, no magic link, no other mount. Regular files and directories exist here; all
 * else is refused by name. Names are bytes.
 *
 *   in   files_open_host() opens what the caller named, before clone; files_copy_in() writes it
 *        into the workspace, in init.
 *   out  files_collect(), in the library, after everything inside is dead.
 *
 * A directory goes in as a pack (pack.h): the caller's rights decide what may be read, and init
 * no longer has them. So whatever is wrong with the tree is known before anything runs.
 */
#ifndef FILES_FILES_H
#define FILES_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILES_NAME_MAX	   4095 /* the kernel's PATH_MAX counts the NUL */
#define FILES_PART_MAX	   255
#define FILES_DEPTH_MAX	   32 /* directories below the one that is named */
#define FILES_PROBLEMS_MAX 16

/*
 * NULL when `name` may be used below a workspace, else what is wrong with it: "is absolute".
 * Judges decoded bytes, once; "%2e" and "\" are bytes like others. Safe between clone and exec.
 */
const char *files_name_check(const char *name, size_t size);

/* ---- In ---------------------------------------------------------------------------------- */

/* Bytes are counted as they are read, whatever a size in an inode says. */
struct files_caps {
	uint64_t bytes;	  /* of all files together */
	uint32_t entries; /* files and directories together */
};

struct files_input {
	int fd;	       /* O_CLOEXEC, the caller's to close */
	uint32_t mode; /* S_IFREG | 0644 or 0755, or S_IFDIR | 0755: `fd` is a pack */
	uint64_t bytes;
};

/*
 * Opens a file of the host, or packs a directory, with the caller's rights. Symbolic links in
 * `path` are the caller's own and are followed; one inside the directory is refused. `caps` is
 * what the workspace holds.
 */
int files_open_host(const char *path, bool directory_too, const struct files_caps *caps,
		    struct files_input *ret, struct bj_error *err);

/* Its one step, as a fault names it; `os` is ENOSPC when the workspace is full. */
#define FILES_COPY_IN_STEP "copy into the workspace"
#define FILES_READ_STEP	   "read a file to copy in"

/*
 * In init: what files_open_host() gave becomes `name` in the workspace; missing directories on
 * the way are made, an existing file is EEXIST. `mode` as in struct files_input. A fault of the
 * caller's, a file that cannot be read or a name that another input has, is BJ_INVALID.
 */
int files_copy_in(int workspace_fd, const char *name, uint32_t mode, int source_fd,
		  struct fault *fault);

/* ---- Out --------------------------------------------------------------------------------- */

enum files_type { FILES_FILE, FILES_DIRECTORY, FILES_TYPE_COUNT };

struct files_item {
	char *path; /* below the workspace: bytes, perhaps no UTF-8 */
	enum files_type type;
	uint64_t bytes;
	char sha256[65];   /* of exactly the bytes delivered; "" for a directory */
	const char *risky; /* as files_risky() has it */
	dev_t device;	   /* with inode: which file of the host it became; of a file */
	ino_t inode;
};

/* Something that was asked for and not delivered. */
struct files_problem {
	char *path;
	struct bj_error error;
};

/* What was collected, over all outputs of a run. Starts as all zeros. */
struct files_list {
	struct files_item *item;
	size_t count, room;
	struct files_problem problem[FILES_PROBLEMS_MAX];
	size_t problems; /* may be more than are kept */
	uint64_t bytes;
	uint64_t entries;
	uint64_t left; /* temporary files on the host that could not be removed again */
};

/*
 * What makes a file dangerous by its name or mode alone, as a clause ("pytest runs it"), or NULL:
 * programs of the host run it or obey it without being asked. The table: risky.def.
 */
const char *files_risky(const char *path, uint32_t mode);

void files_list_free(struct files_list *list);
const char *files_type_name(enum files_type type); /* "file", "directory" */

/*
 * Copies `name`, a file or a directory, out of the workspace to `host_path`. 0 when all of it was
 * delivered. -1 when something was not: `err` says what came first, list->problem all of it, and
 * the run's result stands.
 *
 * Where it goes:
 *  - `host_path` NULL: `name` itself, below the working directory; directories on the way are made.
 *  - A path that ends in "/", "." or "..", or, for a file, an existing directory: into that
 *    directory, under the last component of `name`.
 *  - A file takes the place of a regular file in one step, under any name a reader sees old or
 *    new bytes, never a mixture. Anything else in its place is refused: a directory, a device, a
 *    symbolic link (neither followed nor replaced).
 *  - A directory that does not exist yet appears complete, by one rename, or not at all. Into one
 *    that exists the tree is merged: each file replaced in one step, files of other names kept.
 *    So the same command can be given again.
 *
 * Modes are 0644, or 0755 where the owner may execute, less the caller's umask. Owners, times,
 * set-user-ID, attributes and holes are not carried over. A file or directory that the program
 * made unreadable is opened all the same where the caller may change its mode, and has its own
 * mode again afterwards. A symbolic link, FIFO, socket or device in a tree is a problem in the
 * list; the rest of the tree is delivered.
 */
int files_collect(int workspace_fd, const char *name, const char *host_path,
		  const struct files_caps *caps, struct files_list *list, struct bj_error *err);

#endif
