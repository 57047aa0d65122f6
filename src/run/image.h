/* SPDX-License-Identifier: Apache-2.0 */
/* The file tree of a run, as nodes of its plan. */
#ifndef RUN_IMAGE_H
#define RUN_IMAGE_H

#include "policy/policy.h"
#include "run/builder.h"

/* A read-only bind that the caller asks for and the ceiling allows. */
struct image_bind {
	char *host; /* resolved */
	char *path; /* inside */
};

/* Image `host`: /usr of the host, links, a synthesised /etc, devices, proc, private mounts. */
int image_host(struct builder *b, const struct policy *policy, const struct image_bind *binds,
	       size_t bind_count, struct bj_error *err);

/* CPUs that a run sees: its share, rounded up, at most what the host has. */
unsigned int image_cpus(const struct policy *policy);

#endif
