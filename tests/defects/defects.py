#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make defects: plants each defect of the catalogue alone in a copy of this tree, builds it, and runs
the test that is to find it beside a fast suite.

    defects.py [ID…]              all, or those named
    defects.py --rotate           the part of them that this commit decides on
    defects.py --part N           the N-th part, from 0
    defects.py --list             names and words only

  caught        its test is red
  missed        its test is green: mend the suite, then the catalogue is as it was
  equivalent    no test can see it, for the reason in the catalogue, and none does
  does not apply, does not build, no test: the catalogue is wrong

Ends with 0 when every one that was chosen is caught or equivalent.
"""

import argparse
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import catalogue
from worker import CGROUPS, DoesNotBuild, Worker, counting, is_of

PARTS = 6
GOOD = ("caught", "equivalent")
# Beside the test that is to find it; some seconds, all of them.
FAST = ("unit", "sim")


def say(text):
    print(text, flush=True)


# ---- One test, one defect ----------------------------------------------------------------------


def those_of(results, wanted):
    return results if "all of them" in results else \
        {name: state for name, state in results.items() if is_of(name, wanted)}


def run_named(worker, tests, fast=False, look=False):
    """test -> its results, for tests as the catalogue names them; and what of the fast suite is red.
    `look`: some may not be there."""
    results = {test: {} for test in tests}
    by_suite = {}
    for test in tests:
        by_suite.setdefault(test.partition(" ")[0], []).append(test)
    suites = [s for s in catalogue.SUITES if s in by_suite or (fast and s in FAST)]
    suites = [s for s in suites if s in worker.suites()]
    red = []
    if suites:
        got = worker.meson(suites)
        red = sorted(name for name, state in got.items() if state == "red")
        for test in tests:
            suite, _, name = test.partition(" ")
            if suite in catalogue.SUITES:
                results[test] = those_of(got, name)
    for suite, folder in catalogue.FOLDERS.items():
        if suite not in by_suite:
            continue
        words = {test: f"{folder}/{test.partition(' ')[2]}" for test in by_suite[suite]}
        got = worker.pytest(sorted(set(words.values())), look)
        for test, path in words.items():
            file, _, case = path.partition("::")
            name = f"{file.replace('/', '.').removesuffix('.py')}::{case}"
            results[test] = those_of(got, name)
    return results, red


def judge(results):
    """From the results of a test that is green without what was planted."""
    if not results:
        return "no test"
    return "caught" if "red" in results.values() else "missed"


def score(defect, worker, by_id):
    """(verdict, what else is to say)"""
    edits, test = list(defect.edits), defect.red or defect.near
    if defect.hides:
        edits += by_id[defect.hides].edits
        test = by_id[defect.hides].red
    try:
        with worker.planted(edits):
            worker.make()
            results, red = run_named(worker, [test] if test else [], fast=not defect.hides)
    except DoesNotBuild as error:
        return "does not build", str(error)
    verdict = judge(results[test]) if test else "missed"
    if defect.equivalent:
        if red or verdict != "missed":
            return "not equivalent", f"{red[0] if red else test}: {verdict}"
        return "equivalent", defect.equivalent
    if defect.hides:
        # The other one slips through: the gate would say so, and fails for this one.
        return ("caught", f"{defect.hides} is missed with it") if verdict == "missed" else \
            ("missed", f"{defect.hides} is found all the same")
    if verdict == "no test":
        return verdict, f"{test} is not there with it"
    if verdict == "missed" and red:
        return "missed", f"by {test}; red is {red[0]}"
    if verdict == "missed":
        return "missed", f"{test} is green, and so is all of the fast suite"
    return verdict, f"{test}{'; fast too' if red else ''}"


# ---- All of them -------------------------------------------------------------------------------


class Scores:
    """What became of those that were chosen."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.verdicts = {}
        self.lock = threading.Lock()
        self.fast = 0

    def add(self, defect, verdict, words, seconds=0.0):
        with self.lock:
            self.verdicts[defect.id] = verdict
            self.fast += words.endswith("; fast too")
            say(f"{verdict:<12} {defect.id:<6} {defect.what}  [{words}; {seconds:.0f} s]"
                if verdict in GOOD else
                f"{verdict.upper():<12} {defect.id:<6} {defect.what}\n    {words}")

    def number(self, verdict):
        return list(self.verdicts.values()).count(verdict)

    def failures(self):
        bad = [f"{name}: {verdict}" for name, verdict in self.verdicts.items()
               if verdict not in GOOD]
        scored = self.number("caught") + self.number("equivalent")
        if scored + len(bad) < len(self.chosen):
            bad.append(f"{scored + len(bad)} scored of {len(self.chosen)}")
        if not self.number("caught"):
            bad.append("nothing was caught")
        return bad


