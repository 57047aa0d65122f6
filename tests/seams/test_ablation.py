# SPDX-License-Identifier: Apache-2.0
"""Each layer is left out, and the attack that it stops then succeeds.

A row is one attack and what comes of it with all layers, and without some: the errno or the end
that stopped it, or `done`. Without a layer those are left out too that cannot be put up without it.
Where more than one layer stops an attack, each is seen to do so without the others. Everything
runs in namespaces and cgroups made for it: outer.py.
"""

import contextlib
import dataclasses
import errno
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable

import pytest

import harness
import outer as outer_namespaces
import seams

ROOT, USER, WITH_CGROUP = ("root-no-cgroup",), ("user",), ("user-cgroup",)
EVERY = ROOT + USER
TOKEN = "token-of-the-caller"
MEBI = 1 << 20
SYS_SETHOSTNAME = {"x86_64": 170, "aarch64": 161}[os.uname().machine]
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446
PR_SET_NO_NEW_PRIVS = 38

# What all attacks begin and end with; the word on the last line is what came of it.
PROGRAM = """
import ctypes, errno, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def must(got):
    if got < 0:
        raise OSError(ctypes.get_errno(), "")
    return got
try:
{code}
    print("done")
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def python(code):
    body = "\n".join("    " + line for line in code.strip("\n").splitlines())
    return ["--", "/usr/bin/python3", "-I", "-S", "-c", PROGRAM.format(code=body)]


class Run:
    """Starts one program with some layers left out. All of this happens in the worker."""

    def __init__(self, place, mode, without):
        self.place, self.mode, self.without = place, mode, without
        self.words = ["without-" + "+".join(without)] if without else []
        self.uid = harness.MODES[mode][0]

    def result(self, *args, words=()):
        result = seams.run(self.place, self.mode, [*self.words, *words], *args)
        # The library never takes the word of a launcher that left a layer out.
        assert (result.outcome == "sandbox_error") == bool(self.without) and result.started, result
        if self.without:
            assert result.error["message"].endswith("was let go without its proof"), result
        return result

    def __call__(self, code, *options, words=()):
        result = self.result(*options, *python(code), words=words)
        if result.outcome not in ("exited", "sandbox_error"):
            return result.outcome
        lines = result.out.splitlines()
        assert lines and not result.err, result
        return lines[-1]

    def file(self, name, text="", mode=0o644, owner=None):
        path = self.place / f"{name}-{time.monotonic_ns()}"
        path.write_text(text)
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, self.uid if owner is None else owner, -1)
        return path


# ---- The attacks -------------------------------------------------------------------------------


def takes_memory(run):
    """Four times what it may have, held for longer than `monitor` needs to see it."""
    return run(f"""
held = b"x" * {200 * MEBI}
time.sleep({0 if harness.MODES[run.mode][1] else 3})
""", "--memory", "50m", "--time", "60s")


def starts_tasks(run):
    return run("""
read, write = os.pipe()
for _ in range(40):
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
""", "--pids", "8")


def writes_to_a_file_of_the_caller(run):
    path = run.file("canary", mode=0o600)
    said = run(f"""
with open({str(path)!r}, "a") as file:
    file.write("changed")
""")
    assert (path.read_text() == "changed") == (said == "done")
    return said


def reads_a_file_of_the_host(run):
    path = run.file("canary", TOKEN)
    return run(f"""
if open({str(path)!r}).read() != {TOKEN!r}:
    sys.exit("something else")
""")


def kills_a_process_of_the_caller(run):
    victim = subprocess.Popen(["/bin/sleep", "1000"], user=run.uid or None)
    try:
        said = run(f"os.kill({victim.pid}, 9)")
        alive = victim.poll() is None if said != "done" else victim.wait(10) != -signal.SIGKILL
        assert alive == (said != "done"), said
        return said
    finally:
        victim.kill()
        victim.wait()


def connects_to_the_callers_loopback(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        return heard(run, server, f"""
peer = socket.create_connection(("127.0.0.1", {server.getsockname()[1]}))
peer.sendall({TOKEN!r}.encode())
""")


def connects_to_an_abstract_socket(run):
    name = f"seam-{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        return heard(run, server, f"""
