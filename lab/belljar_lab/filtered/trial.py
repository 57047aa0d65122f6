# SPDX-License-Identifier: Apache-2.0
"""One spelling or one honest program, run without a sandbox and in Belljar.

All of this happens in a worker, inside the outer namespaces: what runs without a sandbox has those
around it, and limits of its own.
"""

import contextlib
import os
import re
import resource
import signal
import subprocess

from belljar_lab import outer
from belljar_lab.filtered import filters, spellings
from belljar_lab.run import (PATIENCE, SHOWN, Run, fields_of, is_below, parents_of_all, resident,
                             shows_itself)

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
LIMITS = {  # of what runs without a sandbox
    "exhaust-memory": {resource.RLIMIT_AS: 640 << 20},
    "fork-bomb": {resource.RLIMIT_NPROC: 3 * spellings.TASKS},
}
OPTIONS = {"fork-bomb": ("--pids", "16")}
LONGEST = "30s"  # a deadline is not what is shown here
# What comes after a spelling that is looked at while it is there.
WAIT = f"""
import ctypes, sys
ctypes.CDLL(None).prctl(15, b"{SHOWN}", 0, 0, 0)
sys.stdin.read()
"""
# Without any sandbox it is none of these: what fails so in one has not come to its attack.
BEFORE_IT = {"AttributeError", "ImportError", "IndentationError", "KeyError", "ModuleNotFoundError",
             "NameError", "SyntaxError", "TypeError"}
ERROR = re.compile(r"^(?:\w+\.)*(\w+[Ee]rror)\b", re.M)
HOME_FILES = {".bashrc": "# shell\n", ".profile": "# login\n"}
HOME_FOLDERS = (".ssh", ".config/autostart", ".config/systemd", "project/.git/hooks",
                ".local/lib/python3.11/site-packages")


class Stage:
    """What one spelling is let loose on, and whether it got there."""

    def __init__(self, run):
        self.run, self.token = run, run.world.token()
        self.secret = run.world.secret(mode=0o600)
        self.home = run.world.dir("home")
        for name in HOME_FOLDERS:
            (self.home / name).mkdir(parents=True)
        for name, text in HOME_FILES.items():
            (self.home / name).write_text(text)
        give(self.home, run.uid)

    def fill(self, code):
        for word, value in (("@PATH@", self.secret.path), ("@HOME@", self.home),
                            ("@HOST@", outer.PUBLIC), ("@TOKEN@", self.token)):
            code = code.replace(word, str(value))
        return code.removeprefix("\n")

    def reached(self, family, output):
        """What is seen when the program is gone."""
        if family == "read-host-file":
            return self.secret.token in output
        if family == "phone-home":
            return self.run.world.http.heard(self.token)
        return any(self.token in path.read_text(errors="replace")
                   for path in self.home.rglob("*") if path.is_file())


def give(top, uid):
    if os.geteuid() == 0:
        for path in (top, *top.rglob("*")):
            os.chown(path, uid, -1)


# ---- What is seen while it is there --------------------------------------------------------------


def processes(top):
    """The pid that was started, all below it, and all of its session."""
    parents = parents_of_all()
    return [pid for pid in parents if is_below(parents, pid, top) or session(pid) == top]


def session(pid):
    fields = fields_of(pid)
    return int(fields[3]) if len(fields) > 3 else 0


def memory(top):
    """Bytes of all of them together."""
    return sum(map(resident, processes(top)))


def tasks(top):
    """Processes and threads of all of them together."""
    count = 0
    for pid in processes(top):
        with contextlib.suppress(OSError):
            count += len(os.listdir(f"/proc/{pid}/task"))
    return count


LOOKS = {"exhaust-memory": lambda top: memory(top) > spellings.HELD,
         "fork-bomb": lambda top: tasks(top) > spellings.TASKS}


# ---- Starting ------------------------------------------------------------------------------------


