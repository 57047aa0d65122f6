# SPDX-License-Identifier: Apache-2.0
"""Runs test programs and adds up what they say they ran: Meson's suites and pytest's."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
STAGE = Path(os.environ.get("STAGE", BUILD / "stage"))
MESON = os.environ.get("MESON", "meson").split()
ORDINARY_UID = 4321  # as in tests/live/harness.py: the user of no importance


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    broken: list[str] = field(default_factory=list)  # names of what failed
    left_out: list[str] = field(default_factory=list)  # what was skipped, and why

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.broken += other.broken
        self.left_out += other.left_out

    def total(self):
        return self.passed + self.failed + self.skipped

    def fail(self, what):
        self.failed += 1
        self.broken.append(what)


def say(text):
    print(text, flush=True)


def run_meson(build, suites, names=(), wrap=None, timeout=1200, log="testlog"):
    """The named suites of a configured and built tree, or of them those tests alone that are named.
    A test program counts each of its cases."""
    command = [*MESON, "test", "-C", str(build), "--no-rebuild", "--logbase", log]
    for suite in suites:
        command += ["--suite", suite]
    if wrap:
        command += ["--wrap", wrap, "--timeout-multiplier", "10"]
    command += names
    logs = Path(build) / "meson-logs"
    for old in logs.glob(f"{log}*.json"):
        old.unlink()
    count = Count()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        count.fail(f"meson suites {' '.join(suites)}: not done after {timeout} s")
        return count
    for records in logs.glob(f"{log}*.json"):  # with a wrapper its name is added
        for line in records.read_text().splitlines():
            count.add(count_record(json.loads(line)))
    if count.total() == 0:
        say(done.stdout[-8000:])
    if count.total() == 0:
        count.fail(f"meson suites {' '.join(suites)}: no test ran")
    elif done.returncode and not count.failed:
        count.fail(f"meson test: exit {done.returncode}")
    return count


def count_cmocka(text, count, name):
    """What cmocka prints for people."""
    failed = re.findall(r"^\[  FAILED  \] (?!\d+ test)(\S+)", text, re.M)
    count.passed += sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", text))
    for case in dict.fromkeys(failed):
        count.fail(f"{name}: {case}")


def count_tap(text, count, name):
    for verdict, rest in re.findall(r"^(ok|not ok)\b(.*)$", text, re.M):
        if re.search(r"# SKIP", rest, re.I):
            count.skipped += 1
            count.left_out.append(f"{name}:{rest}")
        elif verdict == "ok":
            count.passed += 1
        else:
            count.fail(f"{name}:{rest}")


def count_pytest(line, count, name, text):
    """pytest's closing line: "1 failed, 12 passed, 1 skipped in 3.21s"."""
    for number, what in re.findall(r"(\d+) (passed|failed|errors?|skipped)", line):
        if what == "passed":
            count.passed += int(number)
        elif what == "skipped":
            count.skipped += int(number)
            count.left_out.append(f"{name}: {number} of pytest's")
    for case in re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.M):
        count.fail(f"{name}: {case}")


def count_record(record):
    """One line of Meson's testlog.json: its cases, as cmocka, TAP or pytest counted them, else one."""
    text, name = record.get("stdout") or "", record["name"]
    ok = record["result"] in ("OK", "EXPECTEDFAIL")
    count = Count()
    closing = re.findall(r"^=*\s*((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", text, re.M)
    if record["result"] == "SKIP":
        count.skipped = 1
        count.left_out.append(name)
    elif closing:
        count_pytest(closing[-1], count, name, text)
    elif re.search(r"^\[=+\] .*test\(s\) run", text, re.M):
        # Of its sums those of what passed go to the other stream.
        count_cmocka(f"{text}\n{record.get('stderr') or ''}", count, name)
    elif re.search(r"^(not )?ok\b", text, re.M):
        count_tap(text, count, name)
    elif ok:
        count.passed = 1
    if not ok and record["result"] != "SKIP" and not count.failed:
        count.fail(f"{name}: {record['result'].lower()}")
    if count.failed:
        say(text[-4000:] + (record.get("stderr") or "")[-4000:])
    return count


def run_pytest(label, arguments, env=None, timeout=1800):
    """pytest over `arguments`. The live suite of root runs as root and as an ordinary user."""
    report = BUILD / f"pytest-{label}.xml"
    report.unlink(missing_ok=True)
    with reachable_tree() as (source, build):
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8",
                       "PYTHONDONTWRITEBYTECODE": "1", "BELLJAR_STAGE": str(build / "stage"),
                       **(env or {})}
        command = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs",
                   f"--junitxml={report}", "--color=no", *arguments]
        done = subprocess.run(command, cwd=source, env=environment, stdin=subprocess.DEVNULL,
                              timeout=timeout, check=False)
    count = count_junit(report, label)
    if count.total() == 0:
        count.fail(f"{label}: pytest ran nothing (exit {done.returncode})")
    elif done.returncode not in (0, 1) or (done.returncode and not count.failed):
        count.fail(f"{label}: pytest exit {done.returncode}")
    return count


def count_junit(report, label):
    count = Count()
    if not report.exists():
        return count
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{label}: {case.get('classname')}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            count.fail(name)
        elif skipped is not None:
            count.skipped += 1
            count.left_out.append(f"{name}: {skipped.get('message')}")
        else:
            count.passed += 1
    return count


@contextlib.contextmanager
def reachable_tree():
    """Source and build that the live tests' ordinary user can reach: these, else a copy."""
    # The user reads policies of the source, and either may lie elsewhere than the other.
    away = [path for path in (ROOT / "examples/no-cgroup.json", STAGE / "bin/belljar")
            if os.geteuid() == 0 and not reachable(path)]
    if not away:
        yield ROOT, BUILD
        return
    with tempfile.TemporaryDirectory(prefix="belljar-tree.", dir="/tmp") as place:
        say(f"{away[0]} is out of reach for uid {ORDINARY_UID}: building once more in {place}")
        yield copy_tree(Path(place))


def copy_tree(place):
    source, build = place / "source", place / "build"
    place.chmod(0o755)
    source.mkdir()
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT,
                           check=True, stdout=subprocess.PIPE).stdout
    tar = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=ROOT, input=names, check=True,
                         stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "--no-same-owner", "-C", str(source)], input=tar, check=True)
    for step in (["setup", str(build), str(source), f"--prefix={build / 'stage'}"],
                 ["compile", "-C", str(build)],
                 ["install", "-C", str(build), "--no-rebuild", "--quiet"]):
        subprocess.run([*MESON, *step], cwd=source, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["chmod", "-R", "a+rX", str(source), str(build)], check=True)
    return source, build


def reachable(path):
    return subprocess.run(["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}",
                           "--clear-groups", "--", "test", "-r", str(path)],
                          check=False).returncode == 0


def close(name, count, began):
    """The last lines: what failed, what was left out, and the counts alone on a line."""
    for what in count.broken:
        say(f"failed: {what}")
    for what in count.left_out:
        say(f"left out: {what}")
    say(f"{name}: {time.monotonic() - began:.0f} s")
    tail = f", {count.skipped} skipped" if count.skipped else ""
    say(f"{count.passed} passed, {count.failed} failed{tail}")
    sys.exit(0 if count.passed and not count.failed else 1)
