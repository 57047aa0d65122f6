/* SPDX-License-Identifier: Apache-2.0 */
/* Layer `net`: an empty network namespace; its loopback is up, and nothing else is there. */
#include "layers/hooks.h"
#include "layers/step.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

CHILD_CODE int net_settle(const struct child *child, struct fault *fault)
{
	struct ifreq lo;
	memset(&lo, 0, sizeof(lo));
	memcpy(lo.ifr_name, "lo", sizeof("lo"));
	int fd = (int)STEP(fault, LAYER_NET, HOOK_CHILD, "open a socket",
			   socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return -1;
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	if (STEP(fault, LAYER_NET, HOOK_CHILD, "bring loopback up", ioctl(fd, SIOCSIFFLAGS, &lo)) <
		    0 ||
	    STEP(fault, LAYER_NET, HOOK_CHILD, "read loopback back", ioctl(fd, SIOCGIFFLAGS, &lo)) <
		    0)
		return -1;
	child->proof->loopback = (lo.ifr_flags & IFF_UP) != 0;
	return close(fd);
}

int net_verify(struct launch *launch, const struct posture *posture, struct fault *fault)
{
	if (MUST(fault, LAYER_NET, "a network namespace of its own",
		 posture->ns[NS_NET] != posture->ns_host[NS_NET]) < 0 ||
	    MUST(fault, LAYER_NET, "loopback is up", launch->init_proof.loopback == 1) < 0)
		return -1;
	return 0;
}
