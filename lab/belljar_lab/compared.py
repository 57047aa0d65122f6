# SPDX-License-Identifier: Apache-2.0
"""The ways to run code that are compared, and the caller that uses them: see compare.py.

Everything happens in a worker. The caller has a home of its own, on a file system that is there for
it alone, as `--tmpfs /tmp` would hide what lies in the lab's own place.
"""

import contextlib
import itertools
import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

from belljar_lab import outer
from belljar_lab.run import (PATIENCE, SHOWN, Disagreement, indented, name_of, parents_of_all,
                             shows_itself)

BARE, BWRAP, BELLJAR = "bare", "bwrap", "belljar"
HOMES = ("/home", "/srv", "/mnt", "/opt")  # the first that is there gets the caller's home
BWRAP_WORDS = "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all --die-with-parent"
# Where the host lets nobody mount a fresh proc or make devices, the one that is there stays.
BWRAP_LESS = [("", ""), ("--proc /proc", "without --proc, which is refused here"),
              ("--dev /dev --proc /proc", "without --dev and --proc, which are refused here")]
# Of time more than a slow host needs; an attack that a limit of time is to end has its own.
BELLJAR_LIMITS = {"--memory": "64m", "--pids": "16", "--time": "80s", "--cpu-time": "80s"}
LIVES = 5  # so many more signs of life after the end are no dying process

# As tutorials do it; what it prints is for the lab.
CALLER = """
import json, resource, subprocess, sys
def short(data):
    return (data if len(data) < 300000 else data[:1000] + data[-1000:]).decode(errors="replace")
try:
    ran = subprocess.run(sys.argv[2:], capture_output=True, timeout=float(sys.argv[1]))
    out, err, status = ran.stdout, ran.stderr, ran.returncode
except subprocess.TimeoutExpired as late:
    out, err, status = late.stdout or b"", late.stderr or b"", None
print(json.dumps({
    "out": short(out), "err": short(err), "status": status,
    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}))
"""
# What every attack begins and ends with.
PROGRAM = """
import ctypes, errno, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
print("begun", flush=True)
try:
{code}
    print("done", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
{then}
"""
WAIT_TO_BE_SEEN = f"""
libc.prctl(15, b"{SHOWN}", 0, 0, 0)
sys.stdin.read()
"""


class Said:
    """What the caller saw of one attack."""

    def __init__(self, way, data):
        self.peak_mib, self.status = data["peak_mib"], data["status"]
        self.out, self.outcome = data["out"], "exited"
        if way == BELLJAR:
            try:
                result = json.loads(data["out"])
            except ValueError:
                raise Disagreement(f"no result: {data}") from None
            if not result["started"] or result["outcome"] == "sandbox_error":
                raise Disagreement(f"nothing was started: {json.dumps(result['error'])}")
            self.out, self.outcome = result["stdout"]["text"], result["outcome"]
        if "begun" not in self.out:
            raise Disagreement(f"the attack did not begin: {json.dumps(data)[:1500]}")

    @property
    def words(self):
        """`done`, the errno with which it was stopped, or the outcome of its run."""
        last = self.out.split()[-1]
        if last == "done" or last.isupper():
            return last
        return self.outcome if self.outcome != "exited" else "ended"


