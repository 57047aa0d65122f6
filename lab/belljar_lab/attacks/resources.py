# SPDX-License-Identifier: Apache-2.0
"""Attacks that take what others need: memory, tasks, time, disk, the reader's patience."""

import array
import contextlib
import fcntl
import os
import signal
import subprocess
import termios
import time

from belljar_lab import calls, host, outer
from belljar_lab.attack import EVERY, NO_CGROUP, WITH_CGROUP, Attack
from belljar_lab.run import (SHOWN, TICKS, Run, children_of, cpu_seconds, field_of, fields_of,
                             is_gone, name_of, parents_of_all, resident)

MEBI = 1 << 20
BURNER = "lab-burner"  # the name that such processes take


def age(fields):
    """Seconds since it started, of a process that run.fields_of() knows; 0 for none."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / TICKS if fields else 0


def takes_memory(run: Run):
    """Four times what it may have."""
    def look(pid):
        return run.outlasts_a_look(pid) and resident(pid) > 150 * MEBI
    return run.python(f'held = b"x" * {200 * MEBI}', "--memory", "50m", "--time", "60s", look=look)


# Processes that are there at once, and end with the first of them.
FORKS = """
read, write = os.pipe()
for _ in range(40):
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
"""


def starts_tasks(run: Run):
    return run.python(FORKS, "--pids", "8", look=lambda pid: len(children_of(pid)) == 40)


def writes_a_large_file(run: Run):
    def look(pid):
        return run.made(pid, "large").st_size == MEBI
    return run.python(f"""
with open(ROOM + "/large", "wb") as file:
    file.write(b"x" * {MEBI})
""", "--fsize", "64k", look=look)


def sleeps_beyond_its_time(run: Run):
    return run.python("time.sleep(0.7)", "--time", "200ms",
                      look=lambda pid: age(fields_of(pid)) > 0.5)


def computes_beyond_its_time(run: Run):
    return run.python("""
while time.process_time() < 0.6:
    pass
""", "--cpu-time", "150ms", "--cpus", "1", "--time", "60s", look=lambda pid: cpu_seconds(pid) > 0.4)


def computes_in_orphans(run: Run):
    """None of them for long, and nobody waits for them: their time is in no parent's sum."""
    def look(pid):
        return sum(cpu_seconds(one) for one in parents_of_all() if name_of(one) == BURNER) > 0.5
    return run.python(f"""
until_end, end = os.pipe()
until_burnt, burnt = os.pipe()
for _ in range(3):
    child = os.fork()
    if child == 0:
        if os.fork():
            os._exit(0)
        os.close(end)
        libc.prctl(15, {BURNER.encode()}, 0, 0, 0)
        while time.process_time() < 0.2:
            pass
        os.close(burnt)
        os.read(until_end, 1)
        os._exit(0)
    os.waitpid(child, 0)
os.close(burnt)
os.read(until_burnt, 1)
""", "--cpu-time", "300ms", "--cpus", "1", "--time", "60s", look=look)


def stops_itself(run: Run):
    """Ignores all that it can, too. Whoever looks lets it go on in the end."""
    def lasted(pid):
        fields = fields_of(pid)
        return fields[:1] == ["T"] and age(fields) > 0.5

    def look(pid):
        outer.until(lambda: is_gone(pid) or lasted(pid))
        stopped = lasted(pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        return stopped
    return run.python(f"""
import signal
for number in signal.valid_signals() - {{signal.SIGKILL, signal.SIGSTOP}}:
    signal.signal(number, signal.SIG_IGN)
libc.prctl(15, b"{SHOWN}", 0, 0, 0)
os.kill(os.getpid(), signal.SIGSTOP)
""", "--time", "200ms", look=look)


def takes_memory_in_children(run: Run):
    """Each of them less than what is allowed; the one that is killed is not the first process."""
    def look(pid):
        return sum(map(resident, children_of(pid))) > 100 * MEBI
    return run.python(f"""
import signal
until_end, end = os.pipe()
until_held, held = os.pipe()
children = []
for _ in range(4):
    children.append(os.fork())
    if children[-1] == 0:
        os.close(end)
        memory = b"x" * {30 * MEBI}
        os.write(held, b"x")
        os.close(held)
        os.read(until_end, 1)
        os._exit(0)
os.close(held)
count = 0
while os.read(until_held, 1):
    count += 1
if count < len(children):
    os.close(end)
    ends = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(print(*{{signal.Signals(os.WTERMSIG(one)).name for one in ends if one}}))
""", "--memory", "50m", "--time", "60s", look=look)


def takes_memory_in_files(run: Run):
    """Memory that nobody has mapped."""
    def look(pid):
        fds = f"/proc/{pid}/fd"
        return run.outlasts_a_look(pid) and sum(
            os.stat(f"{fds}/{fd}").st_blocks * 512 for fd in os.listdir(fds)
            if "memfd:held" in os.readlink(f"{fds}/{fd}")) >= 100 * MEBI
    return run.python(f"""
for _ in range(100):
    os.write(os.memfd_create("held"), bytes({MEBI}))
""", "--memory", "50m", "--time", "60s", look=look)


def takes_memory_in_pipes(run: Run):
    """Memory of the kernel, for which no process is larger."""
    def look(pid):
        return sum(map(bytes_in, (f"/proc/{pid}/fd/{fd}" for fd in range(100, 140)))) == 40 * MEBI
    return run.python(f"""
import fcntl
f_setpipe_sz = 1031
for number in range(100, 140):
    read, write = os.pipe()
    fcntl.fcntl(write, f_setpipe_sz, {MEBI})
    os.write(write, bytes({MEBI}))
    os.dup2(read, number)
""", "--memory", "30m", "--time", "60s", look=look)


def bytes_in(pipe):
    """How much waits in it to be read."""
    fd, count = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), array.array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, count)
    finally:
        os.close(fd)
    return count[0]


