# SPDX-License-Identifier: Apache-2.0
"""Every step of set-up is made to fail, each time that it is reached, and then nothing runs.

The steps are those that the launcher's own section lists; none is listed here but those that
cannot be reached in some mode, with the reason. Where they are reached after all, that is a failure
too.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

import harness
import seams

STEPS = list(enumerate(seams.steps()))
# An ordinary user with a cgroup takes no step that root and one without do not take.
MODES = [mode for mode in harness.modes_of_this_host() if mode != "user-cgroup"]
EUCLEAN = "Structure needs cleaning"
TURNS = 400  # no step is reached more often

V2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
HYBRID = os.path.exists("/sys/fs/cgroup/unified")
BIND, CWD = "open a directory of the host", "enter the working directory"
# One step whose words say which of its kinds failed.
NODE = "make a node of the tree"
NODE_KINDS = {"make a directory", "make a file", "make a link", "bind a directory of the host",
              "bind a device", "mount a private tmpfs", "mount a fresh proc",
              "make a part of proc read-only", "hide a part of proc", "cover a file of proc"}


def is_v1(step):
    """Cgroups of version 1 are joined while init works, one of version 2 is where it is born."""
    return step["layer"] == "cgroup" and step["hook"] in ("join", "child")


def is_v2(step):
    """Not the making of one: where v1 has a v2 beside it, that is made too."""
    made_on_both = HYBRID and step["what"] == "make a cgroup (v2)"
    return (step["layer"], step["hook"]) == ("cgroup", "prepare") and not made_on_both


def unreached(step, mode):
    """Why this mode does not come to this step, or None."""
    uid, cgroup = harness.MODES[mode]
    layer, what = step["layer"], step["what"]
    if layer == "cgroup" and not cgroup:
        return "there is no cgroup in this mode"
    if layer == "monitor" and cgroup:
        return "there is a cgroup, and monitor stands in for one"
    if is_v1(step) and V2:
        return "this host has cgroup v2"
    if is_v2(step) and not V2:
        return "this host has cgroup v1"
    if what == BIND and uid != 0:
        return "an ordinary user's rights are init's too"
    if what == "write setgroups" and uid == 0:
        return "root may map groups and keep setgroups"
    if what in ("drop supplementary groups", "no supplementary groups") and uid != 0:
        return "an ordinary user cannot drop groups"
    return None


def other_host(step):
    """Why a step is reached on another host only, or None."""
    if is_v1(step) or is_v2(step):
        return "the other version of cgroups"
    if os.geteuid() != 0 and (step["layer"] == "cgroup" or unreached(step, "user")):
        return "root's alone"
    return None


def name_of(value):
    if isinstance(value, str):
        return value
    number, step = value
    return f"{number}-{step['layer']}-{step['hook']}-{step['what']}"


@pytest.fixture(autouse=True)
def children():
    """No test leaves a process."""
    before = harness.descendants(os.getpid())
    yield

    def new():
        harness.reap()
        return harness.descendants(os.getpid()) - before
    assert harness.until(lambda: not new()), [harness.cmdline(pid) for pid in new()]


@pytest.fixture(scope="module")
def shelf(place):
    """A file to copy in; a directory to bind, and an operator's file that allows it."""
    (place / "input").write_text("copied in")
    (place / "input").chmod(0o644)
    (place / "shared").mkdir(mode=0o755)
    (place / "etc" / "belljar").mkdir(parents=True)
    ceiling = place / "etc" / "belljar" / "policy.json"
    ceiling.write_text(json.dumps({"ro_prefixes": [str(place)]}))
    for path in (ceiling.parent.parent, ceiling.parent, ceiling):
        path.chmod(0o755)
    return place


def attempt(shelf, mode, *words, bind=False):
    before, options = [], []
    if bind and harness.MODES[mode][0] == 0:
        # The rest of /etc is not read: ids have no names then.
        before = harness.in_mounts(f"mount --bind {shelf}/etc /etc")
        options = ["--ro", f"{shelf}/shared:/data"]
    return seams.run(shelf, mode, words, "--in", f"{shelf}/input:input", *options,
                     "--", "/bin/echo", "started", before=before)


@pytest.mark.parametrize("mode", MODES)
def test_without_a_fault_it_runs(shelf, mode):
    result = attempt(shelf, mode)
    assert (result.outcome, result.exit_code, result.out) == ("exited", 0, "started\n"), result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("numbered", STEPS, ids=name_of)
def test_it_fails_closed(shelf, mode, numbered):
    number, step = numbered
    reason = unreached(step, mode)
    said = set()
    for turn in range(1, TURNS):
        result = attempt(shelf, mode, f"fault-{number}-{turn}", bind=step["what"] == BIND)
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
    # A working directory that cannot be entered is like a program that is not there.
    outcome = ("not_started", 126) if step["what"] == CWD else ("sandbox_error", 125)
    assert (got["outcome"], result.status, got["started"]) == (*outcome, False), result
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


# ---- What is planted in the launcher, with every layer put up ------------------------------------


@pytest.fixture(scope="module")
def lab_launcher(shelf):
    """The lab's launcher, that has what its name says before it makes anything; nothing is left out."""
    shutil.copy(seams.LAB / "lab-launch", shelf / "lab-launch")
    (shelf / "lab-launch").chmod(0o755)

    def named(word):
        link = shelf / f"lab-launch.{word}"
        if not link.exists():
            link.symlink_to("lab-launch")
        return link
    return named


