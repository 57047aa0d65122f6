/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets of one run. Fixed layout, one packet each, on SOCK_SEQPACKET sockets; whoever reads
 * one knows which it must be.
 */
#ifndef RUN_MESSAGE_H
#define RUN_MESSAGE_H

#include "layers/child.h"
#include "layers/plan.h"

/* Caller to launcher, once, with descriptors in this order: plan, report, [stdout stream, stderr
 * stream], [stdin], inputs… A second packet, of any kind, or the end of the socket, cancels. */
#define START_MAGIC UINT64_C(0x3150415453424a42)
struct start_message {
	uint64_t magic;
	uint32_t has_streams;
	uint32_t has_input;
	uint32_t inputs;
	uint32_t pad;
};

/* Inputs that fit into one packet beside the five others. */
#define INPUTS_MAX 240

enum child_message_kind {
	MESSAGE_NONE,
	MESSAGE_FAULT,	/* set-up failed: `fault` */
	MESSAGE_BORN,	/* the program's process is there; the socket carries its pid */
	MESSAGE_READY,	/* init's set-up is done; descriptors: /workspace, /tmp, /dev/shm, /proc */
	MESSAGE_PROOF,	/* the program's process is about to exec: `proof` */
	MESSAGE_EXEC,	/* execve failed: `fault` */
	MESSAGE_STATUS, /* the program's first process ended: `status` */
};

enum { READY_WORKSPACE, READY_TMP, READY_SHM, READY_PROC, READY_COUNT };

struct child_message {
	uint32_t kind;
	int32_t status;
	uint64_t cpu_ns, memory_peak; /* MESSAGE_STATUS: what the kernel says at its end */
	struct fault fault;
	struct child_proof proof;
};

/* Launcher to init or to the program's process: go on. */
#define GO_BYTE 'g'

#endif
