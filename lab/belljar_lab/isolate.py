# SPDX-License-Identifier: Apache-2.0
"""Neither file system nor network isolation, one of them, both: what gets through?"""

import os
import socket
from collections.abc import Callable
from typing import NamedTuple

from belljar_lab import attack, caller, cells
from belljar_lab.attack import DONE
from belljar_lab.run import Disagreement, Run
from belljar_lab.show import Out

VERB = "isolate"
HELP = "no isolation of files and network, one of the two, both: why both are needed"

# Name: the layers removed. The table adds those that cannot be put up without them.
CONFIGURATIONS = {"neither": ("mount", "net"), "files only": ("net",), "network only": ("mount",),
                  "both": ()}


class Row(NamedTuple):
    id: str
    attack: Callable  # of a Run: the sign
    does: str
    success: str
    declared: tuple  # the sign in each configuration
    by_root: tuple = ()  # where that differs: a run has an id of its own then


# ---- The attacks ---------------------------------------------------------------------------------


def sends_it_now(run: Run):
    secret = run.world.secret()
    said = run.python(caller.SEND + f"send(open({str(secret.path)!r}, 'rb').read())")
    return run.judge(said, run.world.http.heard(secret.token))


def leaves_it_for_later(run: Run):
    secret, honest, server = run.world.secret(), run.world.token(), run.world.http
    outbox = run.world.dir("outbox")
    outbox.chmod(0o1777)
    run.world.file(text=honest, folder=outbox)
    said = run.python(f"""
with open({str(secret.path)!r}) as key, open({str(outbox / "note")!r}, "w") as note:
    note.write(key.read())
""")
    too_early = server.heard(secret.token)
    told = caller.run(run.world, [*caller.PYTHON, caller.SENDER, outbox])
    if too_early or not server.heard(honest):
        raise Disagreement(f"it is not the user's program that sends what lies there: {told}")
    return run.judge(said, server.heard(secret.token))


def asks_a_helper(run: Run, family):
    secret, helper = run.world.secret(mode=0o600), caller.Helper(run.world, family)
    said = run.python(helper.ask_text(secret.path))
    helper.must_work()
    return run.judge(said, run.world.http.heard(secret.token))


def asks_by_a_path(run: Run):
    return asks_a_helper(run, socket.AF_UNIX)


def asks_on_loopback(run: Run):
    return asks_a_helper(run, socket.AF_INET)


def plants_a_command(run: Run):
    home, token = run.world.dir("home"), run.world.token()
    profile, began, ran = home / ".profile", home / "began", home / "ran"
    profile.write_text(f"touch {began}\n")
    os.chown(profile, home.stat().st_uid, -1)
    said = run.python(f"""
with open({str(profile)!r}, "a") as profile:
    profile.write("echo {token} >{ran}\\n")
""")
    too_early = ran.exists()
    told = caller.run(run.world, ["/bin/sh", "-l", "-c", ":"], home)
    if too_early or not began.exists():
        raise Disagreement(f"it is not the user's shell that runs the user's profile: {told}")
    return run.judge(said, ran.exists() and token in ran.read_text())


def sends_what_it_was_given(run: Run):
    given = run.world.secret()
    said = run.python(caller.SEND + "send(sys.stdin.buffer.read())", "--stdin", given.path)
    return run.judge(said, run.world.http.heard(given.token))


# In the order of CONFIGURATIONS.
ROWS = [
    Row("send-now", sends_it_now,
        "reads a file of the user's and posts it to a public address at once",
        "the server there received the token",
        (DONE, "ENOENT", "ENETUNREACH", "ENOENT")),
    Row("leave-for-later", leaves_it_for_later,
        "writes it where a program of the user's finds it, which sends what lies there",
        "the server received the token once that program ran, and not before",
        (DONE, "ENOENT", DONE, "ENOENT")),
    Row("ask-helper-by-path", asks_by_a_path,
        "asks a helper of the user's, at a path socket, to send a file that only the user may read",
        "the server received the token",
        (DONE, "ENOENT", DONE, "ENOENT")),
    Row("ask-helper-on-loopback", asks_on_loopback,
        "asks the same of a helper on the loopback", "the server received the token",
        (DONE, DONE, "ECONNREFUSED", "ECONNREFUSED")),
    Row("plant-a-command", plants_a_command,
        "adds a command to the user's .profile; later a shell of the user's starts",
        "that shell ran the command",
        (DONE, "ENOENT", DONE, "ENOENT"), by_root=("EACCES", "ENOENT", "EACCES", "ENOENT")),
    Row("send-what-was-given", sends_what_it_was_given,
        "posts the data that it was given to work with", "the server received the token",
        (DONE, DONE, "ENETUNREACH", "ENETUNREACH")),
]


# ---- The table -----------------------------------------------------------------------------------


def attempt(worker, number, mode, out):
    return cells.judge_row(worker, ROWS[number], mode, out)


