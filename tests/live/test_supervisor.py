# SPDX-License-Identifier: Apache-2.0
"""The launcher and init cannot be killed, stopped or fooled; when they die, the program does."""

import ctypes
import os
import re
import signal
import subprocess

import pytest

import harness

attack = pytest.mark.attack
PTRACE_SEIZE, PTRACE_DETACH, PTRACE_O_TRACEEXIT, WALL = 0x4206, 17, 0x40, 0x40000000


def gone(token):
    return harness.until(lambda: not harness.marked(token), 10)


def state(pid):
    return harness.read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1]


def asleep(*pids):
    return all(state(pid) == b"S" for pid in pids)


def stopped(pid):
    return state(pid) == b"T"


def cgroup_names(*pids):
    """Of the runs that these belong to: what follows "belljar-" in the names of their cgroups."""
    return {name for pid in pids for name in
            re.findall(r"belljar-(\w+)", harness.read(f"/proc/{pid}/cgroup").decode())}


def taken_away(path):
    try:
        os.rmdir(path)
    except OSError:
        pass
    return not os.path.exists(path)


@attack("K01", "K02")
def test_signals_reach_nobody_outside_the_run(bell, token):
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        lines = bell.inside("kill", 1, 9, ",", "kill", 1, 19, ",", "kill", 0, 0, ",",
                            "kill", bystander.pid, 9, ",", "kill", os.getpid(), 9, ",",
                            "kill", -bystander.pid, 9, ",", "pids").lines
        assert lines[-1]["verb"] == "pids"
        assert [line["name"] for line in lines[3:6]] == ["ESRCH"] * 3
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@attack("K01", "K02")
@pytest.mark.parametrize("number", [1, 2, 3, 6, 9, 11, 15, 18, 19, 20, 24, 25, 31, 34, 64])
def test_a_signal_to_init_does_nothing(bell, number):
    lines = bell.inside("kill", 1, number, ",", "pids", ",", "orphans", 5).lines
    assert [line["ok"] for line in lines[1:]] == [True, True], lines
    assert lines[0]["ok"] or lines[0]["name"] == "EPERM"


@attack("K01")
def test_killing_everything_it_can_ends_only_itself(bell):
    code = ("import os, signal\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "try: os.kill(-1, 9)\n"
            "except OSError as e: print(e.errno)\n"
            "try: os.kill(os.getppid(), 9)\n"
            "except OSError as e: print(e.errno)\n"
            "try: os.killpg(0, 15)\n"
            "except OSError as e: print(e.errno)\n"
            "os._exit(11)\n")
    got = bell.python(code)
    assert (got.outcome, got.exit_code) == ("exited", 11), got


@attack("K03")
@pytest.mark.parametrize("clears", [False, True])
def test_when_belljar_is_killed_the_program_is_gone(bell, token, clears):
    words = ["deathsig_off", ",", "daemon", "keep", ",", "pause", token] if clears else \
        ["pause", token]
    process = bell.start_inside(*words)
    assert harness.until(lambda: harness.started(token))
    found = harness.launchers(process.pid) | harness.inits(process.pid)
    assert len(found) >= 2
    process.kill()
    process.communicate(timeout=harness.PATIENCE)
    assert gone(token)
    assert harness.until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") and
                                         b"Z" not in harness.read(f"/proc/{pid}/stat").split(b")")[1][:3]
                                         for pid in found), 10)


@attack("K03")
@pytest.mark.parametrize("clears", [False, True])
def test_when_the_launcher_is_killed_the_program_is_gone_and_the_result_says_so(bell, token, clears):
    words = ["deathsig_off", ",", "daemon", "keep", ",", "bytes", 1, b"kept".hex(), ",", "pause",
             token] if clears else ["bytes", 1, b"kept".hex(), ",", "pause", token]
    process = bell.start_inside(*words)
    assert harness.until(lambda: harness.started(token))
    (launcher,) = harness.launchers(process.pid) - {process.pid}
    # The program has printed and pauses, and the launcher has read that and waits.
    assert harness.until(lambda: asleep(launcher, *harness.marked(token)))
    os.kill(launcher, signal.SIGKILL)
    out, err = bell.finish(process)
    got = harness.Result(process, "killed", out, err)
    assert gone(token)
    assert (got.outcome, got.status, got.retry, got.started) == ("sandbox_error", 125, "same", True)
    assert "kept" in got.out
    assert "launcher" in got.hint + str(got.json)
    # The next start sweeps what remained.
    assert bell.run("--", "/bin/true").exit_code == 0
    assert harness.cgroups_named(got.run_id) == []


