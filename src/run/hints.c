/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints: see hints.h. Everything that is said stands in the tables below. In a text, {x} is the
 * value of the policy field x ("256m"), {name} a word found in the program's stderr.
 *
 * What a program prints is nothing to trust: of it only `name` reaches a hint, of few characters
 * and short. A program can choose which of these sentences is shown, and no other.
 */
#include "run/hints.h"

#include "base/cleanup.h"
#include "base/os_names.h"
#include "run/explain.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define NAME_MAX_SHOWN	 64
#define STDERR_LOOKED_AT 8192

struct scene {
	const struct bj_result *res;
	const struct report *report; /* or NULL */
	const struct result_input *in;
	char name[NAME_MAX_SHOWN + 1];
};

/* ---- The tables -------------------------------------------------------------------------- */

static const char *const outcome_text[] = {
	[BJ_EXITED] = NULL,
	[BJ_SIGNALED] = NULL,
	[BJ_TIME_LIMIT] =
		"The program was still running after {time} of wall-clock time and was ended.",
	[BJ_CPU_LIMIT] =
		"The program and its children used up their {cpu_time} of CPU time and were "
		"ended. Do less work, or ask for more `cpu_time`.",
	[BJ_MEMORY_LIMIT] =
		"The program was killed for memory: together with its children and its "
		"files in /tmp, /workspace and /dev/shm it needed more than {memory}. Work "
		"on smaller pieces, or ask for more `memory`.",
	[BJ_OUTPUT_LIMIT] =
		"The program wrote more than {max_output} of output and was ended. Print a "
		"summary, or write to a file in /workspace.",
	[BJ_CANCELLED] = "The run was cancelled by its caller",
	[BJ_OUTCOME_REFUSED] = "Nothing ran: ",
	[BJ_NOT_STARTED] = "Nothing ran: ",
	[BJ_SANDBOX_ERROR] = "Belljar failed, not the program: ",
};
_Static_assert(ARRAY_SIZE(outcome_text) == BJ_OUTCOME_COUNT, "a text for each outcome");

/* Limits that were touched besides what ended the run. */
static const char *const touched_text[] = {
	[LIMIT_TIME] = NULL,
	[LIMIT_CPU] = NULL,
	[LIMIT_MEMORY] =
		"At least one of its processes was killed because the run reached its {memory} "
		"of memory: its output may be incomplete.",
	[LIMIT_TASKS] =
		"It reached its limit of {pids} tasks (processes and threads): start fewer, or "
		"ask for more `pids`.",
	[LIMIT_DISK] = NULL, /* names the mounts */
	[LIMIT_OUTPUT] = "It wrote more than {max_output} of output: print less, or ask for more "
			 "`max_output`.",
};
_Static_assert(ARRAY_SIZE(touched_text) == LIMIT_COUNT, "a text for each limit");

static const struct {
	uint32_t bit;
	const char *text;
} disks[] = {
	{DISK_TMP,
	 "/tmp ({tmp}) was full at the end: delete what is not needed, or ask for more `tmp`."},
	{DISK_WORKSPACE,
	 "/workspace ({workspace}) was full at the end: delete what is not needed, or "
	 "ask for more `workspace`."},
	{DISK_SHM,
	 "/dev/shm ({shm}) was full at the end: share less memory, or ask for more `shm`."},
};

static const struct {
	int signal;
	const char *text;
} signals[] = {
	{SIGSEGV,
	 "it used memory that is not its own; look for a bad pointer or endless recursion."},
	{SIGBUS,
	 "it used a mapped file beyond its end, or a mount was full while it wrote to a mapping."},
	{SIGABRT, "it gave up by itself (abort, a failed assertion); stderr says why."},
	{SIGFPE, "a division by zero or an overflow of integers."},
	{SIGILL, "it ran an instruction that this processor does not have."},
	{SIGTRAP, "it reached a trap or a breakpoint."},
	{SIGSYS, "it made a system call that does not exist in this sandbox."},
	{SIGXFSZ, "one file grew beyond {fsize}; write less, or ask for more `fsize`."},
	{SIGPIPE, "it wrote to a pipe that nobody reads any more."},
	{SIGKILL, "no limit of the run was reached; the program or one of its children sent it."},
	{SIGXCPU, "no limit of the run was reached; the program limited or signalled itself."},
	{SIGTERM, "no limit of the run was reached; the program or one of its children sent it."},
};

