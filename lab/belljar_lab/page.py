# SPDX-License-Identifier: Apache-2.0
"""One HTML page with all that was collected: no script, nothing fetched, fit for paper.

A verb's module may have `page(data, page)`, which fills its section by the methods of Page; of one
that has none, what it shows on the terminal is put there.
"""

import contextlib
import html
import io

from belljar_lab import show

# Colours that differ in lightness too, for paper without colour and eyes without all three cones.
STYLE = """
:root { --ink: #1b1f24; --faint: #667; --line: #d5d8dd; --stop: #dbe9f6; --other: #9cc3e6;
        --done: #e8731a; --bad: #b00020; --none: #f4f4f5; --good: #1d6f42; }
* { box-sizing: border-box; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
body { font: 14px/1.45 system-ui, "DejaVu Sans", Arial, sans-serif; color: var(--ink);
       margin: 2rem auto; max-width: 1180px; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .3rem;
     border-top: 2px solid var(--ink); padding-top: .7rem; } h3 { margin: 1.4rem 0 .2rem;
     font-size: 1rem; } p { margin: .3rem 0 .7rem; max-width: 62rem; }
.faint { color: var(--faint); } .verdict { font-weight: 700; font-size: 1.05rem; }
.yes { color: var(--good); } .no { color: var(--bad); }
dl { display: flex; flex-wrap: wrap; gap: .2rem 2rem; margin: .8rem 0; }
dl div { display: flex; gap: .5rem; } dt { color: var(--faint); } dd { margin: 0; }
nav a { margin-right: 1rem; color: inherit; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .18rem .55rem .18rem 0; }
tbody tr { border-top: 1px solid var(--line); } th { font-weight: 600; }
td.done, td.done + td, td.bad { padding-left: .4rem; }
.heat { font-size: 12px; } .heat td, .heat th { padding: 0; border: 1px solid #fff; }
.heat tbody tr { border: 0; } .heat th.layer { height: 5.6rem; vertical-align: bottom; width: 25px; }
.heat th.layer span { writing-mode: vertical-rl; transform: rotate(180deg); padding: .2rem 0; }
.heat td.cell { width: 25px; height: 20px; text-align: center; vertical-align: middle; }
.heat th.attack { padding: .1rem .7rem .1rem 0; font-weight: 400; white-space: nowrap; }
.heat th.group { padding: .1rem .5rem .1rem 0; color: var(--faint); font-weight: 400; }
.heat td.by { padding: .1rem 0 .1rem .6rem; color: var(--faint); }
.stop { background: var(--stop); } .other { background: var(--other); }
.done { background: var(--done); color: #fff; font-weight: 700; }
.bad { background: var(--bad); color: #fff; font-weight: 700; }
.absent { background: repeating-linear-gradient(45deg, #fff 0 3px, #e3e4e7 3px 6px); }
.key { display: inline-block; width: 1.5rem; text-align: center; margin: 0 .35rem 0 1.1rem; }
.key:first-child { margin-left: 0; }
pre { font: 12px/1.35 "DejaVu Sans Mono", monospace; overflow-x: auto; }
.problem { border-left: 4px solid var(--bad); padding: .2rem .7rem; margin: .5rem 0;
           white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { @page { size: A4 landscape; margin: 11mm; } body { margin: 0; max-width: none;
  padding: 0; font-size: 10.5px; } nav { display: none; } .heat { font-size: 9.5px; }
  .heat td.cell { width: 21px; height: 14px; } .heat th.layer { width: 21px; }
  h2 { break-before: page; } h2.first { break-before: auto; } h3, thead { break-after: avoid; }
  tr, .problem, dl { break-inside: avoid; } pre { font-size: 8.5px; white-space: pre-wrap; } }
"""


def text(what):
    return html.escape(str(what))


