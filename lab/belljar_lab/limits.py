# SPDX-License-Identifier: Apache-2.0
"""Each limit is touched: what the program sees of it, and what the result says.

What a program sees is what it wrote to stderr, and how it ended; every signal that can be caught
is, so that a warning before the end would be seen. Which limits there are is not known here:
`belljar policy show` says it, and /proc/self/limits of a run, and each of them has a row or a
reason (limit_rows.py).
"""

import itertools
import json
import re
import signal
import subprocess

from belljar_lab import attack, host, outer
from belljar_lab.limit_rows import KIBI, MEBI, REASONS, ROWS, Seen, why_not
from belljar_lab.run import PATIENCE, Run, indented, judged, shows_itself
from belljar_lab.show import Out

VERB = "limits"
HELP = "what a program sees at each limit, and what the result says of it"

PROGRAM = """
import ctypes, errno, mmap, os, resource, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def say(*words):
    os.write(2, (" ".join(map(str, words)) + "\\n").encode())
def must(got):
    if got < 0:
        raise OSError(ctypes.get_errno(), "")
    return got
def warned(number, _):
    say("caught", signal.Signals(number).name)
for name in "HUP INT QUIT TERM USR1 USR2 ALRM VTALRM PROF XCPU IO PWR".split():
    signal.signal(signal.Signals["SIG" + name], warned)
amount = {amount}
try:
{code}
except OSError as error:
    say(errno.errorcode[error.errno])
"""


# ---- Observing -----------------------------------------------------------------------------------


def words(row, amount):
    return ["--", "/usr/bin/python3", "-I", "-S", "-c",
            PROGRAM.format(code=indented(row.code), amount=amount)]


def observe(worker, number, mode, above):
    """Runs the program of one row: a Seen and "", or None and why it could not be judged."""
    row = ROWS[number]
    run = Run(worker, mode)
    options = row.free if row.free and not above else row.options
    amount = (row.above if above else row.below)[0]
    command = [*options, *words(row, amount)]

    def attempt():
        result, added = looked_at(run, command, row.look) if row.look else \
            (run.result(*command), [])
        return seen_in(result, added)
    try:
        return judged(attempt)
    finally:
        worker.world.reset(0)


def looked_at(run, command, look):
    process = run.start(["--stdin", "-", *command], stdin=subprocess.PIPE)
    try:
        pid = outer.until(lambda: shows_itself(process), PATIENCE)
        added = look(pid) if pid > 0 else []
    finally:
        result = run.finish(process)
    return result, added


def seen_in(result, added):
    saw = [*result.err.splitlines(), *added]
    if result.outcome == "signaled":
        saw.append(signal.Signals(result.signal).name)
    elif result.outcome != "exited":
        saw.append("ended")
    return Seen(", ".join(saw), result.outcome, result.status, tuple(result.limits_hit),
                result.retry, result.stdout["truncated"], result.hint)


def limits_inside(worker, mode):
    """The lines of /proc/self/limits of a run, and of the caller: {name: (inside, caller's)}."""
    run = Run(worker, mode)
    inside = limit_lines(run.result("--", "/bin/cat", "/proc/self/limits").out)
    mine = limit_lines(host.read("/proc/self/limits"))
    return {name: (value, mine.get(name)) for name, value in inside.items()}


def limit_lines(text):
    """{name: "soft hard"}; a name has single spaces, columns are further apart."""
    cells = [re.split(r"\s{2,}", line) for line in text.splitlines()[1:]]
    return {name: f"{soft} {hard}" for name, soft, hard, *_ in cells}


def fields(lab):
    out = subprocess.run([lab.binaries / "lab-belljar", "policy", "show", "--json"], check=True,
                         stdout=subprocess.PIPE).stdout
    return list(json.loads(out)["fields"])


def declared(row, mode, above):
    if not above:
        return Seen(row.below[1])
    if row.no_cgroup and mode in attack.NO_CGROUP:
        return row.no_cgroup
    return row.above[1]


def as_declared(want, got):
    return got and got._replace(hint="") == want._replace(hint="") and want.hint in got.hint


def unknown(named, inside):
    """Sentences about limits that nobody thought of here, and those that are no more."""
    known = {*REASONS, *(row.limit for row in ROWS)}
    for name in [name for name in (*named, *inside) if name not in known]:
        yield f"{name}: there is such a limit, and neither a row nor a reason why there is none"
    for name in sorted(known - {*named, *inside}):
        yield f"{name}: there is a row or a reason, and no such limit"
    for name, (value, callers) in inside.items():
        if REASONS.get(name, "").startswith("the caller's") and value != callers:
            yield f"{name}: declared the caller's, {callers}, observed {value} in a run"


def cases(modes):
    return [(number, mode, above)
            for number, mode, above in itertools.product(range(len(ROWS)), modes, (False, True))
            if (above or ROWS[number].below) and not why_not(ROWS[number])]


def modes_of(lab):
    """What differs is whether there is a cgroup: of all modes two, else those asked for."""
    if len(lab.modes) < len(attack.MODES):
        return lab.modes
    return [attack.ROOT_CGROUP, attack.USER]


