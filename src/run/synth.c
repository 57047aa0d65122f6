/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See synth.h. Programs size themselves by these: thread pools by the CPUs, heaps by the memory.
 * The numbers are the run's limits at its start; they do not move while it runs.
 */
#include "run/synth.h"

#include "base/io.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char synth_passwd[] = "root:x:0:0:root:/root:/usr/sbin/nologin\n"
			    "program:x:1000:1000:program:/workspace:/bin/bash\n"
			    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
const char synth_group[] = "root:x:0:\nprogram:x:1000:\nnogroup:x:65534:\n";
const char synth_hosts[] = "127.0.0.1 localhost belljar\n::1 localhost ip6-localhost\n";
/* Names are looked up in files only: there is no network to ask, so nothing waits for one. */
const char synth_nsswitch[] = "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
			      "networks: files\nprotocols: files\nservices: files\n";

struct text {
	char *data;
	size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text->data + text->used, text->size - text->used, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < text->size - text->used)
		text->used += (size_t)n;
}

size_t synth_meminfo(char *data, size_t size, uint64_t memory_bytes)
{
	static const char *const full[] = {"MemTotal", "MemFree", "MemAvailable"};
	static const char *const empty[] = {
		"Buffers",    "Cached",	     "SwapCached",   "Active",	     "Inactive",
		"SwapTotal",  "SwapFree",    "Dirty",	     "Writeback",    "AnonPages",
		"Mapped",     "Shmem",	     "KReclaimable", "Slab",	     "SReclaimable",
		"SUnreclaim", "KernelStack", "PageTables",   "Committed_AS", "VmallocUsed"};
	struct text text = {data, size, 0};
	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++)
		add(&text, "%s:%*s%8" PRIu64 " kB\n", full[i], (int)(15 - strlen(full[i])), "",
		    memory_bytes / 1024);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		add(&text, "%s:%*s       0 kB\n", empty[i], (int)(15 - strlen(empty[i])), "");
	return text.used;
}

/* No model and no features: programs ask the CPU itself, and asking it here costs an exit of the
 * virtual machine for each word of the answer. */
size_t synth_cpuinfo(char *data, size_t size, unsigned int cpus)
{
	struct text text = {data, size, 0};
	for (unsigned int i = 0; i < cpus; i++) {
		add(&text, "processor\t: %u\n", i);
		add(&text,
		    "model name\t: belljar\nphysical id\t: 0\nsiblings\t: %u\ncore id\t\t: %u\ncpu "
		    "cores\t: %u\n\n",
		    cpus, i, cpus);
	}
	return text.used;
}

size_t synth_stat(char *data, size_t size, unsigned int cpus)
{
	struct text text = {data, size, 0};
	struct timespec now = {0}, boot = {0};
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	add(&text, "cpu  0 0 0 0 0 0 0 0 0 0\n");
	for (unsigned int i = 0; i < cpus; i++)
		add(&text, "cpu%u 0 0 0 0 0 0 0 0 0 0\n", i);
	add(&text, "intr 0\nctxt 0\nbtime %lld\nprocesses 2\nprocs_running 1\nprocs_blocked 0\n",
	    (long long)(now.tv_sec - boot.tv_sec));
	return text.used;
}

/* The start times of `ps` are counted from here. */
size_t synth_uptime(char *data, size_t size)
{
	struct text text = {data, size, 0};
	struct timespec boot = {0};
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	add(&text, "%lld.%02ld 0.00\n", (long long)boot.tv_sec, boot.tv_nsec / 10000000);
	return text.used;
}

size_t synth_loadavg(char *data, size_t size)
{
	struct text text = {data, size, 0};
	add(&text, "0.00 0.00 0.00 1/2 2\n");
	return text.used;
}