@attack("K03")
def test_when_belljar_and_the_launcher_are_killed_the_next_start_sweeps(bell, token):
    process = bell.start_inside("daemon", "keep", ",", "pause", token)
    assert harness.until(lambda: harness.started(token))
    names = cgroup_names(*harness.marked(token))
    assert bool(names) == bell.cgroup
    (launcher,) = harness.launchers(process.pid) - {process.pid}
    # Belljar would kill what the launcher leaves, and the launcher clean up once Belljar is gone: so
    # that init ends by itself and the cgroups stay, the one is stopped first and killed last.
    os.kill(process.pid, signal.SIGSTOP)
    assert harness.until(lambda: stopped(process.pid))
    os.kill(launcher, signal.SIGKILL)
    assert gone(token)
    process.kill()
    process.communicate(timeout=harness.PATIENCE)
    assert bool(names) == any(harness.cgroups_named(name) for name in names)
    # What is dying at that moment goes at the start after it.
    assert harness.until(lambda: bell.run("--", "/bin/true", beside=process).exit_code == 0 and
                         not any(harness.cgroups_named(name) for name in names))


@attack("K03")
def test_when_init_is_killed_from_outside_the_run_ends(bell, token):
    process = bell.start_inside("pause", token)
    assert harness.until(lambda: harness.started(token))
    (init,) = harness.inits(process.pid)
    os.kill(init, signal.SIGKILL)
    out, err = bell.finish(process)
    got = harness.Result(process, "killed", out, err)
    bell.check(got)
    assert not harness.marked(token)
    assert got.outcome in ("sandbox_error", "signaled"), got


@attack("K03", "K09")
def test_a_stopped_init_does_not_hold_up_the_deadline(bell, token):
    process = bell.start_inside("pause", token, options=["--time", "700ms"])
    assert harness.until(lambda: harness.started(token))
    (init,) = harness.inits(process.pid)
    os.kill(init, signal.SIGSTOP)
    out, err = bell.finish(process)
    got = harness.Result(process, "stopped", out, err)
    bell.check(got)
    assert got.outcome == "time_limit"
    assert not harness.marked(token)


@attack("K09", "I01")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hold up an init that nobody may trace")
def test_what_outlives_the_kill_does_not_write_for_ever(bell):
    """A tracer keeps init at its exit: where no cgroup is killed as well, its `yes` goes on."""
    # Nothing ends before its output is read here.
    process = bell.start("--time", "5m", "--cpu-time", "5m", "--max-output", "1m", "--", "/usr/bin/yes",
                         json_=False)
    (init,) = harness.until(lambda: harness.inits(process.pid))
    (yes,) = harness.until(lambda: harness.descendants(init))
    names = cgroup_names(yes)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(PTRACE_SEIZE, init, None, PTRACE_O_TRACEEXIT) == 0, ctypes.get_errno()
    stopped, late, piece = False, 0, b"y"
    while piece and late < 16 << 20:
        # The pipe is full whenever the launcher reads from it, so that it never sees its end.
        harness.until(lambda: asleep(yes) or yes not in harness.processes())
        piece = os.read(process.stdout.fileno(), 1 << 16)
        stopped = stopped or os.waitpid(init, os.WNOHANG | WALL)[0] == init
        late += len(piece) if stopped else 0
    libc.ptrace(PTRACE_DETACH, init, None, None)
    _, err = bell.finish(process)
    assert stopped and piece == b"", late
    assert process.returncode == 123 and b"Belljar left behind on this host: 1 process" in err, err
    for path in [path for name in names for path in harness.cgroups_named(name)]:
        assert harness.until(lambda path=path: taken_away(path)), path


