/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the layers, by the name LAYER_HOOK; only table.c and each layer's file need them. */
#ifndef LAYERS_HOOKS_H
#define LAYERS_HOOKS_H

#include "layers/child.h"
#include "layers/launch.h"
#include "layers/posture.h"

int cgroup_prepare(struct launch *launch, struct fault *fault);
int cgroup_join(struct launch *launch, struct fault *fault);
int cgroup_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int user_parent(struct launch *launch, struct fault *fault);
int user_child(const struct child *child, struct fault *fault);
int user_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int pid_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int init_child(const struct child *child, struct fault *fault);
int init_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int mount_prepare(struct launch *launch, struct fault *fault);
int mount_child(const struct child *child, struct fault *fault);
int mount_settle(const struct child *child, struct fault *fault);
int mount_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int net_settle(const struct child *child, struct fault *fault);
int net_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int ipc_child(const struct child *child, struct fault *fault);
int ipc_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int uts_settle(const struct child *child, struct fault *fault);
int uts_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int cgroupns_child(const struct child *child, struct fault *fault);
int cgroupns_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int env_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int terminal_child(const struct child *child, struct fault *fault);
int terminal_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int rlimit_child(const struct child *child, struct fault *fault);
int rlimit_stopped(struct launch *launch, struct fault *fault);
int rlimit_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int caps_child(const struct child *child, struct fault *fault);
int caps_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int nnp_child(const struct child *child, struct fault *fault);
int nnp_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int landlock_child(const struct child *child, struct fault *fault);
int landlock_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int seccomp_child(const struct child *child, struct fault *fault);
int seccomp_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int fds_child(const struct child *child, struct fault *fault);
int fds_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int deadline_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int output_verify(struct launch *launch, const struct posture *posture, struct fault *fault);
int monitor_verify(struct launch *launch, const struct posture *posture, struct fault *fault);

/* A comparison of the receipt, in the words of a step: false fails with EBADMSG. */
#define MUST(fault_, layer_, what_, condition_)                                                    \
	STEP(fault_, layer_, HOOK_VERIFY, what_, (condition_) ? 0 : (errno = EBADMSG, -1))

#endif
