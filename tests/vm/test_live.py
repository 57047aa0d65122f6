# SPDX-License-Identifier: Apache-2.0
"""
The live suite on the other kernels, with cgroup v2: of it, what depends on the kernel. Two machines
run at a time, one for each of the host's CPUs that the gates count on.
"""
import concurrent.futures
import os
import pathlib
import re

import pytest

import vm

STAGE = pathlib.Path(os.environ.get("BELLJAR_STAGE", vm.REPO / "build" / "stage")).resolve()
AT_ONCE = 2
TIMEOUT_S = 1500
PARTS = ("outcomes", "limits", "tasks", "privilege", "credentials", "host", "network", "disk",
         "supervisor")
ROWS = [
    # kernel, mode of tests/live/harness.py
    ("6.1", "root"),
    ("6.12", "user-cgroup"),
    ("6.1", "user-cgroup"),
    ("6.12", "user"),
]


def job(kernel, mode):
    env = {
        "BELLJAR_STAGE": STAGE,
        "BELLJAR_TEST_MODES": mode,
        "BELLJAR_MUST_WORK": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no",
               "--tb=short", *(f"tests/live/test_{part}.py" for part in PARTS)]
    # Tests ask for two CPUs, and for more memory than a machine has by default. Debian forbids bpf
    # to ordinary users; a control shows that without Belljar it answers.
    return vm.Job(command=command, kernel=kernel, cpus=2, memory_mib=2048, cwd=str(vm.REPO),
                  sysctl=["kernel.unprivileged_bpf_disabled=0"], share=[str(STAGE)],
                  timeout_s=TIMEOUT_S,
                  env=[f"{name}={value}" for name, value in env.items()])


@pytest.fixture(scope="session")
def runs(request):
    """All rows that were asked for, started together."""
    wanted = [(item.callspec.params["kernel"], item.callspec.params["mode"])
              for item in request.session.items if "runs" in getattr(item, "fixturenames", ())]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {row: pool.submit(vm.run, job(*row)) for row in wanted}


@pytest.mark.parametrize(("kernel", "mode"), ROWS)
def test_the_live_suite_passes(runs, kernel, mode):
    got = runs[kernel, mode].result()
    report = got.stdout.decode(errors="replace")
    assert got.status == 0, report[-20000:]
    assert re.search(r"^\d+ passed(, \d+ warnings?)? in ", report.splitlines()[-1]), report[-2000:]