enum capture { NO_NAME, NAME_AFTER, NAME_BEFORE };

#define NO_NETWORK                                                                                 \
	"It wanted the network, and this sandbox has none: give it the data as a file, or do "     \
	"without."
#define NO_MODULE(kind)                                                                            \
	"The " kind                                                                                \
	" {name} is not installed here and cannot be downloaded, as there is no network: "         \
	"do without it, or use an image that has it."
#define READ_ONLY "Only /workspace, /tmp and /dev/shm can be written here: write there."
#define TOO_MANY_TASKS                                                                             \
	"It could not start another process or thread; at most {pids} may live at one time: "      \
	"start "                                                                                   \
	"fewer, or ask for more `pids`."
#define DISK_IS_FULL                                                                               \
	"A private mount is full (/workspace has {workspace}, /tmp {tmp}, /dev/shm {shm}): write " \
	"less, "                                                                                   \
	"or ask for more."
#define OUT_OF_MEMORY                                                                              \
	"It asked for more memory than it could get (limit {memory}): work on smaller pieces, or " \
	"ask "                                                                                     \
	"for more `memory`."

/*
 * What stderr shows of a program that exited with a failure. The row whose pattern stands nearest
 * to the end is the cause; of two at one place, the first row.
 */
static const struct cause {
	const char *pattern;
	const char *languages; /* space-separated; NULL: any. A run without a language is any. */
	enum capture capture;
	const char *then; /* must follow the name, or NULL */
	const char *text;
	uint32_t limit; /* LIMIT_BIT: nothing to add where the result says that it was touched */
} causes[] = {
	{"gaierror", NULL, NO_NAME, NULL, NO_NETWORK},
	{"Temporary failure in name resolution", NULL, NO_NAME, NULL, NO_NETWORK},
	{"Name or service not known", NULL, NO_NAME, NULL, NO_NETWORK},
	{"Could not resolve host", NULL, NO_NAME, NULL, NO_NETWORK},
	{"Network is unreachable", NULL, NO_NAME, NULL, NO_NETWORK},
	{"ENETUNREACH", NULL, NO_NAME, NULL, NO_NETWORK},
	{"EAI_AGAIN", NULL, NO_NAME, NULL, NO_NETWORK},
	{"getaddrinfo", NULL, NO_NAME, NULL, NO_NETWORK},
	{"ModuleNotFoundError: No module named '", NULL, NAME_AFTER, "'",
	 NO_MODULE("Python module")},
	{": No module named ", "python program", NAME_AFTER, NULL, NO_MODULE("Python module")},
	{"Cannot find module '", NULL, NAME_AFTER, "'", NO_MODULE("module")},
	{"Cannot find package '", NULL, NAME_AFTER, "'", NO_MODULE("package")},
	{": command not found", NULL, NAME_BEFORE, NULL, NO_MODULE("command")},
	{": not found\n", "bash c cpp program", NAME_BEFORE, NULL, NO_MODULE("command")},
	{"fatal error: ", NULL, NAME_AFTER, ": No such file", NO_MODULE("header")},
	{"error while loading shared libraries: ", NULL, NAME_AFTER, ":", NO_MODULE("library")},
	{"cannot find -l", NULL, NAME_AFTER, NULL, NO_MODULE("library")},
	{"Read-only file system", NULL, NO_NAME, NULL, READ_ONLY},
	{"EROFS", NULL, NO_NAME, NULL, READ_ONLY},
	{"Permission denied", NULL, NO_NAME, NULL, "It was not permitted. " READ_ONLY},
	{"EACCES", NULL, NO_NAME, NULL, "It was not permitted. " READ_ONLY},
	{"Operation not permitted", NULL, NO_NAME, NULL,
	 "It tried what no program may do in this sandbox: do without it."},
	{"MemoryError", NULL, NO_NAME, NULL, OUT_OF_MEMORY, LIMIT_BIT(LIMIT_MEMORY)},
	{"Cannot allocate memory", NULL, NO_NAME, NULL, OUT_OF_MEMORY, LIMIT_BIT(LIMIT_MEMORY)},
	{"heap out of memory", NULL, NO_NAME, NULL, OUT_OF_MEMORY, LIMIT_BIT(LIMIT_MEMORY)},
	{"std::bad_alloc", NULL, NO_NAME, NULL, OUT_OF_MEMORY, LIMIT_BIT(LIMIT_MEMORY)},
	{"No space left on device", NULL, NO_NAME, NULL, DISK_IS_FULL, LIMIT_BIT(LIMIT_DISK)},
	{"ENOSPC", NULL, NO_NAME, NULL, DISK_IS_FULL, LIMIT_BIT(LIMIT_DISK)},
	{"can't start new thread", NULL, NO_NAME, NULL, TOO_MANY_TASKS, LIMIT_BIT(LIMIT_TASKS)},
	{"fork: retry: Resource temporarily unavailable", NULL, NO_NAME, NULL, TOO_MANY_TASKS,
	 LIMIT_BIT(LIMIT_TASKS)},
	{"Resource temporarily unavailable", NULL, NO_NAME, NULL, TOO_MANY_TASKS,
	 LIMIT_BIT(LIMIT_TASKS)},
	{"Too many open files", NULL, NO_NAME, NULL,
	 "It has too many files open (limit {nofile}): close some, or ask for more `nofile`."},
	{"File too large", NULL, NO_NAME, NULL,
	 "One file grew beyond {fsize}: write less, or ask for more `fsize`."},
};

