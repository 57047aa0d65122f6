#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""analyzer_commands.py TREE: for each of the product's sources the command that analyses it, each ended
by a NUL."""

import json
import shlex
import sys
from pathlib import Path

tree = Path(sys.argv[1])
seen = set()
for entry in json.loads((tree / "compile_commands.json").read_text()):
    source = (tree / entry["file"]).resolve()
    if ("src" not in source.parts or "subprojects" in source.parts or source in seen or
            tree in source.parents):
        continue
    seen.add(source)
    words, kept = iter(shlex.split(entry["command"])), []
    for word in words:
        if word in ("-o", "-MF", "-MQ", "-MT"):
            next(words)
        elif word not in ("-MD", "-Werror", "-fdiagnostics-color=always"):
            kept.append(word)
    kept += ["-o", "/dev/null", "-fanalyzer", "-Wno-analyzer-malloc-leak"]
    print(f"cd {shlex.quote(str(tree))} && {shlex.join(kept)}", end="\0")
assert len(seen) > 50, f"only {len(seen)} sources found"
print(f"analyzer: {len(seen)} files", file=sys.stderr)
