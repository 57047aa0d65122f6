/* SPDX-License-Identifier: Apache-2.0 */
/* Making a struct bj_error: see error.h. */
#include "base/error.h"

#include "base/os_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static void start(struct bj_error *err, enum bj_code code,
							int os, const char *format, va_list args)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->os_error = os;
	(void)vsnprintf(err->message, sizeof(err->message), format, args);
}

int fail(struct bj_error *err, enum bj_code code, const char *format, ...)
{
	if (!err)
		return -1;
	va_list args;
	va_start(args, format);
	start(err, code, 0, format, args);
	va_end(args);
	return -1;
}

int fail_errno(struct bj_error *err, enum bj_code code, const char *format, ...)
{
	int os = errno;
	if (!err)
		return -1;
	va_list args;
	va_start(args, format);
	start(err, code, os, format, args);
	va_end(args);
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used, ": %s",
		       errno_words(os));
	return -1;
}

int fail_from(struct bj_error *err, const char *where)
{
	size_t size = strlen(where);
	if (!err)
		return -1;
	memmove(err->message + size + 2, err->message, sizeof(err->message) - size - 3);
	memcpy(err->message, where, size);
	memcpy(err->message + size, ": ", 2);
	err->message[sizeof(err->message) - 1] = '\0';
	return -1;
}

int fail_layer(struct bj_error *err, const char *layer)
{
	if (err)
		(void)snprintf(err->layer, sizeof(err->layer), "%s", layer);
	return -1;
}

int fail_hint(struct bj_error *err, const char *format, ...)
{
	if (!err)
		return -1;
	va_list args;
	va_start(args, format);
	(void)vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return -1;
}
