/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_LAUNCHER_PATH_H
#define RUN_LAUNCHER_PATH_H

/* The launcher to start, absolute. A seam: the lab and the tests link one that names theirs. */
const char *launcher_path(void);

#endif
