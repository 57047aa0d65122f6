# SPDX-License-Identifier: Apache-2.0
"""The limits that are touched, a row for each way to touch one; limits.py does it.

A row has one limit, and a program that uses a given amount of what it limits: once what is
allowed, and once more than that. `amount` is how much, say() writes to stderr what it sees, and
every OSError is said by its name.
"""

import glob
import mmap
import os
import re
import resource
import signal
from collections.abc import Callable
from typing import NamedTuple

from belljar_lab import host, outer
from belljar_lab.run import PATIENCE, SHOWN, fields_of

KIBI, MEBI = 1 << 10, 1 << 20


class Seen(NamedTuple):
    """What is declared, and what is observed."""
    saw: str  # lines of stderr, and how it ended if not by itself
    outcome: str = "exited"
    status: int = 0  # of the command
    hits: tuple = ()  # limits_hit
    retry: str = "not_needed"
    cut: bool = False  # stdout is not kept whole
    hint: str = ""  # declared: words that stand in it


class Row(NamedTuple):
    limit: str  # a field of the policy, or a line of /proc/self/limits
    does: str
    options: tuple
    code: str  # Python; `amount` is how much
    below: tuple | None  # (amount, what it sees), or None: nothing of it is allowed
    above: tuple  # (amount, Seen)
    no_cgroup: Seen | None = None  # where it is another
    look: Callable | None = None  # of a process that shows itself: words that it adds
    free: tuple = ()  # options in place of `options` for what is below


def touched(saw, *hits, hint):
    return Seen(saw, hits=hits, hint=hint)


def time_limit(saw):
    return Seen(f"{saw}, ended", "time_limit", 124, ("time",), "change", hint="after 10s")


CPU_LIMIT = Seen("ended", "cpu_limit", 124, ("cpu",), "change", hint="3s of CPU time")
MEMORY_LIMIT = Seen("ended", "memory_limit", 137, ("memory",), "change", hint="more than 64m")


def signaled(name, *hits, hint, saw=""):
    number = signal.Signals[name]
    return Seen(f"{saw}, {name}".lstrip(", "), "signaled", 128 + number, hits, "change", hint=hint)


# ---- Programs ------------------------------------------------------------------------------------

SLEEPS = """
say("began")
time.sleep(amount / 1000)
"""
COMPUTES = """
while time.process_time() < amount / 1000:
    pass
"""
HOLDS = """
held = b"x" * amount
while amount > {most}:
    signal.pause()
"""
CHILD_HOLDS = """
pid = os.fork()
if pid == 0:
    held = b"x" * amount
    while amount > {most}:
        signal.pause()
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
say("child:", signal.Signals(-status).name if status < 0 else status)
"""
FILLS = """
with open("/workspace/large", "wb", buffering=0) as file:
    for _ in range(amount // {piece}):
        file.write(bytes({piece}))
"""
FORKS = """
read, write = os.pipe()
try:
    for number in range(amount):
        if os.fork() == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
    number += 1
finally:
    say(number, "children")
"""
THREADS = """
import threading
done, number = threading.Event(), 0
try:
    for number in range(amount):
        threading.Thread(target=done.wait).start()
    number += 1
except RuntimeError as error:
    say(error)
done.set()
say(number, "threads")
"""
WRITES = """
file = os.open("{place}/large", os.O_CREAT | os.O_WRONLY)
while amount:
    got = os.write(file, bytes(amount))
    say("wrote", got, "of", amount)
    amount -= got
"""
TAKES_SIGNAL = "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
MAPS = """
with open("/workspace/mapped", "wb+") as file:
    file.truncate(amount)
    memory = mmap.mmap(file.fileno(), amount)
    for at in range(0, amount, mmap.PAGESIZE):
        memory[at] = 1
say("written")
"""
CREATES = """
for number in range(amount):
    open("{place}/%d" % number, "x").close()
say(amount, "made")
"""
PRINTS = """
while amount:
    amount -= os.write(1, b"x" * min(amount, 4096))
"""
OPENS = """
number = 0
try:
    for number in range(amount):
        os.dup(0)
    number += 1
finally:
    say(number, "opened")
"""
RAISES = """
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (amount, amount))
    say("set")
except ValueError as error:
    say(error)
"""
# Shown while it computes, for as long as it is looked at.
USES_CPU = f"""
import select
say(len(os.sched_getaffinity(0)), "CPU")
libc.prctl(15, b"{SHOWN}", 0, 0, 0)
while time.process_time() < amount / 1000 and not select.select([0], [], [], 0)[0]:
    pass
sys.stdin.read()
"""
USES_STACK = """
with open("/proc/self/maps") as maps:
    top = next(int(line.split("-")[1].split()[0], 16) for line in maps if "[stack]" in line)
ctypes.memset(top - amount, 0, 1)
say("used")
"""
LOCKS = """
room = mmap.mmap(-1, {room})
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
must(libc.mlock(ctypes.c_void_p(start), ctypes.c_size_t(amount)))
say("locked")
"""
CRASHES = """
pid = os.fork()
if pid == 0:
    os.abort()
status = os.waitpid(pid, 0)[1]
say(signal.Signals(os.WTERMSIG(status)).name, "with" if os.WCOREDUMP(status) else "without",
    "core,", len(os.listdir(".")), "files")
"""
IS_NICE = """
os.nice(amount)
say("set")
"""
IS_REAL_TIME = """
os.sched_setscheduler(0, amount, os.sched_param(1 if amount else 0))
say("set")
"""
MAKES_QUEUE = """
librt = ctypes.CDLL("librt.so.1", use_errno=True)
must(librt.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o600, None))
say("made")
"""