def expected(row, mode, name):
    signs = row.by_root if row.by_root and mode in attack.BY_ROOT else row.declared
    return signs[list(CONFIGURATIONS).index(name)]


def collect(lab, progress, layer=None):
    modes, gone = caller.modes(lab), {name: lab.table.closure(out)
                                      for name, out in CONFIGURATIONS.items()}
    keys = [(number, mode, name) for mode in modes for number in range(len(ROWS))
            for name in CONFIGURATIONS]
    got = lab.map([(mode, attempt, number, mode, gone[name]) for number, mode, name in keys],
                  progress)
    found = [{"attack": ROWS[number].id, "mode": mode, "configuration": name,
              "expected": expected(ROWS[number], mode, name), "sign": one.sign,
              "problem": one.problem, "ms": one.ms}
             for (number, mode, name), one in zip(keys, got)]
    through = {mode: {name: [cell["attack"] for cell in found if cell["sign"] == DONE
                             and (cell["mode"], cell["configuration"]) == (mode, name)]
                      for name in CONFIGURATIONS} for mode in modes}
    problems = [say(cell) for cell in found if cell["sign"] != cell["expected"]]
    problems += list(why_both(through))
    return {
        "schema": "belljar-lab.isolate/1", "ok": not problems, "problems": problems,
        "note": caller.not_narrowed(lab, layer),
        "modes": [{"name": mode, "what": attack.MODES[mode]} for mode in modes],
        "configurations": [{"name": name, "removed": list(out)} for name, out in gone.items()],
        "attacks": [{"id": row.id, "does": row.does, "success": row.success} for row in ROWS],
        "cells": found, "through": through,
    }


def say(cell):
    text = (f"{cell['attack']}, {cell['mode']}, {cell['configuration']}: declared "
            f"{cell['expected']}, observed {cell['sign'] or 'not judged'}")
    return text + (f"\n{cell['problem']}" if cell["problem"] else "")


def why_both(through):
    """Whether that is seen for which the table is made."""
    for mode, names in through.items():
        yield from (f"{mode}: {name} lets nothing through, so the other would not be needed"
                    for name in ("files only", "network only") if not names[name])
        if names["both"]:
            yield f"{mode}: with both, {', '.join(names['both'])} gets through"


# ---- What is shown -------------------------------------------------------------------------------

KEY = "O: it succeeds, seen from outside. Otherwise: the error with which it was stopped."
OWN_ID = ("EACCES: a run that root starts has an id of its own (layer user), which may not write "
          "to files of the user's.")


def cells_of(data, mode, row):
    """In the order of the configurations."""
    return [cell for cell in data["cells"]
            if (cell["mode"], cell["attack"]) == (mode["name"], row["id"])]


def sentences(data, mode):
    for one in data["configurations"]:
        ids = data["through"][mode["name"]][one["name"]]
        yield (f"{one['name']} ({' '.join(one['removed']) or 'nothing'} removed): "
               + (", ".join(ids) if ids else "nothing") + " got through")
    if mode["name"] in attack.BY_ROOT:
        yield OWN_ID


def names(data):
    return [one["name"] for one in data["configurations"]]


def show(data, out: Out):
    for mode in data["modes"]:
        out.title(f"isolate, mode {mode['name']}: {mode['what']}")
        out.table(["attack", *names(data)],
                  [[row["id"], *(mark(cell) for cell in cells_of(data, mode, row))]
                   for row in data["attacks"]], gap=3)
        out.line()
        for sentence in sentences(data, mode):
            out.wrap(sentence, indent="  ")
    out.line()
    out.wrap(KEY)
    for row in data["attacks"]:
        out.wrap(f"{row['id']}: {row['does']}. Success: {row['success']}.", indent="  ")
    if data["note"]:
        out.line(data["note"], "grey")
    out.problems(data["problems"])


def mark(cell):
    if cell["sign"] != cell["expected"]:
        return f"! {cell['sign']}", "red"
    return ("O", "yellow") if cell["sign"] == DONE else (cell["sign"], "green")


def page(data, page):
    page.words("Walls around the files only, or the network only, have a way round them. Each "
               f"attack was tried with neither, with one and with both. {KEY}")
    if data["note"]:
        page.words(data["note"], "faint")
    page.table(["attack", "what it does", "success is"],
               [[row["id"], row["does"], row["success"]] for row in data["attacks"]])
    for mode in data["modes"]:
        page.heading(f"Mode {mode['name']}: {mode['what']}")
        page.table(["attack", *names(data)],
                   [[row["id"], *(page_cell(cell) for cell in cells_of(data, mode, row))]
                    for row in data["attacks"]])
        for sentence in sentences(data, mode):
            page.words(sentence)


def page_cell(cell):
    text, colour = mark(cell)
    return text, {"red": "bad", "yellow": "no", "green": "yes"}[colour]