def end_all(process):
    """All that is left of it; nothing of it outlives the worker in any case."""
    while True:
        left = [pid for pid in processes(process.pid) if pid != process.pid]
        process.kill()
        process.wait()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return
        outer.until(lambda: not set(left) & set(parents_of_all()))


def bare(run, path, folder, home, limits=(), look=None):
    """The program as a plain process of the caller: (exit status, output, errors, seen)."""
    process = subprocess.Popen(["python3", str(path)], cwd=folder, start_new_session=True,
                               env={**ENVIRONMENT, "HOME": str(home)}, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               **run.world.ids())
    seen = False
    try:
        for kind, most in dict(limits).items():
            resource.prlimit(process.pid, kind, (most, most))
        if look:
            seen = outer.until(lambda: shows_itself(process), PATIENCE) > 0 and look(process.pid)
            end_all(process)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        end_all(process)
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), seen


def boxed(run, args, look=None):
    """The program in Belljar: (Result, seen)."""
    if not look:
        return run.result("--time", LONGEST, *args), False
    process = run.start(["--time", LONGEST, "--stdin", "-", *args], stdin=subprocess.PIPE)
    seen = False
    try:
        pid = outer.until(lambda: shows_itself(process), PATIENCE)
        seen = pid > 0 and run.outlasts_a_look(pid) and look(process.pid)
    finally:
        result = run.finish(process)
    return result, seen


def written(run, name, code):
    """The program in a file that the caller may read."""
    path = run.world.dir("program") / name
    path.write_text(code)
    path.chmod(0o644)
    return path


# ---- Jobs ----------------------------------------------------------------------------------------


def sign(result):
    """How Belljar says that it ended."""
    errors = ERROR.findall(result.err)
    last = result.err.strip().rpartition("\n")[2].rpartition(": ")[2]
    return result.ended_by() or (errors[-1] if errors else last or f"exit {result.exit_code}")


def prepared(worker, mode, family, code):
    run = Run(worker, mode)
    stage = Stage(run)
    code, look = stage.fill(code), LOOKS.get(family)
    return run, stage, code, written(run, "main.py", code + (WAIT if look else "")), look


def try_spelling(worker, mode, family, code):
    """{what it did without a sandbox, what it did in Belljar, what each filter says}."""
    run, stage, _, path, look = prepared(worker, mode, family, code)
    try:
        status, out, err, seen = bare(run, path, run.world.room, stage.home,
                                      LIMITS.get(family, ()), look)
        control = {"works": bool(seen if look else stage.reached(family, out + err)),
                   "said": f"exit {status}: {(out + err)[-500:]}"}
        run, stage, code, path, look = prepared(worker, mode, family, code)
        result, seen = boxed(run, [*OPTIONS.get(family, ()), path], look)
        said = sign(result)
        return {"bare": control, "filters": filters.verdicts(code),
                "belljar": {"works": bool(seen if look else
                                          stage.reached(family, result.out + result.err)),
                            "sign": said, "attacked": said not in BEFORE_IT}}
    finally:
        worker.world.reset(0)


def try_honest(worker, mode, name, code, judged, inputs):
    """`judged`: the part that a filter is shown; `inputs`: (name, bytes) of files beside it."""
    run = Run(worker, mode)
    try:
        path, work = written(run, name, code), run.world.dir("work")
        for one, data in inputs:
            (work / one).write_bytes(data)
        give(work, run.uid)
        copies = [word for one, _ in inputs for word in ("--in", work / one)]
        result, _ = boxed(run, [*copies, path])
        status, out, err, _ = bare(run, path, work, work)
        return {"bare": {"fine": status == 0 and bool(out), "said": f"exit {status}: {err[-500:]}"},
                "filters": filters.verdicts(judged),
                "belljar": {"fine": result.outcome == "exited" and result.exit_code == 0
                            and result.out == out, "sign": sign(result),
                            "said": (result.out + result.err)[-500:]}}
    finally:
        worker.world.reset(0)
