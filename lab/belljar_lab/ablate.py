# SPDX-License-Identifier: Apache-2.0
"""Each layer is left out, and each attack is tried: which layer stops which attack."""

from belljar_lab import attack
from belljar_lab.cells import Cell
from belljar_lab.show import Out

VERB = "ablate"
HELP = "each attack with each layer removed, and with none removed"
LEGEND = ("·  stopped, as with all layers    =  stopped by another layer than before    "
          "O  succeeds: that layer alone stops it    !  not as declared    -  not in this mode")


def collect(lab, progress, layer=None):
    """`layer`: only that column."""
    table, cells = lab.table, {}
    for row in table.attacks:
        for mode in lab.modes:
            if table.why_not(row, mode) is None:
                columns = [out for out in table.columns(mode) if layer in (None, *out) or not out]
                seconds = [out for out in table.seconds(row, mode) if layer in (None, *out)]
                for out in [*columns, *seconds, *control(table, row, mode)]:
                    cells[Cell(row.id, mode, out)] = row
    seen = lab.observe(cells, progress)
    problems = list(table.problems())
    problems += [say(table, row, cell, seen[cell]) for cell, row in cells.items()
                 if seen[cell].sign != table.expected(row, cell.mode, cell.out)]
    return {
        "schema": "belljar-lab.ablate/1", "ok": not problems, "problems": problems,
        "layers": lab.layers, "modes": mode_rows(lab),
        "attacks": [attack_row(lab, row) for row in table.attacks],
        "cells": [cell_row(table, row, cell, seen[cell]) for cell, row in cells.items()],
        "alone": {name: table.alone(name) for name in table.names},
        "with_others": {name: table.with_others(name) for name in table.names},
    }


def control(table, row, mode):
    """Without all that stop it: it must succeed."""
    return [tuple(name for name in table.names if name in table.stoppers(row, mode))]


def mode_rows(lab):
    return [{"name": mode, "what": what, "run": mode in lab.modes, "why_not": lab.why_not[mode],
             "absent": lab.table.absent(mode)} for mode, what in attack.MODES.items()]


def attack_row(lab, row):
    return {"id": row.id, "group": row.group, "does": row.does, "success": row.success,
            "main": row.main,
            "modes": {mode: {"why_not": lab.table.why_not(row, mode),
                             "stops": list(lab.table.stops(row, mode))} for mode in lab.modes}}


def cell_row(table, row, cell, got):
    return {"attack": cell.attack, "mode": cell.mode, "out": list(cell.out),
            "gone": list(table.closure(cell.out)),
            "expected": table.expected(row, cell.mode, cell.out), "sign": got.sign,
            "problem": got.problem, "ms": got.ms}


def say(table, row, cell, got):
    without = "+".join(cell.out) or "nothing"
    want = table.expected(row, cell.mode, cell.out)
    saw = got.sign or "not judged"
    text = f"{cell.attack}, {cell.mode}, without {without}: declared {want}, observed {saw}"
    return text + (f"\n{got.problem}" if got.problem else "")


# ---- The terminal --------------------------------------------------------------------------------


def mark(cell, all_layers):
    if cell is None:
        return "-", "grey"
    if cell["sign"] != cell["expected"]:
        return "!", "red"
    if cell["sign"] == attack.DONE:
        return "O", "yellow"
    return ("·", "grey") if all_layers and cell["sign"] == all_layers["sign"] else ("=", "green")


def heads(names, width):
    """Names of layers, written downwards, so that a column is one character wide."""
    names = ["none", *names]
    tall = max(map(len, names))
    return [" " * width + " ".join(name.rjust(tall)[i] for name in names) for i in range(tall)]


def show(data, out: Out):
    names = [layer["name"] for layer in data["layers"]]
    at = {(cell["attack"], cell["mode"], tuple(cell["out"])): cell for cell in data["cells"]}
    for mode in data["modes"]:
        if not mode["run"]:
            out.title(f"ablate, mode {mode['name']}: not run")
            out.line(f"  {mode['why_not'] or 'not asked for'}", "grey")
            continue
        out.title(f"ablate, mode {mode['name']}: {mode['what']}")
        for layer, why in mode["absent"].items():
            out.line(f"  no column {layer}: {why}", "grey")
        out.line()
        show_mode(data, out, mode["name"], names, at)
    out.line()
    out.wrap(LEGEND)
    show_layers(data, out)
    out.title("Second walls: what is seen when more than one layer is removed")
    out.table(["attack", "mode", "removed", "seen"], second_walls(data), gap=2)
    out.problems(data["problems"])


