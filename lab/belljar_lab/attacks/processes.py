# SPDX-License-Identifier: Apache-2.0
"""Attacks on processes, names and objects outside: the caller's, the launcher's, init."""

import contextlib
import os
import re
import signal
import textwrap

from belljar_lab import host, outer, world
from belljar_lab.attack import BY_ROOT, BY_USER, EVERY, NO_CGROUP, WITH_CGROUP, Attack
from belljar_lab.run import (
    PATIENCE, SHOWN, Disagreement, Run, field_of, fields_of, is_gone, must_be_done, name_of,
    parent_of, parents_of_all, shows_itself, sleeps)

libc = outer.libc
PIDFD_GETFD, PTRACE_SEIZE = 438, 0x4206
RUNS_SECONDS = 0.5  # a few periods of a cgroup, which holds back whom it gave its share
PR_SET_PDEATHSIG, PR_SET_NAME, PF_EXITING = 1, 15, 4
BEATS = 5  # a process that was killed does not wake so often any more
# What a process does that is to be found after the end of its run.
GOES_ON = "while True:\n    time.sleep(0.01)"


def kills_a_process(run: Run):
    victim = run.world.victim()
    said = run.python(f"os.kill({victim.pid}, 9)")
    return run.judge(said, world.killed(victim, 10 if said == "done" else 0))


def signals_everybody(run: Run):
    """With a signal that nobody minds: the lab's own processes get it too."""
    victim = run.world.victim()
    said = run.python(f"os.kill(-1, {signal.SIGWINCH})")
    return run.judge(said, int(field_of(victim.pid, "ShdPnd"), 16) >> signal.SIGWINCH - 1 & 1)


def reads_an_environment(run: Run):
    token = run.world.token()
    path = f"/proc/{run.world.victim(token).pid}/environ"
    return run.python(f"print(open({path!r}).read())", leaks=token)


def reads_command_lines(run: Run):
    token = run.world.token()
    run.world.victim(token)
    return run.python("""
import glob
lines = [open(path).read() for path in glob.glob("/proc/[0-9]*/cmdline")]
lines = [line for line in lines if line.startswith("/bin/cat")]
print(*lines)
if not lines:
    sys.exit(print("not there"))
""", leaks=token)


def reads_memory(run: Run):
    token = run.world.token()
    pid, size = run.world.victim(token).pid, 100
    environment = int(fields_of(pid)[47])
    return run.python(f"""
class Piece(ctypes.Structure):
    _fields_ = ("at", ctypes.c_void_p), ("size", ctypes.c_size_t)
read = ctypes.create_string_buffer({size})
here, there = Piece(ctypes.addressof(read), {size}), Piece({environment}, {size})
must(libc.process_vm_readv({pid}, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
print(read.raw)
""", leaks=token)


def takes_a_descriptor(run: Run):
    token = run.world.token()
    victim = run.world.victim(token)
    return run.python(f"""
taken = must(libc.syscall({PIDFD_GETFD}, os.pidfd_open({victim.pid}), {victim.file}, 0))
print(os.pread(taken, 100, 0))
""", leaks=token)


def traces_a_process(run: Run):
    victim = run.world.victim()

    def look(pid):
        return int(field_of(victim.pid, "TracerPid")) == pid
    return run.python(f"must(libc.ptrace({PTRACE_SEIZE}, {victim.pid}, None, None))", look=look)


def slows_init_down(run: Run):
    def look(pid):
        return fields_of(parent_of(pid))[16] == "19"
    return run.python("os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)", look=look)


def lives(pid, name):
    """Whether it is there by that name, and not about to be gone: killed, it leaves its cgroup
    before it leaves /proc."""
    fields = fields_of(pid)
    return name_of(pid) == name and fields and not int(fields[6]) & PF_EXITING


def goes_on(pid, name):
    """Whether a process that does GOES_ON does so still."""
    enough = sleeps(pid) + BEATS
    outer.until(lambda: not lives(pid, name) or sleeps(pid) >= enough)
    return sleeps(pid) >= enough


