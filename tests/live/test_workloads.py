# SPDX-License-Identifier: Apache-2.0
"""The workloads of the simulator's suite: one that does not end is a line, and no traceback."""

import sys

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "sim"))

import workloads  # noqa: E402


def test_a_workload_that_does_not_end_is_a_failure_in_one_line():
    done = workloads.run("echo one; read -r _ </dev/zero", timeout=0.5)
    assert (done.returncode, done.stdout) == (124, "")
    assert done.stderr == "not done in 0.5 s\n"
    assert workloads.run("echo one").stdout == "one\n"
