# SPDX-License-Identifier: Apache-2.0
"""How the live tests run belljar, run the same probes without it, and look at the host.

What a test believes comes from the host's side: files, listeners, processes, cgroups. What the
program says about itself is believed only for the exact errno of a call.
"""

import fcntl
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAGE = Path(os.environ.get("BELLJAR_STAGE", ROOT / "build" / "stage")).resolve()
BELLJAR = STAGE / "bin" / "belljar"
NO_CGROUP = ROOT / "examples" / "no-cgroup.json"
USER_ID = 4321
CGROUPS = "/sys/fs/cgroup"
OUTSIDE_IDS = range(0x70000000, 0x70400000)
PATIENCE = 100  # seconds after which a run that must end is a failure; never measured

MODES = {
    # name: (uid, whether a cgroup holds the run)
    "root": (0, True),
    "root-no-cgroup": (0, False),
    "user": (USER_ID, False),
    "user-cgroup": (USER_ID, True),
}


def modes_of_this_host():
    """The modes to test; BELLJAR_TEST_MODES names them where the host offers more."""
    named = os.environ.get("BELLJAR_TEST_MODES")
    if named:
        return named.split(",")
    if os.geteuid() != 0:
        return ["user"]
    modes = ["root" if root_has_cgroups() else "root-no-cgroup", "user"]
    return modes + ["user-cgroup"] if read(f"{CGROUPS}/cgroup.controllers") and modes[0] == "root" \
        else modes


def root_has_cgroups():
    """Whether root can make cgroups here, by version 2 or by version 1."""
    version_2 = read(f"{CGROUPS}/cgroup.controllers").split()
    if version_2:
        return {b"memory", b"pids", b"cpu"} <= set(version_2) and os.access(CGROUPS, os.W_OK)
    return all(os.path.isdir(f"{CGROUPS}/{name}") and os.access(f"{CGROUPS}/{name}", os.W_OK)
               for name in ("memory", "pids", "cpu", "cpuacct"))


