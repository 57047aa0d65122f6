/* SPDX-License-Identifier: Apache-2.0 */
/* The comparisons of the receipt: what is in force as planned passes, one difference does not. */
#include "layers/hooks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef int (*verify_fn)(struct launch *, const struct posture *, struct fault *);

static struct launch launch;
static struct posture posture;

static void as_planned(void)
{
	memset(&posture, 0, sizeof(posture));
	launch.program = 77;
	posture.fds = 7;
	posture.fds_are_pipes = true;
	posture.no_new_privs = 1;
	posture.session = 77;
	posture.umask = 022;
	posture.ns_pid = 2;
	posture.threads = 1;
	posture.ns[NS_PID] = 5;
	posture.ns_host[NS_PID] = 4;
}

static void passes(verify_fn verify)
{
	struct fault fault = {0};
	assert_int_equal(verify(&launch, &posture, &fault), 0);
	assert_int_equal(fault.code, BJ_OK);
}

static void refuses(verify_fn verify, enum layer_id layer)
{
	struct fault fault = {0};
	assert_int_equal(verify(&launch, &posture, &fault), -1);
	assert_int_equal(fault.layer, layer);
	assert_int_equal(fault.os, EBADMSG);
	as_planned();
}

static void one_difference_is_refused(void **state)
{
	(void)state;
	as_planned();
	passes(fds_verify);
	passes(nnp_verify);
	passes(terminal_verify);
	passes(pid_verify);
	const uint64_t fds[] = {0, 3, 6, 15, 7 | UINT64_C(1) << 63};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		posture.fds = fds[i];
		refuses(fds_verify, LAYER_FDS);
	}
	posture.fds_are_pipes = false;
	refuses(fds_verify, LAYER_FDS);
	posture.no_new_privs = 0;
	refuses(nnp_verify, LAYER_NNP);
	posture.session = 1;
	refuses(terminal_verify, LAYER_TERMINAL);
	posture.tty = 34816;
	refuses(terminal_verify, LAYER_TERMINAL);
	posture.sig_ignored = 1;
	refuses(terminal_verify, LAYER_TERMINAL);
	posture.umask = 0;
	refuses(terminal_verify, LAYER_TERMINAL);
	posture.ns_pid = 1;
	refuses(pid_verify, LAYER_PID);
	posture.ns[NS_PID] = posture.ns_host[NS_PID];
	refuses(pid_verify, LAYER_PID);
	for (int set = 0; set < CAP_SET_COUNT; set++) {
		posture.caps[set] = 1;
		refuses(caps_verify, LAYER_CAPS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_difference_is_refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