peer = socket.socket(socket.AF_UNIX)
peer.connect("\\0{name}")
peer.sendall({TOKEN!r}.encode())
""")


def heard(run, server, code):
    said = run(code)
    server.settimeout(10 if said == "done" else 0)
    try:
        peer, _ = server.accept()
    except BlockingIOError:
        assert said != "done"
        return said
    with peer:
        assert (peer.recv(100) == TOKEN.encode()) and said == "done"
    return said


@contextlib.contextmanager
def shared_memory():
    """A System V segment that everybody may read, with the token in it: (key, id)."""
    libc = outer_namespaces.libc
    libc.shmat.restype = outer_namespaces.ctypes.c_void_p
    key = int(time.monotonic_ns()) & 0x7fffffff | 1
    number = libc.shmget(key, 4096, 0o1644)
    outer_namespaces.must(number, "shmget")
    at = libc.shmat(number, None, 0)
    outer_namespaces.ctypes.memmove(at, TOKEN.encode(), len(TOKEN))
    try:
        yield key
    finally:
        libc.shmdt(outer_namespaces.ctypes.c_void_p(at))
        libc.shmctl(number, 0, None)


def reads_shared_memory_of_the_caller(run):
    with shared_memory() as key:
        return run(f"""
number = must(libc.shmget({key}, 0, 0))
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(number, None, 0o10000)
if ctypes.string_at(at, {len(TOKEN)}) != {TOKEN!r}.encode():
    sys.exit("something else")
""")


def learns_the_host_name(run):
    return run(f"""
if os.uname().nodename != {outer_namespaces.HOST_NAME!r}:
    sys.exit(print(os.uname().nodename))
""")


def learns_its_cgroup(run):
    return run("""
paths = {line.rstrip().split(":", 2)[2] for line in open("/proc/self/cgroup")}
if not any("seam-" in path for path in paths):
    sys.exit(print(*paths))
""")


def reads_the_launchers_environment(run):
    return run("""
if os.environ.get("planted") != "planted":
    sys.exit(print("not there"))
""", words=["plant-env"])


def uses_a_descriptor_left_open(run):
    return run("""
if os.pread(100, 7, 0) != b"planted":
    sys.exit("something else")
""", words=["plant-fd"])


def types_into_the_callers_terminal(run):
    master, slave = os.openpty()
    try:
        if os.geteuid() == 0:
            os.fchown(slave, run.uid, -1)
        said = run("os.write(os.open('/dev/tty', os.O_RDWR), b'typed')",
                   words=["tty-" + os.ttyname(slave).rpartition("/")[2]])
        os.set_blocking(master, False)
        with contextlib.suppress(BlockingIOError):
            assert (os.read(master, 100) == b"typed") == (said == "done")
        return said
    finally:
        os.close(master)
        os.close(slave)


def kills_its_process_group(run):
    """Without a session of its own that is the launcher's."""
    result = run.result(*python("os.kill(0, 9)"))
    return "only itself" if "clean" in result.timings_ms else "done"


def writes_a_large_file(run):
    return run(f"""
with open("/workspace/large", "wb") as file:
    file.write(b"x" * {MEBI})
""", "--fsize", "64k")


def with_file_capabilities(run, *words):
    """What verbs of the program `inside` say, from a file that gives it every capability."""
    path = run.place / "capable"
    if not path.exists():
        shutil.copy(run.place / seams.INSIDE.name, path)
        every = 0xffffffff
        revision_2_effective = 0x02000001
        os.setxattr(path, "security.capability",
                    struct.pack("<5I", revision_2_effective, every, 0, 0x1ff, 0))
    said = run(f"""
sys.stdout.flush()
os.execv({str(path)!r}, {["inside", *words]!r})
""")
    if not said.startswith("{"):
        return said
    (line,) = harness.lines_of(said)
    return "done" if line["ok"] else line["name"]


def sets_the_host_name(run):
    return with_file_capabilities(run, "sys", str(SYS_SETHOSTNAME), "s:mine", "4")


def traces_init(run):
    return with_file_capabilities(run, "ptrace", "seize", "1")


