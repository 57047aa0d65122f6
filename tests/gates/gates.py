#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make gates: everything a change must pass, in order of how soon it tells. A skip is a failure:
what a gate needs is installed by tools/setup, and what cannot run here does not belong here.

    gates.py [GATE…]     all of them, or those named
"""

import json
import os
import subprocess
import sys
import time

import counting
import lab_gate
from counting import BUILD, ROOT, Count, say

LOGS = BUILD / "gates"


def script(name, *arguments, timeout):
    """A gate that is a script: passed or failed by its exit status."""
    def run():
        return run_script(name, arguments, timeout)
    return run


def run_script(name, arguments, timeout):
    count = Count()
    label = " ".join((name, *arguments))
    log = LOGS / (label.replace(" ", "-").replace("/", "_") + ".log")
    environment = {**os.environ, "BUILD": str(BUILD), "STAGE": str(counting.STAGE)}
    with log.open("w") as output:
        process = subprocess.Popen([ROOT / "tests/gates" / name, *arguments], cwd=ROOT,
                                   env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            status = f"not done after {timeout} s"
    if status == 0:
        count.passed = 1
    else:
        say(log.read_text(errors="replace")[-6000:])
        count.fail(f"{label}: {status} (whole: {log})")
    return count


def built(directory, options, compiler, targets):
    """A tree of the gate's own, with `targets(tree)` built."""
    tree = BUILD / directory
    environment = {**os.environ, "CC": compiler}
    if not (tree / "build.ninja").exists():
        subprocess.run([*counting.MESON, "setup", str(tree), f"--prefix={tree / 'stage'}",
                        "-Dtests=enabled", *options], cwd=ROOT, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(tree), "--quiet", *targets(tree)], check=True)
    return tree


def unit_tests(tree):
    listed = subprocess.run([*counting.MESON, "introspect", "--tests", str(tree)], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [test for test in json.loads(listed)
            if any(suite.endswith(("unit", "workspace")) for suite in test["suite"])]


def unit_targets(tree):
    """The files that the unit suite starts: with a sanitizer the static launcher cannot be linked."""
    programs = {test["cmd"][0] for test in unit_tests(tree)}
    return [os.path.relpath(p, tree) for p in sorted(programs) if p.startswith(str(tree))]


def sanitize():
    options = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
    tree = built("gate-sanitize", options, "clang", unit_targets)
    os.environ.update(ASAN_OPTIONS="detect_leaks=1:abort_on_error=1:halt_on_error=1",
                      UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    return counting.run_meson(tree, ["unit", "workspace"])


def valgrind():
    """Valgrind 3.19 knows no openat2, without which `files` does nothing, and no clone3, by which `pid`
    has its namespaces: ASan has those tests."""
    wrap = ("valgrind --quiet --error-exitcode=99 --leak-check=full "
            "--errors-for-leak-kinds=definite,indirect,possible")
    names = [test["name"] for test in unit_tests(BUILD)
             if not test["name"].startswith("files_") and test["name"] != "pid"]
    return counting.run_meson(BUILD, ["unit"], names=names, wrap=wrap, log="valgrind", timeout=1200)


def live():
    return counting.run_pytest("must-work", ["tests/live"], env={"BELLJAR_MUST_WORK": "1"})


def filtered():
    """Real programs under the system call filter: interpreters, compilers, tools, data libraries."""
    return counting.run_meson(BUILD, ["live"], log="filtered")


def other_kernels():
    """Debian's kernels in QEMU: cgroup v2 and hybrid, refused namespaces, missing system calls."""
    return counting.run_pytest("vm", ["tests/vm"], env={"BELLJAR_MUST_WORK": "1"}, timeout=2700)


GATES = {
    "gcc": script("build.sh", "gcc", timeout=600),
    "clang": script("build.sh", "clang", timeout=600),
    "symbols": script("symbols.sh", timeout=60),
    "docs": script("docs.sh", timeout=120),
    "sanitize": sanitize,
    "valgrind": valgrind,
    "analyzer": script("analyzer.sh", timeout=900),
    "tidy": script("tidy.sh", timeout=900),
    "fuzz": script("fuzz.sh", timeout=900),
    "soak": script("soak.sh", timeout=300),
    "filtered": filtered,
    "live": live,
    "lab": lab_gate.lab,
    "defects": script("defects.sh", timeout=900),
    "vm": other_kernels,
}


def run(name):
    began = time.monotonic()
    say(f"gate {name} …")
    try:
        count = GATES[name]()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError) as error:
        count = Count()
        count.fail(f"{name}: {error}")
    for what in count.left_out:
        count.fail(f"{name}: skipped: {what}")
    count.skipped, count.left_out = 0, []
    verdict = "failed" if count.failed else "passed"
    say(f"gate {name}: {verdict}, {count.passed} passed, {count.failed} failed, "
        f"{time.monotonic() - began:.0f} s\n")
    return count


def main():
    began = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or list(GATES)
    unknown = [name for name in names if name not in GATES]
    if unknown:
        sys.exit(f"gates.py: no gate {unknown[0]}; there are: {' '.join(GATES)}")
    count = Count()
    for name in names:
        count.add(run(name))
    counting.close("make gates", count, began)


if __name__ == "__main__":
    main()
