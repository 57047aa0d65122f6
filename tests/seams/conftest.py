# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that link seams of their own into the product: see meson.build."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TREE / "tests" / "live"), str(TREE / "lab")]
import harness  # noqa: E402

import seams  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36


def pytest_configure(config):
    # Whatever is left of a run becomes this process's child, so that it is found and counted.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.umask(0o022)  # the ordinary user reads what tests make
    if not seams.LAUNCHER.exists():
        raise pytest.UsageError(f"{seams.LAUNCHER} is not there; build first, or set SEAM_DIR")


@pytest.fixture(scope="session")
def place():
    """A directory that everybody can read, with the programs in it."""
    path = harness.temporary_dir()
    for program in seams.PROGRAMS:
        shutil.copy(program, path / program.name)
        (path / program.name).chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def open_lab():
    """The lab and its programs, where everybody may read them."""
    path = harness.temporary_dir()
    seams.copy_lab(path)
    subprocess.run(["chmod", "-R", "a+rX", path], check=True)  # whatever the checkout's umask was
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session", autouse=True)
def ledger():
    """Nothing is there after all these tests that was not there before them."""
    before = harness.Ledger()
    yield
    left = before.left()
    # Suites that run beside this one have their directories in /tmp.
    files = [path for path in left.pop("files", []) if not path.startswith("/tmp/")]
    assert not left and not files, (left, files)
