/* SPDX-License-Identifier: Apache-2.0 */
/*
 * belljar-docgen man FILE.scd     a man source with its @blocks@ filled in
 * belljar-docgen bash             the completion for bash
 * belljar-docgen write DIR        the generated pages, anew
 * belljar-docgen check DIR        whether they are what they would be
 */
#include "cli/docgen.h"

#include "base/cleanup.h"

#include <string.h>

static int man(const char *path)
{
	auto_fclose FILE *from = fopen(path, "re");
	if (!from) {
		perror(path);
		return 1;
	}
	auto_free char *line = NULL;
	size_t size = 0;
	ssize_t len;
	while ((len = getline(&line, &size, from)) >= 0) {
		if (len < 4 || line[0] != '@' || line[len - 2] != '@') {
			(void)fputs(line, stdout);
			continue;
		}
		line[len - 2] = '\0';
		if (man_block(stdout, line + 1) < 0) {
			(void)fprintf(stderr, "%s: no block \"%s\"\n", path, line + 1);
			return 1;
		}
	}
	return ferror(from) ? 1 : 0;
}

static int page_path(char *path, size_t size, const char *dir, const struct page *page)
{
	int len = snprintf(path, size, "%s/%s", dir, page->file);
	return len > 0 && (size_t)len < size ? 0 : -1;
}

static int write_pages(const char *dir)
{
	for (size_t i = 0; i < page_count; i++) {
		char path[4096];
		if (page_path(path, sizeof(path), dir, &pages[i]) < 0)
			return 1;
		FILE *to = fopen(path, "we");
		if (!to) {
			perror(path);
			return 1;
		}
		pages[i].write(to);
		if (fclose(to) != 0) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

/* The whole of a file, or NULL. */
static char *read_text(const char *path, size_t *ret_size)
{
	auto_fclose FILE *from = fopen(path, "re");
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_size);
	int c;
	while (from && to && (c = getc(from)) != EOF)
		(void)putc(c, to);
	if (to)
		(void)fclose(to);
	return from ? text : (free(text), NULL);
}

static int check_pages(const char *dir)
{
	int status = 0;
	for (size_t i = 0; i < page_count; i++) {
		char path[4096];
		size_t is_size = 0, must_size = 0;
		auto_free char *must = NULL;
		FILE *to = open_memstream(&must, &must_size);
		if (!to || page_path(path, sizeof(path), dir, &pages[i]) < 0)
			return 1;
		pages[i].write(to);
		if (fclose(to) != 0)
			return 1;
		auto_free char *is = read_text(path, &is_size);
		if (is && is_size == must_size && memcmp(is, must, is_size) == 0)
			continue;
		(void)fprintf(stderr, "%s: not what the tables say; run `make docs`\n", path);
		status = 1;
	}
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "bash") == 0) {
		bash_completion(stdout);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "man") == 0)
		return man(argv[2]);
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		return write_pages(argv[2]);
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check_pages(argv[2]);
	(void)fprintf(stderr, "usage: belljar-docgen man FILE | bash | write DIR | check DIR\n");
	return 2;
}
