/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar doctor`: judges what was tried, and prints it. */
#include "cli/doctor.h"

#include "base/cleanup.h"
#include "cli/doctor_deep.h"
#include "cli/say.h"

#include <string.h>

/* ---- Judging ----------------------------------------------------------------------------------
 */

static bool has_failed(const struct doctor *doctor, enum layer_id layer)
{
	for (size_t i = 0; i < doctor->trial_count; i++)
		if (doctor->trials[i].layer == layer && !doctor->trials[i].ok)
			return true;
	return false;
}

/* A wall is shown by what is denied and what is not; the receipt alone is the launcher's word. */
static bool was_tried(const struct doctor *doctor, enum layer_id layer)
{
	bool denied = false, works = false;
	for (size_t i = 0; i < doctor->trial_count; i++) {
		if (doctor->trials[i].layer != layer)
			continue;
		denied |= doctor->trials[i].denied;
		works |= !doctor->trials[i].denied;
	}
	return denied && works;
}

static enum diagnosis judge(const struct doctor *doctor, enum layer_id layer)
{
	if (doctor->fault[layer].code != BJ_OK || has_failed(doctor, layer) ||
	    layer_by_name(doctor->error.layer) == layer)
		return DIAGNOSIS_FAILED;
	if (doctor->error.code != BJ_OK)
		return DIAGNOSIS_UNKNOWN;
	if (layer == LAYER_MONITOR && !doctor->receipt[layer])
		return DIAGNOSIS_NONE; /* there is a cgroup */
	if (!doctor->receipt[layer])
		return DIAGNOSIS_FAILED;
	if (doctor->layer[layer] == DIAGNOSIS_PROVEN && !was_tried(doctor, layer))
		return DIAGNOSIS_FAILED;
	return doctor->layer[layer];
}

static bool judge_all(struct doctor *doctor)
{
	bool proven =
		doctor->error.code == BJ_OK && (!doctor->deep || doctor->deep->error.code == BJ_OK);
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		doctor->layer[i] = judge(doctor, (enum layer_id)i);
		proven &=
			doctor->layer[i] == DIAGNOSIS_PROVEN || doctor->layer[i] == DIAGNOSIS_NONE;
	}
	return proven;
}

static const char *const diagnosis_names[] = {
	[DIAGNOSIS_NONE] = "not_needed",
	[DIAGNOSIS_PROVEN] = "proven",
	[DIAGNOSIS_ACCEPTED_MISSING] = "accepted_missing",
	[DIAGNOSIS_FAILED] = "failed",
	[DIAGNOSIS_UNKNOWN] = "unknown",
};
_Static_assert(ARRAY_SIZE(diagnosis_names) == DIAGNOSIS_COUNT, "a name for each diagnosis");

/* ---- For people --------------------------------------------------------------------------------
 */

static const char *mark(enum diagnosis diagnosis)
{
	static const char *const plain[] = {"-", "ok", "--", "NO", "?"};
	static const char *const fancy[] = {"·", "✔", "–", "✘", "?"};
	return say_unicode() ? fancy[diagnosis] : plain[diagnosis];
}

static void append(char *text, size_t size, const char *between, const struct trial *trial)
{
	size_t used = strlen(text);
	(void)snprintf(text + used, size - used, "%s%s%s%s%s", between, trial->text,
		       trial->got[0] ? " (" : "", trial->got, trial->got[0] ? ")" : "");
}

/* "denied: this (EPERM), that (hidden). works: the other." */
static void describe(const struct doctor *doctor, enum layer_id layer, char *text, size_t size)
{
	text[0] = '\0';
	for (int pass = 0; pass < 3; pass++) {
		static const char *const titles[] = {"FAILED: ", "denied: ", "works: "};
		bool first = true;
		for (size_t i = 0; i < doctor->trial_count; i++) {
			const struct trial *trial = &doctor->trials[i];
			int kind = !trial->ok ? 0 : trial->denied ? 1 : 2;
			if (trial->layer != layer || kind != pass)
				continue;
			if (first && text[0])
				(void)strncat(text, ". ", size - strlen(text) - 1);
			append(text, size, first ? titles[pass] : ", ", trial);
			first = false;
		}
	}
	size_t used = strlen(text);
	if (doctor->note[layer][0])
		(void)snprintf(text + used, size - used, "%s%s", used ? ". " : "",
			       doctor->note[layer]);
	if (!text[0])
		(void)snprintf(text, size, "%s",
			       doctor->layer[layer] == DIAGNOSIS_NONE ? "stands in for cgroup; not "
									"needed here"
			       : doctor->fault[layer].code != BJ_OK   ? doctor->fault[layer].message
								      : "not tried");
}

static void print_mends(const struct doctor *doctor, enum layer_id layer)
{
	(void)printf("\n%s%s%s is not proven\n", colour_on(stdout, BOLD), layers[layer].name,
		     colour_off(stdout));
	const struct bj_error *fault = &doctor->fault[layer];
	if (fault->code == BJ_OK && layer_by_name(doctor->error.layer) == layer)
		fault = &doctor->error;
	if (fault->code != BJ_OK) {
		(void)printf("  ");
		say_wrapped(stdout, fault->message, 2, 2);
		(void)printf("  here: ");
		say_wrapped(stdout, fault->hint, 8, 4);
	}
	const struct doctor_mend *mend;
	for (size_t i = 0; (mend = doctor_mend(layer, i)) != NULL; i++) {
		(void)printf("  %s: ", mend->where);
		say_wrapped(stdout, mend->text, strlen(mend->where) + 4, 4);
	}
}

static void print_host(void)
{
	struct host_line lines[HOST_LINES_MAX];
	size_t count = doctor_host(lines);
	const char *cells[HOST_LINES_MAX * 2];
	for (size_t i = 0; i < count; i++) {
		cells[i * 2] = lines[i].name;
		cells[i * 2 + 1] = lines[i].text;
	}
	say_table(stdout, cells, count, 2, false);
}

static void print_warnings(void)
{
	struct doctor_warning warnings[WARNINGS_MAX];
	size_t count = doctor_warnings(warnings);
	for (size_t i = 0; i < count; i++) {
		(void)printf("\n%swarning%s: ", colour_on(stdout, BOLD), colour_off(stdout));
		say_wrapped(stdout, warnings[i].text, 9, 2);
		(void)printf("  what to do: ");
		say_wrapped(stdout, warnings[i].mend, 14, 4);
	}
}

static int print_text(const struct doctor *doctor, bool proven)
{
	static char texts[LAYER_COUNT][1024];
	const char *cells[LAYER_COUNT * 3];
	print_host();
	(void)putchar('\n');
	if (doctor->error.code != BJ_OK) {
		(void)printf("No sandbox can be made here: ");
		say_wrapped(stdout, doctor->error.message, 29, 2);
		if (doctor->error.hint[0]) {
			(void)printf("  ");
			say_wrapped(stdout, doctor->error.hint, 2, 2);
		}
		(void)printf("What this kernel and this place give by themselves:\n\n");
	}
	for (size_t i = 0; i < LAYER_COUNT; i++) {
		describe(doctor, (enum layer_id)i, texts[i], sizeof(texts[i]));
		cells[i * 3] = mark(doctor->layer[i]);
		cells[i * 3 + 1] = layers[i].name;
		cells[i * 3 + 2] = texts[i];
	}
	say_table(stdout, cells, LAYER_COUNT, 3, false);
	for (size_t i = 0; i < LAYER_COUNT; i++)
		if (doctor->layer[i] == DIAGNOSIS_FAILED ||
		    doctor->layer[i] == DIAGNOSIS_ACCEPTED_MISSING)
			print_mends(doctor, (enum layer_id)i);
	if (doctor->deep)
		deep_print(doctor->deep, doctor->without);
	print_warnings();
	(void)printf("\n%s\n", proven ? "Every layer is proven." : "Not every layer is proven.");
	return say_flush(proven ? STATUS_OK : STATUS_NO);
}

/* ---- For programs -------------------------------------------------------------------------------
 */

static json_t *layer_json(const struct doctor *doctor, enum layer_id layer)
{
	json_t *checks = json_array();
	for (size_t i = 0; i < doctor->trial_count; i++) {
		const struct trial *trial = &doctor->trials[i];
		if (trial->layer != layer)
			continue;
		(void)json_array_append_new(checks,
					    json_pack("{s:s, s:s, s:b, s:s}", "check", trial->text,
						      "expect", trial->denied ? "denied" : "works",
						      "ok", trial->ok, "got", trial->got));
	}
	json_t *mends = json_array();
	const struct doctor_mend *mend;
	bool bad = doctor->layer[layer] == DIAGNOSIS_FAILED ||
		   doctor->layer[layer] == DIAGNOSIS_ACCEPTED_MISSING;
	for (size_t i = 0; bad && (mend = doctor_mend(layer, i)) != NULL; i++)
		(void)json_array_append_new(
			mends, json_pack("{s:s, s:s}", "where", mend->where, "do", mend->text));
	const struct bj_error *fault = &doctor->fault[layer];
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "name", layers[layer].name, "state",
			 diagnosis_names[doctor->layer[layer]], "by", doctor->by[layer], "note",
			 doctor->note[layer], "checks", checks, "mend", mends, "error",
			 fault->code == BJ_OK ? json_null() : error_json(fault));
}

static json_t *warnings_json(void)
{
	struct doctor_warning warnings[WARNINGS_MAX];
	size_t count = doctor_warnings(warnings);
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(list, json_pack("{s:s, s:s}", "text", warnings[i].text,
							    "do", warnings[i].mend));
	return list;
}

static int print_json(const struct doctor *doctor, bool proven)
{
	struct host_line lines[HOST_LINES_MAX];
	size_t count = doctor_host(lines);
	json_t *host = json_object();
	for (size_t i = 0; i < count; i++)
		(void)json_object_set_new(host, lines[i].name, json_string(lines[i].text));
	json_t *list = json_array();
	for (size_t i = 0; i < LAYER_COUNT; i++)
		(void)json_array_append_new(list, layer_json(doctor, (enum layer_id)i));
	int status = say_json(
		json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "schema", "belljar.doctor/1",
			  "proven", proven, "error",
			  doctor->error.code == BJ_OK ? json_null() : error_json(&doctor->error),
			  "host", host, "warnings", warnings_json(), "layers", list, "deep",
			  doctor->deep ? deep_json(doctor->deep, doctor->without) : json_null()));
	return status == STATUS_OK && !proven ? STATUS_NO : status;
}

int doctor_verb(const struct invocation *invocation)
{
	struct bj_error err = {0};
	struct doctor *doctor = calloc(1, sizeof(*doctor));
	bool deep = option_given(invocation, OPT_DEEP);
	if (doctor && deep)
		doctor->deep = calloc(1, sizeof(*doctor->deep));
	if (!doctor || (deep && !doctor->deep)) {
		free(doctor);
		(void)fail(&err, BJ_INTERNAL, "out of memory");
		return say_refused(invocation, &err);
	}
	doctor_try(doctor);
	bool proven = judge_all(doctor);
	int status = invocation->json ? print_json(doctor, proven) : print_text(doctor, proven);
	free(doctor->deep);
	free(doctor);
	return status;
}