@pytest.mark.parametrize("mode", MODES)
def test_nothing_that_was_open_reaches_the_program(shelf, lab_launcher, mode):
    """A descriptor of the launcher that no exec closes, far above the others, is closed before it."""
    result = run_by(lab_launcher("fd-planted"), shelf, mode,
                    "--", "/bin/sh", "-c", "ls /proc/self/fd | tr '\\n' ' '")
    # The fourth is of ls, for the directory.
    assert (result.outcome, result.exit_code, result.out) == ("exited", 0, "0 1 2 3 "), result


@pytest.mark.parametrize("mode", MODES)
def test_an_environment_of_the_launcher_reaches_nobody(shelf, lab_launcher, mode):
    result = run_by(lab_launcher("env-planted"), shelf, mode, "--", "/usr/bin/env")
    assert result.outcome == "exited" and "planted" not in result.out, result
    assert "PATH=" in result.out


# ---- What waits for what -------------------------------------------------------------------------


def state(pid):
    """A letter, and the number of the system call that it sleeps in, or "running"."""
    stat = harness.read(f"/proc/{pid}/stat").decode("utf-8", "replace")
    return (stat[stat.rfind(")") + 2:][:1],
            harness.read(f"/proc/{pid}/syscall").decode().partition(" ")[0])


RECVMSG, POLL, SIGTIMEDWAIT = (("S", number) for number in ("47", "7", "128"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("what", "launcher", "init"), [
    ("seize the program's process", SIGTIMEDWAIT, POLL),
    ("detach the old root", POLL, SIGTIMEDWAIT),
    ("close what init does not need", POLL, SIGTIMEDWAIT)])
def test_no_path_of_the_programs_is_looked_up_before_all_is_set(shelf, mode, what, launcher, init):
    """While launcher or init stand before that, and the other has said its go, the program's process
    waits for them."""
    number = [step["what"] for _, step in STEPS].index(what)
    process = seams.start(shelf, mode, (f"pause-{number}-1",), "--", "/bin/echo", "started")
    pids = {}
    try:
        def waits():
            pids["init"], = harness.inits(process.pid) or [None]
            parents = harness.processes()
            pids["launcher"] = parents.get(pids["init"])
            # In this order: who sleeps there has said its go.
            found = state(pids["launcher"]), state(pids["init"])
            program = [pid for pid, of in parents.items() if of == pids["init"]]
            return found == (launcher, init) and [state(pid) for pid in program] == [RECVMSG]
        assert harness.until(waits)
        os.kill(pids["init" if init == SIGTIMEDWAIT else "launcher"], signal.SIGUSR1)
        result = seams.finish(process)
    finally:
        for pid in {process.pid, *harness.descendants(process.pid)}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
    assert (result.outcome, result.exit_code, result.out) == ("exited", 0, "started\n"), result


# ---- What changes between the plan and the tree --------------------------------------------------

# In place of a launcher: when the plan is there, which it does not read, it changes the host, and
# becomes the launcher.
LATE = """#!/usr/bin/python3 -IS
import os, select, subprocess
select.select([0], [], [])
subprocess.run(["/bin/sh", "-c", {command!r}], check=True, stdin=subprocess.DEVNULL)
os.execve({launcher!r}, ["belljar-launch"], {{}})
"""


def run_by(launcher, shelf, mode, *args, before=()):
    shutil.copyfile(harness.NO_CGROUP, shelf / "no-cgroup.json")
    process = subprocess.Popen(seams.command(shelf, mode, args, before), cwd="/",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=harness.clean_env(LAB_LAUNCHER=str(launcher)))
    out, err = process.communicate(timeout=harness.PATIENCE)
    return harness.Result(process, args, out, err)


def late(shelf, name, command):
    path = shelf / name
    path.write_text(LATE.format(command=command, launcher=str(shelf / seams.LAUNCHER.name)))
    path.chmod(0o755)
    return path


@pytest.mark.skipif("root" not in "".join(MODES), reason="only root can stand in for the operator")
@pytest.mark.parametrize(("command", "ends"), [
    ("true", ("exited", "mine")),
    ("mv {0} {0}.before && mkdir {0} && echo theirs >{0}/whose", ("sandbox_error", "")),
    ("mount --bind /dev/full /dev/null", ("sandbox_error", "")),
    ("mount -t tmpfs none {0}", ("sandbox_error", "")),
], ids=["nothing", "directory", "device", "mount"])
def test_what_is_bound_is_what_was_planned(shelf, command, ends):
    """What the ceiling judged, and the plan saw, and nothing that took its place since."""
    bound = shelf / "late"
    bound.mkdir(exist_ok=True)
    (bound / "whose").write_text("mine")
    try:
        result = run_by(late(shelf, "late-launch", command.format(bound)), shelf, MODES[0],
                        "--ro", f"{bound}:/data", "--", "/bin/cat", "/data/whose",
                        before=harness.in_mounts(f"mount --bind {shelf}/etc /etc"))
    finally:
        for path in (bound, shelf / "late.before"):
            shutil.rmtree(path, ignore_errors=True)
    assert (result.outcome, result.out) == ends, result
    if ends[0] != "exited":
        assert "Stale file handle" in result.json["error"]["message"], result
