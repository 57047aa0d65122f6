/* SPDX-License-Identifier: Apache-2.0 */
/* bj_request_*: gathers, and refuses at once what can be judged alone. */
#include "api/request.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define ENV_NAME_FIRST "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define ENV_NAME       ENV_NAME_FIRST "0123456789"
#define ENV_NAME_MAX   255
#define STRING_MAX     (128 * 1024 - 1) /* the kernel's limit of one argument */

static int no_memory(struct bj_error *err)
{
	return fail(err, BJ_INTERNAL, "out of memory");
}

static void list_free(struct request_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->item[i]);
	free(list->item);
	*list = (struct request_list){0};
}

/* The list stays NULL-terminated. Takes `text`, also on failure. */
static int list_take(struct request_list *list, char *text, struct bj_error *err)
{
	char **more = text ? realloc(list->item, (list->count + 2) * sizeof(*more)) : NULL;
	if (!more) {
		free(text);
		return no_memory(err);
	}
	more[list->count++] = text;
	more[list->count] = NULL;
	list->item = more;
	return 0;
}

static int list_copy(struct request_list *list, const char *const items[], struct bj_error *err)
{
	struct request_list fresh = {0};
	for (size_t i = 0; items && items[i]; i++) {
		char quoted[TEXT_VALUE_SIZE];
		int got =
			strlen(items[i]) > STRING_MAX
				? fail(err, BJ_INVALID, "argument %zu (%s) is longer than %d bytes",
				       i, text_quote(quoted, sizeof(quoted), items[i]), STRING_MAX)
				: list_take(&fresh, strdup(items[i]), err);
		if (got < 0) {
			list_free(&fresh);
			return -1;
		}
	}
	list_free(list);
	*list = fresh;
	return 0;
}

static int set_string(char **member, const char *value, struct bj_error *err)
{
	char *copy = value ? strdup(value) : NULL;
	if (value && !copy)
		return no_memory(err);
	free(*member);
	*member = copy;
	return 0;
}

struct bj_request *bj_request_new(void)
{
	struct bj_request *req = calloc(1, sizeof(*req));
	if (!req)
		return NULL;
	policy_init(&req->policy);
	policy_init(&req->asked);
	req->stdin_fd = -1;
	return req;
}

void bj_request_free(struct bj_request *req)
{
	if (!req)
		return;
	policy_free(&req->policy);
	policy_free(&req->asked);
	list_free(&req->argv);
	list_free(&req->env);
	for (size_t i = 0; i < req->in_count; i++) {
		free(req->in[i].host);
		free(req->in[i].name);
	}
	for (size_t i = 0; i < req->out_count; i++) {
		free(req->out[i].name);
		free(req->out[i].host);
	}
	for (size_t i = 0; i < req->ro_count; i++) {
		free(req->ro[i].host);
		free(req->ro[i].path);
	}
	free(req->in);
	free(req->out);
	free(req->ro);
	free(req->policy_file);
	free(req->profile);
	free(req->language);
	free(req->source);
	free(req->code);
	free(req->cwd);
	free(req);
}

int bj_request_policy_file(struct bj_request *req, const char *path, struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	req->loaded = false;
	return set_string(&req->policy_file, path, err);
}

int bj_request_profile(struct bj_request *req, const char *name, struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	req->loaded = false;
	return set_string(&req->profile, name, err);
}

int bj_request_set(struct bj_request *req, const char *field, const char *value,
		   struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	char quoted[TEXT_VALUE_SIZE];
	enum field_id id = field_by_name(field);
	if (id == FIELD_COUNT)
		return fail(err, BJ_INVALID, "there is no policy field %s",
			    text_quote(quoted, sizeof(quoted), field));
	char where[64] = "--";
	(void)snprintf(where + 2, sizeof(where) - 2, "%s", policy_fields[id].name);
	for (char *c = where; *c; c++)
		*c = *c == '_' ? '-' : *c;
	req->loaded = false;
	return policy_set(&req->asked, id, value, where, err);
}

int bj_request_program(struct bj_request *req, const char *const argv[], struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	if (!argv || !argv[0] || !argv[0][0])
		return fail(err, BJ_INVALID, "the program's name is empty");
	if (list_copy(&req->argv, argv, err) < 0)
		return -1;
	req->what = RUN_PROGRAM;
	return 0;
}

int bj_request_code(struct bj_request *req, const char *language, const void *code, size_t size,
		    const char *const args[], struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	if (!language)
		return fail(err, BJ_INVALID, "code needs the name of its language");
	void *copy = malloc(size ? size : 1);
	if (!copy)
		return no_memory(err);
	memcpy(copy, code, size);
	if (list_copy(&req->argv, args, err) < 0 || set_string(&req->language, language, err) < 0) {
		free(copy);
		return -1;
	}
	free(req->code);
	req->code = copy;
	req->code_size = size;
	req->what = RUN_CODE;
	return 0;
}

int bj_request_source(struct bj_request *req, const char *host_path, const char *language,
		      const char *const args[], struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	if (!host_path || !host_path[0])
		return fail(err, BJ_INVALID, "the name of the file to run is empty");
	if (list_copy(&req->argv, args, err) < 0 || set_string(&req->language, language, err) < 0 ||
	    set_string(&req->source, host_path, err) < 0)
		return -1;
	req->what = RUN_SOURCE;
	return 0;
}

/* The last component of a host path, or NULL where it has none to give. */
static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return *name ? name : NULL;
}

static int check_name(const char *option, const char *name, struct bj_error *err)
{
	char quoted[TEXT_PATH_SIZE];
	const char *wrong = files_name_check(name, strlen(name));
	if (!wrong)
		return 0;
	return fail(err, BJ_INVALID, "%s: the name %s in the workspace %s", option,
		    text_quote(quoted, sizeof(quoted), name), wrong);
}