def takes_memory_in_segments(run: Run):
    """System V segments that nobody has attached: monitor does not see them either."""
    def look(pid):
        of_run = os.open(f"/proc/{pid}/ns/ipc", os.O_RDONLY)
        try:
            return sum(size for _, size, attached in segments(of_run) if not attached) >= 80 * MEBI
        finally:
            os.close(of_run)
    # Without a namespace of its own it leaves them in ours.
    run.world.cell.callback(remove_segments)
    return run.python(f"""
libc.shmat.restype = ctypes.c_void_p
for _ in range(4):
    segment = must(libc.shmget(0, {20 * MEBI}, 0o1600))
    at = ctypes.c_void_p(libc.shmat(segment, None, 0))
    ctypes.memset(at, 1, {20 * MEBI})
    libc.shmdt(at)
""", "--memory", "50m", "--time", "60s", look=look)


def segments(namespace=None):
    """(id, resident bytes, how often attached) of each in that IPC namespace, or in ours."""
    def enter():
        if namespace:
            outer.must(outer.libc.setns(namespace, 0), "setns")
    table = subprocess.run(["/bin/cat", "/proc/sysvipc/shm"], stdout=subprocess.PIPE, check=True,
                           text=True, preexec_fn=enter).stdout
    names, *rows = map(str.split, table.splitlines())
    at = [names.index(name) for name in ("shmid", "rss", "nattch")]
    return [tuple(int(row[one]) for one in at) for row in rows]


def remove_segments():
    ipc_rmid = 0
    for number, _, _ in segments():
        outer.libc.shmctl(number, ipc_rmid, None)


def fills_shared_memory(run: Run):
    """What everybody's shared memory lies in, where that is not the host's."""
    def look(pid):
        for place in ("dev/shm", run.world.room):
            with contextlib.suppress(FileNotFoundError):
                return os.stat(f"/proc/{pid}/root/{place}/filled").st_blocks * 512 >= 4 * MEBI
    return run.python(f"""
place = "/dev/shm" if ROOM == "/workspace" else ROOM
with open(place + "/filled", "wb", buffering=0) as file:
    for _ in range(4):
        file.write(bytes({MEBI}))
""", "--shm", "1m", look=look)


def opens_many_descriptors(run: Run):
    return run.python("""
for _ in range(200):
    os.dup(0)
""", "--nofile", "100", look=lambda pid: len(os.listdir(f"/proc/{pid}/fd")) > 200)


def raises_its_limits(run: Run):
    def look(pid):
        limits = host.read(f"/proc/{pid}/limits").splitlines()
        return any(line.split()[:5] == ["Max", "open", "files", "200", "200"] for line in limits)
    return run.python("""
import struct
nofile = 7
must(libc.setrlimit(nofile, struct.pack("QQ", 200, 200)))
""", "--nofile", "100", look=look)


def locks_memory(run: Run):
    return run.python(f"""
memory = ctypes.create_string_buffer({MEBI})
must(libc.mlock(memory, len(memory)))
""", look=lambda pid: int(field_of(pid, "VmLck").split()[0]) >= 1024)