def as_user():
    """Words before a command that make it run as an ordinary user."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid", str(USER_ID), "--regid", str(USER_ID), "--clear-groups", "--"]


# What systemd's Delegate=yes does, by hand: the command sits alone in a cgroup of the user's own, $0.
DELEGATED = ["sh", "-c", f'''
    d={CGROUPS}/$0
    echo +memory +pids +cpu >{CGROUPS}/cgroup.subtree_control &&
    mkdir -m 755 $d &&
    chown {USER_ID} $d $d/cgroup.procs $d/cgroup.subtree_control $d/cgroup.threads &&
    echo $$ >$d/cgroup.procs && exec "$@"''']

# As a service that runs belljar again and again: in a leaf of the cgroup that another run was in.
BESIDE = ["sh", "-c", f'''
    d={CGROUPS}/$0; mkdir -p $d/leaf && echo $$ >$d/leaf/cgroup.procs && exec "$@"''']

delegated = itertools.count()  # a pid is 1 for every run in a pid namespace of its own


def remove_delegated():
    for path in Path(CGROUPS).glob("live-*"):
        until(lambda path=path: not path.exists() or not read(path / "cgroup.procs"), 5)
        # A belljar that was killed leaves its own leaf.
        leaves = [path / "leaf", path / "belljar.self"] if (path / "leaf").exists() else []
        try:
            for place in [*leaves, path]:
                place.rmdir()
        except OSError:
            pass  # of another run of this suite; what belljar leaves in one is found by the ledger


# Namespaces for probes that must not touch the host: a user of no importance, root inside.
OUTER = as_user() + ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--net",
                     "--ipc", "--uts", "--mount-proc", "--kill-child", "--"]


def read(path):
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError):
        return b""


def in_mounts(commands):
    """Words that run a command in mounts of its own, changed by these shell commands as root."""
    return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c",
            commands + ' && exec "$@"', "sh"]


def clean_env(**more):
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    env.update(more)
    return env


def lines_of(text):
    """The JSON lines that the program `inside` printed, other lines left out."""
    got = []
    for line in text.splitlines():
        if line.startswith('{"verb"'):
            got.append(json.loads(line))
    return got


def until(what, seconds=20.0):
    """Polls until `what()` is true and returns it; the deadline only bounds a failing test."""
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got or time.monotonic() > end:
            return got
        time.sleep(0.005)


class Result:
    """One finished `belljar run --json`."""

    def __init__(self, process, args, out, err):
        self.args, self.status = args, process.returncode
        self.raw_out, self.raw_err = out, err
        try:
            self.json = json.loads(out)
        except ValueError:
            raise AssertionError(f"not one JSON object on stdout of {args}\nexit {self.status}\n"
                                 f"{out[:2000]!r}\n{err[:2000]!r}") from None

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

    @property
    def lines(self):
        return lines_of(self.out)

    @property
    def line(self):
        lines = self.lines
        assert len(lines) == 1, (lines, self.json)
        return lines[0]

    def layer(self, name):
        rows = [row for row in self.json["layers"] if row["name"] == name]
        assert len(rows) <= 1
        return rows[0] if rows else None

    def __repr__(self):
        return json.dumps(self.json, indent=1)[:6000] + f"\nexit {self.status}"


class Bell:
    """belljar in one mode: as root or as a user, with a cgroup or without."""

    def __init__(self, mode, inside, place):
        self.mode = mode
        self.uid, self.cgroup = MODES[mode]
        self.inside_binary = inside
        self.place = place
        if os.geteuid() == 0 and self.uid:
            os.chown(place, self.uid, self.uid)

    def prefix(self, beside=None):
        """`beside`: a process that `start` began; the run gets no new cgroup but that one's."""
        if not self.uid:
            return []
        if not self.cgroup or os.geteuid() != 0:
            return as_user()
        name = next((word for word in beside.args if word.startswith("live-")), None) if beside else \
            f"live-{os.getpid()}-{next(delegated)}"
        return [*(BESIDE if beside else DELEGATED), name, *as_user()]

    def options(self):
        return [] if self.cgroup else ["--policy", str(NO_CGROUP)]

    def policy(self, **fields):
        """A policy file with these fields, and what this mode cannot do without."""
        if not self.cgroup:
            fields.setdefault("accept_missing", ["cgroup"])
        return self.file(f"policy-{len(os.listdir(self.place))}.json", json.dumps(fields))

    def file(self, name, content=b"", mode=0o644):
        path = self.place / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.uid)
        return path

    def dir(self, name):
        path = self.place / name
        path.mkdir()
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.uid)
        return path

    def command(self, *args, before=(), policy=True, json_=True, beside=None):
        return [*map(str, before), *self.prefix(beside), str(BELLJAR), "run",
                *(["--json"] if json_ else []), *(self.options() if policy else []),
                *[a if isinstance(a, bytes) else str(a) for a in args]]

    def start(self, *args, env=None, **more):
        """Starts belljar and does not wait. stdout and stderr are pipes unless given."""
        keywords = {k: more.pop(k) for k in ("before", "policy", "json_", "beside") if k in more}
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("cwd", self.place)
        process = subprocess.Popen(self.command(*args, **keywords),
                                   env=clean_env() if env is None else env, **more)
        process.command = args
        return process

    def finish(self, process, give=None):
        try:
            out, err = process.communicate(give, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"belljar run {process.command} did not end") from None
        return out, err

    def raw(self, *args, give=None, **more):
        """Runs to the end without --json: (exit status, stdout, stderr) in bytes."""
        if give is not None:
            more["stdin"] = subprocess.PIPE
        process = self.start(*args, json_=False, **more)
        out, err = self.finish(process, give)
        return process.returncode, out, err

    def run(self, *args, give=None, **more):
        if give is not None:
            more["stdin"] = subprocess.PIPE
        process = self.start(*args, **more)
        out, err = self.finish(process, give)
        result = Result(process, args, out, err)
        self.check(result)
        return result

    def check(self, result):
        """What holds for every run, whatever it was."""
        got = result.json
        assert got["schema"] == "belljar.result/1"
        assert not any(got["left_behind"].values()), result
        assert cgroups_named(got["run_id"]) == [], result
        if got["started"] and got["outcome"] != "sandbox_error":
            states = {row["state"] for row in got["layers"]}
            assert states <= {"proven", "accepted_missing"}, result
            missing = [r["name"] for r in got["layers"] if r["state"] == "accepted_missing"]
            assert missing == ([] if self.cgroup else ["cgroup"]), result

    def inside(self, *words, options=(), **more):
        """Runs verbs of the program `inside`. Where nothing ran, nothing was refused."""
        result = self.run("--in", f"{self.inside_binary}:inside", *options, "--",
                          "/workspace/inside", *words, **more)
        assert result.started, result
        return result

    def start_inside(self, *words, options=(), **more):
        return self.start("--in", f"{self.inside_binary}:inside", *options, "--",
                          "/workspace/inside", *words, **more)

    def python(self, code, *options, **more):
        return self.run(*options, "-c", code, "--lang", "python", **more)


