# SPDX-License-Identifier: Apache-2.0
"""A filter on the code is no sandbox: attacks that filters let pass, and honest programs that they
refuse, beside the same in Belljar.

Each spelling of an attack is first run without a sandbox, where it must work, as seen from outside;
each honest program too, and what it prints in Belljar must be what it prints there.
"""

from belljar_lab import attack
from belljar_lab.filtered import programs, spellings, trial
from belljar_lab.filtered.filters import FILTERS
from belljar_lab.show import Out

VERB = "filter"
HELP = "filters on code: which attacks they let pass, and which honest programs they refuse"
BELLJAR = "Belljar"
# What an agent is: an ordinary user, with a cgroup where there is one.
PREFERRED = (attack.USER_CGROUP, attack.USER, attack.ROOT_CGROUP, attack.ROOT)


def collect(lab, progress, layer=None):
    """The spellings are those of the attacks that were chosen; `lab.honest` are programs beside those
    that are always tried. There are no layers in this."""
    mode = next(mode for mode in PREFERRED if mode in lab.modes)
    chosen = {row.id for row in lab.table.attacks}
    families = [family for family in spellings.families()
                if lab.table.whole or family.NAME in chosen]
    rows = [(family, row) for family in families for row in family.ROWS]
    good = [*programs.own(), *programs.examples(), *lab.honest]
    jobs = [(mode, trial.try_spelling, mode, family.NAME, row.code) for family, row in rows]
    jobs += [(mode, trial.try_honest, mode, f"program-{number}.py", *one[2:])
             for number, one in enumerate(good)]
    got = lab.map(jobs, progress)
    attacks = [{"family": family.NAME, "name": row.name, "how": row.how, **seen}
               for (family, row), seen in zip(rows, got)]
    honest = [{"from": one.source, "name": one.name, **seen}
              for one, seen in zip(good, got[len(rows):])]
    problems = [*attack_problems(attacks), *honest_problems(honest)]
    sources = list(dict.fromkeys(one["from"] for one in honest))
    return {
        "schema": "belljar-lab.filter/1", "ok": not problems, "problems": problems, "mode": mode,
        "families": [{"name": family.NAME, "does": family.DOES, "success": family.SUCCESS}
                     for family in families],
        "sources": sources,
        "left_out": None if "HumanEval" in sources
        else "HumanEval: give its file with --honest FILE",
        "filters": [counts(one.name, one.what, attacks, honest) for one in FILTERS]
        + [counts(BELLJAR, "the code is run in it, whatever it says", attacks, honest)],
        "spellings": attacks, "honest": honest,
    }


def attack_problems(attacks):
    for one in attacks:
        name, said = f"{one['family']}, {one['name']}", one["belljar"]["sign"]
        if not one["bare"]["works"]:
            yield (f"{name}: it does not work without a sandbox, so it shows nothing\n"
                   + one["bare"]["said"])
        elif one["belljar"]["works"]:
            yield f"{name}: it works in {BELLJAR}"
        elif not one["belljar"]["attacked"]:
            yield f"{name}: in {BELLJAR} it ends with {said} before it attacks"


def honest_problems(honest):
    for one in honest:
        name = f"{one['from']} program {one['name']}"
        if not one["bare"]["fine"]:
            yield f"{name}: it fails without a sandbox, so it shows nothing\n{one['bare']['said']}"
        elif not one["belljar"]["fine"]:
            yield (f"{name}: in {BELLJAR} it does not end as without: {one['belljar']['sign']}\n"
                   + one["belljar"]["said"])


# ---- Counting ------------------------------------------------------------------------------------


def passes(one, name):
    """Whether an attack gets through."""
    return one["belljar"]["works"] if name == BELLJAR else one["filters"][name] is None


def refuses(one, name):
    """Whether an honest program is refused."""
    return not one["belljar"]["fine"] if name == BELLJAR else one["filters"][name] is not None


def share(rows, test, name):
    return {"count": sum(test(one, name) for one in rows), "of": len(rows)}


