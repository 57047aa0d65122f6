# SPDX-License-Identifier: Apache-2.0
"""What an attack is, which layers it says stop it, and whether a table of attacks makes sense.

To add an attack, write one row and one small program.

1. The program. A few lines of Python stand in the row's own function; longer ones, and what is in
   C, are a file in attacks/programs/ (a C file also needs its name in lab/meson.build). Its last
   line of output is the sign: `done`, or the name of the errno with which it was stopped.
2. The row, in one of attacks/*.py, in that file's list ROWS:

       def reads_a_file_of_the_host(run):
           secret = run.world.secret()
           return run.python(f"print(open({str(secret.path)!r}).read())", leaks=secret.token)

       Attack("read-host-file", "A", reads_a_file_of_the_host,
              does="opens a file of the host by its path",
              success="the file's random token is in the program's output",
              stops=(("mount", "ENOENT"),)),

   The function gets a Run (run.py): it starts the program, looks from outside at what it did
   (run.world, world.py), and returns the sign. A sign is believed only as far as the outside shows
   it: `run.judge(said, seen)` fails where the program says `done` and nothing was seen, or the
   other way round; `leaks=` and `look=` of run.python() do that themselves.
3. `stops` names the layers that stop it and the sign of each, in the order in which the program
   meets them. With a set of layers in force the attack must be stopped if and only if one of these
   is among them, with the sign of the first that is. Without any of them it must be `done`: that
   is the positive control, and it is a cell like the others. A layer that does it with the help of
   another is joined to it, "deadline+cgroup": the entry counts while both are in force. A third
   element limits an entry to some modes, a fourth to hosts with some fact (host.py):
   ("landlock", "EPERM", EVERY, "landlock-scopes"). Where reality is more entangled, `without` says
   the sign for one set of layers left out: {"caps+mount": "EPERM"}; {"caps+mount@root": "EPERM"}
   for one mode only; {"all but user+pid": "EPERM"} for a step of the ladder.
4. `belljar-lab ablate --attack ID` shows whether it is so.
"""

import dataclasses
import itertools
from collections.abc import Callable

DONE, ALL_BUT = "done", "all but "
ROOT, USER, ROOT_CGROUP, USER_CGROUP = "root", "user", "root-cgroup", "user-cgroup"
MODES = {
    ROOT_CGROUP: "started by root, with a cgroup",
    USER_CGROUP: "started by an ordinary user, with a cgroup",
    ROOT: "started by root, without a cgroup",
    USER: "started by an ordinary user, without a cgroup",
}
EVERY = tuple(MODES)
BY_ROOT, BY_USER = (ROOT, ROOT_CGROUP), (USER, USER_CGROUP)
WITH_CGROUP, NO_CGROUP = (ROOT_CGROUP, USER_CGROUP), (ROOT, USER)
GROUPS = {
    "A": "reads the host", "B": "writes and persists", "C": "network and exfiltration",
    "D": "credentials", "E": "CPU and time", "F": "memory", "G": "processes",
    "H": "disk and inodes", "I": "output", "J": "privilege and the kernel's surface",
    "K": "kills or fools the supervisor", "L": "confuses the files that come back",
    "M": "confuses whoever asks",
}


@dataclasses.dataclass(frozen=True)
class Attack:
    id: str
    group: str  # a letter of GROUPS
    attack: Callable  # of a Run: the sign
    does: str
    success: str  # what is seen outside when it worked
    stops: tuple  # (layer, sign[, modes[, fact]]), in the order in which they stop it
    modes: tuple = EVERY
    needs: tuple = ()  # facts of the host (host.py) without which it says nothing
    without: dict = dataclasses.field(default_factory=dict)  # "layer+layer[@mode]": the sign
    main: bool = False  # one of the five that every table begins with


