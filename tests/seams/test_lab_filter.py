# SPDX-License-Identifier: Apache-2.0
"""What the lab's verb `filter` says is what it observed, and it says so when something is not.

Each filter is asked for a piece of code that it lets pass and for one close to it that it refuses;
then everything is run, and spellings and programs that are wrong are planted.
"""

import functools
import gzip
import io
import json

import pytest

import seams
from belljar_lab import cells, filter, host, page, run, show
from belljar_lab.filtered import filters, programs, spellings, trial

MODE = "user"  # what everybody has who can start the lab
FAMILIES = {family.NAME: family for family in spellings.families()}
PATTERNS, DENIALS, ALLOWED = (one.refuses for one in filters.FILTERS)

# ---- The filters -------------------------------------------------------------------------------

PAIRS = [  # filter, what passes, what is refused
    (PATTERNS, "import json, posixpath", "import json, os"),
    (PATTERNS, "from ossaudio import x", "from os import path"),
    (PATTERNS, "re.compile('a')", "compile('a', 'b', 'exec')"),
    (PATTERNS, "gzip.open('a')", "print(open('a'))"),
    (PATTERNS, "radio.open(1)", "io.open('a')"),
    (PATTERNS, "position = 4", "os.getcwd()"),
    (PATTERNS, "name = 'Kernel'", "name = x.__class__"),
    (PATTERNS, "while True: work()", "while True: pass"),
    (DENIALS, "import json", "import subprocess as json"),
    (DENIALS, "import xml.dom", "import os.path"),
    (DENIALS, "from shutil_like import copy", "from shutil import copy"),
    (DENIALS, "print(random.random)", "print(random._os)"),
    (DENIALS, "error.code", "tempfile.shutil"),
    (DENIALS, "re.compile('a')", "compile('a', 'b', 'exec')"),
    (DENIALS, "text = 'eval(1)'", "f = eval"),
    (DENIALS, "open('data/a.csv')", "open('/etc/hostname')"),
    (DENIALS, "open('a..b')", "open('data/../../a')"),
    (DENIALS, "open('a')", "open(name)"),
    (DENIALS, "getattr(x, 'size')", "getattr(x, '__class__')"),
    (DENIALS, "getattr(x, 'size', 0)", "getattr(x, 'si' + 'ze')"),
    (DENIALS, "x.__init__", "x.__init__.__globals__"),
    (DENIALS, "import json", "import ｏｓ"),
    (ALLOWED, "import json, math", "import json, pathlib"),
    (ALLOWED, "from collections.abc import Sized", "from concurrent.futures import Future"),
    (ALLOWED, "self._size", "x._size"),
    (ALLOWED, "x.open('a')", "open('a')"),
    (ALLOWED, "type(x)", "x.__class__"),
    (ALLOWED, "print('a')", "print('a'"),
]


@pytest.mark.parametrize(("refuses", "passes", "refused"), PAIRS, ids=[pair[2] for pair in PAIRS])
def test_a_filter_tells_the_one_from_the_other(refuses, passes, refused):
    assert refuses(passes) is None
    assert refuses(refused)


def test_a_refusal_names_the_line():
    assert DENIALS("x = 1\n\nimport os\n") == "line 3: import os"
    assert PATTERNS("x = 1\n\nimport os\n") == "line 3: import os"
    assert ALLOWED("x = 1\n\nimport os\n") == "line 3: import os"


# ---- A file of HumanEval's form ----------------------------------------------------------------

GOOD = {"task_id": "T/0", "prompt": "def f(x):\n", "canonical_solution": "    return x + 1\n",
        "test": "def check(f):\n    assert f(1) == 2\n", "entry_point": "f"}


def test_a_file_is_read_plain_or_compressed(tmp_path):
    plain, packed, text = tmp_path / "a", tmp_path / "b", json.dumps(GOOD) + "\n\n"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    [one] = programs.human_eval(plain)
    assert [one] == programs.human_eval(packed)
    assert one.judged == "def f(x):\n    return x + 1\n" and one.code.startswith(one.judged)


@pytest.mark.parametrize(("content", "said"), [
    (b"", "there is no program in it"),
    (b"{", "line 1 is no JSON object"),
    (b"\n[]", "line 2 is no JSON object"),
    (json.dumps({**GOOD, "test": 1}).encode(), "line 1 has no text 'test'"),
    (json.dumps({"task_id": "T/0"}).encode(), "line 1 has no text 'prompt'"),
    (b"\xff\xff", "'utf-8' codec can't decode"),
    (gzip.compress(json.dumps(GOOD).encode())[:-9], "Compressed file ended"),
])
def test_a_file_of_another_form_is_said_in_one_line(tmp_path, content, said):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="^[^\n]*$") as error:
        programs.human_eval(path)
    assert str(error.value).startswith(f"{path}: ") and said in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ValueError, match="No such file or directory"):
        programs.human_eval(tmp_path / "none")


def test_a_file_without_end_or_one_that_swells_is_not_read_whole(tmp_path, monkeypatch):
    line = json.dumps(GOOD).encode()
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(line)
    packed.write_bytes(gzip.compress(line))
    monkeypatch.setattr(programs, "MOST", len(line))
    assert programs.human_eval(plain) == programs.human_eval(packed) != []
    with pytest.raises(ValueError, match="^/dev/zero: more than"):
        programs.human_eval("/dev/zero")
    packed.write_bytes(gzip.compress(line + b"\n" * 1000))
    assert packed.stat().st_size < len(line)
    with pytest.raises(ValueError, match="packed: more than"):
        programs.human_eval(packed)


