# SPDX-License-Identifier: Apache-2.0
"""Facts of this host on which some attacks depend; each is None, or why it is not so."""

import ctypes
import errno
import os
import struct
import tempfile

from belljar_lab import attack

SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446
PR_SET_NO_NEW_PRIVS = 38
CGROUPS = "/sys/fs/cgroup"

libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except (OSError, ValueError):
        return ""


def landlock_abi():
    return max(0, libc.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, 1))


def landlock_refuses_whiteouts():
    """Newer kernels let them pass, and some older ones that were given that change."""
    pid = os.fork()
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


def cgroup_version():
    if read(f"{CGROUPS}/cgroup.controllers"):
        return "v2"
    return "v1 and v2" if os.path.isdir(f"{CGROUPS}/unified") else "v1"


def root_has_cgroups():
    """Whether root can make cgroups here, by version 2 or by version 1."""
    version_2 = read(f"{CGROUPS}/cgroup.controllers").split()
    if version_2:
        return {"memory", "pids", "cpu"} <= set(version_2) and os.access(CGROUPS, os.W_OK)
    return all(os.path.isdir(f"{CGROUPS}/{name}") and os.access(f"{CGROUPS}/{name}", os.W_OK)
               for name in ("memory", "pids", "cpu", "cpuacct"))


def facts():
    abi, root = landlock_abi(), os.geteuid() == 0
    return {
        "root": None if root else "it needs a file that only root can make",
        "landlock": None if abi else "this kernel has no Landlock",
        "landlock-scopes": None if abi >= 6 else f"Landlock ABI 6 is needed, here is {abi}",
        "landlock-whiteouts": None if abi and landlock_refuses_whiteouts()
        else "Landlock lets whiteouts pass on this kernel",
    }


def modes():
    """The modes that this host and this user can have: {mode: None, or why not}."""
    if os.geteuid() != 0:
        reason = "an ordinary user starts the lab: start it as root"
        return {mode: None if mode == attack.USER else reason for mode in attack.MODES}
    missing = None if root_has_cgroups() else "this host gives root no cgroups"
    return {mode: missing if mode in attack.WITH_CGROUP else None for mode in attack.MODES}
