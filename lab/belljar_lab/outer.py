# SPDX-License-Identifier: Apache-2.0
"""Namespaces around everything that the lab does; nothing of it runs an attack outside of them.

A launcher without `user` acts with the ids of whoever started it, one without `net` is in that
one's network, and so on. So whoever starts it must be nobody and nowhere: a worker process in user,
mount, pid, network, host name and IPC namespaces of its own, whose ids are none of the host's. It
can have cgroups as well, bounded by the host and given to an ordinary user inside: version 1 has no
use for a root that is not the host's. Started by an ordinary user it has that user's id only.
"""

import contextlib
import ctypes
import fcntl
import os
import pickle
import select
import signal
import socket
import struct
import time
import traceback

HOST_NAME = "lab-outer-host"
USER_ID = 4321  # the ordinary user inside, where root started the lab
# Ids of the host that nobody has: what is 0 and up inside, and what the runs' own ids are inside.
# Each worker has its own of both.
FIRST_ID, ID_COUNT = 0x6ff00000, 65536
RUN_IDS, RUN_IDS_OUTSIDE = range(0x70000000, 0x70400000), 0x6e000000
FIRST_PID = 1000  # no process of the worker has a pid that one in a sandbox has
WORKERS = 4
# Addresses of its loopback besides 127.0.0.1: one as a public host has it (RFC 5737 gives it to
# nobody), and the one at which clouds tell a machine its credentials.
PUBLIC, METADATA = "203.0.113.7", "169.254.169.254"
CGROUPS, CONTROLLERS = "/sys/fs/cgroup", "+memory +pids +cpu"
BOUND = {"memory.limit_in_bytes": 1 << 30, "memory.max": 1 << 30, "pids.max": 200}

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8914, 0x8916, 1
PATIENCE = 150  # seconds after which what must end is a failure; never measured
POLL_SECONDS = 0.002  # between two looks of until()

libc = ctypes.CDLL(None, use_errno=True)


def must(got, what):
    if got < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")


class Refused(Exception):
    """The outer namespaces cannot be built here; the text says why."""


def until(what, seconds=20.0):
    """Polls until `what()` is true and returns it; the deadline only bounds a failure."""
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got or time.monotonic() > end:
            return got
        time.sleep(POLL_SECONDS)


def set_flags(interface, flags):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", interface, flags))


def add_address(interface, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFADDR, struct.pack("16sHH4s16x", interface, socket.AF_INET, 0,
                                                   socket.inet_aton(address)))


def set_host_name(name):
    must(libc.sethostname(name.encode(), len(name)), "sethostname")


def remove(cgroup):
    """Whether it is gone; it cannot go before what is in it."""
    reap()
    try:
        os.rmdir(cgroup)
    except OSError:
        return not os.path.isdir(cgroup)
    return True


