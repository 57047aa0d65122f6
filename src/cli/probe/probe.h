/* SPDX-License-Identifier: Apache-2.0 */
/*
 * belljar-probe: what `belljar doctor` runs, inside a sandbox and outside one. It tries things and
 * says what came of each, a JSON object a line:
 *
 *   {"layer":"net","check":"reach another
 * network","expect":"denied","ok":true,"errno":"ENETUNREACH"}
 *
 * It judges no layer; the doctor does.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stddef.h>

/* What it is told about the host, as NAME=VALUE arguments; NULL where nothing was said. */
enum fact {
	FACT_PID,      /* a process of the host */
	FACT_PATH,     /* a file of the host that everybody may read */
	FACT_PORT,     /* a TCP port on 127.0.0.1 of the host that answers */
	FACT_ABSTRACT, /* an abstract socket of the host that answers */
	FACT_SHM_KEY,  /* a System V segment of the host */
	FACT_FD,       /* a descriptor that the doctor left open across exec */
	FACT_NS_PID,   /* the host's namespaces, as /proc/self/ns says */
	FACT_NS_IPC,
	FACT_NS_UTS,
	FACT_NS_NET,
	FACT_NS_CGROUP,
	FACT_SEM_KEY, /* System V semaphores and a message queue of the host */
	FACT_MSG_KEY,
	FACT_LEFT_KEY, /* of a segment that a run leaves */
	FACT_QUEUE,    /* a POSIX queue of the host */
	FACT_NAME,     /* the host's name */
	FACT_HOME,     /* the caller's home directory */
	FACT_CGROUP,   /* a cgroup holds the run */
	FACT_OUTSIDE,  /* this is no sandbox */
	FACT_COUNT,
};

extern const char *facts[FACT_COUNT];

enum expect { DENIED, WORKS };

/* What an action found besides an errno: the host's thing is not to be seen. */
#define HIDDEN (-2)
/* It could not be tried here: the doctor did not say what to try. No line is printed. */
#define UNTRIED (-3)

struct check {
	const char *layer;
	const char *text;
	enum expect expect;
	int errnos[2];	   /* DENIED: the errno must be one of these, if there is one */
	long (*act)(void); /* 0 or more: it worked; -1 with errno; HIDDEN; UNTRIED */
};

extern const struct check checks_walls[];
extern const size_t checks_walls_count;
extern const struct check checks_limits[];
extern const size_t checks_limits_count;

/* Opens and closes. */
long open_close(const char *path, int flags);
/* A stream socket, connected and closed. */
struct sockaddr;
long connect_to(const struct sockaddr *address, unsigned size);
/* Whether this namespace is the host's: then what is to be hidden is not. */
long other_namespace(const char *name, enum fact host);
long sixteenth_ruleset(void);
long fifteen_rulesets(void);

/* In a child process of its own: what it does to that process is gone afterwards. */
long in_child(long (*act)(void));

/* host.c: what this kernel and this place give, outside any sandbox. */
void probe_host(void);

/* deep.c: what is tried in the run of this name. Returns an exit status. */
int probe_deep(const char *run);

/* Exit statuses of `belljar-probe nnp`. */
#define NNP_SET	    40
#define NNP_NOT_SET 41

void print_check(const char *layer, const char *text, enum expect expect, int ok, int os, long got);

#endif