/* ---- Saying ------------------------------------------------------------------------------ */

static void say_field(FILE *out, const char *name, const struct scene *scene)
{
	enum field_id id = field_by_name(name);
	char text[32];
	if (id == FIELD_COUNT || !scene->in->policy)
		(void)fprintf(out, "its limit");
	else
		(void)fprintf(
			out, "%s",
			policy_format(policy_fields[id].unit, scene->in->policy->number[id], text));
}

/* Prints `text` with each {x} filled in. Errors of `out` show when it is closed. */
static void say(FILE *out, const char *text, const struct scene *scene)
{
	while (*text) {
		size_t plain = strcspn(text, "{");
		(void)fwrite(text, 1, plain, out);
		text += plain;
		if (!*text)
			break;
		char name[24];
		size_t length = strcspn(++text, "}");
		(void)snprintf(name, sizeof(name), "%.*s", (int)length, text);
		text += length + (text[length] == '}');
		if (strcmp(name, "name") == 0)
			(void)fprintf(out, "`%s`", scene->name);
		else
			say_field(out, name, scene);
	}
}

/* Begins a sentence after what is there already. */
static void say_next(FILE *out, const char *text, const struct scene *scene)
{
	if (ftell(out) > 0)
		(void)fputc(' ', out);
	say(out, text, scene);
}

static bool ends_sentence(const char *text)
{
	size_t size = strlen(text);
	return size > 0 && strchr(".!?", text[size - 1]);
}

/* The error's own words, and the mend, which may be a sentence or the rest of one. */
static void say_error(FILE *out, const struct bj_error *error, const char *hint)
{
	bool rest = hint[0] >= 'a' && hint[0] <= 'z';
	(void)fprintf(out, "%s", error->message);
	if (!rest && !ends_sentence(error->message))
		(void)fputc('.', out);
	if (hint[0])
		(void)fprintf(out, "%s%s%s", rest ? "; " : " ", hint,
			      ends_sentence(hint) ? "" : ".");
}

/* ---- Causes ------------------------------------------------------------------------------ */

static bool may_show(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("_.@/-", c));
}

/* Whether `language` is one of the row's; a run without a language may be of any. */
static bool fits_language(const struct cause *cause, const char *language)
{
	if (!cause->languages || !language)
		return true;
	const char *at = strstr(cause->languages, language);
	size_t size = strlen(language);
	return at && (at == cause->languages || at[-1] == ' ') &&
	       (at[size] == '\0' || at[size] == ' ');
}

/* The word after (or before) a match at `at`; false: none, or not what must follow it. */
static bool capture(const struct cause *cause, const uint8_t *text, size_t size, size_t at,
		    char name[NAME_MAX_SHOWN + 1])
{
	size_t from = at, to = at;
	if (cause->capture == NAME_AFTER) {
		from = to = at + strlen(cause->pattern);
		while (to < size && may_show(text[to]))
			to++;
	} else {
		while (from > 0 && may_show(text[from - 1]))
			from--;
	}
	if (to - from < 1 || to - from > NAME_MAX_SHOWN)
		return false;
	if (cause->then && (size - to < strlen(cause->then) ||
			    memcmp(text + to, cause->then, strlen(cause->then)) != 0))
		return false;
	memcpy(name, text + from, to - from);
	name[to - from] = '\0';
	return true;
}

