# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run on other kernels; see tools/vm/vm.py for the machines."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "vm"))
import vm  # noqa: E402

BOOTS = []


@pytest.fixture(scope="session", autouse=True)
def prepared():
    """Both kernels are there. Only root can share files with a machine."""
    assert os.geteuid() == 0, "these tests need root"
    subprocess.run([ROOT / "tools" / "vm" / "prepare"], check=True)


@pytest.fixture(scope="session")
def deny():
    """The program that refuses system calls, where machines see it."""
    place = vm.CACHE / "bin"
    place.mkdir(parents=True, exist_ok=True)
    source = ROOT / "tests" / "vm" / "deny.c"
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", place / "deny", source, "-lseccomp"], check=True)
    return place / "deny"


@pytest.fixture
def boot(request):
    """Runs a command in a machine: boot(command, kernel="6.12", …) as in vm.Job."""

    def run(command, **fields):
        outcome = vm.run(vm.Job(command=list(command), **fields))
        BOOTS.append((outcome.boot_s, outcome.total_s, request.node.name))
        return outcome

    return run


def pytest_terminal_summary(terminalreporter):
    if not BOOTS:
        return
    boots = sorted(boot for boot, _, _ in BOOTS)
    terminalreporter.write_line(
        f"{len(BOOTS)} boots: median {boots[len(boots) // 2]:.1f} s, slowest {boots[-1]:.1f} s; "
        f"{sum(total for _, total, _ in BOOTS):.0f} s in machines"
    )
    for boot, total, name in sorted(BOOTS, key=lambda row: -row[1])[:5]:
        terminalreporter.write_line(f"  {total:6.1f} s (boot {boot:.1f})  {name}")