def runs_a_set_user_id_program(run):
    path = run.place / "set-user-id"
    if not path.exists():
        shutil.copy("/usr/bin/id", path)
        path.chmod(0o4755)
        assert path.stat().st_uid == 0
    said = run(f"""
sys.stdout.flush()
os.execv({str(path)!r}, ["id", "-u"])
""")
    return "done" if said == "0" else said


def makes_a_device(run):
    """A whiteout, which takes no privilege."""
    return run("os.mknod('/workspace/device', 0o20600, 0)")


def makes_a_user_namespace(run):
    return run("must(libc.unshare(0x10000000))")


def sleeps_beyond_its_time(run):
    return run("time.sleep(1.5)", "--time", "300ms")


def computes_beyond_its_time(run):
    return run("""
while time.process_time() < 1:
    pass
""", "--cpu-time", "200ms", "--cpus", "1", "--time", "60s")


def floods_its_output(run):
    return run(f"""
os.write(1, (b"x" * 99 + b"\\n") * {MEBI // 100})
""", "--max-output", "64k")


# ---- What stops them ---------------------------------------------------------------------------


@dataclasses.dataclass
class Row:
    layer: str  # that the row is about
    attack: Callable
    modes: tuple
    all_layers: str  # what comes of it with every layer
    without: dict  # layers left out, joined by "+": what comes of it then
    by_root: bool = False  # the attack needs something that only root can make
    landlock_abi: int = 1  # from which on it is so
    landlock_refuses_whiteouts: bool = False  # only then it is so

    def name(self):
        return f"{self.layer}-{self.attack.__name__}"


ROWS = [
    Row("cgroup", takes_memory, WITH_CGROUP, "memory_limit", {"cgroup": "done"}),
    Row("cgroup", starts_tasks, WITH_CGROUP, "EAGAIN",
        {"cgroup": "EAGAIN", "rlimit": "EAGAIN", "cgroup+rlimit": "done"}),
    Row("user", writes_to_a_file_of_the_caller, ROOT, "ENOENT",
        {"mount": "EACCES", "user": "done"}),
    Row("pid", kills_a_process_of_the_caller, USER, "ESRCH", {"pid": "done"}),
    Row("pid", kills_a_process_of_the_caller, ROOT, "ESRCH", {"pid": "EPERM", "user": "done"}),
    Row("mount", reads_a_file_of_the_host, EVERY, "ENOENT", {"mount": "done"}),
    Row("mount", writes_to_a_file_of_the_caller, USER, "ENOENT", {"mount": "done"}),
    Row("net", connects_to_the_callers_loopback, EVERY, "ECONNREFUSED", {"net": "done"}),
    Row("ipc", reads_shared_memory_of_the_caller, EVERY, "ENOENT", {"ipc": "done"}),
    Row("uts", learns_the_host_name, EVERY, "belljar", {"uts": "done"}),
    Row("cgroupns", learns_its_cgroup, WITH_CGROUP, "/", {"cgroupns": "done"}),
    Row("env", reads_the_launchers_environment, EVERY, "not there", {"env": "done"}),
    Row("terminal", types_into_the_callers_terminal, EVERY, "ENXIO", {"terminal": "done"}),
    Row("terminal", kills_its_process_group, USER, "only itself",
        {"terminal": "only itself", "landlock": "only itself", "terminal+landlock": "done"},
        landlock_abi=6),
    Row("rlimit", writes_a_large_file, EVERY, "EFBIG", {"rlimit": "done"}),
    # An exec by an id that is not 0 leaves no capability: only a file could give some.
    Row("caps", sets_the_host_name, EVERY, "ENOENT",
        {"caps": "ENOENT", "mount": "EPERM", "nnp": "ENOENT", "caps+mount": "EPERM",
         "mount+nnp": "EPERM", "caps+mount+nnp": "done"}, by_root=True),
    Row("init", traces_init, EVERY, "ENOENT",
        {"init": "ENOENT", "mount": "EPERM", "nnp": "ENOENT", "caps": "ENOENT",
         "init+mount": "EPERM", "caps+mount+nnp": "EPERM", "init+caps+mount+nnp": "done"},
        by_root=True),
    Row("nnp", runs_a_set_user_id_program, USER, "ENOENT",
        {"nnp": "ENOENT", "mount+nnp": "1000", "user": str(harness.USER_ID), "user+nnp": "done"},
        by_root=True),
    Row("landlock", makes_a_device, EVERY, "EPERM",
        {"landlock": "EPERM", "seccomp": "EACCES", "landlock+seccomp": "done"},
        landlock_refuses_whiteouts=True),
    Row("landlock", connects_to_an_abstract_socket, EVERY, "ECONNREFUSED",
        {"landlock": "ECONNREFUSED", "net": "EPERM", "landlock+net": "done"}, landlock_abi=6),
    Row("seccomp", makes_a_user_namespace, EVERY, "EPERM", {"seccomp": "done"}),
    Row("fds", uses_a_descriptor_left_open, EVERY, "EBADF", {"fds": "done"}),
    Row("deadline", sleeps_beyond_its_time, EVERY, "time_limit", {"deadline": "done"}),
    Row("deadline", computes_beyond_its_time, EVERY, "cpu_limit", {"deadline": "done"}),
    Row("output", floods_its_output, EVERY, "output_limit", {"output": "done"}),
    Row("monitor", takes_memory, EVERY, "memory_limit", {"monitor": "done"}),
]