/* Where the last match of a row begins, `size` where there is none. */
static size_t last_match(const struct cause *cause, const uint8_t *text, size_t size,
			 char name[NAME_MAX_SHOWN + 1])
{
	size_t length = strlen(cause->pattern);
	if (size < length)
		return size;
	for (size_t at = size - length + 1; at-- > 0;) {
		if (text[at] != (uint8_t)cause->pattern[0] ||
		    memcmp(text + at, cause->pattern, length) != 0)
			continue;
		if (cause->capture == NO_NAME || capture(cause, text, size, at, name))
			return at;
	}
	return size;
}

static const struct cause *find_cause(struct scene *scene)
{
	const struct bj_output *output = &scene->res->stream[BJ_STDERR].output;
	size_t size = output->size < STDERR_LOOKED_AT ? output->size : STDERR_LOOKED_AT;
	const uint8_t *text = output->data + (output->size - size);
	const struct cause *best = NULL;
	size_t best_at = 0;
	for (size_t i = 0; size > 0 && i < ARRAY_SIZE(causes); i++) {
		char name[NAME_MAX_SHOWN + 1] = "";
		if (!fits_language(&causes[i], scene->in->language))
			continue;
		size_t at = last_match(&causes[i], text, size, name);
		if (at == size || (best && at <= best_at))
			continue;
		best = &causes[i];
		best_at = at;
		memcpy(scene->name, name, sizeof(name));
	}
	return best;
}

/* ---- Outcomes ---------------------------------------------------------------------------- */

static void say_exited(FILE *out, struct scene *scene)
{
	const struct bj_result *res = scene->res;
	int code = res->verdict.exit_code;
	if (code == 0) {
		if (res->verdict.limits)
			say_next(out, "The program exited with code 0, but it touched a limit.",
				 scene);
		return;
	}
	(void)fprintf(out, "The program exited with code %d", code);
	const struct cause *cause = find_cause(scene);
	if (cause) {
		(void)fputc('.', out);
		if (!(cause->limit & res->verdict.limits))
			say_next(out, cause->text, scene);
	} else if (code > 128 && code <= 128 + 31 && !res->verdict.limits) {
		(void)fprintf(out,
			      " of its own accord: no signal and no limit of the run ended it.");
	} else {
		(void)fprintf(out, "%s",
			      res->stream[BJ_STDERR].output.bytes > 0
				      ? "; what it wrote to stderr should say why."
				      : " and wrote nothing to stderr.");
	}
}

static void say_signaled(FILE *out, const struct scene *scene)
{
	int sig = scene->res->verdict.signal;
	const char *name = signal_name(sig);
	if (scene->report && scene->report->end == END_TASKS) {
		(void)fprintf(out, "The program was ended by Belljar.");
		return;
	}
	(void)fprintf(out, "The program was ended by signal %d", sig);
	if (name)
		(void)fprintf(out, " (SIG%s)", name);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (signals[i].signal != sig)
			continue;
		(void)fprintf(out, ": ");
		say(out, signals[i].text, scene);
		return;
	}
	(void)fputc('.', out);
}

static void say_time_limit(FILE *out, const struct scene *scene)
{
	const struct bj_usage *usage = &scene->res->usage;
	say(out, outcome_text[BJ_TIME_LIMIT], scene);
	if (usage->cpu_ms * 20 < usage->wall_ms)
		say_next(out,
			 "It used little CPU, so it was waiting: for input, a sleep, a lock or an "
			 "answer "
			 "that never comes.",
			 scene);
	else
		say_next(out, "Make it do less, or ask for more `time`.", scene);
}

/*
 * A profile hides the policy file that accepts what is missing, and whoever wrote the file would
 * look for the fault in it.
 */
static void say_profile(FILE *out, const struct scene *scene)
{
	const struct policy *policy = scene->in->policy;
	enum layer_id layer = layer_by_name(scene->res->error.layer);
	if (!policy || policy->origin[FIELD_accept_missing] != FROM_PROFILE ||
	    layer == LAYER_COUNT || !layers[layer].may_be_missing)
		return;
	(void)fprintf(out,
		      " The profile `%s`, which was asked for, goes before a policy file and does "
		      "not accept it: ask for no profile, or for one that does.",
		      policy->origin_name[FIELD_accept_missing]);
}

