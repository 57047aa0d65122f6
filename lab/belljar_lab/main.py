# SPDX-License-Identifier: Apache-2.0
"""The command line of belljar-lab: one verb for each table, and all of them."""

import argparse
import errno
import importlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys

from belljar_lab import attack, attacks, outer, page, picture, show
from belljar_lab.cells import Lab
from belljar_lab.filtered import programs

# In the order in which `all` runs them; a module each, with VERB, HELP, collect() and show(). One
# that `all` leaves out says IN_ALL = False.
VERBS = [importlib.import_module(f"belljar_lab.{name}")
         for name in ("quick", "ablate", "ladder", "limits", "compare", "isolate", "harm", "filter")]

EPILOG = """Everything runs in user, mount, pid, network, host name and IPC namespaces made for it,
in which no id is the host's root; there is no option that runs an attack outside of them. It ends 0
only if everything that was observed is what the attacks' rows declare, 1 otherwise, 2 if it was not
asked rightly or cannot be done here."""


class Asked(Exception):
    """What was asked for cannot be; one line says why."""


def parser():
    top = argparse.ArgumentParser(
        prog="belljar-lab", epilog=EPILOG,
        description="Attacks Belljar on this host, with its layers removed one at a time.")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for module in VERBS:
        add_options(verbs.add_parser(module.VERB, help=module.HELP, description=module.HELP))
    one = verbs.add_parser("all", help="all of these", description="every table")
    add_options(one)
    for name in ("ablate", "all"):
        verbs.choices[name].add_argument("--svg", metavar="FILE",
                                         help="also write the table of ablate as a picture")
    for name in ("filter", "all"):
        verbs.choices[name].add_argument(
            "--honest", metavar="FILE", help="honest programs that filter tries besides, in the form"
            " of HumanEval.jsonl.gz")
    verbs.add_parser("list", help="the attacks, without running any").add_argument(
        "--markdown", action="store_true", help="with all that each row declares")
    return top


def add_options(verb):
    verb.add_argument("--json", action="store_true", help="one JSON object on stdout")
    verb.add_argument("--html", metavar="FILE", help="also write one page with all of it")
    verb.add_argument("--attack", metavar="ID", action="append", help="only this attack; repeats")
    verb.add_argument("--layer", metavar="NAME", help="only this layer")
    verb.add_argument("--mode", metavar="MODE", action="append",
                      help=f"only this mode, of {', '.join(attack.MODES)}; repeats")
    verb.add_argument("--quiet", action="store_true", help="no progress on stderr")


def shown(name):
    """Fit for a line, however long it is."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def chosen_rows(ids):
    known = {row.id: row for row in attacks.ROWS}
    for name in ids or ():
        if name not in known:
            raise Asked(f"there is no attack {shown(name)}; `belljar-lab list` prints them")
    return [row for row in attacks.ROWS if not ids or row.id in ids]


def open_lab(binaries, args):
    rows = chosen_rows(args.attack)
    for mode in args.mode or ():
        if mode not in attack.MODES:
            raise Asked(f"there is no mode {shown(mode)}; there are {', '.join(attack.MODES)}")
    try:
        lab = Lab(binaries, rows, args.mode, whole=not args.attack)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Asked(f"{binaries}: the lab's programs do not start: {error}") from None
    if args.layer and args.layer not in lab.table.names:
        raise Asked(f"there is no layer {shown(args.layer)}; there are {', '.join(lab.table.names)}")
    if not lab.modes:
        raise Asked("; ".join(f"mode {mode}: {lab.why_not[mode]}" for mode in args.mode))
    return lab


def writable(path):
    """Before minutes of work: can the page be written?"""
    if path:
        try:
            with open(path, "a", encoding="utf-8"):
                pass
        except OSError as error:
            raise Asked(f"{path}: {error.strerror}") from None


def honest_programs(args):
    path = getattr(args, "honest", None)
    try:
        return [] if path is None else programs.human_eval(path)
    except ValueError as error:
        raise Asked(error) from None


def run_verbs(binaries, args):
    args.svg = getattr(args, "svg", None)
    for path in (args.html, args.svg):
        writable(path)
    honest = honest_programs(args)
    lab = open_lab(binaries, args)
    lab.honest = honest
    data, out = {}, show.Out()
    with lab:
        for module in VERBS:
            if args.verb == module.VERB or args.verb == "all" and getattr(module, "IN_ALL", True):
                progress = show.Progress(module.VERB, args.quiet)
                data[module.VERB] = module.collect(lab, progress, layer=args.layer)
                progress.end()
                if not args.json:
                    module.show(data[module.VERB], out)
    good = all(one["ok"] for one in data.values())
    facts = lab.host_facts()
    if args.html:
        page.write(args.html, VERBS, data, facts)
    if args.svg:
        picture.write(args.svg, data["ablate"])
    if args.json:
        whole = {"schema": "belljar-lab/1", "ok": good, "host": facts, "tables": data}
        json.dump(whole, sys.stdout, indent=1)
        print()
    else:
        out.line()
        out.line("Everything observed is as declared." if good else
                 "Something is not as declared: see above.", "green" if good else "red")
        for what, path in (("page", args.html), ("picture", args.svg)):
            if path:
                out.line(f"The {what}: {path}")
    return 0 if good else 1


def list_attacks(markdown):
    if markdown:
        print(attack.markdown(attacks.ROWS), end="")
    else:
        show.Out().table(["", "attack", "what it does"],
                         [[row.group, row.id, row.does] for row in attacks.ROWS], gap=2)
    return 0


def ended(*_):
    """Nothing is left behind by a lab that is told to end."""
    raise SystemExit(143)


# A disk or a quota that is full, where the output goes mostly.
CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def nobody_reads(file):
    """Whether it is a pipe whose reader has gone."""
    poll = select.poll()
    poll.register(file, 0)
    return bool(poll.poll(0))


def drop(files):
    """What is left in them goes nowhere, so that the interpreter's own end says nothing of it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for file in files:
        os.dup2(nowhere, file.fileno())


def main(libexecdir):
    """The whole command: its exit status. Without a reader it ends as quietly as other tools do."""
    try:
        try:
            return command(libexecdir)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        gone = [file for file in (sys.stdout, sys.stderr) if nobody_reads(file)]
        if not gone:
            raise
        drop(gone)
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in CANNOT_WRITE:
            raise
        drop([sys.stdout])
        where = error.filename or "the output"
        print(f"belljar-lab: cannot write {where}: {error.strerror}", file=sys.stderr)
        return 2


def command(binaries):
    args = parser().parse_args()
    signal.signal(signal.SIGTERM, ended)
    try:
        return list_attacks(args.markdown) if args.verb == "list" else run_verbs(binaries, args)
    except (Asked, outer.Refused) as error:
        print(f"belljar-lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
