# SPDX-License-Identifier: Apache-2.0
"""Seven properties of three ways to run code, each attacked: as a bare subprocess with a time-out,
by bubblewrap as it is usually called, and by Belljar.

The caller is the same small program each time, which calls subprocess.run() as tutorials do. What
an attack did is seen outside of it. On the bare subprocess most of them must work: that is the
control. Belljar must hold all; of bubblewrap nothing is declared, only shown.
"""

import itertools
import shutil

from belljar_lab import attack
from belljar_lab.compare_rows import PROPERTIES, ROWS
from belljar_lab.compared import BARE, BELLJAR, BWRAP, Caller, bwrap_options
from belljar_lab.limits import modes_of
from belljar_lab.run import Run, judged
from belljar_lab.show import Out

VERB = "compare"
HELP = "seven properties of a bare subprocess, of bubblewrap and of Belljar, each attacked"
WAYS = {BARE: "subprocess.run(timeout=)", BWRAP: "bwrap --ro-bind / /", BELLJAR: "belljar run"}
BROKEN, HELD, NOT_JUDGED = "broken", "held", "not judged"


# ---- Observing -----------------------------------------------------------------------------------


def find_bwrap(worker, mode):
    """(options that work here, remark), or (None, why it cannot be used)."""
    if not shutil.which("bwrap"):
        return None, "bubblewrap is not installed"
    return bwrap_options(Caller(Run(worker, mode), BWRAP))


def observe(worker, number, way, mode, options):
    """(whether the attack worked, words), or (None, why it could not be judged)."""
    def attempt():
        with Caller(Run(worker, mode), way, options) as caller:
            return ROWS[number].attack(caller)
    try:
        seen, why = judged(attempt)
    finally:
        worker.world.reset(0)
    return seen or (None, why)


def by_hand(lab):
    """The mode of what is not Belljar: an ordinary user's, where there is one."""
    order = (attack.USER, attack.USER_CGROUP, attack.ROOT, attack.ROOT_CGROUP)
    return next(mode for mode in order if mode in lab.modes)


def collect(lab, progress, layer=None):
    """`layer` chooses nothing here."""
    mode, modes = by_hand(lab), modes_of(lab)
    options, remark = lab.call(mode, find_bwrap, mode)
    ways = [(BARE, mode), *([(BWRAP, mode)] if options is not None else []),
            *((BELLJAR, one) for one in modes)]
    wanted = [(number, way, one) for (way, one), number in
              itertools.product(ways, range(len(ROWS)))]
    got = lab.map([(one, observe, number, way, one, options) for number, way, one in wanted],
                  progress)
    cells = [cell_row(ROWS[number], way, one, *seen)
             for (number, way, one), seen in zip(wanted, got)]
    problems = [say(cell) for cell in cells if not cell["ok"]]
    return {"schema": "belljar-lab.compare/1", "ok": not problems, "problems": problems,
            "modes": modes, "ways": WAYS,
            "bwrap": {"command": options and ["bwrap", *options], "remark": remark},
            "properties": [property_row(name, cells) for name in PROPERTIES],
            "attacks": [{"id": row.id, "property": row.property, "does": row.does,
                         "success": row.success} for row in ROWS], "cells": cells}


def cell_row(row, way, mode, worked, words):
    state = NOT_JUDGED if worked is None else BROKEN if worked else HELD
    want = {BARE: BROKEN if row.bare else HELD, BELLJAR: HELD, BWRAP: None}[way]
    return {"attack": row.id, "property": row.property, "way": way, "mode": mode, "state": state,
            "declared": want, "words": words, "ok": want in (None, state)}


def say(cell):
    return (f"{cell['attack']} on {WAYS[cell['way']]}, {cell['mode']}: declared "
            f"{cell['declared']}, observed {cell['state']}\n{cell['words']}")