# ---- All of it ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab():
    if host.modes()[MODE] is not None:
        pytest.skip(host.modes()[MODE])
    with cells.Lab(seams.LAB, modes=[MODE]) as one:
        yield one


@pytest.fixture(scope="module")
def data(lab):
    lab.honest = [programs.problem("planted", 1, json.dumps(GOOD))]
    return filter.collect(lab, None)


def test_nothing_of_it_is_a_problem(data):
    assert data["ok"] and data["problems"] == []
    assert data["schema"] == "belljar-lab.filter/1" and json.dumps(data)


def test_every_spelling_works_without_a_sandbox_and_none_in_belljar(data):
    assert len(data["spellings"]) >= 40
    assert {one["family"] for one in data["spellings"]} == set(FAMILIES)
    assert all(one["bare"]["works"] for one in data["spellings"])
    assert not any(one["belljar"]["works"] for one in data["spellings"])


def test_every_honest_program_runs_in_belljar(data):
    assert sum(one["from"] == "own" for one in data["honest"]) >= 40
    assert {"own", "example", "HumanEval"} == {one["from"] for one in data["honest"]}
    assert all(one["bare"]["fine"] and one["belljar"]["fine"] for one in data["honest"])


def test_each_filter_lets_attacks_pass_and_refuses_honest_programs(data):
    *filtered, belljar = data["filters"]
    assert [one["name"] for one in filtered] == [one.name for one in filters.FILTERS]
    for one in filtered:
        assert 0 < one["passed"]["count"] < one["passed"]["of"], one["name"]
        assert 0 < one["refused"]["count"] < one["refused"]["of"], one["name"]
    assert belljar["passed"]["count"] == belljar["refused"]["count"] == 0


def test_it_is_shown_in_the_width_and_on_the_page(data, tmp_path):
    text = io.StringIO()
    filter.show(data, show.Out(text))
    assert max(map(len, text.getvalue().splitlines())) < 120
    page.write(tmp_path / "a.html", [filter], {"filter": data}, {})
    written = (tmp_path / "a.html").read_text()
    assert all(f"<td class=\"\">{one['name']}</td>" in written for one in data["spellings"])


# ---- Planted -----------------------------------------------------------------------------------


def planted(lab, monkeypatch, family, code, honest=()):
    """The table with one spelling, and those honest programs."""
    row = spellings.Spelling("planted", "planted", code)
    monkeypatch.setattr(FAMILIES[family], "ROWS", [row])
    monkeypatch.setattr(spellings, "families", lambda: [FAMILIES[family]])
    monkeypatch.setattr(programs, "own", lambda: ())
    monkeypatch.setattr(programs, "examples", lambda: ())
    lab.honest = [programs.Honest("own", f"{at}", code, code) for at, code in enumerate(honest)]
    return filter.collect(lab, None)


@pytest.mark.parametrize(("family", "code", "said"), [
    ("read-host-file", "print('done')", "it does not work without a sandbox"),
    ("phone-home", "print('@TOKEN@')", "it does not work without a sandbox"),
    ("exhaust-memory", "held = 'x' * 100_000_000", "it does not work without a sandbox"),
    ("fork-bomb", "print('done')", "it does not work without a sandbox"),
    ("persist", "print('@TOKEN@')", "it does not work without a sandbox"),
    ("read-host-file", "import os\nif os.getcwd() == '/workspace':\n    undefined\n"
     "print(open('@PATH@').read())", "in Belljar it ends with NameError before it attacks"),
])
def test_a_spelling_that_is_none_is_found(lab, monkeypatch, family, code, said):
    got = planted(lab, monkeypatch, family, code)
    assert not got["ok"] and len(got["problems"]) == 1 and said in got["problems"][0]


def without_net(worker):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "Run", functools.partial(run.Run, without=("net",)))
        return trial.try_spelling(worker, MODE, "phone-home", FAMILIES["phone-home"].ROWS[0].code)


def test_a_spelling_that_works_in_belljar_is_found(lab):
    one = {"family": "phone-home", "name": "planted", **lab.call(MODE, without_net)}
    assert list(filter.attack_problems([one])) == ["phone-home, planted: it works in Belljar"]
    assert filter.counts(filter.BELLJAR, "", [one], [])["passed"] == {"count": 1, "of": 1}


@pytest.mark.parametrize(("code", "said"), [
    ("raise SystemExit(3)", "it fails without a sandbox"),
    ("print(end='')", "it fails without a sandbox"),
    ("import os\nprint(os.getcwd())", "in Belljar it does not end as without: exit 0"),
    ("import os\nif os.getcwd() == '/workspace':\n    raise SystemExit(3)\nprint(1)",
     "in Belljar it does not end as without: exit 3"),
])
def test_a_program_that_is_not_honest_is_found(lab, monkeypatch, code, said):
    got = planted(lab, monkeypatch, "read-host-file", "print(open('@PATH@').read())", [code])
    assert not got["ok"] and len(got["problems"]) == 1 and said in got["problems"][0]
    assert got["filters"][-1]["refused"]["count"] == ("in Belljar" in said or "Exit" in code)