int bj_request_in(struct bj_request *req, const char *host_path, const char *name,
		  struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	char quoted[TEXT_PATH_SIZE];
	if (!host_path[0])
		return fail(err, BJ_INVALID, "--in: the host's path is empty");
	if (!name)
		name = last_name(host_path);
	if (!name)
		return fail(err, BJ_INVALID, "--in %s: give the name it is to have: HOST:NAME",
			    text_quote(quoted, sizeof(quoted), host_path));
	if (check_name("--in", name, err) < 0)
		return -1;
	struct request_in *more = realloc(req->in, (req->in_count + 1) * sizeof(*more));
	if (!more)
		return no_memory(err);
	req->in = more;
	struct request_in *in = &more[req->in_count];
	in->host = strdup(host_path);
	in->name = strdup(name);
	req->in_count++;
	return in->host && in->name ? 0 : no_memory(err);
}

int bj_request_out(struct bj_request *req, const char *name, const char *host_path,
		   struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	if (check_name("--out", name, err) < 0)
		return -1;
	if (host_path && !host_path[0])
		return fail(err, BJ_INVALID, "--out: the host's path is empty");
	struct request_out *more = realloc(req->out, (req->out_count + 1) * sizeof(*more));
	if (!more)
		return no_memory(err);
	req->out = more;
	struct request_out *out = &more[req->out_count];
	out->name = strdup(name);
	out->host = host_path ? strdup(host_path) : NULL;
	req->out_count++;
	return out->name && (out->host || !host_path) ? 0 : no_memory(err);
}

/* What is wrong with an absolute path inside, or NULL; the "/" before a name counts too. */
static const char *check_path(const char *path)
{
	return strlen(path) > FILES_NAME_MAX ? "is longer than 4095 bytes"
					     : files_name_check(path + 1, strlen(path + 1));
}

/* Targets that would hide what a layer relies on are not for the caller to choose. */
static int check_ro_target(const char *path, struct bj_error *err)
{
	static const char *const own[] = {"usr",   "bin",    "sbin",	  "lib",     "lib32",
					  "lib64", "libx32", "etc",	  "dev",     "proc",
					  "sys",   "tmp",    "workspace", ".belljar"};
	char quoted[TEXT_PATH_SIZE];
	(void)text_quote(quoted, sizeof(quoted), path);
	if (path[0] != '/')
		return fail(err, BJ_INVALID, "--ro: %s is not an absolute path", quoted);
	const char *wrong = path[1] ? check_path(path) : "is the image's own";
	if (wrong)
		return fail(err, BJ_INVALID, "--ro: the path %s %s", quoted, wrong);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		size_t size = strlen(own[i]);
		if (strncmp(path + 1, own[i], size) == 0 &&
		    (path[1 + size] == '\0' || path[1 + size] == '/'))
			return fail(err, BJ_INVALID,
				    "--ro: %s lies beneath /%s, which belongs to the image", quoted,
				    own[i]);
	}
	return 0;
}

int bj_request_ro(struct bj_request *req, const char *host_path, const char *path,
		  struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	char quoted[TEXT_PATH_SIZE];
	if (check_ro_target(path, err) < 0)
		return -1;
	char *real = realpath(host_path, NULL);
	if (!real)
		return fail_errno(err, BJ_INVALID, "--ro %s",
				  text_quote(quoted, sizeof(quoted), host_path));
	struct image_bind *more = realloc(req->ro, (req->ro_count + 1) * sizeof(*more));
	if (!more) {
		free(real);
		return no_memory(err);
	}
	req->ro = more;
	more[req->ro_count].host = real;
	more[req->ro_count].path = strdup(path);
	req->ro_count++;
	return more[req->ro_count - 1].path ? 0 : no_memory(err);
}

int bj_request_env(struct bj_request *req, const char *assignment, struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	char quoted[TEXT_VALUE_SIZE];
	size_t name = strspn(assignment, ENV_NAME);
	if (name == 0 || !strchr(ENV_NAME_FIRST, assignment[0]) || assignment[name] != '=')
		return fail(err, BJ_INVALID,
			    "--env %s: give NAME=VALUE, with a name of letters, digits and _",
			    text_quote(quoted, sizeof(quoted), assignment));
	if (name > ENV_NAME_MAX)
		return fail(err, BJ_INVALID, "--env %s: the name is longer than %d bytes",
			    text_quote(quoted, sizeof(quoted), assignment), ENV_NAME_MAX);
	if (strlen(assignment) > STRING_MAX)
		return fail(err, BJ_INVALID, "--env %.*s: longer than %d bytes", (int)name,
			    assignment, STRING_MAX);
	return list_take(&req->env, strdup(assignment), err);
}

int bj_request_cwd(struct bj_request *req, const char *path, struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	char quoted[TEXT_PATH_SIZE];
	(void)text_quote(quoted, sizeof(quoted), path);
	if (path[0] != '/')
		return fail(err, BJ_INVALID, "--cwd %s: not an absolute path", quoted);
	const char *wrong = path[1] ? check_path(path) : NULL;
	if (wrong)
		return fail(err, BJ_INVALID, "--cwd %s: the path %s", quoted, wrong);
	return set_string(&req->cwd, path, err);
}

int bj_request_stdin(struct bj_request *req, int fd, struct bj_error *err)
{
	if (!req)
		return no_memory(err);
	if (fcntl(fd, F_GETFD) < 0)
		return fail_errno(err, BJ_INVALID, "standard input, descriptor %d", fd);
	req->stdin_fd = fd;
	return 0;
}

void bj_request_on_output(struct bj_request *req, bj_output_fn fn, void *user)
{
	if (!req)
		return;
	req->on_output = fn;
	req->on_output_user = user;
}
