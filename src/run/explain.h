/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fault, 64 bytes without a pointer, to a sentence and its mend. The mend depends on the
 * layer, on errno and on what this host is like.
 */
#ifndef RUN_EXPLAIN_H
#define RUN_EXPLAIN_H

#include "layers/layer.h"

#include <stdbool.h>
#include <stddef.h>

/* What mends depend on. Numbers are -1 where the host does not say. */
struct host_facts {
	long userns_max;      /* /proc/sys/user/max_user_namespaces */
	long userns_clone;    /* kernel.unprivileged_userns_clone (Debian and its kin) */
	long userns_apparmor; /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu) */
	long ptrace_scope;    /* kernel.yama.ptrace_scope */
	int landlock_abi;     /* 0: this kernel has none, or it is not switched on */
	bool root;
	bool container; /* docker, podman, or another that leaves its mark */
	bool systemd;	/* is pid 1 here */
	bool cgroup_v1; /* some controller here is in a hierarchy of version 1 */
};

/* Reads them from the host. What cannot be read is unknown, and no error. */
void host_facts_read(struct host_facts *ret);

/* What the program is called in a message about a fault, or NULL. */
void fault_explain(const struct fault *fault, const char *program, struct bj_error *ret);
void fault_explain_on(const struct fault *fault, const char *program,
		      const struct host_facts *facts, struct bj_error *ret);

/* The mend alone, written to `text`; "" where none is known. Returns `text`. */
const char *fault_mend(const struct fault *fault, const struct host_facts *facts, char *text,
		       size_t size);

/*
 * The mend of an error that came of a refused call and has none of its own, such as one of the
 * library's set-up, which belongs to no layer. "" where none is known. Returns `text`.
 */
const char *error_mend(const struct bj_error *err, char *text, size_t size);

#endif
