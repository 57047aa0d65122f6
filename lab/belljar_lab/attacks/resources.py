# SPDX-License-Identifier: Apache-2.0
"""Attacks that take what others need: memory, tasks, time, disk, the reader's patience."""

from belljar_lab.attack import CGROUP, NO_CGROUP, Attack
from belljar_lab.run import Run

MEBI = 1 << 20
MONITOR_SECONDS = 3  # what `monitor` is certain to see is held as long


def takes_memory(run: Run):
    """Four times what it may have."""
    return run.python(f"""
held = b"x" * {200 * MEBI}
time.sleep({0 if run.cgroup else MONITOR_SECONDS})
""", "--memory", "50m", "--time", "60s")


def starts_tasks(run: Run):
    return run.python("""
read, write = os.pipe()
for _ in range(40):
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
""", "--pids", "8")


def writes_a_large_file(run: Run):
    return run.python(f"""
with open(ROOM + "/large", "wb") as file:
    file.write(b"x" * {MEBI})
""", "--fsize", "64k")


def sleeps_beyond_its_time(run: Run):
    return run.python("time.sleep(1.5)", "--time", "300ms")


def computes_beyond_its_time(run: Run):
    return run.python("""
while time.process_time() < 1:
    pass
""", "--cpu-time", "200ms", "--cpus", "1", "--time", "60s")


def floods_its_output(run: Run):
    return run.python(f"""
os.write(1, (b"x" * 99 + b"\\n") * {MEBI // 100})
""", "--max-output", "64k")


ROWS = [
    Attack("exhaust-memory", "F", takes_memory, main=True,
           does="takes 200 MiB where 50 are allowed",
           success="it holds them and ends by itself",
           stops=(("cgroup", "memory_limit", (CGROUP,)),
                  ("monitor+mount", "memory_limit", NO_CGROUP))),
    Attack("fork-bomb", "G", starts_tasks, main=True,
           does="starts 40 processes where 8 are allowed",
           success="all of them lived at once",
           modes=(CGROUP,),
           stops=(("cgroup", "EAGAIN"), ("rlimit", "EAGAIN"))),
    Attack("large-file", "H", writes_a_large_file,
           does="writes a file of 1 MiB where 64 KiB are allowed",
           success="the file has its whole size",
           stops=(("rlimit", "EFBIG"),)),
    Attack("sleep-for-ever", "E", sleeps_beyond_its_time,
           does="sleeps for 1.5 s where 0.3 s are allowed",
           success="it wakes and ends by itself",
           stops=(("deadline", "time_limit"),)),
    Attack("compute-for-ever", "E", computes_beyond_its_time,
           does="computes for 1 s where 0.2 s are allowed",
           success="it ends by itself",
           stops=(("deadline+cgroup", "cpu_limit", (CGROUP,)),
                  ("deadline+monitor+mount", "cpu_limit", NO_CGROUP))),
    Attack("flood-output", "I", floods_its_output,
           does="prints 1 MiB where 64 KiB are allowed",
           success="all of it is read and it ends by itself",
           stops=(("output", "output_limit"),)),
]
