# SPDX-License-Identifier: Apache-2.0
"""The suite that links seams of its own, where cgroups are version 2: steps that fail."""
import os
import pathlib

import vm

STAGE = pathlib.Path(os.environ.get("BELLJAR_STAGE", vm.REPO / "build" / "stage")).resolve()
SEAMS = pathlib.Path(os.environ.get("SEAM_DIR", STAGE.parent / "tests" / "seams")).resolve()
LAB = pathlib.Path(os.environ.get("LAB_DIR", STAGE.parent / "lab")).resolve()


def test_it_passes_with_cgroup_v2(boot):
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_faults.py", "-k",
             "cgroup or without_a_fault"]
    outcome = boot(["/usr/bin/python3", "-B", *words], kernel="6.12", cwd=str(vm.REPO / "tests" / "seams"),
                   env=[f"SEAM_DIR={SEAMS}", f"LAB_DIR={LAB}"], share=[str(SEAMS), str(LAB)],
                   memory_mib=2048, timeout_s=600)
    assert outcome.status == 0, outcome.stdout.decode(errors="replace")[-6000:]