def property_row(name, cells):
    """A property is broken by one attack that works."""
    states = {}
    for way in WAYS:
        mine = [cell for cell in cells if cell["property"] == name and cell["way"] == way]
        found = {cell["state"] for cell in mine}
        worst = next((state for state in (NOT_JUDGED, BROKEN, HELD) if state in found), None)
        by = list(dict.fromkeys(cell["attack"] for cell in mine if cell["state"] == BROKEN))
        states[way] = {"state": worst, "by": by}
    return {"property": name, **states}


# ---- Showing -------------------------------------------------------------------------------------

COLOURS = {BROKEN: "yellow", HELD: "green", NOT_JUDGED: "red", None: "grey"}
KINDS = {BROKEN: "done", HELD: "yes", NOT_JUDGED: "bad", None: "faint"}


def state_of(data, row, way):
    """(words, state) of one attack on one way: of Belljar's modes what they all say."""
    mine = [cell for cell in data["cells"] if (cell["attack"], cell["way"]) == (row["id"], way)]
    if not mine:
        return "n/a", None
    worst = next(state for state in (NOT_JUDGED, BROKEN, HELD)
                 if state in [cell["state"] for cell in mine])
    words = dict.fromkeys(cell["words"] for cell in mine if cell["state"] == worst)
    if worst == NOT_JUDGED or attack.DONE in words:
        return worst, worst
    return f"{worst}: {' or '.join(words)}", worst


def property_states(row, ways):
    for way in ways:
        one = row[way]
        words = one["state"] or "n/a"
        yield (f"{words} by {', '.join(one['by'])}" if one["by"] else words), one["state"]


def bwrap_line(data):
    command, remark = data["bwrap"]["command"], data["bwrap"]["remark"]
    if not command:
        return f"bwrap: n/a: {remark}."
    return (f"bwrap is {' '.join(command)}" + (f"; {remark}" if remark else "")
            + ". Limits of memory and CPU are not its work.")


def belljar_line(data):
    return f"belljar ran in mode {' and in '.join(data['modes'])}."


def show(data, out: Out):
    out.title("compare: seven properties, attacked")
    out.wrap(f"{bwrap_line(data)} {belljar_line(data)}", "  ")
    out.line()
    ways = list(data["ways"])
    out.table(["property", *data["ways"].values()],
              [[row["property"], *((row[way]["state"] or "n/a", COLOURS[row[way]["state"]])
                                   for way in ways)] for row in data["properties"]], gap=2)
    out.title("What was tried, and what was seen of it")
    rows, last = [], None
    for row in data["attacks"]:
        states = [state_of(data, row, way) for way in ways]
        rows.append([row["property"] if row["property"] != last else "", row["id"],
                     *((words, COLOURS[state]) for words, state in states)])
        last = row["property"]
    out.table(["property", "attack", *data["ways"].values()], rows)
    out.line()
    out.table(["attack", "what it does"],
              [[row["id"], (f"{row['does']}; broken: {row['success']}", "grey")]
               for row in data["attacks"]])
    out.problems(data["problems"])


def page(data, page):
    page.words("The same small caller runs hostile code in three ways. A property is broken where "
               "one attack on it was seen, from outside, to work.")
    page.words(f"{bwrap_line(data)} {belljar_line(data)}", "faint")
    ways = list(data["ways"])
    page.table(["property", *data["ways"].values()],
               [[row["property"], *((words, KINDS[state])
                                    for words, state in property_states(row, ways))]
                for row in data["properties"]])
    page.heading("What was tried, and what was seen of it")
    rows, last = [], None
    for row in data["attacks"]:
        states = [state_of(data, row, way) for way in ways]
        rows.append([row["property"] if row["property"] != last else "", row["id"], row["does"],
                     (row["success"], "faint"),
                     *((words, KINDS[state]) for words, state in states)])
        last = row["property"]
    page.table(["property", "attack", "what it does", "broken means", *data["ways"].values()], rows)