def show_mode(data, out, mode, names, at):
    rows = [row for row in data["attacks"] if row["modes"][mode]["why_not"] is None]
    width = max((len(row["id"]) for row in rows), default=0) + 4
    for line in heads(names, width):
        out.line(line, "bold")
    for row in rows:
        all_layers = at.get((row["id"], mode, ()))
        marks = [mark(at.get((row["id"], mode, one)), all_layers)
                 for one in [(), *((name,) for name in names)]]
        signs = ", ".join(f"{by} {sign}" for by, sign in row["modes"][mode]["stops"])
        start = f"{row['group']} {row['id']:<{width - 2}}"
        room = 119 - len(start) - 2 * len(marks)
        out.line(start + " ".join(out.paint(*one) for one in marks) + " "
                 + out.paint(signs[:max(room, 0)], "grey"))


def show_layers(data, out):
    """Which attacks a layer stops alone, and which it stops when others are gone too."""
    out.title("What each layer is for")
    rows = []
    for layer in data["layers"]:
        name = layer["name"]
        alone = sorted({one for one, _ in data["alone"][name]})
        pairs = sorted({one for one, _ in data["with_others"][name]} - set(alone))
        rows.append([name, str(len(alone)), ", ".join(alone) or "- none alone", ""])
        if pairs:
            rows.append(["", "", ("with others gone: " + ", ".join(pairs), "grey"), ""])
        if not alone and layer["also_stopped_by"]:
            rows.append(["", "", ("a second wall: " + layer["also_stopped_by"], "grey"), ""])
    out.table(["layer", "n", "attacks that it alone stops"], [row[:3] for row in rows], gap=2)


def second_walls(data):
    """[attack, modes, layers removed, sign] of cells without more than one layer."""
    found = {}
    for cell in data["cells"]:
        if len(cell["out"]) > 1:
            key = cell["attack"], " ".join(cell["out"]), cell["sign"] or "not judged"
            found.setdefault(key, []).append(cell["mode"])
    return [[name, ", ".join(modes), removed,
             (sign, "yellow" if sign == attack.DONE else "green")]
            for (name, removed, sign), modes in found.items()]


# ---- The page ------------------------------------------------------------------------------------

KINDS = {"-": "absent", "!": "bad", "O": "done", "·": "stop", "=": "other"}
KEY = [("·", "stop", "stopped as with all layers"), ("=", "other", "stopped by another layer"),
       ("O", "done", "succeeds without it"), ("!", "bad", "not as declared"),
       ("", "absent", "not in this mode")]


def page(data, page):
    names = [layer["name"] for layer in data["layers"]]
    page.words("Each row is an attack, each column a layer that was removed, with those that cannot "
               "be put up without it; in the first column none was.")
    page.legend(KEY)
    for mode in data["modes"]:
        page.heading(f"Mode {mode['name']}: {mode['what']}")
        if not mode["run"]:
            page.words(f"Not run: {mode['why_not'] or 'not asked for'}.", "faint")
            continue
        for layer, why in mode["absent"].items():
            page.words(f"No column {layer}: {why}.", "faint")
        page.heat(["none", *names], heat_rows(data, mode["name"]))
    page.heading("What each layer is for")
    rows = []
    for layer in data["layers"]:
        alone = sorted({one for one, _ in data["alone"][layer["name"]]})
        pairs = sorted({one for one, _ in data["with_others"][layer["name"]]} - set(alone))
        rows.append([layer["name"], ", ".join(alone) or (layer["also_stopped_by"] or "", "faint"),
                     ", ".join(pairs)])
    page.table(["layer", "attacks that it alone stops, or why there is none",
                "and stops with the others removed that stop them too"], rows)
    page.heading("Second walls: what is seen when more than one layer is removed")
    page.table(["attack", "mode", "removed", "seen"],
               [[*row, (sign, "no" if sign == attack.DONE else "yes")]
                for *row, (sign, _) in second_walls(data)])


def heat_rows(data, mode):
    """Rows of a heat map of one mode."""
    names = [layer["name"] for layer in data["layers"]]
    at = {(cell["attack"], cell["mode"], tuple(cell["out"])): cell for cell in data["cells"]}
    return [heat_row(row, mode, names, at) for row in data["attacks"]
            if row["modes"][mode]["why_not"] is None]


def heat_row(row, mode, names, at):
    cells = []
    for out in [(), *((name,) for name in names)]:
        cell = at.get((row["id"], mode, out))
        sign = mark(cell, at.get((row["id"], mode, ())))[0]
        what = f"without {'+'.join(out) or 'nothing'}: {cell['sign']}" if cell else ""
        cells.append((sign if cell else "", KINDS[sign], what))
    by = ", ".join(f"{names} {sign}" for names, sign in row["modes"][mode]["stops"])
    return row["group"], row["id"], f"{row['does']}; success: {row['success']}", cells, by
