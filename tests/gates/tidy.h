/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read before each source by the tidy gate alone. clang's analyzer sees one file at a time: without
 * this it assumes that fail(), which always returns -1, may return 0.
 */
#include "base/error.h"

#define fail(...)	(fail(__VA_ARGS__), -1)
#define fail_errno(...) (fail_errno(__VA_ARGS__), -1)
#define fail_from(...)	(fail_from(__VA_ARGS__), -1)
#define fail_layer(...) (fail_layer(__VA_ARGS__), -1)
#define fail_hint(...)	(fail_hint(__VA_ARGS__), -1)
