# SPDX-License-Identifier: Apache-2.0
"""Tables for the terminal, and what every verb says them with."""

import re
import sys
import time

WIDTH = 119
COLOURS = {"red": "31", "green": "32", "yellow": "33", "grey": "90", "bold": "1", "": ""}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Out:
    """Where text goes; colour only where somebody looks."""

    def __init__(self, file=None, colour=None):
        self.file = file or sys.stdout
        self.colour = self.file.isatty() if colour is None else colour

    def paint(self, text, colour):
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colour and colour else str(text)

    def line(self, text="", colour=""):
        print(self.paint(text, colour), file=self.file)

    def title(self, text):
        self.line()
        self.line(text, "bold")

    def wrap(self, text, indent=""):
        """Words, in lines under the width."""
        line = indent
        for word in text.split():
            if len(line) + len(word) + 1 > WIDTH and line.strip():
                self.line(line.rstrip())
                line = indent
            line += word + " "
        if line.strip():
            self.line(line.rstrip())

    def table(self, head, rows, gap=1):
        """Aligned. A cell is text or (text, colour); the last column is cut to the width."""
        rows = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
        wide = [max([len(str(head[i])), *(len(str(row[i][0])) for row in rows)])
                for i in range(len(head))]
        room = WIDTH - sum(wide[:-1]) - gap * (len(head) - 1)
        wide[-1] = min(wide[-1], max(room, 1))

        def put(cells):
            words = [self.paint(f"{str(text)[:width]:<{width}}", colour)
                     for (text, colour), width in zip(cells, wide)]
            self.line((" " * gap).join(words).rstrip())
        if any(head):
            put([(text, "bold") for text in head])
        for row in rows:
            put(row)

    def problems(self, problems):
        for problem in problems:
            self.line()
            first, _, rest = problem.partition("\n")
            self.line(f"NOT AS DECLARED  {first}", "red")
            for line in rest.splitlines():
                self.line("    " + line, "red")


class Progress:
    """How far it is, on stderr: on a terminal in place, elsewhere a line each minute."""

    EACH_S = 60

    def __init__(self, name, quiet=False):
        self.name, self.done, self.all = name, 0, 0
        self.on, self.in_place = not quiet, sys.stderr.isatty()
        self.begin = self.said = time.monotonic()

    def more(self, count):
        self.all += count

    def step(self):
        self.done += 1
        now = time.monotonic()
        if not self.on or (not self.in_place and now - self.said < self.EACH_S):
            return
        self.said = now
        text = f"{self.name} {self.done}/{self.all} {now - self.begin:.0f} s"
        print(f"\r{text} " if self.in_place else f"{text}\n", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.on and self.in_place:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
