# SPDX-License-Identifier: Apache-2.0
"""The lab itself: its workers, and the cells that run in them.

A cell is one attack, in one mode, with some layers left out. Each worker has namespaces and a world
of its own, so as many of them run at a time as there are CPUs, at most four.
"""

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

from belljar_lab import attack, attacks, host, outer, run, servers, world

AT_A_TIME = min(max(2, os.cpu_count()), outer.WORKERS)
# Of a slow or busy host, too: only attacks that set a limit of time are ended by one.
TIMES = {"time": "80s", "cpu_time": "80s"}


class Cell(NamedTuple):
    attack: str  # its id
    mode: str
    out: tuple  # layers left out, as asked for


class Observation(NamedTuple):
    sign: str  # "" where it could not be judged
    problem: str  # why not
    ms: float


class Worker:
    """What a function that runs in a worker gets: where the programs are, and the world."""

    def __init__(self, place):
        self.place, self.world = place, world.World(place)


HERE = {}  # in a worker: the Worker


def furnish(programs, place):
    """In a worker, once: a mount of its own with the programs in it, {name: bytes}. They were read
    outside: no id of the worker's may enter root's home."""
    place = Path(place)
    outer.mount("lab", place, "tmpfs", data="size=64m,mode=0755")
    for name, data in programs.items():
        (place / name).write_bytes(data)
        (place / name).chmod(0o755)
    for name, missing in (("cgroup.json", []), ("no-cgroup.json", ["cgroup"])):
        (place / name).write_text(json.dumps({**TIMES, "accept_missing": missing}))
    (place / "home").mkdir(mode=0o755)
    if os.path.exists("/etc/resolv.conf"):
        (place / "resolv.conf").write_text(f"nameserver {servers.RESOLVER}\n")
        outer.mount(place / "resolv.conf", "/etc/resolv.conf", None, outer.MS_BIND)
    HERE["worker"] = Worker(place)


def in_worker(function, *args):
    return function(HERE["worker"], *args)


def attempt(worker, cell):
    return judge_row(worker, ROWS[cell.attack], cell.mode, cell.out)


def judge_row(worker, row, mode, out):
    """Runs one attack: an Observation."""
    begin = time.monotonic()
    try:
        sign, problem = run.judged(lambda: row.attack(run.Run(worker, mode, out)))
    finally:
        worker.world.reset(0)
    return Observation(sign or "", problem, round((time.monotonic() - begin) * 1000, 1))


def first_run(worker, mode):
    """What Belljar says if it starts nothing in that mode here, or None."""
    process = run.Run(worker, mode).start(["--", "/usr/bin/true"])
    try:
        result = run.Result(*process.communicate(), process.returncode)
    except run.Disagreement as error:
        return str(error)
    return None if result.started else result.hint


ROWS = {row.id: row for row in attacks.ROWS}


class Lab:
    """What every verb works with: `table`, `modes`, observe(), map(), close()."""

    def __init__(self, binaries, rows=attacks.ROWS, modes=None, whole=True):
        self.binaries = Path(binaries)
        self.layers, self.programs = self.ask_layers(), self.read_programs()
        self.table = attack.Table(rows, self.layers, host.facts(), whole)
        self.why_not = host.modes()
        self.modes = [mode for mode in attack.MODES
                      if self.why_not[mode] is None and mode in (modes or attack.MODES)]
        self.seen = {}  # Cell with its layers closed -> Observation
        self.honest = []  # programs that the verb `filter` tries besides
        self.outers = {}

    def ask_layers(self):
        out = subprocess.run([str(self.binaries / "lab-belljar"), "layers", "--json"], check=True,
                             stdout=subprocess.PIPE).stdout
        return json.loads(out)["layers"]

    def read_programs(self):
        return {path.name: path.read_bytes() for path in self.binaries.iterdir()
                if path.name.startswith("lab-") and path.is_file()}

    def host_facts(self):
        """What a reader of the tables wants to know of this host: {name: text}."""
        version = subprocess.run([self.binaries / "lab-belljar", "--version"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout.strip()
        return {"belljar": version.removeprefix("belljar "), "kernel": os.uname().release,
                "machine": os.uname().machine, "CPUs": str(os.cpu_count()),
                "cgroups": host.cgroup_version(), "Landlock ABI": str(host.landlock_abi()),
                "started by": "root" if os.geteuid() == 0 else "an ordinary user",
                "attacks": str(len(self.table.attacks)), "cells": str(len(self.seen)),
                "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}

    # ---- Workers --------------------------------------------------------------------------------

    def outer(self, cgroups, number):
        """A worker, made when it is first asked for."""
        key = cgroups, number
        if key not in self.outers:
            one = outer.Outer(cgroups, number)
            one.place = tempfile.mkdtemp(prefix="belljar-lab-", dir="/tmp")
            os.chmod(one.place, 0o755)
            self.outers[key] = one
            one.call(furnish, self.programs, one.place)
        return self.outers[key]

    def close(self):
        with contextlib.ExitStack() as stack:
            for one in self.outers.values():
                stack.callback(os.rmdir, one.place)
                stack.callback(one.stop)
        self.outers.clear()

    def __enter__(self):
        """Before anything is promised: can this host give all that is to be taken away?"""
        try:
            said = self.map((mode, first_run, mode) for mode in self.modes)
            for mode, why_not in zip(self.modes, said):
                if why_not:
                    raise outer.Refused(f"mode {mode}: {why_not}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # ---- Work -----------------------------------------------------------------------------------

    def map(self, jobs, progress=None):
        """Runs jobs (mode, function of a Worker, *args) in workers, some at a time: what
        each returned, in order. A function is one of a module, and what it takes and gives is data."""
        jobs = list(jobs)
        got, failed = [None] * len(jobs), []
        left = deque(enumerate(jobs))

        def work(number):
            try:
                while not failed:
                    try:
                        index, (mode, function, *args) = left.popleft()
                    except IndexError:
                        return
                    one = self.outer(mode in attack.WITH_CGROUP, number)
                    got[index] = one.call(in_worker, function, *args)
                    if progress:
                        progress.step()
            except BaseException as error:
                failed.append(error)

        if progress:
            progress.more(len(jobs))
        # Here, because a worker dies with the thread that made it.
        for cgroups in sorted({job[0] in attack.WITH_CGROUP for job in jobs}):
            for number in range(AT_A_TIME):
                self.outer(cgroups, number)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(AT_A_TIME)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return got

    def call(self, mode, function, *args):
        """Runs one function of a Worker, and returns what it returned."""
        return self.map([(mode, function, *args)])[0]

    def observe(self, cells, progress=None):
        """{Cell: Observation}; what was observed before is not run again."""
        key = {cell: cell._replace(out=self.table.closure(cell.out)) for cell in cells}
        new = [cell for cell in dict.fromkeys(key.values()) if cell not in self.seen]
        got = self.map([(cell.mode, attempt, cell) for cell in new], progress)
        self.seen.update(zip(new, got))
        return {cell: self.seen[one] for cell, one in key.items()}
