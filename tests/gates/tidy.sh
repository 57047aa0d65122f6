#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the product's sources; the checks and why: .clang-tidy.
set -euo pipefail
tree=${BUILD:?}/gate-clang
[ -e "$tree/compile_commands.json" ] || "$(dirname "$0")/build.sh" clang
find src -name '*.c' -print0 |
	xargs -0 -P "$(nproc)" -n 4 clang-tidy --quiet --warnings-as-errors='*' -p "$tree"
