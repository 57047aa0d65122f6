/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy file says, and the parts of the policy that its decoder shares. Internal to
 * src/policy and its tests; everybody else uses policy.h.
 */
#ifndef POLICY_POLICY_FILE_H
#define POLICY_POLICY_FILE_H

#include "policy/policy.h"

#define POLICY_FILE_MAX	    (1 << 20)
#define POLICY_PROFILES_MAX 64
#define POLICY_LIST_MAX	    64
#define POLICY_PATH_MAX	    4096
#define PROFILE_NAME_MAX    32
#define OPERATOR_FILE	    BELLJAR_SYSCONFDIR "/policy.json"

/* Some of the fields. */
struct overlay {
	char *name; /* of the profile; NULL for the values at the top of the file */
	bool has[FIELD_COUNT];
	uint64_t number[FIELD_COUNT];
	char **list[FIELD_COUNT];
};

/* Never changed once it is made, so that copies of a policy share it. */
struct policy_file {
	unsigned references;
	char *path;
	struct overlay top;
	struct overlay *profiles;
	size_t profile_count;
};

enum policy_file_kind { FILE_OF_USER, FILE_OF_OPERATOR };

/* `path` is for messages. Follows the rules at the top of policy_json.c. */
int policy_file_decode(const char *text, size_t size, const char *path, enum policy_file_kind kind,
		       struct policy_file **ret, struct bj_error *err);

/* `optional`: a file that is not there is no error, and *ret becomes NULL. */
int policy_file_read(const char *path, enum policy_file_kind kind, bool optional,
		     struct policy_file **ret, struct bj_error *err);

struct policy_file *policy_file_share(struct policy_file *file); /* NULL is allowed */
void policy_file_drop(struct policy_file *file);		 /* NULL is allowed */
const struct overlay *policy_file_profile(const struct policy_file *file, const char *name);

static inline void cleanup_policy_file(struct policy_file **file)
{
	policy_file_drop(*file);
}
#define auto_policy_file __attribute__((cleanup(cleanup_policy_file)))

/* policy_load(), policy_profile() and ceiling_load() with the operator's file named. */
int policy_load_file(struct policy *policy, struct policy_file *file, struct bj_error *err);
int policy_profile_beside(struct policy *policy, const char *name, const char *operator_path,
			  struct bj_error *err);
int ceiling_load_from(struct policy *ret_ceiling, const char *operator_path, struct bj_error *err);

/* Sets what the overlay has, where nothing of a higher origin stands. */
int policy_lay(struct policy *policy, const struct overlay *overlay, enum policy_origin origin,
	       const char *origin_name, struct bj_error *err);

/* Whether `text` is a value of the field: its form, then its range. `where` opens the message. */
int field_parse(enum field_id id, const char *text, const char *where, uint64_t *ret,
		struct bj_error *err);

/* "the range is 8m to 1024t" */
const char *field_range(enum field_id id, char *out, size_t size);

/* The layer of that name, if a policy file may accept its absence; else LAYER_COUNT. */
enum layer_id acceptable_layer(const char *name);

/* The layer of those, or the key of a file, that was probably meant; NULL when nothing is near. */
const char *acceptable_meant(const char *name);
const char *field_meant(const char *key, bool at_top);

/* Absolute, without empty, "." or ".." components and without "/" at its end. */
bool path_is_canonical(const char *path);

char **list_copy(char *const *list); /* NULL when out of memory, and for NULL */
void list_free(char **list);

#endif
