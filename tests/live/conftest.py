# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the live tests, which test the installed files of BELLJAR_STAGE."""

import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess

import pytest

import harness

MUST_WORK = os.environ.get("BELLJAR_MUST_WORK") == "1"
INSIDE_SOURCES = sorted((harness.ROOT / "tests" / "inside").glob("*.c"))
PR_SET_CHILD_SUBREAPER = 36


def pytest_configure(config):
    config.addinivalue_line("markers", "attack(*ids): the attacks that a test carries out")
    # Whatever is left of a run becomes this process's child, so that it is found and counted.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.umask(0o022)  # the ordinary user reads what tests make
    # A shell starts its background jobs with SIGINT ignored, and what starts ignored stays so.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if not harness.BELLJAR.exists():
        raise pytest.UsageError(f"{harness.BELLJAR} is not there; build and install first")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if MUST_WORK and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, and BELLJAR_MUST_WORK is set: {report.longrepr}"


@pytest.fixture(autouse=True)
def ledger():
    """Nothing is left after a test that was not there before it."""
    before = harness.Ledger()
    yield
    left = before.left()
    assert not left, left


@pytest.fixture(scope="session")
def inside(tmp_path_factory):
    """The static program of many verbs."""
    place = harness.temporary_dir()
    binary = place / "inside"
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-static", "-pthread",
                    *map(str, INSIDE_SOURCES), "-o", str(binary)], check=True)
    binary.chmod(0o755)
    yield binary
    shutil.rmtree(place)


@pytest.fixture(params=harness.modes_of_this_host())
def bell(request, inside, ledger):
    place = harness.temporary_dir()
    yield harness.Bell(request.param, inside, place)
    shutil.rmtree(place)
    if request.param == "user-cgroup":
        harness.remove_delegated()


@pytest.fixture
def first_bell(inside, ledger):
    """One mode only, for what does not depend on who runs it."""
    place = harness.temporary_dir()
    yield harness.Bell(harness.modes_of_this_host()[0], inside, place)
    shutil.rmtree(place)


@pytest.fixture
def user_bell(inside, ledger):
    """As an ordinary user only."""
    place = harness.temporary_dir()
    yield harness.Bell("user", inside, place)
    shutil.rmtree(place)


@pytest.fixture
def token():
    return "token" + secrets.token_hex(12)


@pytest.fixture
def canary(token):
    """A file of the host that whoever runs belljar can read, in a place of no importance."""
    place = harness.temporary_dir()
    path = place / "canary"
    path.write_text(token)
    path.chmod(0o666)
    yield path
    assert path.read_text() == token, "the canary was changed"
    shutil.rmtree(place)


@pytest.fixture
def listen(ledger):
    """listen("tcp"), "udp", "tcp6", "abstract" or a path: a Listener of the host."""
    made = []

    def make(kind, name=None):
        families = {"tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
                    "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
                    "tcp6": (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
                    "unix": (socket.AF_UNIX, socket.SOCK_STREAM, name),
                    "dgram": (socket.AF_UNIX, socket.SOCK_DGRAM, name)}
        made.append(harness.Listener(*families[kind]))
        return made[-1]

    yield make
    for listener in made:
        listener.close()


@pytest.fixture
def bare(inside):
    def run(*words, **more):
        return harness.bare(inside, *words, **more)
    return run
