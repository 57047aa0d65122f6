/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that seccomp_rules.def compares arguments with. They are part of the kernel's ABI and
 * the same on x86-64 and arm64; those that old headers lack, or that only kernel code names, are
 * spelled out.
 */
#ifndef LAYERS_SECCOMP_VALUES_H
#define LAYERS_SECCOMP_VALUES_H

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/memfd.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/shm.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Every namespace flag. clone(2) reads 0x80, CLONE_NEWTIME, as part of the exit signal. */
#define CLONE_NEW_ANY                                                                              \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)

#define SOCK_TYPE_MASK	  0xf /* the kernel's; the other bits are SOCK_NONBLOCK and SOCK_CLOEXEC */
#define MODE_TYPE	  0xf000	 /* of a umode_t, which is 16 bits wide */
#define SCHED_FLAGLESS	  (~0x40000000U) /* a policy without SCHED_RESET_ON_FORK */
#define PERSONALITY_QUERY 0xffffffffU

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif
#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#define SO_ATTACH_REUSEPORT_EBPF 52
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif
#ifndef SECCOMP_GET_ACTION_AVAIL
#define SECCOMP_GET_ACTION_AVAIL 2
#endif

/* <asm/ioctls.h> names these through structures that collide with <termios.h>. */
#define IOCTL_TCGETS2  0x802c542aU
#define IOCTL_TCSETS2  0x402c542bU
#define IOCTL_TCSETSW2 0x402c542cU
#define IOCTL_TCSETSF2 0x402c542dU

#endif
