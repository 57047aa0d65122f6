/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files: found, read with bounds, shared. */
#include "policy/policy_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void free_overlay(struct overlay *overlay)
{
	for (int id = 0; id < FIELD_COUNT; id++)
		list_free(overlay->list[id]);
	free(overlay->name);
}

struct policy_file *policy_file_share(struct policy_file *file)
{
	if (file)
		(void)__atomic_add_fetch(&file->references, 1, __ATOMIC_RELAXED);
	return file;
}

void policy_file_drop(struct policy_file *file)
{
	if (!file || __atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free_overlay(&file->top);
	for (size_t i = 0; i < file->profile_count; i++)
		free_overlay(&file->profiles[i]);
	free(file->profiles);
	free(file->path);
	free(file);
}

const struct overlay *policy_file_profile(const struct policy_file *file, const char *name)
{
	for (size_t i = 0; file && i < file->profile_count; i++) {
		if (strcmp(file->profiles[i].name, name) == 0)
			return &file->profiles[i];
	}
	return NULL;
}

/*
 * -1 with errno. ENOENT of an optional file means that it is not there; a dangling symbolic link is
 * there, and an operator who made one meant a limit by it.
 */
static int open_file(const char *path, bool optional, bool *ret_absent)
{
	struct stat link;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*ret_absent = false;
	if (fd < 0 && errno == ENOENT && optional) {
		*ret_absent = lstat(path, &link) < 0 && errno == ENOENT;
		errno = ENOENT;
	}
	return fd;
}

int policy_file_read(const char *path, enum policy_file_kind kind, bool optional,
		     struct policy_file **ret, struct bj_error *err)
{
	char shown[TEXT_PATH_SIZE];
	bool absent = false;
	struct stat st;

	(void)text_escape(shown, sizeof(shown), path);
	if (path[0] == '\0')
		return fail(err, BJ_INVALID, "the path of the policy file is empty");
	auto_close int fd = open_file(path, optional, &absent);
	if (absent) {
		*ret = NULL;
		return 0;
	}
	if (fd < 0)
		return fail_errno(err, BJ_INVALID, "policy file %s", shown);
	if (fstat(fd, &st) < 0)
		return fail_errno(err, BJ_INVALID, "policy file %s", shown);
	if (!S_ISREG(st.st_mode))
		return fail(err, BJ_INVALID, "policy file %s: not a regular file", shown);
	if (st.st_size > POLICY_FILE_MAX)
		return fail(err, BJ_INVALID, "policy file %s: larger than 1 MiB", shown);

	auto_free char *text = malloc(POLICY_FILE_MAX + 1);
	if (!text)
		return fail(err, BJ_INTERNAL, "out of memory");
	/* A byte more than is allowed, so that a file that grows is seen to be too large. */
	ssize_t size = read_whole(fd, text, POLICY_FILE_MAX + 1);
	if (size < 0)
		return fail_errno(err, BJ_INVALID, "policy file %s", shown);
	return policy_file_decode(text, (size_t)size, path, kind, ret, err);
}

/* The XDG base directory rules: a relative path is as good as none. NULL: the user has no home. */
static char *users_file(void)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	char *path = NULL;
	int length = -1;

	if (config && config[0] == '/')
		length = asprintf(&path, "%s/belljar/policy.json", config);
	else if (home && home[0] == '/')
		length = asprintf(&path, "%s/.config/belljar/policy.json", home);
	return length < 0 ? NULL : path;
}

int policy_load(struct policy *policy, const char *path, struct bj_error *err)
{
	auto_policy_file struct policy_file *file = NULL;

	if (path) {
		if (policy_file_read(path, FILE_OF_USER, false, &file, err) < 0)
			return -1;
		return policy_load_file(policy, file, err);
	}
	auto_free char *standard = users_file();
	if (standard && policy_file_read(standard, FILE_OF_USER, true, &file, err) < 0)
		return -1;
	return policy_load_file(policy, file, err);
}
