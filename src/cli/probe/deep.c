/* SPDX-License-Identifier: Apache-2.0 */
/* Walks deep.def: what is tried in this run, and the counterparts that belong to it. */
#include "deep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum run { INSIDE, SMALL, LATER, OUTSIDE };

static const struct row {
	const char *id;
	enum run run;	/* in which it is tried */
	enum run where; /* OUTSIDE, or not */
	long (*act)(void);
	long (*may)(void);
} rows[] = {
#define DEEP(id_, layer_, run_, text_, sign_, act_, where_, other_, may_)                          \
	{#id_, run_, where_, act_, may_},
#define ENDED(id, layer, text, sign, action, field, value, other)
#include "deep.def"
#undef DEEP
#undef ENDED
};

static const struct {
	const char *name;
	enum run run;
} runs[] = {{"inside", INSIDE}, {"small", SMALL}, {"later", LATER}, {"outside", OUTSIDE}};

long end_of_child(long (*act)(void))
{
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(act() < 0 ? 1 : 0);
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return KILLED(WTERMSIG(status));
	return WEXITSTATUS(status) == 0 ? 0 : fail_with(EBADMSG);
}

long fail_with(int error)
{
	errno = error;
	return -1;
}

long seen_or_hidden(int seen)
{
	return seen ? 0 : HIDDEN;
}

int own_file(void)
{
	return open(OWN_FILE, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
}

long read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t used = 0;
	ssize_t got;
	while (used + 1 < size && (got = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	(void)close(fd);
	return (long)used;
}

static void say(const char *id, const char *part, long (*act)(void))
{
	errno = 0;
	long got = act();
	int os = errno;
	const char *prefix = "", *name = "works";
	if (got == HIDDEN) {
		name = "hidden";
	} else if (got == UNTRIED) {
		name = "untried";
	} else if (got <= KILLED(1)) {
		prefix = "SIG";
		name = sigabbrev_np((int)(KILLED(0) - got));
	} else if (got < 0) {
		name = strerrorname_np(os);
	}
	(void)printf("{\"id\":\"%s\",\"part\":\"%s\",\"got\":\"%s%s\"}\n", id, part, prefix,
		     name ? name : "unknown");
	(void)fflush(stdout);
}

static void tidy(void)
{
	(void)unlink(OWN_FILE);
	/* Children of children end up at pid 1; these are this process's own. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* A later run looks for what the first one left, so that one does the counterpart. */
static int has_counterpart(const struct row *row, enum run run)
{
	if (row->where == OUTSIDE)
		return run == OUTSIDE;
	return run == (row->run == LATER ? INSIDE : row->run);
}

int probe_deep(const char *name)
{
	size_t i = 0;
	while (i < sizeof(runs) / sizeof(runs[0]) && strcmp(runs[i].name, name) != 0)
		i++;
	if (i == sizeof(runs) / sizeof(runs[0]))
		return 2;
	enum run run = runs[i].run;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].run == run)
			say(rows[i].id, "tried", rows[i].act);
		if (has_counterpart(&rows[i], run))
			say(rows[i].id, "counterpart", rows[i].may);
		if (run != OUTSIDE)
			tidy();
	}
	return ferror(stdout) ? 3 : 0;
}