def reap():
    """Takes the orphans that became this process's children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def mount(source, target, kind, flags=0, data=None):
    words = [word and str(word).encode() for word in (source, target, kind)]
    must(libc.mount(*words, flags, data and data.encode()), f"mount {source} on {target}")


def cgroup_tops():
    """Where cgroups are mounted in which the worker gets one of its own."""
    if os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        return [CGROUPS]
    names = ["memory", "pids", "cpu", "cpuacct", "unified"]
    return [f"{CGROUPS}/{name}" for name in names if os.path.isdir(f"{CGROUPS}/{name}")]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Outer:
    """The worker: call() runs a function in it and returns what that returns."""

    def __init__(self, cgroups=False, number=0):
        assert number < WORKERS
        self.root, self.number = os.geteuid() == 0, number
        self.tops, self.cgroups = cgroup_tops() if cgroups else [], []
        self.mine, theirs = socket.socketpair()
        go_read, go_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(go_write)
                self.mine.close()
                status = self.enclose(go_read, theirs)
            except OSError as error:
                send(theirs, (False, f"the outer namespaces cannot be built: {error}"))
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        self.pid = pid
        theirs.close()
        os.close(go_read)
        try:
            until(lambda: self.has_namespaces() or select.select([self.mine], [], [], 0)[0])
            if self.has_namespaces():
                self.map_ids()
                self.give_cgroups()
                os.write(go_write, b"g")
            good, said = receive(self.mine)
            if not good:
                raise Refused(said)
        except (OSError, EOFError) as error:
            self.stop()
            raise Refused(f"the outer namespaces cannot be built: {error}") from error
        except BaseException:
            self.stop()
            raise
        finally:
            os.close(go_write)

    # ---- From outside -----------------------------------------------------------------------

    def has_namespaces(self):
        try:
            return os.stat(f"/proc/{self.pid}/ns/net").st_ino != os.stat("/proc/self/ns/net").st_ino
        except (FileNotFoundError, PermissionError):
            return False

    def map_ids(self):
        uid = os.geteuid()
        lines = f"{uid} {uid} 1\n"
        if self.root:
            lines = (f"0 {self.first_id()} {ID_COUNT}\n{RUN_IDS.start} "
                     f"{RUN_IDS_OUTSIDE + self.number * len(RUN_IDS)} {len(RUN_IDS)}\n")
        else:
            write(f"/proc/{self.pid}/setgroups", "deny")
        try:
            write(f"/proc/{self.pid}/uid_map", lines)
        except PermissionError:
            raise Refused("this root is one of a user namespace that lacks the ids to give: start "
                          "the lab as root of the host, or as an ordinary user") from None
        write(f"/proc/{self.pid}/gid_map", lines)

    def first_id(self):
        return FIRST_ID + self.number * ID_COUNT

    def give_cgroups(self):
        """One cgroup in each hierarchy, with the worker in it."""
        owner = self.first_id() + USER_ID
        for top in self.tops:
            path = f"{top}/lab-{self.pid}"
            if top == CGROUPS:
                write(f"{top}/cgroup.subtree_control", CONTROLLERS)
            os.mkdir(path)
            self.cgroups.append(path)
            for name, most in BOUND.items():
                if os.path.exists(f"{path}/{name}"):
                    write(f"{path}/{name}", str(most))
            leaf = path
            if top == CGROUPS:
                leaf = f"{path}/leaf"
                os.mkdir(leaf)
                write(f"{path}/cgroup.subtree_control", CONTROLLERS)
            write(f"{leaf}/cgroup.procs", str(self.pid))
            for folder in {path, leaf}:
                os.chown(folder, owner, owner)
                for name in ("cgroup.procs", "tasks", "cgroup.threads", "cgroup.subtree_control"):
                    if os.path.exists(f"{folder}/{name}"):
                        os.chown(f"{folder}/{name}", owner, owner)

    def call(self, function, *args):
        send(self.mine, (function, args))
        ready, _, _ = select.select([self.mine], [], [], PATIENCE)
        assert ready, f"{function.__name__} does not end"
        good, got = receive(self.mine)
        if not good:
            raise AssertionError(got)
        return got

    def stop(self):
        """Everything in it dies with its pid 1, and that with its parent."""
        self.mine.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for path in self.cgroups:
            # With what a launcher that was killed left to the next one, which never came.
            for folder, _, _ in os.walk(path, topdown=False):
                assert until(lambda folder=folder: remove(folder)), f"{folder} is in use"

    # ---- Inside -----------------------------------------------------------------------------

    def enclose(self, go, channel):
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        must(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS |
                          CLONE_NEWIPC), "unshare")
        if os.read(go, 1) != b"g":
            return 1
        if self.root:
            os.setresgid(0, 0, 0)
            os.setgroups([])
            os.setresuid(0, 0, 0)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        pid = os.fork()
        if pid == 0:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os._exit(self.pid_1(channel))
        channel.close()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def pid_1(self, channel):
        try:
            self.furnish()
            worker = os.fork()
            if worker == 0:
                send(channel, (True, "ready"))
                serve(channel)
                os._exit(0)
            channel.close()
            while os.wait()[0] != worker:
                pass
            return 0
        except OSError as error:
            send(channel, (False, f"the outer namespaces cannot be built: {error}"))
            return 1
        except BaseException:
            traceback.print_exc()
            return 1

    @staticmethod
    def cgroup_name():
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            return next(line.strip().rpartition("/")[2] for line in file if "/lab-" in line)

    def furnish(self):
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        mount("proc", "/proc", "proc")
        # Of its own: the host's gives terminals to a group that is not mapped here.
        mount("devpts", "/dev/pts", "devpts", data="newinstance,ptmxmode=0666,mode=0620")
        if self.tops != [CGROUPS]:
            for top in self.tops:
                mount(f"{top}/{self.cgroup_name()}", top, None, MS_BIND)
        set_flags(b"lo", IFF_UP)
        add_address(b"lo:1", PUBLIC)
        add_address(b"lo:2", METADATA)
        set_host_name(HOST_NAME)
        if self.root:
            write("/proc/sys/kernel/ns_last_pid", str(FIRST_PID))
        outside = [line.split()[1] for line in open("/proc/self/uid_map", encoding="utf-8")]
        assert "0" not in outside, "this would act as the host's root"
        assert os.getpid() == 1


def serve(channel):
    """Runs what it is sent, one after the other, until the channel ends."""
    while True:
        try:
            function, args = receive(channel)
        except EOFError:
            return
        try:
            answer = True, function(*args)
        except BaseException as error:
            answer = False, "".join(traceback.format_exception(error, limit=-4))
        send(channel, answer)


def send(channel, what):
    data = pickle.dumps(what)
    channel.sendall(struct.pack("I", len(data)) + data)


def receive(channel):
    def exactly(count):
        data = b""
        while len(data) < count:
            more = channel.recv(count - len(data))
            if not more:
                raise EOFError("the other side is gone")
            data += more
        return data
    return pickle.loads(exactly(struct.unpack("I", exactly(4))[0]))
