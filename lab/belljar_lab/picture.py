# SPDX-License-Identifier: Apache-2.0
"""The table of `ablate` in one mode as a picture: SVG, no script, no font but the viewer's."""

import html

from belljar_lab import ablate

CELL, ROW, HEAD, LEFT, LETTER, MARGIN = 19, 15, 84, 232, 6, 12
FILL = {"stop": "#dbe9f6", "other": "#9cc3e6", "done": "#e8731a", "bad": "#b00020",
        "absent": "#efeff1"}


def text(x, y, words, kind="", more=""):
    return f'<text x="{x}" y="{y}" class="{kind}"{more}>{html.escape(str(words))}</text>'


def legend(y, rows):
    """One line: what each colour that is there means."""
    x, there = MARGIN, {kind for *_, cells, _ in rows for _, kind, _ in cells}
    for sign, kind, words in ablate.KEY:
        if kind not in there:
            continue
        yield f'<rect x="{x}" y="{y - 11}" width="14" height="14" fill="{FILL[kind]}"/>'
        yield text(x + 7, y, sign, "mark " + kind)
        yield text(x + 20, y, words)
        x += 20 + LETTER * len(words) + 16


def heat(rows, columns, top):
    """Nearly every cell is an attack that is stopped: those are one pattern, the others stand on it."""
    yield (f'<pattern id="stop" patternUnits="userSpaceOnUse" x="{LEFT}" y="{top}" width="{CELL}" '
           f'height="{ROW}"><rect width="{CELL - 1}" height="{ROW - 1}" fill="{FILL["stop"]}"/>'
           f'{text(CELL // 2, 11, ablate.KEY[0][0], "mark")}</pattern>')
    yield (f'<rect x="{LEFT}" y="{top}" width="{CELL * len(columns)}" height="{ROW * len(rows)}" '
           'fill="url(#stop)"/>')
    for number, name in enumerate(columns):
        x = LEFT + number * CELL + CELL // 2 + 4
        yield text(x, top - 6, name, "layer", f' transform="rotate(-58 {x} {top - 6})"')
    for number, (group, name, _, cells, _) in enumerate(rows):
        y = top + number * ROW
        yield text(MARGIN, y + 11, group, "faint")
        yield text(MARGIN + 16, y + 11, name)
        for column, (sign, kind, _) in enumerate(cells):
            x = LEFT + column * CELL
            if kind != "stop":
                yield (f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{ROW - 1}" '
                       f'fill="{FILL[kind]}"/>')
            if kind not in ("stop", "absent"):
                yield text(x + CELL // 2, y + 11, sign, "mark " + kind)


def svg(data, mode):
    """`data`: what ablate.collect() returned."""
    columns = ["none", *(layer["name"] for layer in data["layers"])]
    rows = ablate.heat_rows(data, mode["name"])
    top = HEAD + 44
    wide = LEFT + len(columns) * CELL + 44
    tall = top + len(rows) * ROW + 40
    title = f"{len(rows)} attacks, each with one layer removed: {mode['what']}"
    parts = [f'<rect width="{wide}" height="{tall}" rx="6" fill="#fff" stroke="#d5d8dd"/>',
             text(MARGIN, 24, title, "title"), *heat(rows, columns, top),
             *legend(top + len(rows) * ROW + 24, rows)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" '
            f'height="{tall}" role="img" aria-label="{html.escape(title)}">\n<style>{STYLE}</style>\n'
            + "\n".join(parts) + "\n</svg>\n")


STYLE = """
text { font: 11.5px system-ui, "DejaVu Sans", Arial, sans-serif; fill: #1b1f24 }
.title { font-size: 14px; font-weight: 600 } .faint { fill: #667 } .layer { font-size: 11px }
.mark { font-size: 10px; text-anchor: middle } .mark.done, .mark.bad { fill: #fff; font-weight: 700 }
"""


def write(path, data):
    """The first mode that was run."""
    mode = next(mode for mode in data["modes"] if mode["run"])
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg(data, mode))