def was_throttled(pid):
    """How often the run's cgroup had to wait for CPU time."""
    for folder in glob.glob(f"{outer.CGROUPS}/**/belljar-*/", recursive=True):
        found = re.search(r"^nr_throttled (\d+)", host.read(f"{folder}/cpu.stat"), re.M)
        if found and str(pid) in host.read(f"{folder}/cgroup.procs").split():
            return int(found[1])
    return 0


def held_back(pid):
    """Whether it has to wait, before it has computed all that it wants."""
    outer.until(lambda: was_throttled(pid) or fields_of(pid)[0] == "S", PATIENCE)
    return ["held back"] if was_throttled(pid) else []


# ---- Rows ----------------------------------------------------------------------------------------

HOLDS_MORE = ("--memory", "64m", "--time", "60s")
PIECE = 64 * KIBI
# A mount that is full to its last page counts as touched; one page is left of what is allowed.
PAGE = mmap.PAGESIZE
FULL, SIZE = 16 * PAGE, f"{16 * PAGE // KIBI}k"
CPUS = len(os.sched_getaffinity(0))
ROWS = [
    # What is allowed ends by itself on a slow host too.
    Row("time", "sleeps for ms", ("--time", "10s"), SLEEPS,
        (10, "began"), (60000, time_limit("began"))),
    Row("cpu_time", "computes for ms", ("--cpu-time", "3s", "--cpus", "1", "--time", "60s"),
        COMPUTES, (100, ""), (60000, CPU_LIMIT)),
    Row("memory", "holds memory", HOLDS_MORE, HOLDS.format(most=20 * MEBI),
        (20 * MEBI, ""), (200 * MEBI, MEMORY_LIMIT)),
    Row("memory", "a child of it holds memory", HOLDS_MORE, CHILD_HOLDS.format(most=20 * MEBI),
        (20 * MEBI, "child: 0"),
        (200 * MEBI, touched("child: SIGKILL", "memory", hint="processes was killed")),
        no_cgroup=MEMORY_LIMIT),
    Row("memory", "fills /workspace", (*HOLDS_MORE, "--workspace", "400m"),
        FILLS.format(piece=PIECE) + "if amount > 20 << 20: signal.pause()", (20 * MEBI, ""),
        (200 * MEBI, MEMORY_LIMIT)),
    Row("cpus", "computes for ms", ("--cpus", "0.05", "--time", "60s"), USES_CPU,
        (200, f"{CPUS} CPU") if CPUS > 1 else None, (300, Seen("1 CPU, held back")),
        no_cgroup=Seen("1 CPU"), look=held_back, free=("--cpus", str(CPUS), "--time", "60s")),
    Row("pids", "starts children", ("--pids", "8"), FORKS, (7, "7 children"),
        (8, touched("7 children, EAGAIN", "tasks", hint="limit of 8 tasks")),
        no_cgroup=Seen("7 children, EAGAIN")),
    Row("pids", "starts threads", ("--pids", "8"), THREADS, (7, "7 threads"),
        (8, touched("can't start new thread, 7 threads", "tasks", hint="limit of 8 tasks")),
        no_cgroup=Seen("can't start new thread, 7 threads")),
    *(Row(name, f"writes bytes to {place}", (f"--{name}", SIZE), WRITES.format(place=place),
          (15 * PAGE, f"wrote {15 * PAGE} of {15 * PAGE}"),
          (FULL + 1, touched(f"wrote {FULL} of {FULL + 1}, ENOSPC", "disk",
                             hint=f"{place} ({SIZE})")))
      for name, place in (("workspace", "/workspace"), ("tmp", "/tmp"), ("shm", "/dev/shm"))),
    Row("workspace", "writes to a mapped file", ("--workspace", SIZE), MAPS, (15 * PAGE, "written"),
        (2 * FULL, signaled("SIGBUS", "disk", hint="a mount was full"))),
    Row("inodes", "makes files", ("--inodes", "64"), CREATES.format(place="/workspace"),
        (60, "60 made"), (100, touched("ENOSPC", "disk", hint="/workspace"))),
    Row("keep_output", "prints bytes", ("--keep-output", "1k"), PRINTS,
        (1024, ""), (1025, Seen("", cut=True))),
    Row("max_output", "prints bytes", ("--max-output", "64k"), PRINTS, (PIECE, ""),
        # More than a pipe holds: it cannot end before that is read.
        (MEBI, Seen("ended", "output_limit", 123, ("output",), "change", cut=True,
                            hint="more than 64k"))),
    Row("fsize", "writes bytes to a file", ("--fsize", "64k"), WRITES.format(place="/workspace"),
        (PIECE, "wrote 65536 of 65536"), (PIECE + 1, Seen("wrote 65536 of 65537, EFBIG"))),
    Row("fsize", "… and takes the signal", ("--fsize", "64k"),
        TAKES_SIGNAL + WRITES.format(place="/workspace"), (PIECE, "wrote 65536 of 65536"),
        (PIECE + 1, signaled("SIGXFSZ", saw="wrote 65536 of 65537", hint="grew beyond 64k"))),
    Row("nofile", "opens descriptors", ("--nofile", "64"), OPENS, (61, "61 opened"),
        (62, Seen("61 opened, EMFILE"))),
    Row("nofile", "raises its own limit", ("--nofile", "64"), RAISES, (64, "set"),
        (65, Seen("not allowed to raise maximum limit"))),
    Row("Max stack size", "uses so deep a stack", (), USES_STACK, (7 * MEBI, "used"),
        (9 * MEBI, signaled("SIGSEGV", hint="endless recursion"))),
    Row("Max core file size", "a child of it aborts", (), CRASHES, None,
        (0, Seen("SIGABRT without core, 0 files"))),
    Row("Max locked memory", "locks bytes", (), LOCKS.format(room=MEBI), (64 * KIBI, "locked"),
        (128 * KIBI, Seen("ENOMEM"))),
    Row("Max nice priority", "takes a nice value", (), IS_NICE, (1, "set"), (-1, Seen("EPERM"))),
    Row("Max realtime priority", "takes a scheduling class", (), IS_REAL_TIME, (0, "set"),
        (1, Seen("EPERM"))),
    Row("Max msgqueue size", "makes a message queue", (), MAKES_QUEUE, None, (0, Seen("EMFILE"))),
]
# The rest of them. What belongs to a field of the policy is said there.
REASONS = {
    "landlock_abi_min": "binds the host, not the program: an older ABI, and nothing is started",
    "accept_missing": "names layers; nothing to be used up",
    "ro_prefixes": "names directories; nothing to be used up",
    "Max cpu time": "whole seconds above `cpu_time`, which comes first",
    "Max file size": "is `fsize`",
    "Max processes": "is `pids`; with a cgroup one above it, so that the refusal is counted",
    "Max open files": "is `nofile`",
    "Max data size": "the caller's: memory counts where it is touched, by `memory`",
    "Max resident set": "the caller's: no kernel of today looks at it",
    "Max address space": "the caller's: memory counts where it is touched, by `memory`",
    "Max file locks": "the caller's: no kernel of today looks at it",
    "Max pending signals": "the caller's: a few bytes of kernel memory each, which `memory` counts",
    "Max realtime timeout": "the caller's: no real-time class can be had",
}
# Below these a caller's own hard limit takes the place of Belljar's.
PLANNED = {"Max stack size": (resource.RLIMIT_STACK, 8 * MEBI),
           "Max locked memory": (resource.RLIMIT_MEMLOCK, 64 * KIBI)}


def why_not(row):
    """Why this row says nothing here, or None."""
    which, planned = PLANNED.get(row.limit, (resource.RLIMIT_CORE, 0))
    hard = resource.getrlimit(which)[1]
    if hard == resource.RLIM_INFINITY or hard >= planned:
        return None
    return f"whoever started the lab has a lower limit of its own, {hard}"