def modes():
    if os.geteuid() != 0:
        return USER
    return EVERY + (WITH_CGROUP if harness.root_has_cgroups() else ())


def landlock_abi():
    return outer_namespaces.libc.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, 1)


def landlock_refuses_whiteouts():
    """Newer kernels let them pass, and some older ones that were given that change."""
    libc, pid = outer_namespaces.libc, os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == errno.EACCES
    status = 0
    try:
        place = tempfile.mkdtemp()
        make_char = struct.pack("Q", 1 << 6)
        rules = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, make_char, len(make_char), 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
        os.mknod(f"{place}/whiteout", 0o20600, 0)
        os.unlink(f"{place}/whiteout")
    except OSError as error:
        status = error.errno
    finally:
        os.rmdir(place)
        os._exit(status)


def cases():
    abi, whiteouts = landlock_abi(), landlock_refuses_whiteouts()
    return [(row, mode) for row in ROWS for mode in modes() if mode in row.modes
            and abi >= row.landlock_abi and (os.geteuid() == 0 or not row.by_root)
            and (whiteouts or not row.landlock_refuses_whiteouts)]


CASES = cases()


@pytest.fixture(scope="module")
def workers(place):
    """A worker without cgroups, and one with, each made when it is first asked for."""
    made = {}

    def worker(cgroups):
        if cgroups not in made:
            made[cgroups] = outer_namespaces.Outer(cgroups)
            made[cgroups].place = made[cgroups].call(make_place, place)
        return made[cgroups]
    yield worker
    for one in made.values():
        one.stop()
        os.rmdir(one.place)


def make_place(place):
    """A mount of the worker's own, with the programs in it; /tmp may be one without set-user-id."""
    path = harness.temporary_dir()
    outer_namespaces.mount("seam", path, "tmpfs", data="size=64m,mode=0755")
    for program in seams.PROGRAMS:
        shutil.copy(place / program.name, path / program.name)
    return path


def attack(place, mode, number, without):
    return ROWS[number].attack(Run(place, mode, without))


@pytest.mark.parametrize(("row", "mode"), CASES,
                         ids=[f"{row.name()}-{mode}" for row, mode in CASES])
def test_without_the_layer_the_attack_succeeds(workers, row, mode):
    outer, number = workers(harness.MODES[mode][1]), ROWS.index(row)
    expected = {"": row.all_layers, **row.without}
    got = {names: outer.call(attack, outer.place, mode, number, names.split("+") if names else [])
           for names in expected}
    assert got == expected


LAYERS = {layer["name"]: layer for layer in seams.table()["layers"]}


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_has_its_attack(name):
    """Stopped by it alone; or, where the table says that others stop it too, by each of them."""
    rows = [row for row in ROWS if row.layer == name]
    assert all(row.all_layers != "done" for row in rows)
    alone = [row for row in rows if row.without.get(name) == "done"]
    pairs = [row for row in rows for names, said in row.without.items()
             if said == "done" and name in names.split("+") and "+" in names
             and all(row.without[one] != "done" for one in names.split("+"))]
    assert pairs if LAYERS[name]["also_stopped_by"] else alone
