#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One licence line in every source file, among its first three lines, and no other.

  spdx.py ROOT
"""
import os
import sys

import tree

MARK = "SPDX-License-" + "Identifier:"
LINE = MARK + " Apache-2.0"
SOURCES = (".c", ".h", ".def", ".py", ".sh", ".build", ".js", ".ts", "Makefile",
           "meson_options.txt")


def is_source(root, path):
    if path.endswith(SOURCES):
        return True
    if "." in os.path.basename(path) or path.startswith("examples/"):
        return False
    with open(os.path.join(root, path), "rb") as f:
        return f.read(2) == b"#!"


def main():
    root, failed, seen = sys.argv[1], 0, 0
    for path in tree.walk(root):
        if not is_source(root, path):
            continue
        text = tree.read(root, path)
        if not text:  # an empty meson.build is a place kept
            continue
        seen += 1
        lines = text.splitlines()
        if not any(LINE in line for line in lines[:3]) or text.count(MARK) != 1:
            print(f"{path}: needs one line \"{LINE}\" at its top", file=sys.stderr)
            failed = 1
    if seen < 50:
        print(f"spdx: only {seen} source files below {root}", file=sys.stderr)
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