class Page:
    """Collects the parts of a page; everything that is given to it is text, and escaped."""

    def __init__(self):
        self.parts, self.sections = [], []

    def raw(self, markup):
        self.parts.append(markup)

    def section(self, name, title):
        first = "" if self.sections else ' class="first"'
        self.sections.append((name, title))
        self.raw(f'<h2 id="{text(name)}"{first}>{text(title)}</h2>')

    def heading(self, words):
        self.raw(f"<h3>{text(words)}</h3>")

    def words(self, words, kind=""):
        self.raw(f'<p class="{kind}">{text(words)}</p>')

    def preformatted(self, words):
        self.raw(f"<pre>{text(words)}</pre>")

    def facts(self, pairs):
        self.raw("<dl>" + "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>"
                                  for name, value in pairs) + "</dl>")

    def table(self, head, rows):
        """A cell is text, or (text, class): yes, no, faint, stop, other, done, bad, absent."""
        self.raw("<table><thead><tr>" + "".join(f"<th>{text(word)}</th>" for word in head)
                 + "</tr></thead><tbody>")
        for row in rows:
            cells = [cell if isinstance(cell, tuple) else (cell, "") for cell in row]
            self.raw("<tr>" + "".join(f'<td class="{kind}">{text(word)}</td>'
                                      for word, kind in cells) + "</tr>")
        self.raw("</tbody></table>")

    def heat(self, columns, rows):
        """A heat map. `rows`: (group, name, title, cells, words after it); a cell is (sign, class,
        title)."""
        self.raw('<table class="heat"><thead><tr><th></th><th></th>'
                 + "".join(f'<th class="layer"><span>{text(name)}</span></th>' for name in columns)
                 + "<th></th></tr></thead><tbody>")
        for group, name, title, cells, after in rows:
            self.raw(f'<tr><th class="group">{text(group)}</th><th class="attack" '
                     f'title="{text(title)}">{text(name)}</th>'
                     + "".join(f'<td class="cell {kind}" title="{text(what)}">{text(sign)}</td>'
                               for sign, kind, what in cells)
                     + f'<td class="by">{text(after)}</td></tr>')
        self.raw("</tbody></table>")

    def legend(self, entries):
        """What the cells of a heat map mean: (sign, class, words)."""
        self.raw("<p>" + "".join(f'<span class="key {kind}">{text(sign) or "&nbsp;"}</span>'
                                 f"{text(words)}" for sign, kind, words in entries) + "</p>")

    def problems(self, problems):
        for problem in problems:
            self.raw(f'<div class="problem">{text(problem)}</div>')

    def whole(self, head):
        links = "".join(f'<a href="#{text(name)}">{text(name)}</a>' for name, _ in self.sections)
        return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width">'
                f"<title>Belljar, attacked</title><style>{STYLE}</style></head><body>\n{head}"
                f"<nav>{links}</nav>\n" + "\n".join(self.parts) + "\n</body></html>\n")


def terminal_text(module, data):
    """What a verb shows on the terminal."""
    with contextlib.closing(io.StringIO()) as file:
        module.show(data, show.Out(file, colour=False))
        return file.getvalue().strip("\n")


def write(path, modules, data, host):
    """`data`: {verb: what its collect() returned}."""
    page = Page()
    for module in modules:
        if module.VERB in data:
            page.section(module.VERB, f"{module.VERB}: {module.HELP}")
            if hasattr(module, "page"):
                module.page(data[module.VERB], page)
                page.problems(data[module.VERB]["problems"])
            else:
                page.preformatted(terminal_text(module, data[module.VERB]))
    head = Page()
    good = all(one["ok"] for one in data.values())
    head.raw("<h1>Belljar, attacked on this host</h1>")
    head.words("Real attacks on the shipped object files, with layers removed; each success was "
               "seen from outside, inside namespaces made for it.")
    head.facts(host.items())
    head.words("Everything observed is as declared." if good else
               "Something is not as declared: look for the red.", "verdict " + ("yes" if good else "no"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(page.whole("\n".join(head.parts)))
