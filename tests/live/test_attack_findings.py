# SPDX-License-Identifier: Apache-2.0
"""Attacks that once got through."""

import os
import secrets
import shutil
import signal
import struct
import subprocess
import sys

import pytest

import harness

HYBRID = os.geteuid() == 0 and all(
    os.path.isdir(f"{harness.CGROUPS}/{where}") for where in ("unified", "memory"))


def stopped_launcher(bell, token, *options):
    """A run whose launcher hangs, as one does that waits for a pipe's lock: (belljar, launcher)."""
    process = bell.start_inside("deathsig_off", ",", "pause", token, options=options)
    assert harness.until(lambda: harness.started(token))
    (launcher,) = harness.launchers(process.pid) - {process.pid}
    os.kill(launcher, signal.SIGSTOP)
    assert harness.until(lambda: b"State:\tT" in harness.read(f"/proc/{launcher}/status"))
    return process, launcher


def finish(bell, process, launcher):
    os.kill(launcher, signal.SIGCONT)
    out, err = bell.finish(process)
    got = harness.Result(process, "stopped launcher", out, err)
    bell.check(got)
    return got


def test_the_deadline_holds_though_the_launcher_hangs(bell, token):
    process, launcher = stopped_launcher(bell, token, "--time", "2s")
    assert harness.until(lambda: not harness.marked(token))
    assert b"State:\tT" in harness.read(f"/proc/{launcher}/status")
    assert finish(bell, process, launcher).outcome == "time_limit"


def test_a_cancelled_run_ends_though_the_launcher_hangs(bell, token):
    process, launcher = stopped_launcher(bell, token, "--time", "60s")
    process.send_signal(signal.SIGINT)
    assert harness.until(lambda: not harness.marked(token))
    assert b"State:\tT" in harness.read(f"/proc/{launcher}/status")
    assert finish(bell, process, launcher).outcome == "cancelled"


def test_a_run_without_its_caller_ends_though_the_launcher_hangs(bell, token):
    process, launcher = stopped_launcher(bell, token, "--time", "60s")
    process.kill()
    process.communicate(timeout=harness.PATIENCE)
    assert harness.until(lambda: not harness.marked(token))
    os.kill(launcher, signal.SIGCONT)
    assert harness.until(lambda: not os.path.exists(f"/proc/{launcher}") or
                         b"State:\tZ" in harness.read(f"/proc/{launcher}/status"))


STEER = """
import ctypes, errno, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
ioprio_set = {"x86_64": 251, "aarch64": 30}[os.uname().machine]
def ioprio(who, pid):
    if libc.syscall(ioprio_set, who, pid, 3 << 13) < 0:
        raise OSError(ctypes.get_errno(), "ioprio_set")
humblest = 19  # whatever the caller's is
for what, call in {
    "prlimit": lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (5, 5)),
    "prlimit, high half": lambda pid: libc.prlimit(ctypes.c_ulong(pid | 1 << 32), 0, None, None),
    "setpriority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, humblest),
    "setpriority, user": lambda pid: os.setpriority(os.PRIO_USER, 0, humblest) if pid else None,
    "sched_setscheduler": lambda pid: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    "sched_setaffinity": lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(0)),
    "ioprio_set": lambda pid: ioprio(1, pid),
    "ioprio_set, user": lambda pid: ioprio(3, 0) if pid else None,
}.items():
    for pid in (0, 1):
        ctypes.set_errno(0)
        try:
            call(pid)
            got = errno.errorcode.get(ctypes.get_errno(), "ok")
        except OSError as e:
            got = errno.errorcode[e.errno]
        print(what, pid, got, sep="|")
"""


def test_limits_and_priorities_of_init_are_out_of_reach(bell):
    got = [line.split("|") for line in bell.python(STEER).out.splitlines()]
    assert len(got) == 16
    assert [row for row in got if row[2] != ("ok" if row[1] == "0" else "EPERM")] == []


