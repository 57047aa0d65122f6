/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of the product's layers_required(): the launcher leaves out what its name says, and
 * those layers that cannot be put up without it. The launcher asks once, before it makes anything,
 * so here is also where what a layer is to withstand is planted in it.
 */
#include "layers/layer.h"

#include "name.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

#define PLANTED	    "planted"
#define PLANTED_FD  100
#define PLANTED_DIR 101

/* A test whose wish is not understood must not pass for one that was fulfilled. */
static _Noreturn void bad_name(void)
{
	abort();
}

static enum layer_id layer_of(const char *name, size_t size)
{
	char text[32];
	if (size >= sizeof(text))
		bad_name();
	memcpy(text, name, size);
	text[size] = '\0';
	return layer_by_name(text);
}

static uint32_t left_out(void)
{
	size_t size;
	uint32_t out = 0, before;
	const char *at = lab_name_value("without", &size);
	for (const char *end = at ? at + size : NULL; at && at < end;) {
		size_t one = strcspn(at, "+.");
		enum layer_id id = layer_of(at, one);
		if (id == LAYER_COUNT)
			bad_name();
		out |= LAYER_BIT(id);
		at += one + 1;
	}
	do {
		before = out;
		for (int id = 0; id < LAYER_COUNT; id++) {
			if (layers[id].after & out)
				out |= LAYER_BIT(id);
		}
	} while (out != before);
	return out;
}

static void plant_variable(void)
{
	static char variable[64];
	static char *planted[] = {variable, NULL};
	size_t size;
	const char *word = lab_name_value("env", &size);
	if (!word)
		return;
	int length = snprintf(variable, sizeof(variable), PLANTED "=%.*s", (int)size, word);
	if (length < 0 || (size_t)length >= sizeof(variable))
		bad_name();
	environ = planted;
}

static void plant_descriptor(void)
{
	size_t size;
	const char *word = lab_name_value("fd", &size);
	if (!word)
		return;
	int fd = memfd_create(PLANTED, 0);
	if (fd < 0 || write(fd, word, size) != (ssize_t)size || dup2(fd, PLANTED_FD) < 0 ||
	    close(fd) < 0)
		bad_name();
}

static void plant_directory(void)
{
	size_t size;
	const char *name = lab_name_value("dir", &size);
	if (!name)
		return;
	const char *path = (const char *)getauxval(AT_EXECFN), *own = strrchr(path, '/');
	char text[256];
	int length = snprintf(text, sizeof(text), "%.*s%.*s", (int)(own + 1 - path), path,
			      (int)size, name);
	if (length < 0 || (size_t)length >= sizeof(text))
		bad_name();
	int fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || dup2(fd, PLANTED_DIR) < 0 || close(fd) < 0)
		bad_name();
}

static void take_terminal(void)
{
	size_t size;
	const char *tty = lab_name_value("tty", &size);
	if (!tty)
		return;
	char path[32];
	(void)snprintf(path, sizeof(path), "/dev/pts/%.*s", (int)size, tty);
	/* The leader of a session without a terminal gets the one that it opens. */
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || close(fd) < 0)
		bad_name();
}

uint32_t layers_required(void)
{
	plant_variable();
	plant_descriptor();
	plant_directory();
	take_terminal();
	return LAYERS_ALL & ~left_out();
}
