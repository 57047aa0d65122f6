#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of about 60 lines and files of about 500; longer ones are listed here, with the reason,
and none is longer than 100 and 800. The list may only shrink: a line that is not needed, or allows
more than its file has, is an error too. Tables (.def) and generated files are exempt.

  sizes.py ROOT
  sizes.py --list ROOT      what is over the first limit, to be split or entered below
"""
import sys

import tree

FUNCTION, FUNCTION_HARD = 65, 100
FILE, FILE_HARD = 530, 800
SLACK = 60  # an exception need not follow every line

# "path" or "path:function": (lines, why it is one piece)
EXCEPTIONS = {
    "tests/inside/load.c": (560, "one verb after another, each a short function"),
    "tests/unit/test_policy.c": (800, "one short test after another"),
    "tests/unit/test_result.c": (700, "one short test after another"),
}


def functions(text):
    """(name, lines) of each C function: its body is between braces in the first column."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            if line == "}":
                yield name_before(lines, start), number - start + 1
            start = None


def name_before(lines, start):
    # The signature: what is above the brace, up to a blank line, a comment's end or a "}".
    signature = ""
    for line in reversed(lines[:start]):
        if not line.strip() or line.endswith(("*/", "}", ";")) or line.startswith("#"):
            break
        signature = line + " " + signature
    before = signature.split("(")
    words = [b.split()[-1].strip("*") for b in before[:-1] if b.split()]
    names = [w for w in words if w.isidentifier() and w not in ("__attribute__",)]
    return names[0] if names else "?"


def measure(root):
    for path in tree.walk(root, (".c", ".h", ".py", ".sh")):
        text = tree.read(root, path) or ""
        yield path, text.count("\n"), FILE, FILE_HARD
        if path.endswith((".c", ".h")):
            for name, lines in functions(text):
                yield f"{path}:{name}", lines, FUNCTION, FUNCTION_HARD


def check(root):
    seen = set()
    for what, lines, soft, hard in measure(root):
        allowed = EXCEPTIONS.get(what, (soft, ""))[0]
        if what in EXCEPTIONS:
            seen.add(what)
            if allowed <= soft or lines <= soft:
                yield f"sizes.py: {what} has {lines} lines and needs no exception"
            elif lines <= allowed - SLACK:
                yield f"sizes.py: {what} has {lines} lines now; lower its exception"
        if lines > hard:
            yield f"{what}: {lines} lines, at most {hard}"
        elif lines > allowed:
            yield f"{what}: {lines} lines, at most {allowed}"
    for what in EXCEPTIONS:
        if what not in seen:
            yield f"sizes.py: there is no {what}"


def self_test():
    text = ("struct a {\n\tint b;\n};\n\n/* c */\nCHILD_CODE static int\nlong_one(int a,\n\t int b)\n{\n"
            + "\tx();\n" * 98 + "}\n\n__attribute__((noinline)) void short_one(void)\n{\n}\n")
    found = list(functions(text))
    if found != [("long_one", 100), ("short_one", 2)]:
        print("self-test:", found, file=sys.stderr)
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1] == "--list":
        for what, lines, soft, _ in measure(sys.argv[2]):
            if lines > soft:
                print(f'    "{what}": ({lines}, ""),')
        return 0
    said = list(check(sys.argv[1]))
    for line in said:
        print(line, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
