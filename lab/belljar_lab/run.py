# SPDX-License-Identifier: Apache-2.0
"""How an attack starts one program with some layers left out, and what it is told of it.

All of this happens in a worker, inside the outer namespaces.
"""

import contextlib
import json
import os
import subprocess
import traceback
from pathlib import Path

from belljar_lab import attack, host, outer

PATIENCE = 100  # seconds; a run that must end by itself is ended by then, and that is a failure
# Ends that Belljar brings about itself: limits_hit says them also where a layer was left out. The
# first three are never touched without that end, whatever the program still said.
ENDS, LIMITS = ("time", "cpu", "output"), ("time", "cpu", "output", "memory", "tasks")
# A launcher with `monitor` sleeps before each of its looks: after so many sleeps one was a whole look
# at what was there before the first. Two would do, if it slept for nothing else.
SLEEPS = 10
TICKS = os.sysconf("SC_CLK_TCK")

# What attacks in Python begin and end with. ROOM is where it may write. Half of what an attack costs
# would be to import these two, so they are there where they are named.
LIBC = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def must(got):
    if got < 0:
        raise OSError(ctypes.get_errno(), "")
    return got
"""
LIBC_WORDS = "libc", "must(", "ctypes"
PYTHON = """
import errno, os, sys, time
ROOM = next(place for place in ("/workspace", {room!r}) if os.path.isdir(place))
try:
{code}
    print("done")
except OSError as error:
    print(errno.errorcode.get(error.errno, repr(error)))
"""
SHOWN = "lab-done"  # the name a process takes when what it did can be looked at
PYTHON_SHOWN = f"""
libc.prctl(15, b"{SHOWN}", 0, 0, 0)
sys.stdin.read()
"""


class Disagreement(Exception):
    """What the program says and what is seen outside are not the same; or it cannot be judged."""


def judged(attempt):
    """(what `attempt` returns, ""), or (None, why it could not be judged)."""
    try:
        return attempt(), ""
    except Disagreement as error:
        return None, str(error)
    except Exception as error:
        return None, "".join(traceback.format_exception(error, limit=-3)).strip()


def must_be_done(said):
    """Of a run that leaves something: it always works in what it takes for its own."""
    if said != attack.DONE:
        raise Disagreement(f"what was to be left was not made: {said}")


def indented(code):
    return "\n".join("    " + line for line in code.strip("\n").splitlines())


class Result:
    """One finished `belljar run --json`."""

    def __init__(self, out, err, status):
        self.status = status
        try:
            self.json = json.loads(out)
        except ValueError:
            raise Disagreement(f"no result: exit {status}, {err.decode(errors='replace')!r}") \
                from None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.json[name]

    @property
    def out(self):
        return self.json["stdout"]["text"]

    @property
    def err(self):
        return self.json["stderr"]["text"]

    def ended_by(self, limits=LIMITS):
        """The outcome of a run that a limit ended, or None."""
        if self.outcome not in ("exited", "sandbox_error", "signaled"):
            return self.outcome
        hit = [name for name in limits if name in self.limits_hit]
        return f"{hit[0]}_limit" if hit else None


class Run:
    """One cell: a mode, and layers left out."""

    def __init__(self, worker, mode, without=()):
        self.mode, self.without = mode, tuple(without)
        self.place, self.world = worker.place, worker.world
        self.cgroup = mode in attack.WITH_CGROUP
        # Started by an ordinary user, the outer namespaces hold that one's id alone.
        self.uid = outer.USER_ID if os.geteuid() == 0 and mode in attack.BY_USER else 0
        self.words = ["without-" + "+".join(without)] if without else []
        self.world.reset(self.uid)

    # ---- Starting -------------------------------------------------------------------------------

    def launcher(self, words):
        """The launcher under the name that says these words: see launch/name.h."""
        link = self.place / ".".join(["lab-launch", *self.words, *words])
        if not link.exists():
            link.symlink_to("lab-launch")
        return link

    def start(self, args, words=(), stdin=subprocess.DEVNULL):
        policy = ["--policy", self.place / ("cgroup.json" if self.cgroup else "no-cgroup.json")]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.place / "home"),
               "LANG": "C.UTF-8", "LAB_LAUNCHER": str(self.launcher(words))}
        return subprocess.Popen(
            [str(word) for word in
             [self.place / "lab-belljar", "run", "--json", *policy, *args]],
            cwd="/", stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
            start_new_session=True, **self.world.ids())

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Disagreement("the run did not end") from None
        result = Result(out, err, process.returncode)
        if not result.started:
            raise Disagreement(f"nothing was started: {json.dumps(result.error)}")
        # The library never takes the word of a launcher that left a layer out.
        unproven = result.outcome == "sandbox_error" and \
            result.error["message"].endswith("was let go without its proof")
        if unproven != bool(self.without):
            raise Disagreement(f"{result.outcome}: {json.dumps(result.error)}")
        return result

    def result(self, *args, words=()):
        """`belljar run --json ARGS` to its end: a Result."""
        return self.finish(self.start(args, words))

    # ---- Signs ----------------------------------------------------------------------------------

    @staticmethod
    def sign(result):
        """What the program said last, or how it was ended."""
        lines = result.out.splitlines()
        if result.ended_by(ENDS):  # before what it may have complained of in its last moment
            return result.ended_by(ENDS)
        if result.err:
            raise Disagreement(f"the program failed: {result.err[-500:]}")
        # A last word that is one: it was not ended before it.
        if lines and (lines[-1] == attack.DONE or lines[-1].isupper()):
            return lines[-1]
        ended = result.ended_by()
        if ended:
            return ended
        if not lines:
            raise Disagreement(f"the program said nothing: {json.dumps(result.json)}")
        return lines[-1]

    @staticmethod
    def judge(said, seen):
        """The sign, if what is seen outside agrees with it."""
        if bool(seen) != (said == attack.DONE):
            raise Disagreement(f"the program says {said}, and outside it is "
                               f"{'seen' if seen else 'not seen'} to have worked")
        return said

    def command(self, words, options=(), leaks=None, look=None, launcher=()):
        """Runs words that begin with "--". `leaks`: the token that is printed if it worked;
        `look`: a function of a pid inside that is true if it worked, asked of the process that
        shows itself (SHOWN), or returns a token that is printed later if it worked. No program is
        told the token that it is to print."""
        if look:
            return self.shown([*options, *words], look, launcher)
        result = self.result(*options, *words, words=launcher)
        said = self.sign(result)
        if leaks is None:
            return said
        return self.judge(said, leaks in result.out + result.err)

    def python_words(self, code):
        """Words that run a piece of Python, the last line of which is the sign."""
        head = "import socket" if "socket" in code else ""
        if any(word in code for word in LIBC_WORDS):
            head += LIBC
        text = head + PYTHON.format(code=indented(code), room=str(self.world.room))
        return ["--", "/usr/bin/python3", "-I", "-S", "-c", text]

    def python(self, code, *options, **how):
        """Runs a piece of Python."""
        if how.get("look"):
            code += PYTHON_SHOWN
        return self.command(self.python_words(code), options, **how)

    def program(self, name, *words, options=(), **how):
        """Runs attacks/programs/NAME.c, copied into /workspace."""
        return self.command(["--", f"/workspace/{name}", *words],
                            ["--in", f"{self.place}/lab-{name}:{name}", *options], **how)

    def room_of(self, pid):
        """ROOM of a process, as a path outside."""
        rooms = (Path(f"/proc/{pid}/root{room}") for room in ("/workspace", self.world.room))
        return next(room for room in rooms if room.is_dir())

    def made(self, pid, name):
        """os.lstat of what the program made in ROOM, or None."""
        with contextlib.suppress(FileNotFoundError):
            return os.lstat(self.room_of(pid) / name)
        return None

    def shown(self, args, look, launcher):
        process = self.start(["--stdin", "-", *args], launcher, stdin=subprocess.PIPE)
        seen, pid = False, outer.until(lambda: shows_itself(process), PATIENCE)
        try:
            seen = bool(pid) and pid > 0 and look(pid)
        finally:
            result = self.finish(process)
        if isinstance(seen, str):
            seen = seen in result.out
        return self.judge(self.sign(result), seen)

    def outlasts_a_look(self, pid):
        """Whether a process is there after `monitor`, where that is in force, has looked at it."""
        if self.cgroup or "monitor" in self.without:
            return True
        parents = parents_of_all()
        launcher = parents.get(parents.get(pid))
        enough = sleeps(launcher) + SLEEPS
        if not outer.until(lambda: is_gone(pid) or sleeps(launcher) >= enough):
            raise Disagreement("the launcher does not look at what is there")
        return not is_gone(pid)


def shows_itself(process):
    """The pid below this one that took the name SHOWN; -1: it ended before one did."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if name_of(pid) == SHOWN and is_below(parents_of_all(), int(pid), process.pid):
            return int(pid)
    return -1 if process.poll() is not None else 0


