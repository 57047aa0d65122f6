/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /etc and /proc that a run sees instead of the host's. */
#ifndef RUN_SYNTH_H
#define RUN_SYNTH_H

#include <stddef.h>
#include <stdint.h>

#define SYNTH_MAX 65536

/* Each writes its text and returns its length. */
size_t synth_meminfo(char *text, size_t size, uint64_t memory_bytes);
size_t synth_cpuinfo(char *text, size_t size, unsigned int cpus);
size_t synth_stat(char *text, size_t size, unsigned int cpus);
size_t synth_uptime(char *text, size_t size);
size_t synth_loadavg(char *text, size_t size);

/* /etc: fixed texts. */
extern const char synth_passwd[], synth_group[], synth_hosts[], synth_nsswitch[];

#endif