def without_any(worker, defects, scores):
    """Every test that is to find something is there and green; what cannot be judged is said."""
    tests = sorted({test for defect in defects for test in (defect.red, defect.near) if test})
    results, red = run_named(worker, tests, fast=True, look=True)
    known = {}
    for test in tests:
        states = set(results[test].values())
        known[test] = "ok" if states == {"ok"} else ", ".join(sorted(states)) or "not there"
    reds = [name for got in results.values() for name, state in got.items() if state == "red"]
    for name in sorted({*red, *reds}):
        say(f"red without any defect: {name}")
    for defect in defects:
        test = defect.red or defect.near
        if test and known[test] != "ok":
            scores.add(defect, "no test", f"{test}: {known[test]} without the defect")
    return [defect for defect in defects if defect.id not in scores.verdicts], bool(red)


def work(worker, waiting, scores, by_id):
    while True:
        try:
            defect = waiting.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        try:
            verdict, words = score(defect, worker, by_id)
        except Exception as error:  # said, and a failure
            verdict, words = "failed", f"{type(error).__name__}: {error}"
        scores.add(defect, verdict, words, time.monotonic() - began)


def judge_all(workers, chosen, by_id, root):
    scores = Scores(chosen)
    applies = []
    for defect in chosen:
        why = defect.misplaced(root)
        if why:
            scores.add(defect, "does not apply", why)
        else:
            applies.append(defect)
    threads = [threading.Thread(target=worker.prepare, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waiting = queue.Queue()
    ready, red = without_any(workers[0], applies, scores)
    for defect in ready:
        waiting.put(defect)
    threads = [threading.Thread(target=work, args=(worker, waiting, scores, by_id), daemon=True)
               for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return scores, red


def part_of(defects, part, by_id):
    """Every PARTS-th, so that each part has some of every area; with what was done to the suite in
    each, beside what that hides."""
    plain = [d for d in defects if not d.hides]
    chosen = {d.id for at, d in enumerate(plain) if at % PARTS == part}
    chosen |= {d.id for d in defects if d.hides} | {d.hides for d in defects if d.hides}
    return [d for d in defects if d.id in chosen]


def commit(root):
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def choose(defects, args, root):
    by_id = {defect.id: defect for defect in defects}
    if args.rotate or args.part is not None:
        head = commit(root)
        part = int(head, 16) % PARTS if args.part is None else args.part
        say(f"part {part} of 0 to {PARTS - 1}, for commit {head[:12]}")
        return part_of(defects, part, by_id)
    unknown = [name for name in args.ids if name not in by_id]
    if unknown:
        raise catalogue.Bad(f"there is no {unknown[0]}")
    return [d for d in defects if not args.ids or d.id in args.ids]


def of_this_host(chosen):
    """Those whose code runs here. What is left to others is named, and named there."""
    here = "v2" if (CGROUPS / "cgroup.controllers").exists() else "v1"
    for defect in chosen:
        if defect.on not in (None, here):
            say(f"left to hosts with cgroup {defect.on}: {defect.id} {defect.what}")
    return [defect for defect in chosen if defect.on in (None, here)]


def place_for(root):
    """Where the live tests' ordinary user can reach what is built, kept from one time to the next."""
    place = counting.BUILD / "defects"
    place.mkdir(parents=True, exist_ok=True)
    if counting.reachable(place):
        return place, None
    made = tempfile.TemporaryDirectory(prefix="belljar-defects.", dir="/tmp")
    os.chmod(made.name, 0o755)
    return Path(made.name), made


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--rotate", action="store_true")
    parser.add_argument("--part", type=int, choices=range(PARTS))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    # Another tree and another catalogue: how the runner itself is tested.
    parser.add_argument("--root", type=Path, default=counting.ROOT)
    parser.add_argument("--catalogue", type=Path, default=catalogue.HERE)
    return parser.parse_args()


def main():
    began = time.monotonic()
    args = arguments()
    try:
        defects = catalogue.read(args.catalogue)
        if args.catalogue == catalogue.HERE and len(defects) < catalogue.AT_LEAST:
            raise catalogue.Bad(f"{len(defects)} defects, fewer than {catalogue.AT_LEAST}")
        chosen = choose(defects, args, args.root)
    except catalogue.Bad as error:
        sys.exit(f"defects.py: the catalogue: {error}")
    if args.list:
        for defect in chosen:
            say(f"{defect.id:<6} {defect.what}  [{defect.red or defect.hides or 'equivalent'}]")
        return
    if os.geteuid() != 0:
        sys.exit("defects.py: needs root, as the tests do (cgroups, other users)")
    chosen = of_this_host(chosen)
    place, made = place_for(args.root)
    # Told to end, it still takes its cgroups away.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    workers = [Worker(place / str(n), args.root) for n in range(args.workers)]
    try:
        scores, red = judge_all(workers, chosen, {d.id: d for d in defects}, args.root)
    finally:
        for worker in workers:
            worker.close()
        if made:
            made.cleanup()
    failures = scores.failures() + (["the fast suite is red without any defect"] if red else [])
    for failure in failures:
        say(f"failed: {failure}")
    say(f"make defects: {time.monotonic() - began:.0f} s; the fast suite alone would have found "
        f"{scores.fast}")
    say(f"{scores.number('caught')} caught, {scores.number('equivalent')} equivalent, "
        f"{scores.number('missed')} missed, {len(chosen)} total")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
