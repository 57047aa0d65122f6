# SPDX-License-Identifier: Apache-2.0
"""Each layer is left out, and the attack that it stops then succeeds: the lab's rows, those cells
in which something changes. `belljar-lab ablate` runs all of them.

And the lab is believed only because it fails where it must: declarations that are wrong, oracles
that are broken and rows that make no sense are planted in it.
"""

import dataclasses
import re

import pytest

import seams
from belljar_lab import ablate, attack, attacks, cells, host, ladder, page

LAYERS = seams.table()["layers"]
TABLE = attack.Table(attacks.ROWS, LAYERS, host.facts())
CASES = [(row, mode) for row in TABLE.attacks for mode, why_not in host.modes().items()
         if why_not is None and TABLE.why_not(row, mode) is None]
READS = "read-host-file"


@pytest.fixture(scope="module")
def lab():
    with cells.Lab(seams.LAB) as one:
        yield one


@pytest.mark.parametrize(("row", "mode"), CASES, ids=[f"{row.id}-{mode}" for row, mode in CASES])
def test_what_stops_it_is_what_is_declared(lab, row, mode):
    stoppers = TABLE.stoppers(row, mode)
    outs = [(), tuple(stoppers), *((name,) for name in stoppers), *TABLE.seconds(row, mode)]
    wanted = {cells.Cell(row.id, mode, out): TABLE.expected(row, mode, out) for out in outs}
    assert wanted[cells.Cell(row.id, mode, ())] != attack.DONE
    assert wanted[cells.Cell(row.id, mode, tuple(stoppers))] == attack.DONE
    seen = lab.observe(wanted)
    assert {cell: one.sign for cell, one in seen.items()} == wanted, \
        [one.problem for one in seen.values() if one.problem]


def test_the_table_makes_sense():
    assert list(TABLE.problems()) == []


# ---- Planted -----------------------------------------------------------------------------------


def planted(**changes):
    """The table with one row changed."""
    rows = [dataclasses.replace(row, **changes) if row.id == READS else row for row in TABLE.attacks]
    return attack.Table(rows, LAYERS, host.facts())


@pytest.mark.parametrize(("changes", "said"), [
    ({"stops": (("moun", "ENOENT"),)}, f"attack {READS}: it is stopped by moun, and there is no"),
    ({"stops": ()}, f"attack {READS}: nothing stops it"),
    ({"stops": (("mount", "done"),)}, "mount is said to stop it with 'done'"),
    ({"stops": (("mount", "ENOENT", ("rot",)),)}, "there is no mode rot"),
    ({"stops": (("mount", "ENOENT", ("root",), "luck"),)}, "nobody knows the fact luck"),
    ({"needs": ("luck",)}, "it needs luck, and nobody knows that fact"),
    ({"without": {"nett": "done"}}, "without nett: there is no such layer"),
    ({"group": "Z"}, "there is no group Z"),
    ({"id": "fork-bomb"}, "attack fork-bomb: there are two of that id"),
])
def test_a_row_that_makes_no_sense_is_found(changes, said):
    assert any(said in problem for problem in planted(**changes).problems())


def test_a_layer_without_an_attack_is_found():
    rows = [row for row in TABLE.attacks if "uts" not in str(row.stops)]
    problems = list(attack.Table(rows, LAYERS, host.facts()).problems())
    assert problems == ["layer uts: no attack is stopped by it alone, and its row does not say why"]


def test_a_second_wall_that_no_attack_shows_is_found():
    rows = [row for row in TABLE.attacks if "landlock" not in str(row.stops)]
    assert any(problem.startswith("layer landlock: others stop the same")
               for problem in attack.Table(rows, LAYERS, host.facts()).problems())


@pytest.mark.parametrize("verb", [ablate, ladder], ids=["ablate", "ladder"])
@pytest.mark.parametrize("stops", [(("net", "ENOENT"),), (("mount", "EACCES"),)],
                         ids=["wrong-layer", "wrong-sign"])
def test_a_wrong_declaration_fails(lab, monkeypatch, stops, verb):
    row = dataclasses.replace(next(row for row in TABLE.attacks if row.id == READS), stops=stops)
    monkeypatch.setattr(lab, "table", attack.Table([row], LAYERS, host.facts(), whole=False))
    monkeypatch.setattr(lab, "modes", ["user"])
    data = verb.collect(lab, None)
    assert not data["ok"] and data["problems"]
    assert all(problem.startswith(f"{READS}, user, with") for problem in data["problems"])


def says_so(one):
    return one.python("pass", leaks=one.world.token())


def run_planted(worker):
    row = dataclasses.replace(cells.ROWS[READS], attack=says_so)
    return cells.judge_row(worker, row, "user", ())


def test_an_oracle_that_is_broken_fails(lab):
    """The program says that it worked, and nothing of it is seen."""
    got = lab.call("user", run_planted)
    assert got.sign == "" and "outside it is not seen to have worked" in got.problem


def test_the_page_is_whole_and_fetches_nothing(lab, monkeypatch, tmp_path):
    rows = [row for row in TABLE.attacks if row.id == READS]
    monkeypatch.setattr(lab, "table", attack.Table(rows, LAYERS, host.facts(), whole=False))
    monkeypatch.setattr(lab, "modes", ["user"])
    path, facts = tmp_path / "report.html", {"kernel": "<b>"}
    page.write(path, [ablate], {"ablate": ablate.collect(lab, None)}, facts)
    text = path.read_text()
    assert text.count('title="without mount: done"') == 1 and "&lt;b&gt;" in text
    assert not re.search(r'(src|href)=(?!"#)|<script|url\(|@import', text)