# By its group, whatever the number of that is, and by calls that the filter lets pass to anybody.
AROUND = """
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
ioprio_set, sched_setattr, sched_setparam = {"x86_64": (251, 314, 142),
                                             "aarch64": (30, 274, 118)}[os.uname().machine]
def say(what, result):
    print(what, "ok" if result == 0 else errno.errorcode[ctypes.get_errno()], flush=True)
attr = struct.pack("=IIQiIQQQ", 48, 3, 0, 19, 0, 0, 0, 0)
say("own group", libc.setpriority(1, 0, 18))
say("own group, io", libc.syscall(ioprio_set, 2, 0, 3 << 13))
groups = range(1, 70000)
print("groups", [g for g in groups if g != os.getpgrp() and libc.setpriority(1, g, 19) == 0])
print("groups, io", [g for g in groups if g != os.getpgrp() and
                     libc.syscall(ioprio_set, 2, g, 3 << 13) == 0])
say("join its group", libc.setpgid(0, 1))
say("sched_setattr", libc.syscall(sched_setattr, 1, attr, 0))
say("sched_setparam", libc.syscall(sched_setparam, 1, struct.pack("i", 0)))
print("tried", flush=True)
open("/proc/self/comm", "w").write("tried")
import signal
signal.pause()
"""


def nice_of(pid):
    return int(harness.read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[16])


def test_no_other_way_leads_to_the_priority_of_init(bell, token):
    process = bell.start("--time", "60s", "-c", AROUND, "--lang", "python", token)
    assert harness.until(lambda: [pid for pid in harness.marked(token)
                                  if harness.read(f"/proc/{pid}/comm") == b"tried\n"])
    (program,) = [pid for pid in harness.marked(token)
                  if harness.read(f"/proc/{pid}/comm") == b"tried\n"]
    (init,) = harness.inits(process.pid)
    usual = nice_of(os.getpid())
    assert nice_of(program) == 18, "the control: what it may change has changed"
    assert nice_of(init) == usual
    process.send_signal(signal.SIGINT)
    out, err = bell.finish(process)
    got = harness.Result(process, "around", out, err)
    assert (got.outcome, got.left_behind["processes"]) == ("cancelled", 0), got
    assert got.out.splitlines() == [
        "own group ok", "own group, io ok", "groups []", "groups, io []", "join its group EPERM",
        "sched_setattr ENOSYS", "sched_setparam ok", "tried"]


@pytest.fixture(scope="session")
def filler():
    place = harness.temporary_dir()
    binary = place / "filler"
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-static", "-no-pie",
                    "-fno-stack-protector", "-nostartfiles", str(harness.HERE / "findings.c"), "-o",
                    str(binary)], check=True)
    binary.chmod(0o755)
    yield binary
    shutil.rmtree(place)


def test_memory_that_no_process_maps_ends_the_run_as_its_memory(bell, filler):
    got = bell.run("--in", f"{filler}:filler", "--memory", "40m", "--time", "30s", "--cpu-time",
                   "30s", "--", "/workspace/filler")
    assert (got.outcome, got.status, got.retry) == ("memory_limit", 137, "change")
    assert got.limits_hit == ["memory"] and not got.error


SCHEDULING = ("import os; print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0) < 0, "
              "open('/proc/self/personality').read().strip())")
# From 19, the humblest that a caller may be, 39 steps are the way to the greediest.
PUSHED = ["chrt", "--fifo", "1", "nice", "-n", "-39", "setarch", "--addr-no-randomize"]


def test_the_callers_scheduling_and_personality_are_not_inherited(bell):
    if os.geteuid() == 0:  # nobody else may take them
        control = subprocess.run([*PUSHED, sys.executable, "-c", SCHEDULING], capture_output=True,
                                 text=True, check=True)
        assert control.stdout == "1 True 00040000\n"
    before = PUSHED if os.geteuid() == 0 else PUSHED[-2:]
    got = bell.python(SCHEDULING, before=before)
    assert got.out == "0 False 00000000\n", got


def last_load(image):
    """Where the program header of the last PT_LOAD of an ELF-64 file lies."""
    table, size, count = *struct.unpack_from("<Q", image, 32), *struct.unpack_from("<HH", image, 54)
    return max(at for at in range(table, table + count * size, size)
               if struct.unpack_from("<I", image, at)[0] == 1)


