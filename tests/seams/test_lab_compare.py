# SPDX-License-Identifier: Apache-2.0
"""Seven properties of three ways to run code are attacked: Belljar holds all, and the control shows
that the attacks work. What is planted turns it red."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import seams
from belljar_lab import cells, compare, compare_rows, compared, run

LAB_SOURCE = str(Path(compare.__file__).parent.parent)
READ_KEY, CRASH = (next(row for row in compare_rows.ROWS if row.id == name)
                   for name in ("read-key", "crash"))


def test_belljar_holds_what_a_bare_subprocess_does_not():
    got = subprocess.run([sys.executable, "-B", "-m", "belljar_lab", "compare", "--json"],
                         env={**os.environ, "PYTHONPATH": LAB_SOURCE, "LAB_DIR": str(seams.LAB)},
                         stdout=subprocess.PIPE, check=False)
    data = json.loads(got.stdout)["tables"]["compare"]
    assert got.returncode == 0 and data["ok"] and data["schema"] == "belljar-lab.compare/1", \
        data["problems"]
    assert len(data["properties"]) == 7 and len(data["cells"]) >= 2 * len(compare_rows.ROWS)
    for row in data["properties"]:
        assert row["bare"]["state"] == "broken" and row["belljar"]["state"] == "held", row


def collect(monkeypatch, row):
    """Workers have the rows that are there when they are made."""
    monkeypatch.setattr(compare, "ROWS", [row])
    with cells.Lab(seams.LAB, modes=["user"]) as lab:
        return compare.collect(lab, None)


@pytest.mark.parametrize(("changes", "said"), [
    ({"bare": False}, "read-key on subprocess.run(timeout=), user: declared held, observed broken"),
    ({"attack": lambda caller: (False, "")},
     "read-key on subprocess.run(timeout=), user: declared broken, observed held"),
    ({"attack": lambda caller: (True, "")},
     "read-key on belljar run, user: declared held, observed broken"),
    ({"attack": lambda caller: caller.judge(caller.run("pass")[0], False)},
     "read-key on belljar run, user: declared held, observed not judged"),
])
def test_what_is_planted_is_found(monkeypatch, changes, said):
    data = collect(monkeypatch, READ_KEY._replace(**changes))
    assert not data["ok"]
    assert said in [problem.partition("\n")[0] for problem in data["problems"]]


def test_a_crash_that_is_none_is_not_judged(monkeypatch):
    """Its caller survives on every way: that it was put to the test must be seen."""
    assert collect(monkeypatch, CRASH)["ok"]
    runs = compared.Caller.run
    monkeypatch.setattr(compared.Caller, "run", lambda self, code: runs(
        self, code.replace("ctypes.string_at(0)", "pass")))
    problems = collect(monkeypatch, CRASH)["problems"]
    assert "crash on belljar run, user: declared held, observed not judged\n" \
        "the program did not crash: 0" in problems


def test_what_did_not_begin_is_not_judged():
    with pytest.raises(run.Disagreement, match="did not begin"):
        compared.Said(compared.BARE, {"out": "", "err": "", "peak_mib": 1, "status": 0})
    refused = {"started": False, "outcome": "refused", "error": {"message": "no"}}
    with pytest.raises(run.Disagreement, match="nothing was started"):
        compared.Said(compared.BELLJAR, {"out": json.dumps(refused), "peak_mib": 1, "status": 0})


def test_without_bubblewrap_its_column_says_why(monkeypatch):
    monkeypatch.setattr(compare, "find_bwrap", no_bwrap)
    data = collect(monkeypatch, READ_KEY)
    assert data["ok"], data["problems"]
    files = next(row for row in data["properties"] if row["property"] == READ_KEY.property)
    assert files["bwrap"] == {"state": None, "by": []}
    assert "n/a: it is not here" in compare.bwrap_line(data)


def no_bwrap(worker, mode):
    return None, "it is not here"