def leaves_a_daemon(run: Run):
    """Nobody's child, in a session of its own, with nothing open that the run's end would close.
    The program ends when it is there."""
    name = run.world.token()[:15]
    must_be_done(run.python(f"""
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        libc.prctl({PR_SET_NAME}, {name!r}.encode(), 0, 0, 0)
        os.closerange(0, write + 1)
{textwrap.indent(GOES_ON, " " * 8)}
    os._exit(0)
os.close(write)
os.read(read, 1)
"""))
    left = [pid for pid in parents_of_all() if lives(pid, name) and goes_on(pid, name)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return "done" if left else "killed"


def outruns_the_kill(run: Run):
    """One that stays, and one that is another process before anybody has read its name."""
    name = run.world.token()[:15]
    must_be_done(run.python(f"""
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    libc.prctl({PR_SET_NAME}, {name!r}.encode(), 0, 0, 0)
    runs = os.fork() == 0
    os.closerange(0, write + 1)
    while not runs:
        libc.pause()
    while True:
        if os.fork():
            os._exit(0)
os.close(write)
os.read(read, 1)
"""))
    left = [pid for pid in parents_of_all() if lives(pid, name)]
    runs = processes_are_made()
    for group in {fields[2] for fields in map(fields_of, left) if fields}:
        os.killpg(int(group), signal.SIGKILL)
    if bool(left) != runs:
        raise Disagreement(f"the one that stays is {'left' if left else 'gone'}, and the one that "
                           f"runs is {'left' if runs else 'gone'}")
    return "done" if runs else "killed"


def processes_are_made():
    """Whether somebody goes on forking: the last pid is another one again and again."""
    last = set()

    def more():
        last.add(host.read("/proc/loadavg").split()[4])
        return len(last) > BEATS
    return outer.until(more, RUNS_SECONDS)


def stops_its_launcher(run: Run):
    """Which then keeps no time. A stopped one has its last chance here: somebody wakes it."""
    def look(pid):
        launcher = parent_of(parent_of(pid))
        stopped = outer.until(lambda: fields_of(launcher)[0] == "T")
        os.kill(launcher, signal.SIGCONT)
        return stopped
    return run.python(f"""
launcher = int(open(f"/proc/{{os.getppid()}}/stat").read().rpartition(")")[2].split()[1])
if launcher == 0:
    sys.exit(print("nobody"))
os.kill(launcher, {signal.SIGSTOP})
""", look=look)


def starts_threads(run: Run):
    def look(pid):
        return int(field_of(pid, "Threads")) == 41
    return run.python("""
thread = ctypes.c_ulong()
for _ in range(40):
    error = libc.pthread_create(ctypes.byref(thread), None, libc.pause, None)
    if error:
        raise OSError(error, "")
""", "--pids", "8", look=look)


def outlives_its_launcher(run: Run):
    """Looked for when both its init, which dies with the launcher, and whoever started that have
    ended: what they do to it they have done."""
    process = run.start(run.python_words(f"""
libc.prctl({PR_SET_PDEATHSIG}, 0, 0, 0, 0)
os.closerange(0, 3)  # nobody waits for the end of its output
libc.prctl({PR_SET_NAME}, {SHOWN!r}.encode(), 0, 0, 0)
{GOES_ON}
"""))
    pid = outer.until(lambda: shows_itself(process), PATIENCE)
    init = parent_of(pid)
    os.kill(parent_of(init), signal.SIGKILL)
    assert outer.until(lambda: is_gone(init))
    process.wait(PATIENCE)
    alive = goes_on(pid, SHOWN)
    if alive:
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    return "done" if alive else "killed"


def reads_shared_memory(run: Run):
    key, token = run.world.shared_memory()
    return run.python(f"""
number = must(libc.shmget({key}, 0, 0))
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(number, None, 0o10000)
print(ctypes.string_at(at, {len(token)}).decode())
""", leaks=token)


def learns_the_host_name(run: Run):
    return run.python("""
name = os.uname().nodename
print(name)
if name == "belljar":
    sys.exit()
""", leaks=run.world.host_name())


def learns_the_domain_name(run: Run):
    token = run.world.token()
    outer.must(libc.setdomainname(token.encode(), len(token)), "setdomainname")
    return run.python("""
name = open("/proc/sys/kernel/domainname").read()
print(name)
if not name.strip():
    sys.exit(print("no name"))
""", leaks=token)


def learns_its_cgroup(run: Run):
    return run.python("""
paths = {line.rstrip().split(":", 2)[2] for line in open("/proc/self/cgroup")}
print(*sorted(paths))
if not any("lab-" in path for path in paths):
    sys.exit()
""", leaks=re.search(r"/lab-\d+", host.read("/proc/self/cgroup"))[0])


def reads_the_launchers_environment(run: Run):
    token = run.world.token()
    return run.python("""
if "planted" not in os.environ:
    sys.exit(print("not there"))
print(os.environ["planted"])
""", leaks=token, launcher=["env-" + token])


def uses_a_descriptor_left_open(run: Run):
    token = run.world.token()
    return run.python(f"print(os.pread(100, {len(token)}, 0).decode())", leaks=token,
                      launcher=["fd-" + token])


def types_into_the_terminal(run: Run):
    master, path = run.world.terminal()
    said = run.python("os.write(os.open('/dev/tty', os.O_RDWR), b'typed')",
                      launcher=["tty-" + path.rpartition("/")[2]])
    seen = b""
    with contextlib.suppress(BlockingIOError):
        seen = os.read(master, 100)
    return run.judge(said, seen == b"typed")


def kills_its_process_group(run: Run):
    """Without a session of its own that is the launcher's, which then cleans nothing up. A program
    that is killed says nothing any more."""
    result = run.result(*run.python_words("os.kill(0, 9)"))
    if result.out or result.err:
        return run.judge(run.sign(result), False)
    return "only itself" if "clean" in result.timings_ms else "done"


ROWS = [
    Attack("kill-host-process", "K", kills_a_process,
           does="kills a process of the caller by its pid",
           success="that process was killed",
           stops=(("pid", "ESRCH"), ("user", "EPERM", BY_ROOT))),
    Attack("signal-everybody", "K", signals_everybody, modes=BY_USER,
           does="sends a signal to every process that it may send one to",
           success="a process of the caller got it",
           stops=(("pid", "ESRCH"),)),
    Attack("read-host-environment", "A", reads_an_environment,
           does="reads the environment of a process of the caller",
           success="its random token is in the program's output",
           stops=(("mount", "ENOENT"), ("user", "EACCES"))),
    Attack("read-host-command-lines", "D", reads_command_lines,
           does="looks for a secret among the arguments of all processes",
           success="its random token is in the program's output",
           stops=(("mount", "not there"),)),
    Attack("read-host-memory", "A", reads_memory,
           does="copies memory out of a process of the caller, told where it is",
           success="its random token is in the program's output",
           stops=(("seccomp", "EPERM"), ("pid", "ESRCH"), ("user", "EPERM"))),
    Attack("take-host-descriptor", "A", takes_a_descriptor,
           does="copies a descriptor of a process of the caller and reads from it",
           success="the file's random token is in the program's output",
           stops=(("pid", "ESRCH"), ("seccomp", "EPERM"), ("user", "EPERM"))),
    Attack("trace-host-process", "A", traces_a_process,
           does="attaches to a process of the caller as a debugger",
           success="that process has it as its tracer",
           stops=(("seccomp", "EPERM"), ("pid", "ESRCH"), ("user", "EPERM"))),
    Attack("slow-init", "K", slows_init_down,
           does="gives init, which has its own id, the lowest priority",
           success="init has that priority",
           stops=(("seccomp", "EPERM"),),
           # The filter knows init by its number, and init has the program's id from its own layer.
           without={"user": "done", "all but cgroup+user": "EPERM",
                    "all but cgroup+user+pid": "EPERM"}),
    Attack("leave-daemon", "G", leaves_a_daemon,
           does="leaves a daemon behind that nothing ties to the run",
           success="the daemon is there after the run ended",
           stops=(("pid", "killed"), ("cgroup", "killed", WITH_CGROUP))),
    Attack("thread-bomb", "G", starts_threads, modes=WITH_CGROUP,
           does="starts 40 threads where 8 tasks are allowed",
           success="its process has 41 threads",
           stops=(("cgroup", "EAGAIN"), ("rlimit", "EAGAIN"))),
    Attack("outrun-kill", "G", outruns_the_kill,
           does="leaves a process that forks and ends, for ever, so that no list has it",
           success="a process of it is there after the run ended",
           stops=(("pid", "killed"), ("cgroup", "killed", WITH_CGROUP))),
    Attack("stop-launcher", "K", stops_its_launcher,
           does="looks for its launcher and stops it, so that nobody keeps the time",
           success="the launcher is stopped",
           stops=(("pid", "nobody"), ("user", "EPERM", BY_ROOT))),
    Attack("outlive-launcher", "K", outlives_its_launcher, modes=NO_CGROUP,
           does="waits for its launcher to be killed, and asks for no signal when it is",
           success="it lives after its init and whoever started the launcher have ended",
           stops=(("pid", "killed"),)),
    Attack("read-shared-memory", "A", reads_shared_memory,
           does="attaches shared memory of a process outside",
           success="its random token is in the program's output",
           stops=(("ipc", "ENOENT"),)),
    Attack("learn-host-name", "A", learns_the_host_name,
           does="asks the kernel for the name of the host",
           success="the random name that the host has is in the program's output",
           stops=(("uts", "belljar"),)),
    Attack("learn-domain-name", "A", learns_the_domain_name,
           does="reads the name of the host's NIS domain",
           success="the random name is in the program's output",
           stops=(("uts", "no name"),)),
    Attack("learn-cgroup", "A", learns_its_cgroup, modes=WITH_CGROUP,
           does="reads where in the host's cgroups it runs",
           success="the host's cgroup is in the program's output",
           stops=(("cgroupns", "/"),)),
    Attack("read-launcher-environment", "D", reads_the_launchers_environment,
           does="looks for a secret that the launcher had in its environment",
           success="its random token is in the program's output",
           stops=(("env", "not there"),)),
    Attack("use-open-descriptor", "A", uses_a_descriptor_left_open,
           does="reads from a descriptor that the launcher left open",
           success="the file's random token is in the program's output",
           stops=(("fds", "EBADF"),)),
    Attack("type-into-terminal", "I", types_into_the_terminal,
           does="opens the caller's terminal and writes to it",
           success="the text arrives at the terminal",
           stops=(("terminal", "ENXIO"),)),
    Attack("kill-process-group", "K", kills_its_process_group,
           does="kills its process group, which is the launcher's if it got none of its own",
           success="the launcher died before it cleaned up",
           stops=(("terminal", "only itself"),
                  ("landlock", "only itself", EVERY, "landlock-scopes"),
                  ("user", "only itself", BY_ROOT))),
]
