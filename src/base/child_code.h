/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that may run between clone and exec. It lives in a section of its own, so that
 * tests/rules/child_calls.py can list what it calls in the object files: only other child code and
 * async-signal-safe functions. It allocates nothing, so it has nothing to clean up: on failure the
 * process exits.
 */
#ifndef BASE_CHILD_CODE_H
#define BASE_CHILD_CODE_H

#define CHILD_CODE __attribute__((section(".text.child")))

#endif
