#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gcc -fanalyzer over the product's sources, with the flags they are compiled with. Its search for
# leaks is left to ASan and valgrind: it loses track of whatever is kept in an array.
set -euo pipefail
here=$(dirname "$0")
tree=${BUILD:?}/gate-gcc
[ -e "$tree/compile_commands.json" ] || "$here/build.sh" gcc

/usr/bin/python3 - "$tree" <<'PYTHON' | xargs -0 -P "$(nproc)" -n 1 bash -c >"$tree/analyzer.out" 2>&1
import json, re, sys
from pathlib import Path
tree = Path(sys.argv[1])
seen = set()
for entry in json.loads((tree / "compile_commands.json").read_text()):
    source = (tree / entry["file"]).resolve()
    if "/src/" not in str(source) or source in seen:
        continue
    seen.add(source)
    command = re.sub(r" -o \S+", " -o /dev/null", entry["command"])
    command = re.sub(r" -M[DQF] \S+| -MD| -Werror", "", command)
    print(f"cd '{tree}' && {command} -fanalyzer -Wno-analyzer-malloc-leak || true", end="\0")
assert seen, "no source found"
print(f"analyzer: {len(seen)} files", file=sys.stderr)
PYTHON
exec /usr/bin/python3 -B "$here/known.py" "$tree/analyzer.out" "$here/analyzer-known"
