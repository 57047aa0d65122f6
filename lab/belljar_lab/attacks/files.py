# SPDX-License-Identifier: Apache-2.0
"""Attacks on the caller's files."""

import stat

from belljar_lab.attack import BY_ROOT, EVERY, Attack
from belljar_lab.run import Run

MEBI = 1 << 20


def reads_a_file(run: Run):
    secret = run.world.secret()
    return run.python(f"print(open({str(secret.path)!r}).read())", leaks=secret.token)


def changes_a_file(run: Run):
    secret = run.world.secret(mode=0o600)
    said = run.python(f"""
with open({str(secret.path)!r}, "a") as file:
    file.write("changed")
""")
    return run.judge(said, secret.touched())


def makes_a_device(run: Run):
    """A whiteout, which takes no privilege."""
    def look(pid):
        return stat.S_ISCHR(run.made(pid, "device").st_mode)
    return run.python("os.mknod(ROOM + '/device', 0o20600, 0)", look=look)


ROWS = [
    Attack("read-host-file", "A", reads_a_file, main=True,
           does="opens a file of the host by its path",
           success="the file's random token is in the program's output",
           stops=(("mount", "ENOENT"),)),
    Attack("change-host-file", "B", changes_a_file,
           does="appends to a file that the caller alone may write",
           success="the file has other content than before",
           stops=(("mount", "ENOENT"), ("user", "EACCES", BY_ROOT))),
    Attack("make-device", "J", makes_a_device,
           does="makes a device node in /workspace, one that takes no privilege",
           success="there is a character device in the run's /workspace",
           needs=("landlock-whiteouts",),
           stops=(("seccomp", "EPERM"), ("landlock", "EACCES", EVERY, "landlock-whiteouts"))),
]
