# SPDX-License-Identifier: Apache-2.0
"""How the tests start the command and the launcher that were linked with seams of theirs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import harness

DIR = Path(os.environ.get("SEAM_DIR", harness.STAGE.parent / "tests" / "seams")).resolve()
LAB = Path(os.environ.get("LAB_DIR", DIR.parent.parent / "lab")).resolve()
LAUNCHER = DIR / "seam-launch"
BELLJAR = LAB / "lab-belljar"
PROGRAMS = (LAUNCHER, BELLJAR)


def named(place, *words):
    """The launcher under the name that says these words: see lab/launch/name.h."""
    link = place / ".".join(["seam-launch", *words])
    if not link.exists():
        link.symlink_to("seam-launch")
    return link


def steps():
    """Every step of the launcher, as its section says."""
    place = harness.temporary_dir()
    link = place / "seam-launch.list-steps"
    link.symlink_to(LAUNCHER)
    try:
        out = subprocess.run([link], stdout=subprocess.PIPE, check=True, text=True).stdout
    finally:
        link.unlink()
        place.rmdir()
    return [json.loads(line) for line in out.splitlines()]


def copy_lab(place):
    """The lab and its programs, beside each other."""
    shutil.copytree(harness.ROOT / "lab" / "belljar_lab", place / "belljar_lab",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("csv_report.py", "sales.csv"):  # as in lab/meson.build
        examples = place / "belljar_lab" / "filtered" / "examples"
        examples.mkdir(exist_ok=True)
        shutil.copy(harness.ROOT / "examples" / name, examples)
    for program in LAB.glob("lab-*"):
        if program.is_file():
            shutil.copy(program, place)


def table():
    """The layers, as the command says them."""
    out = subprocess.run([BELLJAR, "layers", "--json"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def command(place, mode, args, before):
    uid, cgroup = harness.MODES[mode]
    policy = [] if cgroup else ["--policy", str(place / "no-cgroup.json")]
    words = [*before, *(harness.as_user() if uid else []), place / BELLJAR.name, "run", "--json",
             *policy, *args]
    return [str(word) for word in words]


def start(place, mode, words, *args, before=()):
    """`belljar run --json ARGS` with the launcher of that name."""
    policy = place / "no-cgroup.json"
    if not policy.exists():
        policy.write_text(json.dumps({"accept_missing": ["cgroup"]}))
    return subprocess.Popen(command(place, mode, args, before), cwd="/",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE,
                            env=harness.clean_env(LAB_LAUNCHER=str(named(place, *words))))


def finish(process):
    """What came of it, at its end."""
    try:
        out, err = process.communicate(timeout=harness.PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"{process.args} did not end") from None
    return harness.Result(process, process.args, out, err)


def run(place, mode, words, *args, before=()):
    """The same, to its end."""
    return finish(start(place, mode, words, *args, before=before))
