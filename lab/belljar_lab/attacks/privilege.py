# SPDX-License-Identifier: Apache-2.0
"""Attacks that gain privilege, or use what privilege there is."""

import os
import shutil
import struct

from belljar_lab.attack import BY_ROOT, BY_USER, Attack
from belljar_lab.outer import CLONE_NEWUSER, USER_ID
from belljar_lab.run import Run, field_of, in_a_user_namespace, parent_of


IMAGE = "/usr/src"  # a directory of the host that the image has, where the lab puts files


def make_capable(run, path):
    """The program `capable`, in a file that gives it every capability."""
    shutil.copy(run.place / "lab-capable", path)
    every = 0xffffffff
    revision_2_effective = 0x02000001
    os.setxattr(path, "security.capability",
                struct.pack("<5I", revision_2_effective, every, 0, 0x1ff, 0))


def capable(run: Run, look, *words):
    """Runs it from a file outside."""
    path = run.place / "capable"
    if not path.exists():
        make_capable(run, path)
    return executes(run, path, look, *words)


def executes(run, path, look, *words):
    return run.python(f"""
sys.stdout.flush()
os.execv({str(path)!r}, {["capable", *words]!r})
""", look=look)


def changes_its_root(run: Run):
    def look(pid):
        return os.readlink(f"/proc/{pid}/root").endswith("/usr")
    return capable(run, look, "root", "/usr")


def traces_init(run: Run):
    def look(pid):
        return int(field_of(parent_of(pid), "TracerPid")) == pid
    return capable(run, look, "trace-parent")


def runs_a_set_user_id_program(run: Run):
    path = run.place / "set-user-id"
    if not path.exists():
        shutil.copy(run.place / "lab-capable", path)
        path.chmod(0o4755)
    uids = []

    def look(pid):
        uids.append(field_of(pid, "Uid").split()[1])
        return True
    said = executes(run, path, look, "nothing")
    return said if not uids or uids[0] == "0" else f"uid {uids[0]}"


def runs_a_capable_program_of_the_image(run: Run):
    path, gained = run.world.tmpfs(IMAGE) / "capable", []
    make_capable(run, path)

    def look(pid):
        gained.append(int(field_of(pid, "CapEff"), 16) != 0)
        return True
    said = executes(run, path, look, "nothing")
    return said if not gained or gained[0] else "nothing gained"


def reads_a_private_file_of_the_image(run: Run):
    path, token = run.world.tmpfs(IMAGE) / "private", run.world.token()
    path.write_text(token)
    path.chmod(0o600)
    return run.python(f"print(open({str(path)!r}).read())", leaks=token)


def makes_a_user_namespace(run: Run):
    return run.python(f"must(libc.unshare({CLONE_NEWUSER}))", look=in_a_user_namespace)


ROWS = [
    # An exec by an id that is not 0 leaves no capability: only a file could give some.
    Attack("change-root", "J", changes_its_root, needs=("root",),
           does="makes /usr its root directory, from a file that gives every capability",
           success="its root is /usr",
           stops=(("mount", "ENOENT"), ("nnp", "EPERM"), ("caps", "EPERM"))),
    Attack("trace-init", "A", traces_init, needs=("root",),
           does="attaches to init as a debugger, from a file that gives every capability",
           success="init has it as its tracer",
           stops=(("mount", "ENOENT"), ("nnp", "EPERM"), ("caps", "EPERM"), ("init", "EPERM"))),
    Attack("run-set-user-id", "J", runs_a_set_user_id_program, modes=BY_USER, needs=("root",),
           does="executes a program of the host that has the set-user-id bit of root",
           success="its process is root outside",
           stops=(("mount", "ENOENT"), ("user", f"uid {USER_ID}"), ("nnp", f"uid {USER_ID}"))),
    Attack("run-capable", "J", runs_a_capable_program_of_the_image, needs=("root",),
           does="executes a program of the image from a file that gives every capability",
           success="its process has capabilities",
           stops=(("mount", "nothing gained"), ("caps", "EPERM"), ("nnp", "nothing gained")),
           # Started by root, it is root then and needs no file for them.
           without={"user@root": "done", "user@root-cgroup": "done"}),
    Attack("read-private-file", "A", reads_a_private_file_of_the_image, modes=BY_ROOT,
           does="reads a file of the image that only the caller, root, may read",
           success="the file's random token is in the program's output",
           stops=(("user", "EACCES"),)),
    Attack("make-user-namespace", "J", makes_a_user_namespace,
           does="makes a user namespace, in which it would have every capability",
           success="its process is in another user namespace than its parent",
           stops=(("seccomp", "EPERM"),)),
]