/* Why nothing came of it. A refused call of set-up has no mend of its own. */
static void say_failure(FILE *out, const struct scene *scene)
{
	const struct bj_result *res = scene->res;
	char mend[sizeof(res->error.hint)];
	const char *hint = res->error.hint;
	if (!hint[0])
		hint = error_mend(&res->error, mend, sizeof(mend));
	say(out, outcome_text[res->verdict.outcome], scene);
	say_error(out, &res->error, hint);
	say_profile(out, scene);
	if (res->verdict.outcome != BJ_SANDBOX_ERROR)
		return;
	if (res->verdict.started)
		(void)fprintf(out, " The program had started, and may have done part of its work.");
	else if (!hint[0])
		(void)fprintf(out, " Nothing ran; try again.");
}

static void say_outcome(FILE *out, struct scene *scene)
{
	const struct bj_result *res = scene->res;
	switch (res->verdict.outcome) {
	case BJ_EXITED:
		say_exited(out, scene);
		break;
	case BJ_SIGNALED:
		say_signaled(out, scene);
		break;
	case BJ_TIME_LIMIT:
		say_time_limit(out, scene);
		break;
	case BJ_CPU_LIMIT:
	case BJ_MEMORY_LIMIT:
	case BJ_OUTPUT_LIMIT:
		say(out, outcome_text[res->verdict.outcome], scene);
		break;
	case BJ_CANCELLED:
		(void)fprintf(out, "%s%s", outcome_text[BJ_CANCELLED],
			      res->verdict.started ? "; its output so far is kept."
						   : " before the program started.");
		break;
	case BJ_OUTCOME_REFUSED:
	case BJ_NOT_STARTED:
	case BJ_SANDBOX_ERROR:
		say_failure(out, scene);
		break;
	case BJ_OUTCOME_COUNT:
	default:
		break;
	}
}

/* ---- What else is to be said -------------------------------------------------------------- */

static void say_touched(FILE *out, const struct scene *scene)
{
	const struct verdict *v = &scene->res->verdict;
	if (v->outcome == BJ_SANDBOX_ERROR)
		return;
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		bool ended_by_it = (v->outcome == BJ_MEMORY_LIMIT && i == LIMIT_MEMORY) ||
				   (v->outcome == BJ_OUTPUT_LIMIT && i == LIMIT_OUTPUT);
		if ((v->limits & LIMIT_BIT(i)) && touched_text[i] && !ended_by_it)
			say_next(out, touched_text[i], scene);
	}
	for (size_t i = 0; scene->report && i < ARRAY_SIZE(disks); i++)
		if (scene->report->disk_full & disks[i].bit)
			say_next(out, disks[i].text, scene);
}

static void say_left_behind(FILE *out, const struct scene *scene)
{
	const struct bj_result *res = scene->res;
	const struct {
		uint64_t count;
		const char *one, *many;
	} left[] = {
		{res->left_processes, "process", "processes"},
		{res->left_mounts, "mount", "mounts"},
		{res->left_cgroups, "cgroup", "cgroups"},
		{res->left_files, "file", "files"},
	};
	const char *between = "Belljar left behind on this host: ";
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		if (left[i].count == 0)
			continue;
		if (!any)
			say_next(out, "", scene);
		(void)fprintf(out, "%s", between);
		if (left[i].count == UINT64_MAX)
			(void)fprintf(out, "%s that could not be counted", left[i].many);
		else
			(void)fprintf(out, "%" PRIu64 " %s", left[i].count,
				      left[i].count == 1 ? left[i].one : left[i].many);

		between = ", ";
		any = true;
	}
	if (any)
		(void)fprintf(out, ". Tell the operator.");
}

char *hint_make(const struct bj_result *res, const struct report *report,
		const struct result_input *in)
{
	struct scene scene = {.res = res, .report = report, .in = in};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	say_outcome(out, &scene);
	say_touched(out, &scene);
	if (in->files_error) {
		say_next(out, "", &scene);
		say_error(out, in->files_error, in->files_error->hint);
	}
	say_left_behind(out, &scene);
	bool bad = ferror(out);
	if (fclose(out) != 0 || bad) {
		free(text);
		return NULL;
	}
	make_line(text);
	return text;
}
