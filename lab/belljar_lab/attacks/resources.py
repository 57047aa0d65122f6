# SPDX-License-Identifier: Apache-2.0
"""Attacks that take what others need: memory, tasks, time, disk, the reader's patience."""

import os
import time

from belljar_lab.attack import NO_CGROUP, WITH_CGROUP, Attack
from belljar_lab.run import Run, field_of, fields_of, parents_of_all

MEBI = 1 << 20
MONITOR_SECONDS = 1.5  # what `monitor` is certain to see is held as long
TICKS = os.sysconf("SC_CLK_TCK")


def takes_memory(run: Run):
    """Four times what it may have."""
    def look(pid):
        return int(field_of(pid, "VmRSS").split()[0]) * 1024 > 150 * MEBI
    return run.python(f"""
held = b"x" * {200 * MEBI}
time.sleep({0 if run.cgroup else MONITOR_SECONDS})
""", "--memory", "50m", "--time", "60s", look=look)


def starts_tasks(run: Run):
    def look(pid):
        return list(parents_of_all().values()).count(pid) == 40
    return run.python("""
read, write = os.pipe()
for _ in range(40):
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
""", "--pids", "8", look=look)


def writes_a_large_file(run: Run):
    def look(pid):
        return run.made(pid, "large").st_size == MEBI
    return run.python(f"""
with open(ROOM + "/large", "wb") as file:
    file.write(b"x" * {MEBI})
""", "--fsize", "64k", look=look)


def sleeps_beyond_its_time(run: Run):
    def look(pid):
        started = int(fields_of(pid)[19]) / TICKS
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started > 0.5
    return run.python("time.sleep(0.7)", "--time", "200ms", look=look)


def computes_beyond_its_time(run: Run):
    def look(pid):
        return sum(map(int, fields_of(pid)[11:13])) / TICKS > 0.4
    return run.python("""
while time.process_time() < 0.6:
    pass
""", "--cpu-time", "150ms", "--cpus", "1", "--time", "60s", look=look)


def floods_its_output(run: Run):
    result = run.result("--max-output", "64k", *run.python_words(f"""
os.write(1, (b"x" * 99 + b"\\n") * {MEBI // 100})
"""))
    return run.judge(run.sign(result), result.json["stdout"]["bytes"] > MEBI - 100
                     and not result.ended_by())


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
    Attack("flood-output", "I", floods_its_output,
           does="prints 1 MiB where 64 KiB are allowed",
           success="all of it is read and it ends by itself",
           stops=(("output", "output_limit"),)),
]
