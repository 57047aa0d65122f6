# SPDX-License-Identifier: Apache-2.0
"""
The lab on the other kernels, where cgroups are version 2: of each layer an attack that it stops,
with the layer and without it. `make lab-vm` tries all attacks there.
"""
import concurrent.futures
import json
import os
import pathlib

import pytest

import vm

STAGE = pathlib.Path(os.environ.get("BELLJAR_STAGE", vm.REPO / "build" / "stage")).resolve()
LAB = pathlib.Path(os.environ.get("LAB_DIR", STAGE.parent / "lab")).resolve()
MODES = ("root-cgroup", "user")
KERNELS = ("6.1", "6.12")


def job(kernel):
    only = [word for mode in MODES for word in ("--mode", mode)]
    return vm.Job(command=["/usr/bin/python3", "-B", "-m", "belljar_lab", "quick", "--json", *only],
                  kernel=kernel, cpus=2, memory_mib=2048, share=[str(LAB)], timeout_s=900,
                  env=[f"PYTHONPATH={vm.REPO / 'lab'}", f"LAB_DIR={LAB}"])


@pytest.fixture(scope="module")
def tables():
    """Of each kernel; the machines run side by side."""
    with concurrent.futures.ThreadPoolExecutor(len(KERNELS)) as pool:
        yield {kernel: pool.submit(vm.run, job(kernel)) for kernel in KERNELS}


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_layer_stops_what_without_it_succeeds(tables, kernel):
    got = tables[kernel].result()
    assert got.status == 0, (got.stdout[-6000:], got.stderr[-2000:])
    found = json.loads(got.stdout)
    assert found["host"]["kernel"].startswith(kernel + ".")
    table = found["tables"]["quick"]
    assert tuple(mode["name"] for mode in table["modes"] if mode["run"]) == MODES
    assert table["unshown"] == [] and table["problems"] == []
    shown = {(row["layer"], row["mode"]) for row in table["rows"]}
    # A user's run has no cgroup, root's needs no monitor; what a cgroup's name tells needs one.
    assert len(shown) > 2 * (len(table["layers"]) - 4)
    for row in table["rows"]:
        assert row["with"] not in ("", "done") and row["without"] == "done", row
