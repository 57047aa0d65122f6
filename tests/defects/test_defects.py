# SPDX-License-Identifier: Apache-2.0
"""The runner of planted defects, on a project of two files: each verdict, and that it fails closed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import catalogue  # noqa: E402
import defects  # noqa: E402

TINY = {
    "meson.build": """project('tiny', 'c')
test('one', executable('one', 'one.c', 'value.c'), suite: 'unit', protocol: 'tap')
test('bad', executable('bad', 'bad.c'), suite: 'rules')
""",
    "meson_options.txt": "option('tests', type: 'feature')\n",
    "value.c": "int value(void);\nint value(void)\n{\n\treturn 42; /* not 41 */\n}\n",
    "one.c": """#include <stdio.h>
int value(void);
int main(void)
{
\tprintf("1..2\\n%s 1 - it_is_right\\nok 2 - it_runs\\n", value() == 42 ? "ok" : "not ok");
\treturn value() != 42;
}
""",
    "bad.c": "int main(void)\n{\n\treturn 1;\n}\n",
}


def entry(name, old, new, end, file="value.c"):
    return (f"[[defect]]\nid = \"{name}\"\nwhat = \"{name} is wrong\"\nfile = \"{file}\"\n"
            f"old = '{old}'\nnew = '{new}'\n{end}\n")


CAUGHT = entry("caught", "return 42", "return 43", 'red = "unit one: it_is_right"')
EQUIVALENT = entry("equivalent", "not 41", "not 40", 'equivalent = "a comment"\nnear = "unit one"')
HIDING = entry("hiding", "return value() != 42;", "return 0;", 'hides = "caught"', "one.c")
BLIND = entry("blind", 'value() == 42 ? "ok"', 'value() ? "ok"', 'hides = "weak"', "one.c")
WEAK = entry("weak", "return 42", "return 44", 'red = "unit one: it_is_right"')
WRONG = {
    "missed": entry("missed", "not 41", "not 39", 'red = "unit one"'),
    "not equivalent": entry("seen", "return 42", "return 1", 'equivalent = "nobody looks"'),
    "does not apply": entry("moved", "return 45", "return 1", 'red = "unit one"'),
    "does not build": entry("broken", "return 42;", "return 42", 'red = "unit one"'),
    "no test": entry("untested", "return 42", "return 2", 'red = "unit two"'),
    "no test ": entry("unsure", "return 42", "return 3", 'red = "rules bad"'),
    "missed ": HIDING,  # the TAP line tells all the same
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    for folder in (place, place.parent, place.parent.parent):
        folder.chmod(0o755)
    root = place / "source"
    root.mkdir()
    for name, text in TINY.items():
        (root / name).write_text(text)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit",
                                                 "-q", "-m", "tiny"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return place


def run(tiny, text, *words, count=None):
    folder = tiny / "catalogue"
    folder.mkdir(exist_ok=True)
    count = text.count("[[defect]]") if count is None else count
    (folder / "area.toml").write_text(f"count = {count}\n{text}")
    done = subprocess.run(
        ["/usr/bin/python3", "-B", HERE / "defects.py", "--root", tiny / "source", "--catalogue", folder,
         "--workers", "1", *words], env={**os.environ, "BUILD": str(tiny / "build")}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    verdicts = {name: verdict.strip().lower() for verdict, name in
                re.findall(r"^(caught|equivalent|[A-Z][A-Z ]+[A-Z]) +(\w+) +\w+ is wrong", done.stdout, re.M)}
    return done, verdicts


def test_what_is_found_is_caught_and_the_gate_passes(tiny):
    done, verdicts = run(tiny, CAUGHT + EQUIVALENT + WEAK + BLIND)
    assert verdicts == {"caught": "caught", "equivalent": "equivalent", "weak": "caught",
                        "blind": "caught"}, done.stdout
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "3 caught, 1 equivalent, 0 missed, 4 total"
    assert (tiny / "build/defects/0/source/value.c").read_text() == TINY["value.c"], "put back"


def test_what_is_not_found_or_cannot_be_planted_fails(tiny):
    done, verdicts = run(tiny, CAUGHT + "".join(WRONG.values()))
    wanted = {re.search(r'id = "(\w+)"', text)[1]: verdict.strip() for verdict, text in WRONG.items()}
    assert verdicts == {"caught": "caught", **wanted}, done.stdout
    assert done.returncode == 1
    failed = re.findall(r"^failed: (\w+): ", done.stdout, re.M)
    assert sorted(failed) == sorted(wanted)


@pytest.mark.parametrize("verdict", ["missed", "does not build", "does not apply", "no test"])
def test_one_alone_fails_the_gate(tiny, verdict):
    done, _ = run(tiny, CAUGHT + WRONG[verdict])
    assert done.returncode == 1, done.stdout


def test_nothing_scored_is_no_success(tiny):
    done, _ = run(tiny, "")
    assert done.returncode == 1 and "nothing was caught" in done.stdout
    done, _ = run(tiny, CAUGHT, count=2)
    assert done.returncode == 1 and "count = 2" in done.stdout
    done, _ = run(tiny, CAUGHT + CAUGHT)
    assert done.returncode == 1 and "there twice" in done.stdout
    done, _ = run(tiny, CAUGHT + CAUGHT.replace("id = \"", "id = \"again-"))
    assert done.returncode == 1 and "is the same as" in done.stdout
    done, _ = run(tiny, CAUGHT, "nobody")
    assert done.returncode == 1 and "there is no nobody" in done.stdout


def test_a_suite_that_is_red_by_itself_finds_nothing(tiny):
    bad = tiny / "source/one.c"
    bad.write_text(TINY["one.c"].replace("ok 2", "not ok 2"))
    try:
        done, verdicts = run(tiny, CAUGHT)
    finally:
        bad.write_text(TINY["one.c"])
    assert done.returncode == 1 and "red without any defect" in done.stdout, done.stdout


def test_fewer_scored_than_chosen_is_a_failure():
    chosen = catalogue.read(HERE)[:3]
    scores = defects.Scores(chosen)
    scores.add(chosen[0], "caught", "x")
    scores.add(chosen[1], "equivalent", "x")
    assert scores.failures() == ["2 scored of 3"]
    scores.add(chosen[2], "caught", "x")
    assert scores.failures() == []


def test_the_parts_together_are_all_of_it():
    every = catalogue.read(HERE)
    by_id = {defect.id: defect for defect in every}
    parts = [{d.id for d in defects.part_of(every, part, by_id)} for part in range(defects.PARTS)]
    assert set.union(*parts) == set(by_id)
    suite = {d.id for d in every if d.hides}
    assert suite and all(suite <= part for part in parts)
    assert max(map(len, parts)) < len(every) / defects.PARTS + 3 * len(suite) + 2


def test_the_catalogue_applies_to_this_tree():
    every = catalogue.read(HERE)
    assert len(every) >= catalogue.AT_LEAST >= 120
    assert {d.id: d.misplaced(HERE.parent.parent) for d in every if d.misplaced(HERE.parent.parent)} == {}
