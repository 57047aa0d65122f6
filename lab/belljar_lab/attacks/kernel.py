# SPDX-License-Identifier: Apache-2.0
"""Attacks on the kernel's surface: calls that programs of this kind do not need."""

import os
import subprocess

from belljar_lab import calls, host, outer
from belljar_lab.attack import EVERY, Attack
from belljar_lab.run import (PATIENCE, SHOWN, Run, field_of, fields_of, in_a_user_namespace,
                             parent_of, shows_itself)

# Runs a piece of Python in a child, and says with which signal that was killed, if it was.
IN_A_CHILD = """
import signal
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        print(signal.Signals(os.WTERMSIG(status)).name)
    sys.exit()
"""


def makes(run, name, look):
    """Makes a call of calls.CALLS."""
    return run.python(calls.CALLS[name] + "\nmust(got)", look=look)


def opens(name, link):
    """An attack: a call that gives a descriptor of this kind."""
    def attack(run: Run):
        def look(pid):
            fds = f"/proc/{pid}/fd"
            return any(link in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
        return makes(run, name, look)
    return attack


def begins_asynchronous_io(run: Run):
    return makes(run, "aio", lambda pid: "/[aio]" in host.read(f"/proc/{pid}/maps"))


def makes_a_user_namespace_by_int_80(run: Run):
    return run.python(IN_A_CHILD + calls.INT_80 + "\nmust(got)", look=in_a_user_namespace)


def makes_a_user_namespace_by_clone3(run: Run):
    return run.python(f"""
import struct
flags, sigchld = {calls.CLONE_NEWUSER}, 17
child = must(libc.syscall(435, struct.pack("8Q", flags, 0, 0, 0, sigchld, 0, 0, 0), 64))
if child:
    os.waitpid(child, 0)
    sys.exit()
""", look=in_a_user_namespace)


def turns_off_randomisation(run: Run):
    addr_no_randomize = 0x40000

    def look(pid):
        return int(host.read(f"/proc/{pid}/personality"), 16) & addr_no_randomize
    return run.python(f"must(libc.personality({addr_no_randomize}))", look=look)


def installs_a_filter(run: Run):
    """In a child: its parent has all the filters of the run."""
    def look(pid):
        own, others = (int(field_of(one, "Seccomp_filters")) for one in (pid, parent_of(pid)))
        return own > others
    return run.python(IN_A_CHILD + """
import struct
allow_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow_all))
no_new_privs, set_seccomp, mode_filter = 38, 22, 2
must(libc.prctl(no_new_privs, 1, 0, 0, 0))
must(libc.prctl(set_seccomp, mode_filter, program))
""", look=look)


def pushes_a_command(run: Run):
    """With a bit set in the half of the request's number that the kernel does not look at."""
    master, path = run.world.terminal()
    text = "rm\n"
    said = run.python(f"""
terminal = os.open('/dev/tty', os.O_RDWR)
tiocsti = 0x5412 | 1 << 32
for byte in {text!r}:
    must(libc.ioctl(terminal, ctypes.c_ulong(tiocsti), byte.encode()))
""", launcher=["tty-" + path.rpartition("/")[2]])
    slave = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        seen = os.read(slave, 100)
    except BlockingIOError:
        seen = b""
    finally:
        os.close(slave)
    return run.judge(said, seen == text.encode())


def reads_what_is_typed(run: Run):
    master, path = run.world.terminal()
    token = run.world.token()
    os.write(master, token.encode() + b"\n")
    return run.python("print(os.read(os.open('/dev/tty', os.O_RDWR), 100).decode().strip())",
                      leaks=token, launcher=["tty-" + path.rpartition("/")[2]])


def lowers_the_limits_of_init(run: Run):
    def look(pid):
        limits = host.read(f"/proc/{parent_of(pid)}/limits").splitlines()
        return any(line.split()[:5] == ["Max", "open", "files", "60", "60"] for line in limits)
    return run.python("""
import struct
nofile = 7
must(libc.prlimit(os.getppid(), nofile, struct.pack("QQ", 60, 60), None))
""", look=look)


def signals_init(run: Run):
    signal = 12

    def look(pid):
        return int(field_of(parent_of(pid), "ShdPnd"), 16) & 1 << signal - 1
    return run.python(f"os.kill(os.getppid(), {signal})", look=look)


SCANS = 50


def kills_init(run: Run):
    """It shows itself after the kill, if it is still there: pid 1 ignores what it did not ask for,
    and whoever kills a pid 1 that is none dies with it."""
    process = run.start(["--stdin", "-", *run.python_words(f"""
os.kill(os.getppid(), 9)
libc.prctl(15, b"{SHOWN}", 0, 0, 0)
sys.stdin.read()
sys.exit(print("ignored"))
""")], stdin=subprocess.PIPE)
    pid = outer.until(lambda: shows_itself(process), PATIENCE)
    # Between the signal and the flag of an exit there is an instant without either.
    init = parent_of(pid) if pid > 0 else 0
    killed = pid > 0 and any(is_dying(init) for _ in range(SCANS))
    if killed:
        process.wait(PATIENCE)
    result = run.finish(process)
    killed = killed or pid < 0 and not result.out
    return run.judge("done" if killed and not result.out else run.sign(result), killed)


def is_dying(pid):
    """Dead, or about to be, or nobody of the run: then its child was given to another."""
    kill, exiting = 1 << 8, 1 << 2
    fields = fields_of(pid)
    return pid == 1 or fields[:1] in ([], ["Z"], ["X"]) or int(fields[6]) & exiting or \
        int(field_of(pid, "SigPnd") or "0", 16) & kill


def offers_init_to_the_oom_killer(run: Run):
    def look(pid):
        return int(host.read(f"/proc/{parent_of(pid)}/oom_score_adj")) == 1000
    # Where proc is the host's, that is where its parent's pid is too.
    return run.python("""
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
with open(f"/proc/{status['PPid'].strip()}/oom_score_adj", "w") as file:
    file.write("1000")
""", look=look)


BY_SECCOMP = (("seccomp", "EPERM"),)
ROWS = [
    Attack("use-io-uring", "J", opens("io_uring", "io_uring"), needs=("io_uring",),
           does="asks for io_uring, which does other calls' work past a filter",
           success="its process has such a ring open", stops=BY_SECCOMP),
    Attack("catch-page-faults", "J", opens("userfaultfd", "userfaultfd"), needs=("userfaultfd",),
           does="asks to be told of its page faults, which stops the kernel halfway",
           success="its process has such a descriptor open", stops=BY_SECCOMP),
    Attack("count-events", "J", opens("perf_event", "perf_event"), needs=("perf_event",),
           does="asks for a counter of the processor's and the kernel's events",
           success="its process has such a counter open", stops=BY_SECCOMP),
    Attack("watch-files", "J", opens("fanotify", "fanotify"), needs=("fanotify",),
           does="asks to be told what others do with files",
           success="its process has such a group open", stops=BY_SECCOMP),
    Attack("hide-memory", "J", opens("memfd_secret", "secretmem"), needs=("memfd_secret",),
           does="asks for memory that is taken out of the kernel's own map",
           success="its process has such a file open", stops=BY_SECCOMP),
    Attack("use-aio", "J", begins_asynchronous_io, needs=("aio",),
           does="takes asynchronous I/O, of which there is one amount for the whole host",
           success="its process has such a queue mapped", stops=BY_SECCOMP),
    Attack("call-as-32-bit", "J", makes_a_user_namespace_by_int_80, needs=("int_80",),
           does="makes a user namespace by the call of 32-bit programs, whose numbers are others",
           success="its process is in another user namespace than its parent",
           stops=(("seccomp", "SIGSYS"),)),
    Attack("call-clone3", "J", makes_a_user_namespace_by_clone3,
           does="makes a user namespace by clone3, whose flags stand behind a pointer",
           success="its process is in another user namespace than its parent",
           stops=(("seccomp", "ENOSYS"),)),
    Attack("turn-off-randomisation", "J", turns_off_randomisation,
           does="asks for programs to be loaded where they can be foreseen",
           success="its process has that set", stops=BY_SECCOMP),
    Attack("install-filter", "J", installs_a_filter,
           does="gives the kernel a filter of its own to compile",
           success="its process has one more filter than its parent",
           stops=(("seccomp", "EINVAL"),)),
    Attack("push-command", "I", pushes_a_command, needs=("tiocsti",),
           does="puts a command into the input of the caller's terminal, as if it had been typed",
           success="whoever reads the terminal gets the command",
           stops=(("terminal", "ENXIO"), ("seccomp", "EPERM"))),
    Attack("read-terminal", "D", reads_what_is_typed,
           does="reads what the user types into the caller's terminal",
           success="what was typed is in the program's output",
           stops=(("terminal", "ENXIO"),)),
    Attack("limit-init", "K", lowers_the_limits_of_init,
           does="lowers a limit of pid 1, which has its own user id",
           success="pid 1 has the lower limit",
           stops=(("seccomp+pid", "EPERM"),)),
    Attack("signal-init", "K", signals_init, needs=("landlock-scopes",),
           does="sends pid 1 a signal that this one blocks",
           success="the signal waits there",
           stops=(("landlock", "EPERM"),)),
    Attack("kill-init", "K", kills_init,
           does="kills pid 1, which has its own user id",
           success="pid 1 is dead, or about to be",
           stops=(("landlock", "EPERM", EVERY, "landlock-scopes"), ("pid", "ignored"))),
    Attack("offer-init", "K", offers_init_to_the_oom_killer,
           does="makes pid 1 the first to go where memory runs out",
           success="pid 1 has the highest oom_score_adj",
           stops=(("init", "EACCES"),)),
]