class Caller:
    """One attack on one way: a home, secrets in it, and run()."""

    def __init__(self, run, way, options=()):
        self.bell, self.way, self.options = run, way, options
        self.world, self.cell = run.world, run.world.cell
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                            "LAB_LAUNCHER": str(run.launcher(()))}

    def __enter__(self):
        top = next(place for place in HOMES if os.path.isdir(place))
        outer.mount("lab", top, "tmpfs", data="size=4m,mode=0755")
        self.cell.callback(lambda: outer.must(outer.libc.umount2(top.encode(), 2), "umount"))
        self.home = Path(top) / "agent"
        self.home.mkdir(mode=0o755)
        self.own(self.home)
        self.environment["HOME"] = str(self.home)
        return self

    def __exit__(self, *_):
        """The world takes all of it away."""

    def outlasts_a_look(self, pid):
        return self.way != BELLJAR or self.bell.outlasts_a_look(pid)

    def own(self, path):
        if os.geteuid() == 0:
            os.chown(path, self.bell.uid, self.bell.uid)

    def file(self, name, text):
        """A file of the caller's in its home."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for one in (path.parent, path):
            self.own(one)
        return path

    def neighbour(self, **environment):
        """Another process of the caller's user."""
        process = subprocess.Popen(["/bin/sleep", "1000"], env=environment, cwd="/",
                                   **self.world.ids())
        self.cell.callback(process.wait)
        self.cell.callback(process.kill)

    # ---- Running --------------------------------------------------------------------------------

    def command(self, words, limits):
        if self.way == BARE:
            return words
        if self.way == BWRAP:
            return ["bwrap", *self.options, "--", *words]
        policy = [] if self.bell.cgroup else ["--policy", self.bell.place / "no-cgroup.json"]
        limits = itertools.chain(*{**BELLJAR_LIMITS, **(limits or {})}.items())
        return [self.bell.place / "lab-belljar", "run", "--json", *policy, "--stdin", "-",
                *limits, "--", *words]

    def start(self, words, seconds=PATIENCE, limits=None):
        return subprocess.Popen(
            ["/usr/bin/python3", "-I", "-S", "-c", CALLER, str(seconds),
             *map(str, self.command(words, limits))],
            cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment, start_new_session=True, **self.world.ids())

    def run(self, code, then="", look=None, seconds=None, limits=None):
        """Runs an attack: (Said, or None if the caller did not survive; what look(pid) found).
        `seconds`: the time-out; `limits`: of Belljar, in place of BELLJAR_LIMITS."""
        text = PROGRAM.format(code=indented(code), then=WAIT_TO_BE_SEEN if look else then)
        if seconds and self.way == BELLJAR:
            limits = {"--time": f"{seconds}s"}
        patience = seconds if seconds and self.way != BELLJAR else PATIENCE
        process = self.start(["/usr/bin/python3", "-I", "-S", "-c", text], patience, limits)
        seen = False
        try:
            pid = outer.until(lambda: shows_itself(process), PATIENCE) if look else 0
            seen = pid > 0 and look(pid)
        finally:
            out, err = self.finish(process)
        if process.returncode < 0:
            return None, seen
        if process.returncode:
            raise Disagreement(f"the caller failed: {err.decode(errors='replace')[-500:]}")
        return Said(self.way, json.loads(out)), seen

    @staticmethod
    def finish(process):
        try:
            return process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Disagreement("the caller did not end") from None

    # ---- Seeing ---------------------------------------------------------------------------------

    def judge(self, said, seen):
        """(seen, words), if what the program says agrees with what is seen."""
        words = said.words if said else "the caller died"
        if bool(seen) != (words == "done"):
            raise Disagreement(f"the program says {words}, and outside it is "
                               f"{'seen' if seen else 'not seen'} to have worked")
        return bool(seen), words

    def lives_on(self, mark):
        """Whether a process that counts in its name goes on counting, now that all is over."""
        self.cell.callback(end_marked, mark)
        first = []

        def settled():
            counts = [int(name_of(pid).removeprefix(mark) or 0) for pid in marked(mark)]
            first.extend(counts[:1])
            return "gone" if not counts else "alive" if max(counts) > first[0] + LIVES else ""
        got = outer.until(settled)
        if not got:
            raise Disagreement("what the attack left neither goes on nor ends")
        return got == "alive"


def marked(mark):
    return [pid for pid in parents_of_all() if name_of(pid).startswith(mark)]


def end_marked(mark):
    for pid in marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def bwrap_options(caller):
    """(options with which bubblewrap starts here, remark), or (None, what it says)."""
    said = ""
    for less, remark in BWRAP_LESS:
        caller.options = shlex.split(BWRAP_WORDS.replace(less, "") if less else BWRAP_WORDS)
        process = caller.start(["/bin/echo", "begun"])
        out, _ = caller.finish(process)
        data = json.loads(out)
        if data["out"] == "begun\n":
            return caller.options, remark
        said = said or data["err"].strip()
    return None, f"it does not start here: {said or 'it ends without a word'}"