def test_a_program_whose_segments_cannot_be_mapped_is_not_started(bell, inside):
    image = bytearray(inside.read_bytes())
    good = bell.file("good", image, 0o755)
    assert bell.run("--in", f"{good}:x", "--", "/workspace/x", "pids").outcome == "exited"
    struct.pack_into("<Q", image, last_load(image) + 40, 1 << 46)  # its size in memory
    bad = bell.file("bad", image, 0o755)
    got = bell.run("--in", f"{bad}:x", "--", "/workspace/x", "pids")
    assert (got.outcome, got.started, got.status, got.retry) == ("not_started", False, 126, "change")


BUFFERS = """
import os, socket
listening = socket.create_server(("127.0.0.1", 0), backlog=100)
held, kept = 0, []
for i in range(64):
    pair = [socket.create_connection(listening.getsockname()), listening.accept()[0]]
    kept += pair
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        end.setblocking(False)
    for end in pair:
        try:
            while True:
                held += end.send(bytes(65536))
        except BlockingIOError:
            pass
    os.write(1, b"%d\\n" % held)
"""


def test_buffers_of_tcp_are_bounded(first_bell):
    control = subprocess.run([sys.executable, "-c", BUFFERS], capture_output=True, text=True,
                             check=True)
    assert int(control.stdout.split()[-1]) > 96 << 20
    if not first_bell.cgroup:
        return  # what lies in sockets belongs to no process that could be polled
    got = first_bell.python(BUFFERS, "--memory", "48m", "--time", "60s", "--cpu-time", "60s")
    assert got.outcome in ("exited", "memory_limit"), got
    assert int(got.out.split()[-1]) < 48 << 20


BURNERS = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.3:
            pass
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass
"""


def test_cpu_time_of_children_that_nobody_waits_for_counts(bell):
    got = bell.python(BURNERS, "--cpu-time", "1s", "--time", "60s")
    assert (got.outcome, got.limits_hit) == ("cpu_limit", ["cpu"])


def test_an_environment_that_cannot_be_read_back_is_refused(bell):
    half = "x" * 70000
    assert bell.run("--env", f"A={half}", "--", "/bin/true").outcome == "exited"
    got = bell.run("--env", f"A={half}", "--env", f"B={half}", "--", "/bin/true")
    assert (got.outcome, got.started, got.retry) == ("refused", False, "change")


def test_a_caller_without_locked_memory_is_served(bell):
    got = bell.python("import resource; print(resource.getrlimit(resource.RLIMIT_MEMLOCK))",
                      before=["prlimit", "--memlock=0"])
    assert got.out == "(0, 0)\n"


def in_all_hierarchies(name):
    return [f"{harness.CGROUPS}/{where}/{name}" for where in ("unified", "memory", "pids")]


@pytest.fixture
def left_cgroup():
    """A run's cgroup, in three hierarchies, that no launcher holds."""
    paths = in_all_hierarchies("belljar-" + secrets.token_hex(8))
    for path in paths:
        os.mkdir(path, 0o700)
    yield paths
    for path in filter(os.path.isdir, paths):
        os.rmdir(path)


@pytest.mark.skipif(not HYBRID, reason="one hierarchy: what is found is all there is")
def test_a_sweep_leaves_nothing_that_it_could_not_find_again(first_bell, left_cgroup):
    """What is busy in one hierarchy stays in the one that is looked at, for the next sweep."""
    holder = subprocess.Popen(["sleep", "600"])
    try:
        with open(f"{left_cgroup[1]}/cgroup.procs", "w", encoding="ascii") as procs:
            procs.write(str(holder.pid))
        assert first_bell.run("--", "/bin/true").outcome == "exited"
        assert [os.path.isdir(d) for d in left_cgroup] == [True, True, False]
    finally:
        holder.kill()
        holder.wait()
    assert first_bell.run("--", "/bin/true").outcome == "exited"
    assert not any(map(os.path.isdir, left_cgroup))
