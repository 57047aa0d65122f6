/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer `user`: a user namespace with one id in it, 1000, never 0. Outside it is an id that owns
 * nothing (started by root), or the caller's own. The launcher writes both maps and reads them
 * back; init takes the id before it touches a file.
 */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

/* Maps the one id, and reads the map back. */
static int set_map(int dir_fd, const char *name, uint32_t outside)
{
	char want[64], text[256];
	unsigned int in, out, count;
	char more;
	(void)snprintf(want, sizeof(want), "%d %u 1\n", PROGRAM_ID, outside);
	if (set_at(dir_fd, name, want, text, sizeof(text)) < 0)
		return -1;
	if (sscanf(text, "%u %u %u %c", &in, &out, &count, &more) == 3 && in == PROGRAM_ID &&
	    out == outside && count == 1)
		return 0;
	errno = EBADMSG;
	return -1;
}

int user_parent(struct launch *launch, struct fault *fault)
{
	bool own = launch->plan->ids == IDS_OWN;
	launch->outside_uid = own ? PLAN_ID_BASE + (uint32_t)getpid() : launch->plan->outside_uid;
	launch->outside_gid = own ? launch->outside_uid : launch->plan->outside_gid;

	/* An unprivileged writer may map groups only after it gave up setgroups. */
	if (!own && STEP(fault, LAYER_USER, HOOK_PARENT, "write setgroups",
			 write_at(launch->init_dir, "setgroups", "deny")) < 0)
		return -1;
	if (STEP(fault, LAYER_USER, HOOK_PARENT, "write uid_map",
		 set_map(launch->init_dir, "uid_map", launch->outside_uid)) < 0 ||
	    STEP(fault, LAYER_USER, HOOK_PARENT, "write gid_map",
		 set_map(launch->init_dir, "gid_map", launch->outside_gid)) < 0)
		return -1;
	return 0;
}

CHILD_CODE static int ids_are(uid_t id)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;
	if (getresuid(&r, &e, &s) < 0 || getresgid(&rg, &eg, &sg) < 0)
		return -1;
	if (r == id && e == id && s == id && rg == id && eg == id && sg == id)
		return 0;
	errno = EBADMSG;
	return -1;
}

/* Raw calls: glibc's wrappers would signal the other threads of a process that has none. */
CHILD_CODE int user_child(const struct child *child, struct fault *fault)
{
	if (child->plan->ids == IDS_OWN &&
	    STEP(fault, LAYER_USER, HOOK_CHILD, "drop supplementary groups",
		 syscall(SYS_setgroups, 0, NULL)) < 0)
		return -1;
	if (STEP(fault, LAYER_USER, HOOK_CHILD, "set group ids",
		 syscall(SYS_setresgid, PROGRAM_ID, PROGRAM_ID, PROGRAM_ID)) < 0 ||
	    STEP(fault, LAYER_USER, HOOK_CHILD, "set user ids",
		 syscall(SYS_setresuid, PROGRAM_ID, PROGRAM_ID, PROGRAM_ID)) < 0 ||
	    STEP(fault, LAYER_USER, HOOK_CHILD, "read ids back", ids_are(PROGRAM_ID)) < 0)
		return -1;
	/*
	 * Changing ids made this process non-dumpable (when they did change), which would keep the
	 * launcher of an ordinary user from seizing the program's process. `init` ends that.
	 */
	return STEP(fault, LAYER_USER, HOOK_CHILD, "stay dumpable until seized",
		    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) < 0
		       ? -1
		       : 0;
}

int user_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	for (int i = 0; i < 4; i++) {
		if (MUST(fault, LAYER_USER, "all four user ids are the run's",
			 posture->uid[i] == launch->outside_uid) < 0 ||
		    MUST(fault, LAYER_USER, "all four group ids are the run's",
			 posture->gid[i] == launch->outside_gid) < 0)
			return -1;
	}
	bool own = launch->plan->ids == IDS_OWN;
	if (own && MUST(fault, LAYER_USER, "no supplementary groups", posture->groups == 0) < 0)
		return -1;
	(void)snprintf(launch->note[LAYER_USER], sizeof(launch->note[0]), "%s%s",
		       own ? "an outside id of its own" : "outside id is the caller's",
		       own		 ? ""
		       : posture->groups ? "; groups: retained, unmapped"
					 : "");
	return MUST(fault, LAYER_USER, "a user namespace of its own",
		    posture->ns[NS_USER] != posture->ns_host[NS_USER]) < 0
		       ? -1
		       : 0;
}
