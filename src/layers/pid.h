/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAYERS_PID_H
#define LAYERS_PID_H

/*
 * 0 where the proc open as `proc_fd` is that of this process's own pid namespace: in another the
 * numbers of processes are those of strangers. Else -1, with EXDEV where it is another's.
 */
int pid_own_proc(int proc_fd);

#endif