def parents_of_all():
    """pid -> parent of every process of the worker's namespace."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = fields_of(name)
            if len(fields) > 1:
                found[int(name)] = int(fields[1])
    return found


def fields_of(pid):
    """/proc/PID/stat from the state on: [1] is the parent."""
    return host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def parent_of(pid):
    return int(fields_of(pid)[1])


def field_of(pid, name):
    """A line of /proc/PID/status, or ""."""
    lines = host.read(f"/proc/{pid}/status").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name + ":")), "")


def is_gone(pid):
    return fields_of(pid)[:1] in ([], ["Z"], ["X"])


def sleeps(pid):
    """How often it waited for something."""
    return int(field_of(pid, "voluntary_ctxt_switches") or 0)


def cpu_seconds(pid):
    return sum(map(int, fields_of(pid)[11:13])) / TICKS


def resident(pid):
    """Bytes that it has in memory."""
    return int((field_of(pid, "VmRSS") or "0").split()[0]) * 1024


def children_of(pid):
    return [one for one, parent in parents_of_all().items() if parent == pid]


def in_a_user_namespace(pid):
    """Its own: not that of its parent, which is of the same run."""
    return os.readlink(f"/proc/{pid}/ns/user") != os.readlink(f"/proc/{parent_of(pid)}/ns/user")


def name_of(pid):
    return host.read(f"/proc/{pid}/comm").rstrip("\n")


def is_below(parents, pid, top):
    while pid in parents and pid != top:
        pid = parents[pid]
    return pid == top