def bare(inside, *words, outer=False, user=False, before=(), **more):
    """The same verbs without belljar: the positive control. Returns their lines.

    `outer` runs them in namespaces of their own, where nothing they do reaches the host.
    """
    if outer:
        before = [*before, *OUTER]
    elif user:
        before = [*before, *as_user()]
    more.setdefault("stdin", subprocess.DEVNULL)
    got = subprocess.run([*map(str, before), str(inside), *map(str, words)], env=clean_env(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, **more)
    bare.status = got.returncode
    lines = lines_of(got.stdout.decode("utf-8", "replace"))
    assert lines or got.returncode, (got.stdout, got.stderr)
    return lines


# ---- What the host shows -----------------------------------------------------------------------


def processes():
    """pid -> parent of every process that is not a zombie."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        stat = read(f"/proc/{name}/stat").decode("utf-8", "replace")
        rest = stat[stat.rfind(")") + 2:].split()
        if len(rest) > 1 and rest[0] not in "ZX":
            found[int(name)] = int(rest[1])
    return found


def descendants(of):
    """All living processes below `of`."""
    parents = processes()
    found, more = set(), {of}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more and pid not in found}
        found |= more
    return found


def cmdline(pid):
    return read(f"/proc/{pid}/cmdline")


def marked(marker):
    """Processes of the host with `marker` in their command line, this one's command left out."""
    needle = marker.encode()
    command = bytes(BELLJAR)
    # Read once: between two readings of one that executes, the second may be empty.
    lines = {pid: cmdline(pid) for pid in processes()}
    return {pid for pid, line in lines.items() if needle in line and command not in line}


def started(marker):
    """Of those, the ones that run: at its exec stop the program has its command line and a tracer."""
    return {pid for pid in marked(marker) if b"\nTracerPid:\t0\n" in read(f"/proc/{pid}/status")}


def inits(of):
    """Processes below `of` that are pid 1 of a pid namespace."""
    found = set()
    for pid in descendants(of):
        nspid = re.search(rb"^NSpid:\s+(.*)$", read(f"/proc/{pid}/status"), re.M)
        if nspid and len(nspid[1].split()) > 1 and nspid[1].split()[-1] == b"1":
            found.add(pid)
    return found


def launchers(of):
    """Launcher processes below `of`. Init and the guard, which have its image, are its children; the
    guard has a name of its own only once it has run."""
    parents = processes()
    named = {pid for pid in descendants(of)
             if b"belljar-launch" in (cmdline(pid) + read(f"/proc/{pid}/comm"))}
    return {pid for pid in named if parents.get(pid) not in named}


def cgroups_named(run_id):
    return [path for path in belljar_cgroups() if run_id and run_id in path]


def belljar_cgroups():
    found = []
    for top, dirs, _ in os.walk(CGROUPS):
        found += [os.path.join(top, d) for d in dirs if d.startswith("belljar-")]
    return found


def held(cgroup):
    """Whether a living launcher holds its lock: then it is a run of somebody else at this moment."""
    try:
        fd = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(fd)


def foreign_files():
    """Files in /tmp and /dev/shm that belljar, or a program in it, may have left."""
    found = set()
    for top in ("/tmp", "/var/tmp", "/dev/shm"):
        for entry in os.scandir(top):
            try:
                uid = entry.stat(follow_symlinks=False).st_uid
            except OSError:
                continue
            # Directories of tests, here or in a second run of this suite, are not belljar's.
            if (uid == USER_ID or uid in OUTSIDE_IDS) and not entry.name.startswith(("live-", "pytest-")):
                found.add(entry.path)
    return found


class Ledger:
    """Counts what must be the same after a test as before it."""

    def __init__(self):
        self.fds = self.descriptors()
        self.processes = descendants(os.getpid())
        self.mounts = self.mountpoints()
        self.cgroups = set(belljar_cgroups())
        self.files = foreign_files()

    @staticmethod
    def descriptors():
        return sorted(os.listdir("/proc/self/fd"))

    @staticmethod
    def mountpoints():
        return sorted(read("/proc/self/mountinfo").splitlines())

    def left(self):
        """What is new, as text; other users of this machine get a moment to take theirs away."""
        reap()
        new = {}
        checks = {
            "processes": lambda: descendants(os.getpid()) - self.processes,
            "mounts": lambda: set(self.mountpoints()) - set(self.mounts),
            "cgroups": lambda: {c for c in belljar_cgroups() if c not in self.cgroups and not held(c)},
            "files": lambda: foreign_files() - self.files,
        }
        for name, count in checks.items():
            rest = count()
            if rest:
                def smaller(count=count):
                    nonlocal rest
                    reap()
                    rest &= count()
                    return not rest
                until(smaller, 5)
            if rest:
                new[name] = sorted(map(str, rest))
                if name == "processes":
                    new[name] = [f"{pid} {cmdline(pid)!r}" for pid in rest]
                    for pid in rest:
                        try:
                            os.kill(pid, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
        if self.descriptors() != self.fds:
            new["descriptors"] = (self.fds, self.descriptors())
        return new


def reap():
    """Takes the orphans that became this process's children (it is their reaper)."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


class Listener:
    """A socket of the host that remembers what reached it."""

    def __init__(self, family, kind, address):
        self.got = []
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.stream = kind == socket.SOCK_STREAM
        if self.stream:
            self.socket.listen(16)
        self.stop_read, self.stop_write = os.pipe()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def serve(self):
        import select
        while True:
            ready, _, _ = select.select([self.socket, self.stop_read], [], [])
            if self.stop_read in ready:
                return
            if not self.stream:
                self.got.append(self.socket.recv(4096))
                continue
            peer, _ = self.socket.accept()
            with peer:
                peer.settimeout(5)
                try:
                    self.got.append(peer.recv(4096))
                except OSError as error:
                    self.got.append(repr(error).encode())

    def heard(self, token):
        """Whether the token arrives; waits for it."""
        return until(lambda: any(token.encode() in piece for piece in self.got))

    def close(self):
        os.write(self.stop_write, b"x")
        self.thread.join()
        for fd in (self.stop_read, self.stop_write):
            os.close(fd)
        self.socket.close()


def temporary_dir():
    path = Path(tempfile.mkdtemp(prefix="live-"))
    path.chmod(0o755)
    return path
