#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the product's sources; the checks and why: .clang-tidy.
set -euo pipefail
here=$(dirname "$0")
tree=${BUILD:?}/gate-clang
[ -e "$tree/compile_commands.json" ] || "$here/build.sh" clang

# error.c defines what tidy.h wraps.
clang-tidy --quiet -p "$tree" src/base/error.c >"$tree/tidy.out" 2>"$tree/tidy.err" || true
find src -name '*.c' ! -path src/base/error.c -print0 |
	xargs -0 -P "$(nproc)" -n 4 clang-tidy --quiet -p "$tree" \
		--extra-arg="-I$PWD/src" --extra-arg="-I$PWD/include" \
		--extra-arg-before="-include$PWD/$here/tidy.h" >>"$tree/tidy.out" 2>>"$tree/tidy.err" || true

exec /usr/bin/python3 -B "$here/known.py" "$tree/tidy.out" "$here/tidy-known"
