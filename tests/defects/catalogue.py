# SPDX-License-Identifier: Apache-2.0
"""The catalogue of defects: *.toml beside this file, one for each area.

    count = 2                      # how many the file has; one that vanishes is a failure

    [[defect]]
    id = "m20"                     # m…: of a list of what went wrong elsewhere; f…: of our own fear
    what = "what is wrong with it, in a line"
    file = "src/layers/fds.c"
    old = '''text that is in the file once'''
    new = '''text in its place'''
    red = "live test_host.py::test_only_the_planned_descriptors_are_open"

`edit = [{file, old, new}, …]` takes the place of file, old and new where there are several. `red` is
the test that must go red: "unit NAME" or "unit NAME: CASE", "sim NAME", "rules NAME",
"live FILE::TEST", "seams FILE::TEST" or "defects FILE::TEST", with [PARAMETER] or for all of them.
A test that lists the steps of set-up by number is named with stars: [*open the pipe*].
`equivalent` says in a line why no test can see it; then none may: of the fast suite, nor `near`.

`on = "v1"` (or "v2"): only where cgroups are of that version is that code run; elsewhere it is left out.

`hides = "ID"` is a defect of the suite itself: with it, the other defect is planted too, and its
test must stay green. So the gate, which fails on a miss, fails for what was done to the suite.
"""

import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
AT_LEAST = 120  # fewer is not this catalogue
KEYS = {"id", "what", "file", "old", "new", "edit", "red", "equivalent", "near", "hides", "on"}
FOLDERS = {"live": "tests/live", "seams": "tests/seams", "defects": "tests/defects"}
SUITES = ("unit", "sim", "rules")


class Bad(Exception):
    """The catalogue is wrong."""


class Defect:
    def __init__(self, row, place):
        self.id = row.get("id", "?")
        if set(row) - KEYS or not {"id", "what"} <= set(row):
            raise Bad(f"{place}: {self.id}: {sorted(set(row) - KEYS) or 'id and what'}")
        self.what, self.red = row["what"], row.get("red")
        self.equivalent, self.hides = row.get("equivalent"), row.get("hides")
        self.near, self.on = row.get("near"), row.get("on")
        self.edits = row.get("edit") or [{key: row.get(key) for key in ("file", "old", "new")}]
        if sum(map(bool, (self.red, self.equivalent, self.hides))) != 1:
            raise Bad(f"{place}: {self.id}: one of red, equivalent and hides says what is to come")
        if self.on not in (None, "v1", "v2"):
            raise Bad(f"{place}: {self.id}: on which version of cgroups?")
        if self.near and not self.equivalent:
            raise Bad(f"{place}: {self.id}: near is for what is equivalent")
        for edit in self.edits:
            if set(edit) != {"file", "old", "new"} or None in edit.values() or not edit["old"] \
                    or edit["old"] == edit["new"]:
                raise Bad(f"{place}: {self.id}: file, old and new, which differ, are an edit")
        for test in filter(None, (self.red, self.near)):
            suite, _, name = test.partition(" ")
            if not name or suite not in (*SUITES, *FOLDERS):
                raise Bad(f"{place}: {self.id}: no such test: {test}")

    def misplaced(self, root):
        """Why it does not apply to the tree, or None. Edits of one file must not overlap."""
        texts = {}
        for edit in self.edits:
            path = root / edit["file"]
            if not path.is_file():
                return f"{edit['file']} is not there"
            text = texts.setdefault(path, path.read_text())
            if text.count(edit["old"]) != 1:
                return f"its text is in {edit['file']} {text.count(edit['old'])} times, not once"
            texts[path] = text.replace(edit["old"], edit["new"])
        return None


def read(folder):
    """All defects, by area and as they stand."""
    defects = []
    for path in sorted(Path(folder).glob("*.toml")):
        with path.open("rb") as file:
            table = tomllib.load(file)
        rows = [Defect(row, path.name) for row in table.get("defect", [])]
        if table.get("count") != len(rows) or set(table) - {"count", "defect"}:
            raise Bad(f"{path.name}: has {len(rows)} defects and says count = {table.get('count')}")
        defects += rows
    by_id, by_edits = {}, {}
    for defect in defects:
        if defect.id in by_id:
            raise Bad(f"{defect.id} is there twice")
        by_id[defect.id] = defect
        # Of two rows of one edit at most one is right.
        edits = frozenset((edit["file"], edit["old"].strip(), edit["new"].strip())
                          for edit in defect.edits)
        if by_edits.setdefault((edits, defect.on), defect) is not defect:
            raise Bad(f"{defect.id} is the same as {by_edits[edits, defect.on].id}")
    for defect in defects:
        if defect.hides and not (by_id.get(defect.hides) and by_id[defect.hides].red):
            raise Bad(f"{defect.id}: {defect.hides} is no defect that a test finds")
    return defects