def makes_a_message_queue(run: Run):
    def look(pid):
        fds = f"/proc/{pid}/fd"
        return any(calls.QUEUE in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
    return run.python(calls.CALLS["message_queue"] + "\nmust(got)", look=look)


def floods_its_output(run: Run):
    result = run.result("--max-output", "64k", *run.python_words(f"""
os.write(1, (b"x" * 99 + b"\\n") * {MEBI // 100})
"""))
    # limits_hit also says that there was more than may be where nothing ended it for that.
    whole = result.json["stdout"]["bytes"] > MEBI - 100
    return run.judge(result.out.splitlines()[-1] if whole else run.sign(result), whole)


ROWS = [
    Attack("exhaust-memory", "F", takes_memory, main=True,
           does="takes 200 MiB where 50 are allowed",
           success="its process has them",
           stops=(("cgroup", "memory_limit", WITH_CGROUP),
                  ("monitor+mount", "memory_limit", NO_CGROUP))),
    Attack("fork-bomb", "G", starts_tasks, main=True,
           does="starts 40 processes where 8 are allowed",
           success="it has 40 children at once",
           modes=WITH_CGROUP,
           stops=(("cgroup", "EAGAIN"), ("rlimit", "EAGAIN"))),
    Attack("large-file", "H", writes_a_large_file,
           does="writes a file of 1 MiB where 64 KiB are allowed",
           success="the file has its whole size",
           stops=(("rlimit", "EFBIG"),)),
    Attack("sleep-for-ever", "E", sleeps_beyond_its_time,
           does="sleeps for 0.7 s where 0.2 s are allowed",
           success="its process is there after 0.5 s",
           stops=(("deadline", "time_limit"),)),
    Attack("compute-for-ever", "E", computes_beyond_its_time,
           does="computes for 0.6 s where 0.15 s are allowed",
           success="its process has used more than 0.4 s",
           stops=(("deadline+cgroup", "cpu_limit", WITH_CGROUP),
                  ("deadline+monitor+mount", "cpu_limit", NO_CGROUP))),
    Attack("compute-in-orphans", "E", computes_in_orphans,
           does="computes for 0.6 s where 0.3 s are allowed, in three processes without a parent",
           success="they have used more than 0.5 s",
           stops=(("deadline+cgroup", "cpu_limit", WITH_CGROUP),
                  ("deadline+monitor+mount", "cpu_limit", NO_CGROUP))),
    Attack("stop-itself", "E", stops_itself, modes=WITH_CGROUP,
           does="ignores all signals and stops itself, where 0.2 s are allowed",
           success="its process is there, stopped, after 0.5 s",
           stops=(("deadline", "time_limit"),)),
    Attack("memory-in-children", "F", takes_memory_in_children, modes=WITH_CGROUP,
           does="takes 30 MiB in each of four children, where 50 are allowed",
           success="its children have them at once",
           stops=(("cgroup", "SIGKILL"),)),
    Attack("memory-in-files", "F", takes_memory_in_files,
           does="writes 100 MiB into files without a name, where 50 are allowed",
           success="its files have them",
           stops=(("cgroup", "memory_limit", WITH_CGROUP),
                  ("monitor+mount", "memory_limit", NO_CGROUP))),
    Attack("memory-in-pipes", "F", takes_memory_in_pipes, modes=WITH_CGROUP,
           does="leaves 40 MiB in pipes, where 30 are allowed",
           success="they wait there to be read",
           stops=(("cgroup", "memory_limit"),)),
    Attack("memory-in-segments", "F", takes_memory_in_segments, modes=WITH_CGROUP,
           does="leaves 80 MiB in shared memory that no process has attached, where 50 are allowed",
           success="the run's segments have them",
           stops=(("cgroup", "memory_limit"),)),
    Attack("fill-shared-memory", "F", fills_shared_memory,
           does="writes 4 MiB into /dev/shm where 1 is allowed",
           success="the file there has them",
           stops=(("mount", "ENOSPC"),)),
    Attack("many-descriptors", "F", opens_many_descriptors,
           does="opens 200 descriptors where 100 are allowed",
           success="its process has them open",
           stops=(("rlimit", "EMFILE"),)),
    Attack("raise-limits", "J", raises_its_limits,
           does="raises its limit of 100 descriptors to 200",
           success="its process has the higher limit",
           stops=(("rlimit", "EPERM"),)),
    Attack("lock-memory", "F", locks_memory, needs=("lockable-memory",),
           does="locks 1 MiB of memory, which no swap can relieve the host of",
           success="its process has it locked",
           stops=(("rlimit", "ENOMEM"),)),
    Attack("make-message-queue", "F", makes_a_message_queue, needs=("message_queue",),
           does="makes a POSIX message queue, the memory of which the kernel reserves",
           success="its process has such a queue open",
           stops=(("rlimit", "EMFILE"), ("landlock", "EACCES", EVERY, "landlock"))),
    Attack("flood-output", "I", floods_its_output,
           does="prints 1 MiB where 64 KiB are allowed",
           success="all of it is read and it ends by itself",
           stops=(("output", "output_limit"),)),
]
