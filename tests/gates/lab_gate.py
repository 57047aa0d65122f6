# SPDX-License-Identifier: Apache-2.0
"""The gate `lab`: belljar-lab as users get it, installed by -Dlab=true. Every table as root, in each
mode that this host can have, and `ablate` as an ordinary user; all that is observed is counted."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import counting
from counting import ROOT, Count, say

sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "tests" / "live")]
import harness  # noqa: E402
from belljar_lab import attack, main  # noqa: E402

# What a table calls what it observed: a list of it, or how many that were.
OBSERVED = ("cells", "rows", "runs", "spellings", "honest")
TIMEOUT = 1800
USER = ["setpriv", "--reuid", str(counting.ORDINARY_UID), "--regid", str(counting.ORDINARY_UID),
        "--clear-groups", "--"]


def lab():
    count = Count()
    with tempfile.TemporaryDirectory(prefix="belljar-lab-gate.", dir="/tmp") as place:
        place = Path(place)
        place.chmod(0o755)
        command, report = installed(place), place / "report.html"
        verbs = [module.VERB for module in main.VERBS if getattr(module, "IN_ALL", True)]
        count.add(judge("root", verbs, modes_of_root(),
                        *run([command, "all", "--json", "--html", report])))
        count.add(judge("user", ["ablate"], {attack.USER}, *run([*USER, command, "ablate", "--json"])))
        text = report.read_text() if report.exists() else ""
        for verb in verbs:
            if f'<h2 id="{verb}"' not in text:
                count.fail(f"lab: the page lacks {verb}")
    return count


def installed(place):
    """In a directory that an ordinary user can reach: the prefix is part of the programs."""
    build, stage = place / "build", place / "stage"
    for step in (["setup", str(build), str(ROOT), f"--prefix={stage}", "-Dlab=true",
                  "-Dtests=disabled"],
                 ["compile", "-C", str(build)],
                 ["install", "-C", str(build), "--no-rebuild", "--quiet"]):
        subprocess.run([*counting.MESON, *step], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return stage / "bin" / "belljar-lab"


def modes_of_root():
    return set(attack.MODES) if harness.root_has_cgroups() else set(attack.NO_CGROUP)


def run(words):
    got = subprocess.run(words, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                         timeout=TIMEOUT, check=False)
    return got.returncode, got.stdout


def judge(who, verbs, modes, status, out):
    """What the lab said that it observed: a Count."""
    count = Count()
    try:
        tables = json.loads(out)["tables"]
    except (ValueError, KeyError):
        count.fail(f"lab, {who}: exit {status} and no JSON")
        return count
    for verb in verbs:
        table = tables.get(verb, {})
        problems, seen = table.get("problems", []), observed(table)
        count.passed += max(0, seen - len(problems))
        for problem in problems:
            count.fail(f"lab, {who}: {verb}: {problem.splitlines()[0]}")
        if not seen:
            count.fail(f"lab, {who}: {verb} observed nothing")
        say(f"  {who}: {verb}: {seen} observed, {len(problems)} not as declared")
    ran = {mode["name"] for mode in tables.get("ablate", {}).get("modes", []) if mode["run"]}
    for mode in sorted(modes - ran):
        count.fail(f"lab, {who}: mode {mode} was not run")
    if status and not count.failed:
        count.fail(f"lab, {who}: exit {status}")
    return count


def observed(table):
    found = [table[name] for name in OBSERVED if name in table]
    return sum(one if isinstance(one, int) else len(one) for one in found)
