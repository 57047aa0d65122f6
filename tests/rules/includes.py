#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Dependencies go one way: which folder of src/ may include headers of which.

  includes.py ROOT
  includes.py --self-test
"""
import os
import re
import sys
import tempfile

import tree

# A folder may include its own headers and those of these. A new folder needs a line here.
MAY_USE = {
    "base": "",
    "policy": "base",
    "layers": "base policy",
    "files": "base",
    "drivers": "base",
    "run": "base policy layers files",
    "api": "base policy layers files run",
    "cli": "base policy layers files run api",
}

# What is included against the table: file or folder, header, why.
EXCEPTIONS = {
    ("src/policy/", "layers/layer.h"): "enum layer_id: a field names the layer that it is about",
    ("src/files/copy_in.c", "layers/step.h"): "copying in is a step of set-up, run by init",
}

GENERATED = {"config.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)


def check(root):
    used = set()
    for path in tree.walk(os.path.join(root, "src"), (".c", ".h", ".def")):
        path = "src/" + path
        folder = path.split("/")[1]
        if folder not in MAY_USE:
            yield f"{path}: folder {folder} has no line in includes.py"
            continue
        for quoted, angled in INCLUDE.findall(tree.read(root, path) or ""):
            header = quoted or angled
            if angled:
                if re.match(r"(lab|tests|src|base|policy|layers|files|drivers|run|api|cli)/", header):
                    yield f"{path}: <{header}>: own headers are included with quotes"
                continue
            if header in GENERATED:
                continue
            if "/" not in header:
                if not os.path.exists(os.path.join(root, os.path.dirname(path), header)):
                    yield f'{path}: "{header}" is not beside it'
                continue
            target = header.split("/")[0]
            if target == folder or target in MAY_USE[folder].split():
                continue
            match = [e for e in EXCEPTIONS if path.startswith(e[0]) and header == e[1]]
            used.update(match)
            if not match:
                yield f'{path}: {folder} may not include "{header}"'
    for entry in EXCEPTIONS:
        if entry not in used:
            yield f"includes.py: exception {entry} is not needed"


def self_test():
    planted = {
        "src/base/a.c": ('#include "base/a.h"\n#include "policy/policy.h"\n',
                         'base may not include "policy/policy.h"'),
        "src/files/b.c": ('#include "run/report.h"\n', 'files may not include "run/report.h"'),
        "src/files/copy_in.c": ('#include "layers/step.h"\n', None),
        "src/files/c.c": ('#include "layers/step.h"\n', 'files may not include "layers/step.h"'),
        "src/policy/d.c": ('#include "layers/layer.h"\n#include "layers/plan.h"\n',
                           'policy may not include "layers/plan.h"'),
        "src/run/e.c": ('#  include "../../lab/x.h"\n', 'run may not include "../../lab/x.h"'),
        "src/cli/f.c": ('#include "api/x.h"\n#include "config.h"\n#include <jansson.h>\n', None),
        "src/cli/g.c": ('#include <lab/x.h>\n', "<lab/x.h>"),
        "src/new/h.c": ("", "folder new has no line"),
    }
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in planted.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="ascii") as f:
                f.write(text)
        said = list(check(root))
    bad = [f"{path}: expected {expected}" for path, (_, expected) in planted.items()
           if (expected is None and any(s.startswith(path) for s in said))
           or (expected and not any(s.startswith(path) and expected in s for s in said))]
    if len(said) != sum(e is not None for _, e in planted.values()):
        bad.append(f"said {said}")
    for line in bad:
        print("self-test:", line, file=sys.stderr)
    return 1 if bad else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    said = list(check(sys.argv[1]))
    for line in said:
        print(line, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