class Table:
    """The attacks and the layers, and what is expected where."""

    def __init__(self, attacks, layers, facts, whole=True):
        self.attacks = sorted(attacks, key=lambda row: (not row.main, row.group))
        self.layers = layers  # rows of `belljar layers --json`
        self.names = [layer["name"] for layer in layers]
        self.facts = facts  # what host.py found: name -> None, or why not
        self.whole = whole  # not a choice of some attacks

    # ---- Layers ---------------------------------------------------------------------------------

    def closure(self, out):
        """The layers left out, and those that cannot be put up without them; in order."""
        out = set(out)
        more = True
        while more:
            more = {layer["name"] for layer in self.layers
                    if layer["name"] not in out and out & set(layer["after"])}
            out |= more
        return tuple(name for name in self.names if name in out)

    @staticmethod
    def absent(mode):
        """Layers that a mode cannot have: {name: why}."""
        if mode in WITH_CGROUP:
            return {"monitor": "it takes the place of a cgroup, and there is one"}
        return {"cgroup": "this mode has no cgroup"}

    def in_force(self, mode, out):
        gone = {*self.closure(out), *self.absent(mode)}
        return [name for name in self.names if name not in gone]

    # ---- What is expected -----------------------------------------------------------------------

    def stops(self, row, mode):
        """(layers, sign) of what stops it in that mode on this host, in order."""
        for names, sign, *rest in row.stops:
            modes = rest[0] if rest else EVERY
            fact = rest[1] if len(rest) > 1 else None
            if mode in modes and not set(names.split("+")) & set(self.absent(mode)) \
                    and not (fact and self.facts.get(fact)):
                yield names, sign

    def stoppers(self, row, mode):
        """The layers that do it: of those joined by "+" the first."""
        return list(dict.fromkeys(names.split("+")[0] for names, _ in self.stops(row, mode)))

    def left_out(self, key):
        """The layers that a key of `without` leaves out, and its mode or ""."""
        names, _, mode = key.partition("@")
        listed = names.removeprefix(ALL_BUT).split("+")
        return tuple(name for name in self.names
                     if (name in listed) != names.startswith(ALL_BUT)), mode

    def expected(self, row, mode, out):
        force = set(self.in_force(mode, out))
        for key, sign in row.without.items():
            wanted, only = self.left_out(key)
            if only in ("", mode) and set(self.in_force(mode, wanted)) == force:
                return sign
        return next((sign for names, sign in self.stops(row, mode)
                     if force.issuperset(names.split("+"))), DONE)

    def why_not(self, row, mode):
        """Why this row is not for this mode or this host, or None."""
        if mode not in row.modes:
            return f"not for a run {MODES[mode]}"
        return next((self.facts[fact] for fact in row.needs if self.facts.get(fact)), None)

    def columns(self, mode):
        """Sets of layers left out in the table of one by one: none, then each of them."""
        return [(), *((name,) for name in self.names if name not in self.absent(mode))]

    def seconds(self, row, mode):
        """Where more than one layer stops it: each alone, then none of them (the control)."""
        stoppers = self.stoppers(row, mode)
        if len(stoppers) < 2:
            return []
        sets = [tuple(other for other in stoppers if other != one) for one in stoppers]
        sets = [out for one, out in zip(stoppers, sets) if one not in self.closure(out)]
        named = [out for out, only in map(self.left_out, row.without) if only in ("", mode)]
        ordered = [tuple(name for name in self.names if name in out)
                   for out in [*sets, *named, tuple(stoppers)]]
        return [out for out in dict.fromkeys(ordered) if len(out) > 1]

    # ---- Whether the table makes sense ----------------------------------------------------------

    def problems(self):
        """Sentences about rows that cannot be right, whatever a run of them says."""
        ids = [row.id for row in self.attacks]
        for name in sorted({one for one in ids if ids.count(one) > 1}):
            yield f"attack {name}: there are two of that id"
        for row in self.attacks:
            yield from (f"attack {row.id}: {what}" for what in self.row_problems(row))
        for layer in self.layers if self.whole else ():
            yield from self.layer_problems(layer)

    def row_problems(self, row):
        if row.group not in GROUPS:
            yield f"there is no group {row.group}"
        if not row.stops:
            yield "nothing stops it"
        for names, sign, *rest in row.stops:
            for layer in names.split("+"):
                if layer not in self.names:
                    yield f"it is stopped by {layer}, and there is no such layer"
            if sign == DONE:
                yield f"{names} is said to stop it with {DONE!r}"
            for mode in (rest[0] if rest else ()):
                if mode not in MODES:
                    yield f"there is no mode {mode}"
            if len(rest) > 1 and rest[1] not in self.facts:
                yield f"nobody knows the fact {rest[1]}"
        for names in row.without:
            for name in names.partition("@")[0].removeprefix(ALL_BUT).split("+"):
                if name and name not in self.names:
                    yield f"without {name}: there is no such layer"
        for fact in row.needs:
            if fact not in self.facts:
                yield f"it needs {fact}, and nobody knows that fact"
        for mode in set(row.modes) & set(MODES):
            if self.why_not(row, mode) is None and not list(self.stops(row, mode)):
                yield f"nothing stops it in mode {mode}"

    def alone(self, layer):
        """(attack, mode) that this layer alone stops, or it and what needs it, as declared."""
        return [(row.id, mode) for row, mode in itertools.product(self.attacks, MODES)
                if mode in row.modes and layer in self.stoppers(row, mode)
                and set(self.stoppers(row, mode)) <= set(self.closure((layer,)))
                and self.expected(row, mode, ()) != DONE
                and self.expected(row, mode, (layer,)) == DONE]

    def with_others(self, layer):
        """(attack, mode) that it stops when the others that stop it are left out."""
        return [(row.id, mode) for row, mode in itertools.product(self.attacks, MODES)
                for out in [self.stoppers(row, mode)]
                if mode in row.modes and layer in out and len(out) > 1
                and self.expected(row, mode, out) == DONE
                and self.expected(row, mode, [one for one in out if one != layer]) != DONE]

    def shown_by(self, layer, modes):
        """For each of these modes (mode, attack, layers left out with which this one stops it, those
        without it) of the first attack here that shows it; nothing where there is none."""
        alone, others = set(self.alone(layer)), set(self.with_others(layer))
        for mode in modes:
            rows = [row for row in self.attacks if self.why_not(row, mode) is None]
            for row in [*(row for row in rows if (row.id, mode) in alone),
                        *(row for row in rows if (row.id, mode) in others)][:1]:
                out = () if (row.id, mode) in alone else self.stoppers(row, mode)
                yield (mode, row, tuple(name for name in self.names if name in {*out} - {layer}),
                       tuple(name for name in self.names if name in {*out, layer}))

    def layer_problems(self, layer):
        name, alone = layer["name"], self.alone(layer["name"])
        if layer["also_stopped_by"]:
            if not self.with_others(name):
                yield (f"layer {name}: others stop the same, says its row, and no attack shows "
                       "that it does without them")
        elif not alone:
            yield f"layer {name}: no attack is stopped by it alone, and its row does not say why"


# ---- The page --------------------------------------------------------------------------------------


def stop_text(names, sign, modes=EVERY, fact=None):
    where = "" if set(modes) == set(EVERY) else f" ({', '.join(modes)})"
    return f"`{names}` {sign}{where}" + (f", needs {fact}" if fact else "")


def markdown(rows):
    """What the rows declare, by group: docs/generated/attacks.md."""
    lines = ["<!-- Made by belljar-lab from the attacks' rows; `make docs` makes it anew. -->", "",
             "# Attacks of the lab", "",
             f"{len(rows)} attacks. \"Stopped by\" names the layers that stop one, in the order in "
             "which the program meets them, and how it learns so: an errno, or the outcome of the "
             "run. Where a mode is not named it is so in all.", ""]
    for letter, title in GROUPS.items():
        group = [row for row in rows if row.group == letter]
        if not group:
            continue
        lines += [f"## {letter}: {title}", "", "| attack | does | it worked when | stopped by |",
                  "|---|---|---|---|"]
        for row in group:
            stops = "<br>".join(stop_text(*stop) for stop in row.stops)
            lines.append(f"| `{row.id}` | {row.does} | {row.success} | {stops} |")
        lines.append("")
    return "\n".join(lines)
