# SPDX-License-Identifier: Apache-2.0
"""
A crash inside starts no handler of core dumps of the host: apport and systemd-coredump run as root
there and read what the program made of its memory.
"""
import json
import os
import pathlib
from signal import SIGABRT, SIGSEGV

import pytest

import vm

HERE = pathlib.Path(__file__).resolve().parent
STAGE = pathlib.Path(os.environ.get("BELLJAR_STAGE", vm.REPO / "build" / "stage")).resolve()


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def rows(request):
    argv = ["/usr/bin/python3", HERE / "core_dumps.py", STAGE / "bin" / "belljar",
            vm.REPO / "examples" / "no-cgroup.json"]
    outcome = vm.run(vm.Job(command=[str(word) for word in argv], kernel=request.param,
                            share=[str(STAGE), str(vm.REPO / "examples")], timeout_s=400))
    assert outcome.status == 0, outcome
    found = {}
    for row in json.loads(outcome.stdout):
        found.setdefault(row["where"], {})[row["name"]] = row
    return found


def lowered(rows, where):
    """The rows that lower their limit in one of the ways there are, or try to."""
    return {name: row for name, row in rows[where].items() if "limit" in name and "hard" not in name
            and name != "a limit of 0"}


def test_bare_a_limit_of_1_and_nothing_else_keeps_the_handler_away(rows):
    """The control: this handler starts, in namespaces too, and by each way to lower the limit."""
    bare = rows["bare"]
    first = bare["left as it is"]
    assert (first["limits"], first["started"]) == (["0", "1", "1", "1", "1"], 0), first
    assert first["signal"] == SIGSEGV and first["refused"] == 1, first
    assert bare["a limit of 0"]["started"] == bare["namespaces"]["started"] == 1, bare
    assert len(lowered(rows, "bare")) == 6
    for row in lowered(rows, "bare").values():
        assert row["limits"] == ["0", "1", "1", "0", "0"], row
        assert (row["signal"], row["started"], row["refused"]) == (SIGSEGV, 1, 0), row
    assert (bare["a child"]["started"], bare["a child"]["signal"]) == (2, SIGABRT)


def test_inside_no_crash_starts_it_and_no_call_changes_that(rows):
    assert len(lowered(rows, "run")) == 6
    names = [*lowered(rows, "run"), "left as it is", "as a user", "a hard limit of 0"]
    for row in (rows["run"][name] for name in names):
        assert row["limits"] == ["0", "1", "1", "1", "1"], row
        # The kernel came as far as that: the process did crash, and was one that can be dumped.
        assert (row["signal"], row["started"], row["refused"]) == (SIGSEGV, 0, 1), row
        assert row["note"] == "", row
    child = rows["run"]["a child"]
    assert (child["signal"], child["started"], child["refused"]) == (SIGABRT, 0, 2), child


def test_a_hard_limit_of_0_that_nobody_may_raise_is_told(rows):
    """Of an ordinary user: then the handler does start, as the receipt says."""
    row = rows["run"]["a user's hard limit of 0"]
    assert row["limits"] == ["0", "0", "0", "0", "0"], row
    assert "RLIMIT_CORE is 0" in row["note"]
    assert (row["signal"], row["started"], row["refused"]) == (SIGSEGV, 1, 0), row
