#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gcc -fanalyzer over the product's sources, with the flags they are compiled with. Its search for
# leaks is left to ASan and valgrind: it loses track of whatever is kept in an array.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=${BUILD:?}/gate-gcc
out=$tree/analyzer.out
[ -e "$tree/compile_commands.json" ] || "$here/build.sh" gcc

gcc -std=gnu17 -O2 -fanalyzer -c -o /dev/null "$here/control.c" 2>"$out"
grep -q 'Wanalyzer-' "$out" ||
	{ echo 'analyzer: gcc does not find the fault in control.c' >&2; exit 1; }

# A source that does not compile ends this with a failure.
/usr/bin/python3 -B "$here/analyzer_commands.py" "$tree" |
	xargs -0 -P "$(nproc)" -n 1 bash -c >"$out" 2>&1 || { grep 'error: ' "$out"; exit 1; }
exec /usr/bin/python3 -B "$here/known.py" "$out" "$here/analyzer-known"
