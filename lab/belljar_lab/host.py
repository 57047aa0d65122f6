# SPDX-License-Identifier: Apache-2.0
"""Facts of this host on which some attacks depend; each is None, or why it is not so."""

import ctypes
import errno
import os
import resource
import socket
import struct
import tempfile

from belljar_lab import attack, calls

SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446
PR_SET_NO_NEW_PRIVS = 38
CGROUPS = "/sys/fs/cgroup"
NOBODY = 65534

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
    with tempfile.TemporaryDirectory(prefix="belljar-lab-", dir="/tmp") as place:
        pid = os.fork()
        if pid:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == errno.EACCES
        status = 255
        try:
            status = whiteout_under_landlock(place)
        finally:
            os._exit(status)


def whiteout_under_landlock(place):
    """In a process of its own: an errno, or 0."""
    try:
        make_char = struct.pack("Q", 1 << 6)
        rules = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, make_char, len(make_char), 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
        os.mknod(f"{place}/whiteout", 0o20600, 0)
        os.unlink(f"{place}/whiteout")
        return 0
    except OSError as error:
        return error.errno


def has_keyrings():
    get_id, session_keyring, create = 0, -3, 1
    return libc.syscall(calls.SYS_KEYCTL, get_id, session_keyring, create) >= 0


def core_files():
    """Whether whatever crashes leaves a file where it is."""
    pattern = read("/proc/sys/kernel/core_pattern")
    return pattern[:1].isalnum() and "/" not in pattern and \
        resource.getrlimit(resource.RLIMIT_CORE)[1] == resource.RLIM_INFINITY


def refused(code):
    """Why the kernel refuses this piece of Python (calls.py) to an ordinary user, or None."""
    pid = os.fork()
    if pid:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return None if status == 0 else errno.errorcode.get(status, f"status {status}")
    status = 255
    try:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        names = {"libc": libc, "ctypes": ctypes, "errno": errno, "os": os}
        exec(code, names)
        status = ctypes.get_errno() if names["got"] < 0 else 0
    except OSError as error:
        status = error.errno
    finally:
        os._exit(status)


def call_facts():
    """Whether each of calls.CALLS can be made here: {name: None, or why not}."""
    why_not = {name: refused(code) for name, code in calls.CALLS.items()}
    return {name: why and f"this kernel refuses {name} to ordinary users: {why}"
            for name, why in why_not.items()}


def cgroup_version():
    if read(f"{CGROUPS}/cgroup.controllers"):
        return "v2"
    return "v1 and v2" if os.path.isdir(f"{CGROUPS}/unified") else "v1"


def no_vsock():
    """Why there are no sockets of that family, or None."""
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError as error:
        return f"this kernel gives no vsock sockets: {error.strerror}"


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
        "vsock": no_vsock(),
        "tiocsti": None if read("/proc/sys/dev/tty/legacy_tiocsti").strip() != "0"
        else "this kernel lets nobody type into a terminal for its user",
        "lockable-memory": None
        if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] not in range(1 << 21)
        else "the caller's RLIMIT_MEMLOCK is below 2 MiB",
        **call_facts(),
        "keyrings": None if has_keyrings() else "this kernel has no keyrings, or refuses them",
        "core-files": None if core_files()
        else "core_pattern names no plain file here, or the caller's RLIMIT_CORE allows none",
    }


def modes():
    """The modes that this host and this user can have: {mode: None, or why not}."""
    if os.geteuid() != 0:
        reason = "an ordinary user starts the lab: start it as root"
        return {mode: None if mode == attack.USER else reason for mode in attack.MODES}
    missing = None if root_has_cgroups() else "this host gives root no cgroups"
    return {mode: missing if mode in attack.WITH_CGROUP else None for mode in attack.MODES}
