/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, tables and objects: see say.h. */
#include "cli/say.h"

#include "base/cleanup.h"
#include "base/os_names.h"
#include "base/text.h"
#include "run/explain.h"
#include "run/result.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40

static bool wants_colour(FILE *to)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	return isatty(fileno(to)) && !(no && no[0]) && term && strcmp(term, "dumb") != 0;
}

const char *colour_on(FILE *to, enum colour colour)
{
	static const char *const escapes[] = {[PLAIN] = "",
					      [BOLD] = "\033[1m",
					      [RED] = "\033[1;31m",
					      [GREEN] = "\033[32m",
					      [DIM] = "\033[2m"};
	return wants_colour(to) ? escapes[colour] : "";
}

const char *colour_off(FILE *to)
{
	return wants_colour(to) ? "\033[0m" : "";
}

bool say_unicode(void)
{
	/* Not asked of setlocale(): musl calls every locale UTF-8, and a static glibc loads files.
	 */
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);
		if (value && value[0])
			return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
	}
	return false;
}

void say_line(const char *word, const char *text)
{
	char line[2048];
	(void)text_escape(line, sizeof(line), text);
	(void)fprintf(stderr, "belljar: %s%s%s%s%s\n", colour_on(stderr, RED), word ? word : "",
		      colour_off(stderr), word && line[0] ? ": " : "", line);
}

static const char *code_name(enum bj_code code)
{
	static const char *const names[] = {
		[BJ_OK] = "ok",
		[BJ_INVALID] = "invalid",
		[BJ_REFUSED] = "refused",
		[BJ_UNSUPPORTED] = "unsupported",
		[BJ_SETUP] = "setup",
		[BJ_EXEC] = "exec",
		[BJ_INTERNAL] = "internal",
	};
	return (size_t)code < ARRAY_SIZE(names) ? names[code] : "internal";
}

json_t *error_json(const struct bj_error *err)
{
	return json_pack("{s:s, s:s*, s:s, s:s}", "code", code_name(err->code), "layer",
			 err->layer[0] ? err->layer : NULL, "message", err->message, "hint",
			 err->hint);
}

int say_result(const struct bj_result *res, int status)
{
	const char *json = bj_result_json(res);
	if (!json) {
		say_line("failed", "out of memory");
		return STATUS_REFUSED;
	}
	(void)puts(json);
	return say_flush(status);
}

/* For `run` a whole result, so that whoever reads --json has one kind of object to read. */
static int say_refused_result(const struct bj_error *why)
{
	struct bj_error err = {0};
	struct bj_result *res = NULL;
	if (result_from_error(why, &(struct result_input){0}, &res, &err) < 0) {
		say_line("failed", err.message);
		return STATUS_REFUSED;
	}
	int status = say_result(res, STATUS_REFUSED);
	bj_result_free(res);
	return status;
}

int say_refused(const struct invocation *invocation, const struct bj_error *err)
{
	if (invocation->json && invocation->verb == VERB_RUN)
		return say_refused_result(err);
	if (invocation->json) {
		int status = say_json(json_pack("{s:s, s:o}", "schema", "belljar.error/1", "error",
						error_json(err)));
		return status == STATUS_OK ? STATUS_REFUSED : status;
	}
	char text[sizeof(err->message) + sizeof(err->hint) + 4], mend[sizeof(err->hint)];
	const char *hint = err->hint[0] ? err->hint : error_mend(err, mend, sizeof(mend));
	/* A mend is a sentence of its own, or goes on with this one. */
	const char *between = hint[0] >= 'a' && hint[0] <= 'z' ? "; " : ". ";
	(void)snprintf(text, sizeof(text), "%s%s%s", err->message, hint[0] ? between : "", hint);
	say_line("refused", text);
	return STATUS_REFUSED;
}

int say_json(json_t *object)
{
	if (!object) {
		say_line("failed", "out of memory");
		return STATUS_REFUSED;
	}
	int got = json_dumpf(object, stdout, JSON_INDENT(2));
	json_decref(object);
	if (got < 0 || putchar('\n') == EOF)
		return say_flush(STATUS_REFUSED);
	return say_flush(STATUS_OK);
}

/*
 * What a write failed with that a full buffer led to, before the flush: musl then has nothing left
 * to flush, and errno is another's by now. So it is asked again, with nothing to write.
 */
static int broken_output(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	if (poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP))
		return EPIPE;
	return write(STDOUT_FILENO, "", 0) < 0 ? errno : 0;
}

int say_flush(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	int os = errno ? errno : broken_output();
	if (os == EPIPE)
		return STATUS_SIGNAL + 13;
	say_line("failed", os ? errno_words(os) : "standard output takes nothing more");
	return STATUS_REFUSED;
}

static size_t width_of(FILE *to)
{
	struct winsize size;
	if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		return size.ws_col;
	return WIDTH_DEFAULT;
}

/* Characters, not bytes: what pads a column. */
static size_t shown_len(const char *text)
{
	size_t len = 0;
	for (; *text; text++)
		len += ((unsigned char)*text & 0xc0) != 0x80;
	return len;
}

void say_wrapped(FILE *to, const char *text, size_t at, size_t indent)
{
	size_t width = width_of(to);
	bool fresh = true;
	while (*text) {
		size_t len = strcspn(text, " ");
		auto_free char *word = strndup(text, len);
		if (!word)
			return;
		size_t shown = shown_len(word);
		if (!fresh && at + 1 + shown > width) {
			(void)fprintf(to, "\n%*s", (int)indent, "");
			at = indent;
			fresh = true;
		}
		(void)fprintf(to, "%s%s", fresh ? "" : " ", word);
		at += shown + !fresh;
		fresh = false;
		text += len;
		text += strspn(text, " ");
	}
	(void)fputc('\n', to);
}

void say_table(FILE *to, const char *const *cells, size_t rows, size_t columns, bool header)
{
	auto_free size_t *widths = calloc(columns, sizeof(*widths));
	if (!widths)
		return;
	for (size_t i = 0; i < rows * columns; i++) {
		size_t len = cells[i] ? shown_len(cells[i]) : 0;
		if (len > widths[i % columns])
			widths[i % columns] = len;
	}
	for (size_t row = 0; row < rows; row++) {
		size_t at = 0;
		bool bold = header && row == 0;
		(void)fputs(bold ? colour_on(to, BOLD) : "", to);
		size_t last = columns - 1;
		while (last > 0 &&
		       (!cells[row * columns + last] || !cells[row * columns + last][0]))
			last--; /* nothing is padded towards nothing */
		for (size_t column = 0; column <= last; column++) {
			const char *cell = cells[row * columns + column];
			cell = cell ? cell : "";
			if (column == last) {
				say_wrapped(to, cell, at, at);
				break;
			}
			size_t pad = widths[column] - shown_len(cell) + 2;
			(void)fprintf(to, "%s%*s", cell, (int)pad, "");
			at += widths[column] + 2;
		}
		(void)fputs(bold ? colour_off(to) : "", to);
	}
}
