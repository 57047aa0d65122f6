# SPDX-License-Identifier: Apache-2.0
"""The layers are added one by one in order: at which step is each attack first stopped?"""

from belljar_lab import attack
from belljar_lab.ablate import attack_row, mode_rows
from belljar_lab.cells import Cell
from belljar_lab.show import Out

VERB = "ladder"
HELP = "the layers added one by one, in order of set-up"


def steps(table, mode):
    """[(name of what was added, layers left out)]: first none is there, then all are."""
    names = [name for name in table.names if name not in table.absent(mode)]
    return [("nothing", tuple(names)),
            *((name, tuple(names[number + 1:])) for number, name in enumerate(names))]


def last_step(table, row, mode):
    """The step at which the declaration says that it is first stopped."""
    for number, (_, out) in enumerate(steps(table, mode)):
        if table.expected(row, mode, out) != attack.DONE:
            return number
    return None


def collect(lab, progress, layer=None):
    """Every step up to the first that stops it, that one, and all layers."""
    table, wanted = lab.table, {}
    for row in table.attacks:
        for mode in lab.modes:
            if table.why_not(row, mode) is None:
                stop = last_step(table, row, mode)
                until = len(table.names) if stop is None else stop
                for number, (name, out) in enumerate(steps(table, mode)):
                    if (number <= until or not out) and layer in (None, name):
                        wanted[Cell(row.id, mode, out)] = row, number, name
    seen = lab.observe(wanted, progress)
    cells, problems = [], []
    for cell, (row, number, name) in wanted.items():
        want, got = table.expected(row, cell.mode, cell.out), seen[cell]
        cells.append({"attack": row.id, "mode": cell.mode, "step": number, "added": name,
                      "expected": want, "sign": got.sign, "problem": got.problem})
        if got.sign != want:
            problems.append(f"{row.id}, {cell.mode}, with the layers up to {name}: declared {want},"
                            f" observed {got.sign or 'not judged'}"
                            + (f"\n{got.problem}" if got.problem else ""))
    return {"schema": "belljar-lab.ladder/1", "ok": not problems, "problems": problems,
            "layers": lab.layers, "modes": mode_rows(lab), "cells": cells,
            "attacks": [attack_row(lab, row) for row in table.attacks],
            "first": first_stops(cells)}


def first_stops(cells):
    """[{attack, mode, step, added, sign}]: the first step at which each was seen to fail."""
    found = {}
    for cell in sorted(cells, key=lambda cell: cell["step"]):
        key = cell["attack"], cell["mode"]
        if key not in found and cell["sign"] not in (attack.DONE, ""):
            found[key] = {name: cell[name] for name in ("attack", "mode", "step", "added", "sign")}
    return list(found.values())


def show(data, out: Out):
    modes = [mode for mode in data["modes"] if mode["run"]]
    out.title("ladder: the layer whose arrival first stops each attack")
    out.line("  Layers arrive in order of set-up: "
             + " ".join(layer["name"] for layer in data["layers"]), "grey")
    out.line()
    at = {(one["attack"], one["mode"]): one for one in data["first"]}
    rows = []
    for row in data["attacks"]:
        cells = []
        for mode in modes:
            one = at.get((row["id"], mode["name"]))
            cells.append((f"{one['step']:2} {one['added']} ({one['sign']})", "green") if one
                         else ("-", "grey"))
        rows.append([row["group"], row["id"], *cells])
    out.table(["", "attack", *(mode["name"] for mode in modes)], rows, gap=2)
    for mode in modes:
        most = max((one["step"] for one in data["first"] if one["mode"] == mode["name"]), default=0)
        last = [one for one in data["first"] if one["mode"] == mode["name"] and one["step"] == most]
        if last:
            out.line()
            out.wrap(f"Mode {mode['name']}: only the last of these steps, {last[0]['added']}, stops "
                     + ", ".join(one["attack"] for one in last) + ".")
    out.problems(data["problems"])


def page(data, page):
    """A heat map of the rungs: what had arrived when it was first stopped."""
    page.words("Each column is a layer that arrives, in order of set-up, beside all those left of "
               "it. Each attack was tried at every step up to the first that stops it.")
    page.legend([("O", "done", "succeeds"), ("X", "other", "first stopped here"),
                 ("", "absent", "not in this mode"), ("!", "bad", "not as declared")])
    names = [layer["name"] for layer in data["layers"]]
    at = {(cell["attack"], cell["mode"], cell["added"]): cell for cell in data["cells"]}
    first = {(one["attack"], one["mode"]): one["step"] for one in data["first"]}
    for mode in [mode for mode in data["modes"] if mode["run"]]:
        page.heading(f"Mode {mode['name']}: {mode['what']}")
        rows = []
        for row in data["attacks"]:
            if row["modes"][mode["name"]]["why_not"] is None:
                key = row["id"], mode["name"]
                cells = [rung(at.get((*key, name)), first.get(key), name in mode["absent"])
                         for name in ["nothing", *names]]
                rows.append((row["group"], row["id"], row["does"], cells, ""))
        page.heat(["nothing", *names], rows)


def rung(cell, first, absent):
    if absent:
        return "", "absent", ""
    if cell is None or (first is not None and cell["step"] > first):
        return "", "stop", "stopped"
    what = f"with the layers up to {cell['added']}: {cell['sign']}"
    if cell["sign"] != cell["expected"]:
        return "!", "bad", what
    return ("O", "done", what) if cell["sign"] == attack.DONE else ("X", "other", what)
