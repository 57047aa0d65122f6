# SPDX-License-Identifier: Apache-2.0
"""Each limit of the policy and of the kernel is touched, and seen to be as declared; and a wrong
declaration, a new limit and one that is no more are found."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import seams
from belljar_lab import cells, limit_rows, limits, page

LAB_SOURCE = str(Path(limits.__file__).parent.parent)
NOFILE = next(number for number, row in enumerate(limit_rows.ROWS) if row.limit == "nofile")


@pytest.fixture(scope="module")
def lab():
    with cells.Lab(seams.LAB, modes=["user"]) as one:
        yield one


@pytest.fixture
def one_case(monkeypatch):
    """What opens more descriptors than it may, and nothing else."""
    monkeypatch.setattr(limits, "cases", lambda modes: [(NOFILE, mode, True) for mode in modes])


def test_every_limit_is_as_declared():
    got = subprocess.run([sys.executable, "-B", "-m", "belljar_lab", "limits", "--json"],
                         env={**os.environ, "PYTHONPATH": LAB_SOURCE, "LAB_DIR": str(seams.LAB)},
                         stdout=subprocess.PIPE, check=False)
    data = json.loads(got.stdout)["tables"]["limits"]
    assert got.returncode == 0 and data["ok"] and data["schema"] == "belljar-lab.limits/1", \
        data["problems"]
    assert data["runs"] >= 2 * len(limit_rows.ROWS) - 10 and len(data["without_row"]) > 5
    for row in data["limits"]:
        assert row["why_not"] or any(one["above"] and one["observed"] for one in row["seen"])


@pytest.mark.parametrize(("changes", "said"), [
    ({"saw": "62 opened"}, "declared saw '62 opened', observed '61 opened, EMFILE'"),
    ({"outcome": "signaled"}, "declared outcome 'signaled', observed 'exited'"),
    ({"hits": ("tasks",)}, "declared hits ('tasks',), observed ()"),
    ({"hint": "close some"}, "declared a hint with 'close some', observed ''"),
])
def test_a_wrong_declaration_fails(lab, monkeypatch, one_case, changes, said):
    rows = list(limit_rows.ROWS)
    amount, seen = rows[NOFILE].above
    rows[NOFILE] = rows[NOFILE]._replace(above=(amount, seen._replace(**changes)))
    monkeypatch.setattr(limits, "ROWS", rows)
    data = limits.collect(lab, None)
    assert not data["ok"] and len(data["problems"]) == 1
    assert data["problems"][0] == f"nofile: opens descriptors, user, more (62)\n{said}"


def test_a_limit_that_nobody_thought_of_is_found(lab, monkeypatch, one_case):
    monkeypatch.setattr(limits, "ROWS", [row for row in limit_rows.ROWS if row.limit != "inodes"])
    monkeypatch.setattr(limits, "REASONS", {**limit_rows.REASONS, "Max luck": "there is none"})
    assert limits.collect(lab, None)["problems"][:2] == [
        "inodes: there is such a limit, and neither a row nor a reason why there is none",
        "Max luck: there is a row or a reason, and no such limit"]


def test_a_limit_that_is_not_the_callers_is_found():
    assert "Max data size: declared the caller's, 9 9, observed 8 8 in a run" in list(
        limits.unknown([], {"Max data size": ("8 8", "9 9")}))


def test_the_page_has_the_hints(lab, tmp_path):
    data = limits.collect(lab, None)
    assert data["ok"], data["problems"]
    page.write(tmp_path / "page.html", [limits], {"limits": data}, {})
    text = (tmp_path / "page.html").read_text()
    assert "grew beyond 64k" in text and "SIGXFSZ" in text
