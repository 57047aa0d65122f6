# SPDX-License-Identifier: Apache-2.0
"""Every way a run can end is told apart, with its own exit status and what to do next."""

import os
import signal
import subprocess

import pytest

import harness

attack = pytest.mark.attack


def test_a_program_that_exits_0_is_a_plain_success(bell):
    got = bell.run("--", "/bin/echo", "42")
    assert (got.outcome, got.started, got.exit_code, got.signal) == ("exited", True, 0, None)
    assert (got.status, got.retry, got.hint, got.limits_hit) == (0, "not_needed", "", [])
    assert got.json["stdout"] == {"text": "42\n", "encoding": "utf-8", "bytes": 3,
                                  "truncated": False}
    assert got.json["stderr"]["bytes"] == 0
    assert got.raw_err == b""


@pytest.mark.parametrize("code", [1, 2, 42, 123, 124, 125, 126, 127, 130, 137, 255])
def test_an_exit_code_is_the_programs_own(bell, code):
    got = bell.inside("exit", code)
    assert (got.outcome, got.exit_code, got.signal, got.status) == ("exited", code, None, code)
    assert (got.started, got.limits_hit, got.retry) == (True, [], "change")


@pytest.mark.parametrize("number", [1, 4, 6, 8, 9, 11, 13, 14, 15, 24, 25, 31, 34, 64])
def test_a_signal_is_told_from_an_exit_code(bell, number):
    got = bell.inside("raise", number)
    assert (got.outcome, got.exit_code, got.status) == ("signaled", None, 128 + number)
    assert (got.started, got.limits_hit, got.retry) == (True, [], "change")
    assert got.hint


def test_a_crash_names_its_signal(bell, bare):
    got = bell.inside("segv")
    assert (got.outcome, got.status) == ("signaled", 139)
    assert "SIGSEGV" in str(got.signal) or got.signal == 11


def test_time_is_up(bell):
    got = bell.inside("pause", options=["--time", "300ms"])
    assert (got.outcome, got.status, got.exit_code, got.limits_hit) == ("time_limit", 124, None,
                                                                       ["time"])
    assert got.line["verb"] == "pause", "the output up to the moment of death is kept"
    assert "300ms" in got.hint or "0.3" in got.hint
    assert got.retry == "change"


def test_cpu_time_is_up(bell):
    got = bell.inside("spin", options=["--cpu-time", "200ms", "--time", "30s"])
    assert (got.outcome, got.status, got.exit_code) == ("cpu_limit", 124, None)
    assert got.limits_hit == ["cpu"]


def test_memory_is_used_up(bell):
    got = bell.inside("alloc", 200, options=["--memory", "64m", "--time", "30s"])
    assert (got.outcome, got.status, got.exit_code) == ("memory_limit", 137, None)
    assert got.limits_hit == ["memory"]
    assert "64" in got.hint
    fine = bell.inside("alloc", 200, options=["--memory", "256m", "--time", "30s"])
    assert (fine.outcome, fine.line["ok"]) == ("exited", True)


def test_too_much_output_ends_the_run(bell):
    got = bell.inside("output", 1, 1 << 22, options=["--max-output", "1m"])
    assert (got.outcome, got.status, got.limits_hit) == ("output_limit", 123, ["output"])
    fine = bell.inside("output", 1, 1 << 20, options=["--max-output", "1m"])
    assert (fine.outcome, fine.exit_code) == ("exited", 0)


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_belljar_cancels_the_run_and_keeps_the_output(bell, token, number, status):
    process = bell.start_inside("pause", token)
    assert harness.until(lambda: harness.started(token))
    (belljar,) = {process.pid} if not bell.prefix() else {process.pid}
    os.kill(belljar, number)
    out, err = bell.finish(process)
    got = harness.Result(process, "cancel", out, err)
    bell.check(got)
    assert (got.outcome, got.status, got.started) == ("cancelled", status, True)
    assert got.retry == "same"
    assert not harness.marked(token)


def test_a_closed_stdout_cancels_the_run(bell, token):
    reader, writer = os.pipe()
    process = bell.start("--", "/bin/sh", "-c", f"while :; do echo {token}; done", json_=False,
                         stdout=writer)
    os.close(writer)
    assert os.read(reader, 5) == b"token"
    os.close(reader)
    _, err = bell.finish(process)
    assert process.returncode == 141, err
    assert not harness.marked(token)


def test_a_program_that_is_not_there_never_started(bell):
    got = bell.run("--", "/usr/bin/no-such-program")
    assert (got.outcome, got.status, got.started, got.exit_code) == ("not_started", 127, False,
                                                                    None)
    assert got.hint and got.retry == "change"


def test_a_refusal_runs_nothing(bell):
    got = bell.run("--memory", "1t", "--", "/bin/echo", "ran")
    assert (got.outcome, got.status, got.started) == ("refused", 125, False)
    assert got.json["stdout"]["bytes"] == 0
    assert "memory" in str(got.json)


