# SPDX-License-Identifier: Apache-2.0
"""The shortest look: of each layer one attack that it stops, with that layer and without it.

Which attack that is follows from the declarations: the first that the layer alone stops; where
there is none, the first that it stops when the others that stop it are gone. Each is a cell of
`ablate` too, so `all` has no need of this verb.
"""

from belljar_lab import attack
from belljar_lab.ablate import mode_rows, say
from belljar_lab.cells import Cell
from belljar_lab.show import Out

VERB = "quick"
HELP = "of each layer one attack that it stops, with the layer and without it"
IN_ALL = False


def collect(lab, progress, layer=None):
    """`layer`: only that one."""
    table = lab.table
    names = [name for name in table.names if layer in (None, name)]
    rows = [(name, *one) for name in names for one in table.shown_by(name, lab.modes)]
    cells = {Cell(row.id, mode, out): row for _, mode, row, *outs in rows for out in outs}
    seen = lab.observe(cells, progress)
    problems = [say(table, row, cell, seen[cell]) for cell, row in cells.items()
                if seen[cell].sign != table.expected(row, cell.mode, cell.out)]

    def row_of(name, mode, row, there, gone):
        return {"layer": name, "mode": mode, "attack": row.id, "others_gone": list(there),
                "with": seen[Cell(row.id, mode, there)].sign,
                "without": seen[Cell(row.id, mode, gone)].sign}
    shown = {name for name, *_ in rows}
    return {"schema": "belljar-lab.quick/1", "ok": not problems, "problems": problems,
            "layers": lab.layers, "modes": mode_rows(lab), "rows": [row_of(*row) for row in rows],
            "unshown": [name for name in names if name not in shown
                        and any(name not in table.absent(mode) for mode in lab.modes)]}


def show(data, out: Out):
    out.title("quick: what each layer stops, with it and without it")
    at = {}
    for row in data["rows"]:
        key = (row["layer"], row["attack"], "+".join(row["others_gone"]), row["with"],
               row["without"])
        at.setdefault(key, []).append(row["mode"])
    out.table(["layer", "attack", "with it", "without it", "others gone", "modes"],
              [[layer, name, (there, "green"),
                (gone, "yellow" if gone == attack.DONE else "red"), others, ", ".join(modes)]
               for (layer, name, others, there, gone), modes in at.items()], gap=2)
    if data["unshown"]:
        out.line()
        out.wrap("No attack that can be run here shows what these do: "
                 + ", ".join(data["unshown"]) + ".")
    out.problems(data["problems"])
