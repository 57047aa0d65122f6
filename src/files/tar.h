/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of a live workspace (live.h) as a tar stream, by libarchive: the tar family alone,
 * and no decompression, so what comes out of an archive is never more than what went in.
 */
#ifndef FILES_TAR_H
#define FILES_TAR_H

#include "files/live.h"

/*
 * Writes what is in the directory `name` to a pipe, socket or file: ustar, with pax headers where
 * ustar has no room; names below the directory, sorted. Regular files and directories, 0644 or
 * 0755, uid and gid 0 without names, times of change to the second. Each file has the bytes of one
 * moment.
 *
 * What is left out is a problem in the list, and no failure: symbolic links, special files, files
 * that cannot be read or change while they are, what is deeper than FILES_DEPTH_MAX. After a
 * failure the archive has no end, and is seen to be cut.
 */
int files_tar_out(int workspace_fd, const char *name, const struct files_caps *caps, int to_fd,
		  struct files_list *list, struct bj_error *err);

struct files_unpacked {
	uint64_t entries, bytes; /* of the archive, until its end or the failure */
	struct files_list list;	 /* what is in its place, and what could not be put there */
};

/*
 * Unpacks into the directory `name`. First into a temporary directory beside it (in it, where it is
 * the workspace): until the whole archive has been read and found good, nothing has changed. Then
 *  - a directory that did not exist appears complete, by one rename, its parents made if asked for;
 *  - into one that exists the tree is merged as by files_collect(): each file replaced in one step,
 *    files of other names kept. What does not fit, a file in a directory's place and the like, is a
 *    problem in the list, and a failure; the rest is merged.
 *
 * One clean failure, which names the entry: a name that files_name_check() refuses (a "./" before
 * it is dropped), a link, a special file, a sparse file, a name that comes twice, more than `caps`,
 * an archive that is cut or has no end. Modes become 0644 or 0755; owners and attributes are
 * dropped; the times of files are kept. `ret` starts as zeros, is filled also where it fails, and
 * its list is the caller's to free. Bytes after the end of the archive may have been read.
 */
int files_tar_in(int workspace_fd, const char *name, bool parents, const struct files_caps *caps,
		 int from_fd, struct files_unpacked *ret, struct bj_error *err);

#endif
