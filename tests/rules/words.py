#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Words that are in no file: marks of unfinished work, goto, paths of somebody's machine.

  words.py ROOT
"""
import re
import sys

import tree

# Spelled so that this file holds none of them.
WORDS = {
    r"\bTO" + r"DO\b": "finish it, or leave its place empty",
    r"\bFIX" + r"ME\b": "finish it, or leave its place empty",
    r"(?:[/*#;]\s*X" + r"XX\b|\bX" + r"XX:)": "finish it, or leave its place empty",
    r"/wo" + r"rk/": "a path of one machine",
    r"\bshared/(?:[a-z]+\.md|data)": "a path of one machine",
    r"/home/" + r"(?!user\b|program\b|alice\b|USER\b|you\b)[a-z]+/": "a path of one user",
    r"\b(?:design|models|facts|peers|snapshot)\.m" + r"d\b": "no file of this tree",
}
C_WORDS = {
    r"\bgo" + r"to\b": "attributes clean up",
    r"\btypedef (?:struct|union|enum)\b": "a struct is named as one",
}
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def offences(path, text):
    c = path.endswith((".c", ".h"))
    for words, body in ((WORDS, text), (C_WORDS if c else {}, COMMENT.sub(blank, text) if c else "")):
        for word, why in words.items():
            for match in re.finditer(word, body):
                line = body.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: \"{match.group()}\": {why}"


def self_test():
    good = "int a; /* go" "to */ char b[] = \"typedef struct\"; mkdtemp(\"/tmp/a-XXXXXX\");\n"
    bad = ["/* TO" "DO */", "go" "to end;", "typedef struct x y;", "\"/wo" "rk/main\"", "see design.m" "d"]
    said = list(offences("a.c", good))
    missed = [b for b in bad if len(list(offences("a.c", b))) != 1]
    if said or missed:
        print(f"self-test: said {said}, missed {missed}", file=sys.stderr)
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root, failed = sys.argv[1], 0
    for path in tree.walk(root):
        for line in offences(path, tree.read(root, path) or ""):
            print(line, file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