def collect(lab, progress, layer=None):
    """`layer` chooses nothing here."""
    modes = modes_of(lab)
    wanted = cases(modes)
    got = lab.map([(mode, observe, number, mode, above) for number, mode, above in wanted],
                  progress)
    named, inside = fields(lab), lab.call(modes[0], limits_inside, modes[0])
    problems = list(unknown(named, inside))
    rows = [row_of(row, inside) for row in ROWS]
    for (number, mode, above), (seen, why) in zip(wanted, got):
        want = declared(ROWS[number], mode, above)
        good = bool(as_declared(want, seen))
        rows[number]["seen"].append({
            "mode": mode, "above": above, "ok": good, "declared": want._asdict(),
            "observed": seen and seen._asdict(), "why": why})
        if not good:
            problems.append(say(ROWS[number], mode, above, want, seen, why))
    return {"schema": "belljar-lab.limits/1", "ok": not problems, "problems": problems,
            "modes": modes, "limits": rows,
            "without_row": [{"limit": name, "why": REASONS[name]} for name in (*named, *inside)
                            if name in REASONS],
            "runs": len(wanted)}


def row_of(row, inside):
    given = row.options[1] if row.options else inside.get(row.limit, ("",))[0].split()[0]
    return {"limit": row.limit, "set_to": given, "options": list(row.options), "does": row.does,
            "below": row.below and row.below[0], "above": row.above[0], "why_not": why_not(row),
            "seen": []}


def say(row, mode, above, want, got, why):
    which = f"more ({row.above[0]})" if above else f"what is allowed ({row.below[0]})"
    text = f"{row.limit}: {row.does}, {mode}, {which}"
    if not got:
        return f"{text}: not judged\n{why}"
    text += "".join(f"\ndeclared {name} {getattr(want, name)!r}, observed {getattr(got, name)!r}"
                    for name in Seen._fields[:-1] if getattr(want, name) != getattr(got, name))
    if want.hint not in got.hint:
        text += f"\ndeclared a hint with {want.hint!r}, observed {got.hint!r}"
    return text


# ---- Showing -------------------------------------------------------------------------------------


def by_sight(row):
    """[(modes, whether all is as declared, what is seen above it)]: modes that see the same."""
    found = {}
    for one in row["seen"]:
        if one["above"]:
            good = all(other["ok"] for other in row["seen"] if other["mode"] == one["mode"])
            seen = one["observed"] or Seen("not judged")._asdict()
            key = good, *(str(seen[name]) for name in Seen._fields)
            found.setdefault(key, ([], good, seen))[0].append(one["mode"])
    return list(found.values())


def verdict(seen):
    """What the result says, in few words."""
    text = f"{seen['outcome']} {seen['status']}"
    if [f"{name}_limit" for name in seen["hits"]] not in ([], [seen["outcome"]]):
        text += ", hit " + " ".join(seen["hits"])
    return text + (", cut" if seen["cut"] else "")


def short(number):
    """Whole kibibytes as the policy writes them; the rest as it is."""
    if number is None or not str(number).isdigit() or int(number) < KIBI or int(number) % KIBI:
        return "none" if number is None else str(number)
    many = int(number)
    return f"{many // KIBI}k" if many % MEBI else f"{many // MEBI}m"


def table_rows(data):
    """(row, modes or "" for all, good, seen), each."""
    for row in data["limits"]:
        for modes, good, seen in by_sight(row):
            yield row, "" if modes == data["modes"] else ", ".join(modes), good, seen


def show(data, out: Out):
    out.title("limits: what a program sees when it uses more than it may")
    out.wrap("Each also ran with what is allowed, and then worked. The result's outcome and the "
             "command's exit status, limits_hit, and whether stdout was kept whole. In mode "
             f"{' and in '.join(data['modes'])}:", "  ")
    out.line()
    rows, last = [], None
    for row, modes, good, seen in table_rows(data):
        head = ["", "", ""] if row is last else [row["limit"].removeprefix("Max "),
                                                 short(row["set_to"]), row["does"]]
        head[2] = f"  {modes}:"[:27] if row is last else head[2]
        rows.append([*head, (seen["saw"] or "nothing", "" if good else "red"),
                     (verdict(seen), "" if good else "red")])
        last = row
    out.table(["limit", "set to", "the program", "sees", "the result"], rows)
    for row in data["limits"]:
        if row["why_not"]:
            out.line(f"  {row['limit']}: not run: {row['why_not']}", "grey")
    out.line()
    out.table(["no row of its own", "because it"],
              [[one["limit"], (one["why"], "grey")] for one in data["without_row"]], gap=2)
    out.problems(data["problems"])


def page(data, page):
    page.words(f"Modes: {', '.join(data['modes'])}.", "faint")
    page.words("A program uses more than each limit allows. Each also ran with what is allowed, "
               "and then worked. What it sees is what it wrote itself, and how it ended; every "
               "signal that can be caught would be seen before.")
    rows = []
    for row, modes, good, seen in table_rows(data):
        rows.append([row["limit"].removeprefix("Max "), short(row["set_to"]), row["does"],
                     short(row["below"]), short(row["above"]),
                     (modes or "all", "faint"), (seen["saw"] or "nothing", "yes" if good else "no"),
                     (verdict(seen), "yes" if good else "no"), seen["retry"],
                     (seen["hint"], "faint")])
    page.table(["limit", "set to", "the program", "allowed", "tried", "modes", "it sees",
                "the result", "retry", "hint"], rows)
    for row in data["limits"]:
        if row["why_not"]:
            page.words(f"{row['limit']}: not run: {row['why_not']}.", "faint")
    page.heading("Without a row of their own")
    page.table(["limit", "why"], [[one["limit"], one["why"]] for one in data["without_row"]])
