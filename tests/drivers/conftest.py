# SPDX-License-Identifier: Apache-2.0
"""A driver for each test, in an empty folder."""

import os

import pytest

import harness

MUST_WORK = os.environ.get("BELLJAR_MUST_WORK") == "1"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if MUST_WORK and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, and BELLJAR_MUST_WORK is set: {report.longrepr}"


@pytest.fixture
def py(tmp_path):
    driver = harness.python(tmp_path)
    yield driver
    driver.close()


@pytest.fixture
def js(tmp_path):
    driver = harness.node(tmp_path)
    yield driver
    driver.close()
