# SPDX-License-Identifier: Apache-2.0
"""deny: a system call that is refused fails with the errno asked for, and no other call does."""
import subprocess

import pytest

PROBE = """
import ctypes, errno, os
def name(call, *args):
    number = ctypes.CDLL(None, use_errno=True).syscall(call, *args)
    return errno.errorcode[ctypes.get_errno()] if number < 0 else "ok"
print(name(434, os.getpid(), 0), name(437, -100, b"/", b"\\0" * 24, 24), name(436, 100, 200, 0))
"""


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (["uname=EPERM"], "ok ok ok"),
        (["pidfd_open=ENOSYS"], "ENOSYS ok ok"),
        (["openat2=EPERM", "close_range=ENOSYS"], "ok EPERM ENOSYS"),
    ],
)
def test_only_what_is_named_is_refused(deny, rules, wanted):
    got = subprocess.run([deny, *rules, "--", "/usr/bin/python3", "-c", PROBE],
                         capture_output=True, text=True, check=False)
    assert (got.returncode, got.stdout, got.stderr) == (0, wanted + "\n", "")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["openat2=EPERM", "--", "sh", "-c", "exit 7"], 7),
        (["openat2=EPERM", "--", "/no/such"], 127),
        (["openat2=EPERM", "--", "/"], 126),
        (["openat2=EWHAT", "--", "true"], 125),
        (["nothing=EPERM", "--", "true"], 125),
        (["openat2", "--", "true"], 125),
        (["--", "true"], 125),
        (["openat2=EPERM"], 125),
    ],
)
def test_the_exit_status_is_the_commands_or_its_own(deny, words, status):
    got = subprocess.run([deny, *words], capture_output=True, check=False)
    assert got.returncode == status
    assert (got.stderr == b"") == (status == 7)
