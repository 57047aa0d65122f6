#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""known.py OUTPUT LIST: the findings in an analyser's output that LIST does not explain. A line of LIST
is FILE CHECK REASON; one that explains nothing any more is named, so that the list shrinks."""

import re
import sys
from pathlib import Path


def findings(text):
    for line in sorted(set(text.splitlines())):
        found = re.match(r"(\S+?):\d+:\d+: (?:warning|error): .*\[(?:-W)?([^,\]=]+)[^\]]*\]$", line)
        if found:
            # As the compiler was given it: from the build tree, or absolute.
            yield found[1][found[1].rfind("/src/") + 1:], found[2], line
        elif re.match(r"\S+?:\d+:\d+: (?:fatal )?error: ", line):
            yield line, "error", line


def main():
    output, listed = Path(sys.argv[1]), Path(sys.argv[2])
    known = {tuple(line.split()[:2]) for line in listed.read_text().splitlines()
             if line and not line.startswith("#")}
    seen, bad = set(), 0
    for path, check, line in findings(output.read_text(errors="replace")):
        if (path, check) in known:
            seen.add((path, check))
        else:
            print(line)
            bad += 1
    for path, check in sorted(known - seen):
        print(f"{listed.name}: {path} {check}: no longer found; take the line out")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
