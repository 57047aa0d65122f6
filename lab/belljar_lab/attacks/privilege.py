# SPDX-License-Identifier: Apache-2.0
"""Attacks that gain privilege, or use what privilege there is."""

import os
import shutil
import struct

from belljar_lab.attack import USER, Attack
from belljar_lab.outer import USER_ID
from belljar_lab.run import Run


def capable(run: Run, *words, **how):
    """The program `capable`, from a file outside that gives it every capability."""
    path = run.place / "capable"
    if not path.exists():
        shutil.copy(run.place / "lab-capable", path)
        every = 0xffffffff
        revision_2_effective = 0x02000001
        os.setxattr(path, "security.capability",
                    struct.pack("<5I", revision_2_effective, every, 0, 0x1ff, 0))
    return run.python(f"""
sys.stdout.flush()
os.execv({str(path)!r}, {["capable", *words]!r})
""", **how)


def sets_the_host_name(run: Run):
    return capable(run, "host-name", "mine")


def traces_init(run: Run):
    return capable(run, "trace", "1")


def runs_a_set_user_id_program(run: Run):
    path = run.place / "set-user-id"
    if not path.exists():
        shutil.copy("/usr/bin/id", path)
        path.chmod(0o4755)
    said = run.python(f"""
sys.stdout.flush()
os.execv({str(path)!r}, ["id", "-u"])
""")
    return "done" if said == "0" else said


def makes_a_user_namespace(run: Run):
    def look(pid):
        # Of the same run: pid 1 inside is its parent.
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            parent = int(file.read().rpartition(")")[2].split()[1])
        return os.readlink(f"/proc/{pid}/ns/user") != os.readlink(f"/proc/{parent}/ns/user")
    return run.python("must(libc.unshare(0x10000000))", look=look)


ROWS = [
    # An exec by an id that is not 0 leaves no capability: only a file could give some.
    Attack("set-host-name", "J", sets_the_host_name, needs=("root",),
           does="names the host, from a file that gives every capability",
           success="the kernel took the name",
           stops=(("mount", "ENOENT"), ("nnp", "EPERM"), ("caps", "EPERM"))),
    Attack("trace-init", "A", traces_init, needs=("root",),
           does="attaches to pid 1 inside as a debugger, from a file that gives every capability",
           success="the kernel attached it",
           stops=(("mount", "ENOENT"), ("nnp", "EPERM"), ("caps", "EPERM"), ("init", "EPERM"))),
    Attack("run-set-user-id", "J", runs_a_set_user_id_program, modes=(USER,), needs=("root",),
           does="executes a program of the host that has the set-user-id bit of root",
           success="it runs as root",
           stops=(("mount", "ENOENT"), ("user", "1000"), ("nnp", str(USER_ID)))),
    Attack("make-user-namespace", "J", makes_a_user_namespace,
           does="makes a user namespace, in which it would have every capability",
           success="its process is in another user namespace than its parent",
           stops=(("seccomp", "EPERM"),)),
]