# ---- Five different results that others call 137 -------------------------------------------------


@attack("F07")
def test_a_child_killed_for_memory_is_seen_though_the_parent_exits_0(bell, bare):
    control = bare("child_alloc", 10)
    assert control[0]["value"] == 0
    got = bell.inside("child_alloc", 200, options=["--memory", "64m", "--time", "30s"])
    if bell.cgroup:
        assert (got.outcome, got.exit_code, got.limits_hit) == ("exited", 0, ["memory"])
        assert got.lines[0]["value"] == signal.SIGKILL
        assert "fine" in got.out
        assert got.hint
    else:
        # Without a cgroup nothing kills one process of the tree: the run itself ends.
        assert (got.outcome, got.limits_hit) == ("memory_limit", ["memory"])


@attack("F08")
def test_exit_137_is_no_lack_of_memory(bell):
    got = bell.inside("exit", 137)
    assert (got.outcome, got.exit_code, got.limits_hit) == ("exited", 137, [])


@attack("F08")
def test_killing_itself_is_no_lack_of_memory_and_no_time_out(bell):
    got = bell.inside("raise", 9)
    assert (got.outcome, got.exit_code, got.limits_hit, got.status) == ("signaled", None, [], 137)


def test_a_memory_error_is_the_programs_own_end(bell):
    got = bell.python("raise MemoryError")
    assert (got.outcome, got.exit_code, got.limits_hit) == ("exited", 1, [])
    assert "MemoryError" in got.err


def test_a_real_lack_of_memory_is_a_memory_limit(bell):
    got = bell.python("b = bytearray(300 << 20)\nprint(len(b))", "--memory", "100m",
                      "--time", "30s")
    assert (got.outcome, got.exit_code, got.limits_hit) == ("memory_limit", None, ["memory"])


# ---- What every result holds ---------------------------------------------------------------------


def test_the_receipt_has_a_row_for_each_layer(bell):
    table = subprocess.run([harness.BELLJAR, "layers", "--json"], stdout=subprocess.PIPE,
                           check=True, env=harness.clean_env()).stdout.decode()
    got = bell.run("--", "/bin/true")
    names = [row["name"] for row in got.layers]
    assert len(names) == len(set(names))
    for name in names:
        assert f'"{name}"' in table
    assert {"user", "pid", "init", "mount", "net", "ipc", "uts", "cgroupns", "env", "terminal",
            "rlimit", "caps", "nnp", "landlock", "seccomp", "fds", "deadline", "output",
            "cgroup"} <= set(names)
    assert ("monitor" in names) == (not bell.cgroup)
    for row in got.layers:
        if row["state"] == "proven":
            assert row["by"] in ("kernel", "init", "launcher"), row


def test_usage_says_what_was_used(bell):
    got = bell.inside("alloc", 40)
    usage = got.usage
    assert usage["by"] == ("cgroup" if bell.cgroup else "monitor")
    assert usage["wall_ms"] > 0
    if bell.cgroup:
        assert usage["memory_peak_bytes"] >= 40 << 20
        assert usage["memory_peak_bytes"] < 256 << 20


def test_ids_of_runs_differ(bell):
    ids = {bell.run("--", "/bin/true").run_id for _ in range(5)}
    assert len(ids) == 5


def test_without_json_output_passes_through_and_stderr_gets_a_line_only_when_it_failed(bell):
    status, out, err = bell.raw("--", "/bin/sh", "-c", "echo out; echo err >&2")
    assert (status, out, err) == (0, b"out\n", b"err\n")
    status, out, err = bell.raw("--time", "200ms", "--", "/bin/sleep", "60")
    assert (status, out) == (124, b"")
    assert err.count(b"\n") == 1 and b"time" in err
    status, out, err = bell.raw("--", "/bin/sh", "-c", "exit 3")
    assert (status, out) == (3, b"")


def test_quiet_says_nothing_of_its_own(bell):
    status, out, err = bell.raw("--quiet", "--time", "200ms", "--", "/bin/sleep", "60")
    assert (status, out, err) == (124, b"", b"")


def test_stdin_is_empty_unless_it_is_given(bell):
    assert bell.run("--", "/bin/cat").json["stdout"]["bytes"] == 0
    assert bell.run("--", "/bin/cat", give=b"not for it").json["stdout"]["bytes"] == 0
    got = bell.run("--stdin", "-", "--", "/bin/cat", give=b"for it")
    assert got.out == "for it"
    path = bell.file("stdin", b"x" * 300000)
    got = bell.run("--stdin", path, "--", "/usr/bin/wc", "-c")
    assert got.out == "300000\n"


def test_a_program_that_does_not_read_its_stdin_is_no_failure(bell):
    path = bell.file("stdin", b"x" * 3000000)
    got = bell.run("--stdin", path, "--", "/bin/true")
    assert (got.outcome, got.exit_code) == ("exited", 0)
