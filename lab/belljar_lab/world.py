# SPDX-License-Identifier: Apache-2.0
"""What is there to be attacked, all of it inside the outer namespaces, and whether it was touched.

Everything is made for one cell and gone after it: tokens are random, so what one cell learned says
nothing to the next. Servers are the exception: they are started once, and forget before each cell.
"""

import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
from pathlib import Path

from belljar_lab import outer, servers

libc = outer.libc
MNT_DETACH = 2
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616d61, ctypes.c_ulong(-1)


class File:
    """A canary: what is in it is a token that is nowhere else."""

    def __init__(self, path, token):
        self.path, self.token = path, token
        self.before = path.read_bytes()

    def touched(self):
        return not self.path.exists() or self.path.read_bytes() != self.before


class World:
    """Lives in a worker; reset() before each cell."""

    def __init__(self, place):
        self.place, self.uid = place, 0
        self.room = place / "room"  # where a program may write that has no /workspace
        self.cell = contextlib.ExitStack()
        self.counter = 0
        self.http, self.dns, self.metadata = servers.start()

    def reset(self, uid):
        """Takes away what the last cell had; `uid` is whose the new things are."""
        self.cell.close()
        self.uid = uid
        for server in (self.http, self.dns, self.metadata):
            server.forget()
        if self.room.exists():
            remove_tree(self.room)
        self.room.mkdir()
        self.room.chmod(0o1777)

    def ids(self):
        """Words of Popen that start a process as the caller."""
        return {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid else {}

    @staticmethod
    def token():
        return secrets.token_hex(12)

    def name(self, start):
        self.counter += 1
        return f"{start}-{self.counter}"

    def dir(self, start="dir"):
        """A directory of the caller's."""
        path = self.place / self.name(start)
        path.mkdir(mode=0o755)
        if os.geteuid() == 0:
            os.chown(path, self.uid, -1)
        self.cell.callback(remove_tree, path)
        return path

    def file(self, start="canary", text="", mode=0o644, owner=None, folder=None):
        """A file that the caller owns, or somebody else."""
        path = Path(folder or self.place) / self.name(start)
        path.write_text(text)
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, self.uid if owner is None else owner, -1)
        self.cell.callback(path.unlink, missing_ok=True)
        return path

    def secret(self, start="canary", mode=0o644, owner=None):
        """A canary file with a token."""
        token = self.token()
        return File(self.file(start, token, mode, owner), token)

    def over(self, path, text):
        """Puts a file that says `text` in the place of a file of the host, until the cell ends."""
        outer.mount(self.file("over", text), path, None, outer.MS_BIND)
        self.cell.callback(libc.umount2, str(path).encode(), MNT_DETACH)

    def tmpfs(self, path, name="lab"):
        """Puts an empty file system where everybody may write over a directory of the host."""
        outer.mount(name, path, "tmpfs", data="size=1m,mode=1777")
        self.cell.callback(libc.umount2, str(path).encode(), MNT_DETACH)
        return Path(path)

    def address(self):
        """An address that the host has for this cell, of those that are nobody's (RFC 2544)."""
        address = f"198.18.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"
        outer.add_address(b"lo:3", address)
        self.cell.callback(outer.set_flags, b"lo:3", 0)
        return address

    def host_name(self):
        """The name that the host has in this cell."""
        name = self.token()
        outer.set_host_name(name)
        self.cell.callback(outer.set_host_name, outer.HOST_NAME)
        return name

    def listener(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, address=("127.0.0.1", 0),
                 answer=None):
        """A server for this cell."""
        server = servers.Server(family, kind, address, answer)
        self.cell.callback(server.close)
        return server

    def abstract_socket(self):
        """(name without its NUL, server)."""
        name = f"lab-{self.token()}"
        return name, self.listener(socket.AF_UNIX, address="\0" + name)

    def path_socket(self, kind=servers.Server):
        """A socket with a path to which everybody may connect: (path, server)."""
        path = self.place / self.name("socket")
        server = kind(socket.AF_UNIX, socket.SOCK_STREAM, str(path))
        self.cell.callback(server.close)
        self.cell.callback(path.unlink)
        path.chmod(0o666)
        return path, server

    def shared_memory(self):
        """A System V segment that everybody may read, with a token in it: (key, token)."""
        token = self.token()
        libc.shmat.restype = ctypes.c_void_p
        key = int(self.token(), 16) & 0x7fffffff | 1
        number = libc.shmget(key, 4096, 0o1644)
        outer.must(number, "shmget")
        at = libc.shmat(number, None, 0)
        ctypes.memmove(at, token.encode(), len(token))
        self.cell.callback(libc.shmctl, number, 0, None)
        self.cell.callback(libc.shmdt, ctypes.c_void_p(at))
        return key, token

    def victim(self, secret="no secret"):
        """A process of the caller's that waits: a Popen. It has the secret among its arguments, in
        its environment and in the file that is its descriptor `file`."""
        file = os.memfd_create("secret")
        os.write(file, secret.encode())
        process = subprocess.Popen(["/bin/cat", "-", secret], env={"SECRET": secret}, cwd="/",
                                   stdin=subprocess.PIPE, pass_fds=[file], preexec_fn=expose,
                                   **self.ids())
        process.file = file
        self.cell.callback(os.close, file)
        self.cell.callback(end, process)
        return process

    def terminal(self):
        """(master, path of the caller's end)."""
        master, slave = os.openpty()
        self.cell.callback(os.close, master)
        self.cell.callback(os.close, slave)
        if os.geteuid() == 0:
            os.fchown(slave, self.uid, -1)
        os.set_blocking(master, False)
        return master, os.ttyname(slave)


def killed(process, seconds=10):
    """Whether somebody killed it; `seconds`: wait so long for that."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(seconds) == -signal.SIGKILL
    return False


def expose():
    """In a victim: it is to be kept from harm by nothing but the layers. Yama lets everybody trace
    it, and a signal that would be ignored stays visible."""
    libc.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])


def end(process):
    process.kill()
    process.stdin.close()
    process.wait()


def remove_tree(path):
    for top, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(top, name))
        for name in folders:
            one = os.path.join(top, name)
            (os.unlink if os.path.islink(one) else os.rmdir)(one)
    os.rmdir(path)
