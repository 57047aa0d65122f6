#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the product's sources; the checks and why: .clang-tidy.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=${BUILD:?}/gate-clang
out=$tree/tidy.out
[ -e "$tree/compile_commands.json" ] || "$here/build.sh" clang

clang-tidy --quiet "$here/control.c" -- -std=gnu17 >"$out" 2>/dev/null
grep -q 'clang-analyzer-core.NullDereference' "$out" ||
	{ echo 'tidy: clang-tidy does not find the fault in control.c' >&2; exit 1; }

# One source each: of several in one process clang 14 believes other things, by their order.
# error.c defines what tidy.h wraps. A source that does not compile ends this with a failure.
clang-tidy --quiet -p "$tree" src/base/error.c >"$out" 2>"$tree/tidy.err"
find src -name '*.c' ! -path src/base/error.c -print0 |
	xargs -0 -P "$(nproc)" -n 1 clang-tidy --quiet -p "$tree" \
		--extra-arg="-I$PWD/src" --extra-arg="-I$PWD/include" \
		--extra-arg-before="-include$here/tidy.h" >>"$out" 2>>"$tree/tidy.err" ||
	{ grep -h 'error: ' "$out" "$tree/tidy.err"; exit 1; }
exec /usr/bin/python3 -B "$here/known.py" "$out" "$here/tidy-known"
