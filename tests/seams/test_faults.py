# SPDX-License-Identifier: Apache-2.0
"""Every step of set-up is made to fail, each time that it is reached, and then nothing runs.

The steps are those that the launcher's own section lists; none is listed here but those that
cannot be reached in some mode, with the reason. Where they are reached after all, that is a failure
too.
"""

import os

import pytest

import harness
import seams

STEPS = list(enumerate(seams.steps()))
MODES = harness.modes_of_this_host()
EUCLEAN = "Structure needs cleaning"
TURNS = 400  # no step is reached more often

V2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
V1_STEPS = {"make the cgroups (v1)", "attach init to the cgroup", "set memory.limit_in_bytes",
            "set memory.memsw.limit_in_bytes", "set pids.max (v1)", "set cpu.cfs_period_us",
            "set cpu.cfs_quota_us"}
V2_STEPS = {"set memory.max", "set memory.swap.max", "set memory.oom.group", "set pids.max (v2)",
            "set cpu.max"}
# One step whose words say which of its kinds failed.
NODE = "make a node of the tree"
NODE_KINDS = {"make a directory", "make a file", "make a link", "bind a directory of the host",
              "bind a device", "mount a private tmpfs", "mount a fresh proc",
              "make a part of proc read-only", "hide a part of proc", "cover a file of proc"}


def unreached(step, mode):
    """Why this mode does not come to this step, or None."""
    uid, cgroup = harness.MODES[mode]
    layer, what = step["layer"], step["what"]
    if layer == "cgroup" and not cgroup:
        return "there is no cgroup in this mode"
    if layer == "monitor" and cgroup:
        return "there is a cgroup, and monitor stands in for one"
    if what in V1_STEPS and V2:
        return "this host has cgroup v2"
    if what in V2_STEPS and not V2:
        return "this host has cgroup v1"
    if what == "make a cgroup (v2)" and not os.path.exists("/sys/fs/cgroup/unified") and not V2:
        return "this host has no cgroup v2 at all"
    if what == "write setgroups" and uid == 0:
        return "root may map groups and keep setgroups"
    if what in ("drop supplementary groups", "no supplementary groups") and uid != 0:
        return "an ordinary user cannot drop groups"
    return None


def other_host(step):
    """Why a step is reached on another host only, or None."""
    if step["what"] in V1_STEPS | V2_STEPS:
        return "the other version of cgroups"
    if os.geteuid() != 0 and (step["layer"] == "cgroup" or unreached(step, "user")):
        return "root's alone"
    return None


def name_of(value):
    if isinstance(value, str):
        return value
    number, step = value
    return f"{number}-{step['layer']}-{step['hook']}-{step['what']}"


@pytest.fixture(scope="module")
def input_file(place):
    path = place / "input"
    path.write_text("copied in")
    path.chmod(0o644)
    return path


def attempt(place, mode, input_file, *words):
    return seams.run(place, mode, words, "--in", f"{input_file}:input", "--", "/bin/echo", "started")


@pytest.mark.parametrize("mode", MODES)
def test_without_a_fault_it_runs(place, input_file, mode):
    result = attempt(place, mode, input_file)
    assert (result.outcome, result.exit_code, result.out) == ("exited", 0, "started\n"), result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("numbered", STEPS, ids=name_of)
def test_it_fails_closed(place, input_file, mode, numbered):
    number, step = numbered
    reason = unreached(step, mode)
    said = set()
    for turn in range(1, TURNS):
        result = attempt(place, mode, input_file, f"fault-{number}-{turn}")
        if result.outcome == "exited":
            assert (result.exit_code, result.out) == (0, "started\n"), result
            break
        said.add(fails_closed(result, step))
    else:
        pytest.fail(f"reached more than {TURNS} times")
    assert (turn == 1) == bool(reason), f"reached {turn - 1} times; {reason}"
    if step["what"] == NODE:
        assert said == NODE_KINDS


def fails_closed(result, step):
    """Returns which step the error names."""
    assert step["hook"] != "watch", "nothing is a step after the program was let go"
    got = result.json
    assert (got["outcome"], got["started"], result.status) == ("sandbox_error", False, 125), result
    assert (got["stdout"]["bytes"], got["stderr"]["bytes"]) == (0, 0), result
    assert got["exit_code"] is None and got["signal"] is None, result
    error = got["error"]
    assert error["layer"] == (step["layer"] or None), result
    start = f"layer {step['layer']}: " if step["layer"] else ""
    assert error["message"].startswith(start) and error["message"].endswith(f": {EUCLEAN}"), result
    what = error["message"][len(start):-len(f": {EUCLEAN}")]
    assert what in (NODE_KINDS if step["what"] == NODE else {step["what"]}), result
    assert got["hint"], result
    assert not any(got["left_behind"].values()), result
    assert harness.cgroups_named(got["run_id"]) == [], result
    return what


@pytest.mark.parametrize("numbered", STEPS, ids=name_of)
def test_some_mode_reaches_it(numbered):
    _, step = numbered
    assert any(unreached(step, mode) is None for mode in MODES) or other_host(step)


def test_the_list_is_whole():
    """A section that the linker cut would make all of the above say little."""
    found = {(step["layer"], step["hook"]) for _, step in STEPS}
    layers = {row["name"] for row in seams.table()["layers"]}
    assert {layer for layer, hook in found if hook == "verify"} - {""} == layers
    assert {layer for layer, hook in found if hook == "child"} >= {
        "user", "init", "mount", "net", "ipc", "uts", "cgroupns", "terminal", "rlimit", "caps",
        "nnp", "landlock", "seccomp", "fds"}
    assert len(STEPS) > 120
