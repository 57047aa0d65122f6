# SPDX-License-Identifier: Apache-2.0
"""Every known attack is carried out by a test here, or attacks.json says why it is not."""

import ast
import json
import re

import harness

LETTERS = {"A": 24, "B": 16, "C": 27, "D": 8, "E": 8, "F": 10, "G": 12, "H": 6, "I": 8, "J": 18, "K": 10,
           "L": 14}


def carried_out():
    """id -> tests, from the markers in the source."""
    found = {}
    for path in sorted(harness.HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            for mark in getattr(node, "decorator_list", []):
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "attack":
                    for word in mark.args:
                        found.setdefault(word.value, []).append(f"{path.name}::{node.name}")
    return found


def listed():
    return json.loads((harness.HERE / "attacks.json").read_text())


def test_every_attack_is_listed():
    assert set(listed()) == {f"{letter}{n:02}" for letter, most in LETTERS.items()
                             for n in range(1, most + 1)}


def test_every_attack_is_carried_out_or_has_a_reason():
    found = carried_out()
    for name, row in listed().items():
        assert set(row) in ({"what", "covered_by"}, {"what", "not_here"}), name
        if "covered_by" in row:
            assert sorted(row["covered_by"]) == sorted(found.get(name, [])), name
        else:
            assert name not in found and re.match(r"(broker|session|daemon|archive): ", row["not_here"]), name


def test_no_test_claims_an_attack_that_is_not_listed():
    unknown = set(carried_out()) - set(listed())
    assert not {name for name in unknown if not name.startswith("M")}, unknown