@attack("K09")
def test_a_stopped_program_and_a_stopped_init_are_cancelled_all_the_same(bell, token):
    process = bell.start_inside("pause", token)
    assert harness.until(lambda: harness.started(token))
    (init,) = harness.inits(process.pid)
    for pid in (init, *harness.marked(token)):
        os.kill(pid, signal.SIGSTOP)
    process.terminate()
    out, err = bell.finish(process)
    assert harness.Result(process, "stopped", out, err).outcome == "cancelled"
    assert not harness.marked(token)


@attack("K02")
def test_a_program_without_a_terminal_cannot_stop_the_caller(bell, token):
    got = bell.run("--", "/bin/sh", "-c", "kill -TSTP 0; kill -STOP -- -1; kill -TTIN 0; echo on")
    assert got.outcome in ("exited", "signaled", "time_limit")


@attack("K04")
def test_a_run_outlives_the_thread_that_asked_for_it(bell):
    """In test_caller.py with the library; here the command, started from a thread that ends."""
    import threading
    box = []
    thread = threading.Thread(target=lambda: box.append(bell.start("--", "/bin/sh", "-c",
                                                                   "sleep 0.3; echo done")))
    thread.start()
    thread.join()
    out, err = bell.finish(box[0])
    assert harness.Result(box[0], "thread", out, err).out == "done\n"


@attack("K05", "K06")
def test_ignored_and_blocked_signals_of_the_caller_do_not_come_in(bell, token):
    def odd():
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGQUIT,
                       signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    process = bell.start_inside("signals", ",", "pids", preexec_fn=odd)
    out, err = bell.finish(process)
    got = harness.Result(process, "odd", out, err)
    bell.check(got)
    assert got.outcome == "exited"
    rows = dict(line.split(":\t") for line in got.lines[0]["text"].splitlines())
    for name in ("SigPnd", "SigBlk", "SigIgn", "SigCgt"):
        assert int(rows[name], 16) == 0, rows
    process = bell.start("--", "/bin/sh", "-c", "yes | head -1; exit 8", preexec_fn=odd)
    out, err = bell.finish(process)
    got = harness.Result(process, "odd", out, err)
    assert (got.exit_code, got.out) == (8, "y\n")
    # Nor does init tell: its masks of a caller that ignores them, and of one that does not.
    masks = [bell.run("--", "/bin/grep", "Sig[IC]g[nt]", "/proc/1/status", **more).out
             for more in ({"preexec_fn": odd}, {})]
    assert masks[0] == masks[1] and "SigIgn:\t0000000000000000\n" in masks[0], masks


@attack("K05")
def test_odd_umask_limits_and_descriptors_of_the_caller_do_not_come_in(bell):
    import resource

    def odd():
        os.umask(0o777)
        os.chdir("/")
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 23))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
    process = bell.start("--", "/bin/sh", "-c", "umask; pwd; ulimit -n; ulimit -c", preexec_fn=odd)
    out, err = bell.finish(process)
    got = harness.Result(process, "odd", out, err)
    if got.outcome == "exited":
        words = got.out.split()
        assert words[:2] == ["0022", "/workspace"] and words[3] == "0", got
        assert int(words[2]) <= 1024
    else:
        # A limit of the caller's that is below the plan is told, not passed by.
        assert got.outcome in ("refused", "sandbox_error") and "nofile" in str(got.json).lower()


@attack("K07")
def test_odd_arguments_are_no_harm(bell):
    got = bell.run("--", "/bin/sh", "-c", "echo $#", "sh", *[""] * 500, "x" * 100000)
    assert got.out == "501\n" or got.status == 125
    assert bell.raw("--", "")[0] in (125, 126, 127)
    got = bell.run("--", "/usr/bin/printf", "%s", "a\nb\x1b[0m\u202e" + "\udcff".encode(
        "utf-8", "surrogateescape").decode("latin1"))
    assert got.exit_code == 0


@attack("K10")
def test_many_runs_at_once_are_kept_apart(bell):
    runs = [bell.start("--", "/bin/sh", "-c", f"echo {n} > /workspace/n; sleep 0.1; cat /workspace/n;"
                       f"exit {n}") for n in range(12)]
    ids = set()
    for n, process in enumerate(runs):
        out, err = bell.finish(process)
        got = harness.Result(process, n, out, err)
        bell.check(got)
        assert (got.outcome, got.exit_code, got.out) == ("exited", n, f"{n}\n"), got
        ids.add(got.run_id)
    assert len(ids) == 12
