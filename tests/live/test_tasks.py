# SPDX-License-Identifier: Apache-2.0
"""Processes and threads: as many as are given, and none when the run is over."""

import pytest

import harness

attack = pytest.mark.attack


@attack("G01", "G02", "G09")
@pytest.mark.parametrize("verb", ["forks", "threads"])
def test_tasks_are_limited(bell, bare, verb):
    assert bare(verb, 100, outer=True)[0]["value"] == 100
    assert bell.inside(verb, 20, options=["--pids", "30"]).line["value"] == 20
    got = bell.inside(verb, 100, options=["--pids", "30"])
    line = got.lines[0]
    assert line["name"] == "EAGAIN", line
    assert 25 <= int(line["text"]) <= 30
    if bell.cgroup:
        assert got.limits_hit == ["tasks"]
        assert got.hint
    fine = bell.inside(verb, 20, options=["--pids", "30"])
    assert fine.limits_hit == []


@attack("G09")
def test_one_run_does_not_use_up_the_tasks_of_another(bell, token):
    process = bell.start_inside("forks", 100, ",", "pause", token, options=["--pids", "30"])
    try:
        assert harness.until(lambda: len(harness.started(token)) > 20)
        assert bell.inside("forks", 20, options=["--pids", "30"]).line["value"] == 20
    finally:
        process.terminate()
        bell.finish(process)


@attack("G03", "G12", "H05")
@pytest.mark.parametrize("how", ["close", "keep"])
def test_a_daemon_does_not_outlive_the_run(bell, bare, token, how):
    got = bell.inside("daemon", how, token)
    assert (got.outcome, got.exit_code) == ("exited", 0)
    assert not harness.marked(token)
    lines = bare("daemon", "close", token, before=["unshare", "--user", "--map-root-user", "--pid",
                                                   "--fork", "--kill-child", "--"])
    assert lines[0]["ok"]


@attack("G04")
def test_a_daemon_that_keeps_stdout_open_does_not_hold_the_run_up(bell, token):
    got = bell.inside("daemon", "keep", token, ",", "exit", 5, options=["--time", "40s"])
    assert (got.outcome, got.exit_code) == ("exited", 5), "not the time limit"
    assert not harness.marked(token)


@attack("G05")
@pytest.mark.parametrize("ending", ["time", "exit"])
def test_a_storm_of_forks_is_over_with_the_run(bell, ending):
    options = ["--time", "400ms"]
    if ending == "time":
        got = bell.inside("storm", 30, options=options)
        assert got.outcome == "time_limit"
    else:
        # It ends when the storm is on, and with little to do: the storm leaves it little CPU.
        script = 'mkfifo fifo; /workspace/inside storm 30 >fifo & read line <fifo; echo "$line"'
        got = bell.run("--in", f"{bell.inside_binary}:inside", "--cpu-time", "40s", "--time", "80s",
                       "--", "/bin/sh", "-c", script)
        assert (got.outcome, got.exit_code, got.line["verb"]) == ("exited", 0, "storm"), got
    assert got.left_behind["processes"] == 0


@attack("G06")
def test_cleaning_up_needs_no_tasks_of_the_run(bell, token):
    got = bell.inside("forks", 200, ",", "pause", token, options=["--pids", "8", "--time", "400ms"])
    assert got.outcome == "time_limit"
    assert got.lines[0]["name"] == "EAGAIN"
    assert not harness.marked(token)


@attack("G07")
def test_orphans_are_reaped(bell):
    got = bell.inside("orphans", 400, options=["--pids", "16", "--time", "50s", "--cpu-time", "50s",
                                               "--cpus", "1"])
    assert got.line["value"] == 400, got


@attack("G08")
def test_a_child_that_claims_to_be_its_parents_sibling_ends_nothing(bell):
    code = ("import ctypes, os, subprocess, time\n"
            "for _ in range(5):\n"
            "    subprocess.run(['/workspace/inside', 'clone_parent'], check=True)\n"
            "print('still here')\n")
    got = bell.run("--in", f"{bell.inside_binary}:inside", "-c", code, "--lang", "python")
    assert (got.outcome, got.exit_code) == ("exited", 0)
    assert "still here" in got.out
    # The program itself does it: the child becomes init's, and its status 7 is not the run's.
    got = bell.inside("clone_parent", ",", "exit", 3)
    assert (got.outcome, got.exit_code) == ("exited", 3)


@attack("G10", "K10")
def test_ids_of_concurrent_runs_differ_outside(bell, token):
    runs = [bell.start_inside("pause", token) for _ in range(3)]
    try:
        assert harness.until(lambda: len(harness.started(token)) == 3)
        uids = set()
        for pid in harness.marked(token):
            status = harness.read(f"/proc/{pid}/status").decode()
            uids.add(status.split("Uid:")[1].split()[0])
        if bell.uid == 0:
            assert len(uids) == 3
            assert all(int(uid) in harness.OUTSIDE_IDS for uid in uids)
        else:
            assert uids == {str(bell.uid)}
    finally:
        for process in runs:
            process.terminate()
        for process in runs:
            bell.finish(process)
    assert not harness.marked(token)


@attack("G11")
def test_nothing_inside_is_of_another_user(bell):
    got = bell.run("--", "/bin/sh", "-c", "id -u; id -g; id -un; su -c true; sudo -n true; "
                   "ping -c1 127.0.0.1 >/dev/null; id -u; grep NoNewPrivs /proc/self/status")
    lines = got.out.split()
    assert lines[:3] == ["1000", "1000", "program"]
    assert lines[-3:] == ["1000", "NoNewPrivs:", "1"]


def test_pid_1_is_not_the_program(bell):
    pid, parent, group, session = bell.inside("pids").line["text"].split()
    assert parent in ("0", "1") and int(pid) > 1
    assert group == session == pid, "a session of its own, without a terminal"