def counts(name, what, attacks, honest):
    families = dict.fromkeys(one["family"] for one in attacks)
    sources = dict.fromkeys(one["from"] for one in honest)
    return {
        "name": name, "what": what, "passed": share(attacks, passes, name),
        "refused": share(honest, refuses, name),
        "passed_by_family": {family: share([one for one in attacks if one["family"] == family],
                                           passes, name) for family in families},
        "refused_by_source": {source: share([one for one in honest if one["from"] == source],
                                            refuses, name) for source in sources},
    }


# ---- The terminal --------------------------------------------------------------------------------


def told(share, bad="red", good="green"):
    return f"{share['count']} of {share['of']}", bad if share["count"] else good


def summary(data):
    """(head, rows): attacks that pass and honest programs that are refused, by filter."""
    sources = data["sources"]
    rows = [[one["name"], told(one["passed"]), told(one["refused"]),
             *(told(one["refused_by_source"][source]) for source in sources)]
            for one in data["filters"]]
    head = ["filter", "attacks that pass", "honest refused", *(f"({one})" for one in sources)]
    return head, rows


def by_family(data):
    names = [one["name"] for one in data["filters"]]
    rows = [[family["name"], *(told(one["passed_by_family"][family["name"]])
                               for one in data["filters"])]
            for family in data["families"]]
    return ["attacks that pass", *names], rows


def through_all(data):
    """Spellings that no filter stops."""
    return [f"{one['family']}/{one['name']}" for one in data["spellings"]
            if not any(one["filters"].values())]


def show(data, out: Out):
    out.title(f"filter: filters on code beside {BELLJAR}, mode {data['mode']}: "
              f"{attack.MODES[data['mode']]}")
    out.line("  Each spelling of an attack works where there is no sandbox, as seen from outside.",
             "grey")
    if data["left_out"]:
        out.line(f"  Left out: {data['left_out']}", "grey")
    for rows in (data["filters"], data["families"]):
        out.line()
        out.table(["", "", ""], [["", one["name"], (one.get("what") or one["does"], "grey")]
                                 for one in rows], gap=2)
    for head, rows in (summary(data), by_family(data)):
        out.line()
        out.table(head, rows, gap=2)
    out.line()
    through = through_all(data)
    if through:
        out.wrap(f"No filter stops {len(through)} spellings: {', '.join(through)}.")
    out.problems(data["problems"])


# ---- The page ------------------------------------------------------------------------------------


def page(data, page):
    kinds = {"red": "no", "green": "yes", "grey": "faint"}

    def table(head, rows):
        page.table(head, [[(cell[0], kinds[cell[1]]) if isinstance(cell, tuple) else cell
                           for cell in row] for row in rows])
    page.words("Filters read the code and let it pass or not; a sandbox runs it, whatever it says. "
               f"In Belljar it was run in mode {data['mode']}: {attack.MODES[data['mode']]}.")
    if data["left_out"]:
        page.words(f"Left out: {data['left_out']}.", "faint")
    for one in data["filters"]:
        page.words(f"{one['name']}: {one['what']}.")
    table(*summary(data))
    table(*by_family(data))
    for family in data["families"]:
        page.words(f"{family['name']} {family['does']}; success: {family['success']}.", "faint")
    names = [one.name for one in FILTERS]
    page.heading("Each spelling: what each filter says, and how it ended in Belljar")
    page.table(["attack", "spelling", "", *names, BELLJAR], [
        [one["family"], one["name"], (one["how"], "faint"),
         *(verdict(one["filters"][name], "no") for name in names),
         ("it works", "done") if one["belljar"]["works"] else (one["belljar"]["sign"], "yes")]
        for one in data["spellings"]])
    refused = [one for one in data["honest"] if any(one["filters"].values())]
    page.heading(f"Honest programs that a filter refuses: {len(refused)} of {len(data['honest'])}")
    page.table(["from", "program", *names, BELLJAR], [
        [one["from"], one["name"], *(verdict(one["filters"][name], "faint") for name in names),
         ("runs", "yes") if one["belljar"]["fine"] else (one["belljar"]["sign"], "no")]
        for one in refused])


def verdict(why, passed):
    return ("passes", passed) if why is None else (why, "")
