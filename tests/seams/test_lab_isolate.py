# SPDX-License-Identifier: Apache-2.0
"""`belljar-lab isolate` and `belljar-lab harm` see what they declare, whoever starts them; and a
declaration that is wrong is seen as well."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import harness
import seams
from belljar_lab import caller, cells, harm, isolate, main

VERBS = {"isolate": isolate, "harm": harm}
CELLS = {"isolate": len(isolate.ROWS) * len(isolate.CONFIGURATIONS),
         "harm": len(harm.ROWS) * len(harm.AGENTS)}
STARTS = {"as-it-is": [], **({"ordinary-user": harness.as_user()} if os.geteuid() == 0 else {})}


@pytest.fixture(scope="module")
def lab():
    with cells.Lab(seams.LAB) as one:
        yield one


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_seen_is_what_is_declared(open_lab, verb, start):
    out = subprocess.run(
        [*STARTS[start], "/usr/bin/python3", "-B", "-m", "belljar_lab", verb, "--json"], cwd="/",
        env=harness.clean_env(PYTHONPATH=str(open_lab), LAB_DIR=str(open_lab)), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=harness.PATIENCE, check=False)
    assert out.returncode == 0, out.stdout + out.stderr
    data = json.loads(out.stdout)["tables"][verb]
    assert data["schema"] == f"belljar-lab.{verb}/1" and data["ok"] and not data["problems"]
    assert len(data["cells"]) == len(data["modes"]) * CELLS[verb]


def test_each_isolation_alone_lets_something_through_and_both_nothing(lab):
    data = isolate.collect(lab, None)
    for found in data["through"].values():
        assert found["files only"] and found["network only"] and not found["both"]
        assert set(found["files only"]) | set(found["network only"]) <= set(found["neither"])


# ---- Planted -----------------------------------------------------------------------------------


def planted(rows, **changes):
    return [row._replace(**changes) if row is rows[0] else row for row in rows]


WRONG = {
    "isolate": ({"declared": ("done", "done", "ENETUNREACH", "ENOENT")},
                "files only: declared done, observed ENOENT"),
    "harm": ({"files": harm.NOTHING}, "files lost: declared nothing, observed all"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_declaration_ends_1(monkeypatch, capsys, verb):
    changes, said = WRONG[verb]
    monkeypatch.setattr(VERBS[verb], "ROWS", planted(VERBS[verb].ROWS, **changes))
    monkeypatch.setattr("sys.argv", ["belljar-lab", verb, "--mode", "user", "--json"])
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)
    assert main.main(seams.LAB) == 1
    data = json.loads(capsys.readouterr().out)["tables"][verb]
    assert not data["ok"] and len(data["problems"]) == 1 and said in data["problems"][0]


def does_nothing(_agent, _home):
    return True


def test_harm_that_was_not_done_is_found(monkeypatch):
    """The control of the other half: bare, something must be lost."""
    monkeypatch.setattr(harm, "ROWS", planted(harm.ROWS, steps=does_nothing))
    with cells.Lab(seams.LAB, modes=["user"]) as one:
        problems = harm.collect(one, None)["problems"]
    assert problems == ["mistake, user, bare: files lost: declared all, observed nothing"]


def test_an_isolation_that_would_do_alone_is_found(monkeypatch):
    found = {"user": {"neither": ["a"], "files only": [], "network only": ["a"], "both": []}}
    assert list(isolate.why_both(found)) == \
        ["user: files only lets nothing through, so the other would not be needed"]


def writes_where_it_may_not(worker, path):
    worker.world.reset(0)
    inside = worker.place / "made"
    said = caller.run(worker.world, ["/bin/sh", "-c", f"echo x >{path}; echo x >{inside}"])
    made = inside.exists()
    inside.unlink()
    return said, made


def test_what_runs_bare_cannot_write_to_the_hosts_disk(lab):
    path = Path("/tmp") / harness.temporary_dir().name  # everybody may write to /tmp
    path.rmdir()
    said, made = lab.call(lab.modes[-1], writes_where_it_may_not, str(path))
    assert "Read-only file system" in said and made and not path.exists()
