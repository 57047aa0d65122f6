# SPDX-License-Identifier: Apache-2.0
"""The Python driver: results in several formats, data frames, figures."""

import base64
import importlib.util
import json

import pytest

import harness

PNG = b"\x89PNG\r\n\x1a\n"
ours = harness.PYTHON == "/usr/bin/python3"  # another interpreter need not have the packages
needs = {name: pytest.mark.skipif(not ours or not importlib.util.find_spec(name),
                                  reason=f"{harness.PYTHON} has no {name}")
         for name in ("matplotlib", "pandas")}


@pytest.mark.parametrize("method, value, mime, data", [
    ("html", "'<b>ü</b>'", "text/html", "<b>ü</b>".encode()),
    ("markdown", "'# m'", "text/markdown", b"# m"),
    ("latex", "'$x$'", "text/latex", b"$x$"),
    ("svg", "'<svg/>'", "image/svg+xml", b"<svg/>"),
    ("png", "b'\\x89PNG'", "image/png", b"\x89PNG"),
    ("png", repr(base64.b64encode(PNG).decode()), "image/png", PNG),
    ("jpeg", "(b'\\xff\\xd8', {'width': 1})", "image/jpeg", b"\xff\xd8"),
    ("json", "{'a': [1, None]}", "application/json", b'{"a": [1, null]}')])
def test_an_object_shows_itself(py, method, value, mime, data):
    cell = py.ok(f"class A:\n    def _repr_{method}_(self): return {value}\n"
                 "    def __repr__(self): return 'A()'\nA()")
    assert cell.results == [{"text/plain": b"A()", mime: data}]


def test_a_bundle_has_what_it_has_and_a_class_is_no_object(py):
    cell = py.ok("class A:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                 "        return {'text/html': 'h', 'application/x.y+json': {'k': 1}, 'text/plain': 'p'}, {}\n"
                 "    def _repr_markdown_(self): return None\nA()")
    assert cell.results == [{"text/plain": b"p", "text/html": b"h", "application/x.y+json": b'{"k": 1}'}]
    assert list(py.ok("A").results[0]) == ["text/plain"]


def test_json_that_is_none_is_left_out(py):
    cell = py.ok("class A:\n    def _repr_json_(self): return float('nan')\nA()")
    assert list(cell.results[0]) == ["text/plain"] and "_repr_json_ of A" in cell.stderr


def test_display_is_there_without_import(py):
    cell = py.ok("for i in range(2): display(i, 'x')\n'last'")
    assert [d["text/plain"] for d in cell.displays] == [b"0", b"'x'", b"1", b"'x'"]
    assert cell.text == "'last'"
    assert py.ok("display({'text/html': '<i>'}, raw=True)").displays == [{"text/html": b"<i>"}]
    assert py.run("1; display(1); 1/0").displays == [{"text/plain": b"1"}]


def test_ipython_display_is_there(py, tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8jpeg")
    cell = py.ok("from IPython.display import display, HTML, Markdown, Image, JSON, SVG, clear_output\n"
                 "import IPython\nassert IPython.get_ipython() is None\nclear_output()\n"
                 "display(Markdown('*m*'), Image(filename='a.jpg'), JSON([1]))\nHTML('<p>')")
    assert [list(d)[1] for d in cell.displays] == ["text/markdown", "image/jpeg", "application/json"]
    assert cell.displays[1]["image/jpeg"] == b"\xff\xd8jpeg"
    assert cell.results[0]["text/html"] == b"<p>"


def test_ipython_is_not_pretended_to_be_loaded(py):
    assert py.ok("import sys; 'IPython' in sys.modules").text == "False"


@needs["pandas"]
def test_a_data_frame_is_text_html_and_json(py):
    cell = py.ok("import pandas as pd\npd.DataFrame({'a': range(1500), 'b': 'x'})")
    formats = cell.results[0]
    assert list(formats) == ["text/plain", "application/json", "text/html"]
    table = json.loads(formats["application/json"])
    assert table["columns"] == ["a", "b"] and len(table["data"]) == 1000
    assert table["data"][999] == [999, "x"]
    assert b"<table" in formats["text/html"] and b"1500 rows" in formats["text/plain"]
    assert list(py.ok("pd.Series([1])").results[0]) == ["text/plain"]


def test_a_table_of_another_library_is_one_too(py):
    cell = py.ok("class T:\n    columns = ['a']\n    def head(self, n): return self\n"
                 "    def fill_nan(self, value): return self\n    def rows(self): return [(1,), (None,)]\n    def _repr_html_(self): return '<table>'\nT()")
    assert cell.json() == {"columns": ["a"], "data": [[1], [None]]}


@needs["matplotlib"]
def test_open_figures_are_shown_at_the_end_of_a_cell(py):
    cell = py.ok("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()\nplt.plot([3]);")
    assert [d["image/png"][:8] for d in cell.displays] == [PNG, PNG]
    assert cell.stderr == ""
    assert py.ok("plt.get_fignums()").text == "[]"
    assert py.ok("1").displays == []


@needs["matplotlib"]
def test_show_shows_at_once_and_once(py):
    cell = py.ok("from matplotlib import pyplot as plt\nplt.plot([1])\nplt.show(block=True)\n"
                 "display('between')\nplt.plot([2])\nplt.show()")
    assert ["image/png" in d for d in cell.displays] == [True, False, True]
    assert cell.stderr == ""


@needs["matplotlib"]
def test_a_figure_as_result_is_shown_once(py):
    cell = py.ok("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])\nfig")
    assert cell.results[0]["image/png"].startswith(PNG) and cell.displays == []
    assert py.ok("display(fig)").displays[0]["image/png"].startswith(PNG)


@needs["matplotlib"]
def test_a_figure_of_a_cell_that_failed_is_shown(py):
    cell = py.run("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
    assert cell.status == "error" and cell.displays[0]["image/png"].startswith(PNG)


@needs["matplotlib"]
def test_a_figure_that_cannot_be_drawn_does_not_stay(py):
    cell = py.ok("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.title('$\\\\bad{$')\nNone")
    assert "savefig" in cell.stderr and "image/png" not in cell.displays[0]
    assert py.ok("1").displays == []


def test_the_backend_is_set_unless_it_was(tmp_path):
    for given, expected in ((None, "Agg"), ("svg", "svg")):
        driver = harness.python(tmp_path, {"MPLBACKEND": given} if given else None)
        assert driver.ok("import os; os.environ['MPLBACKEND']").text == repr(expected)
        driver.close()
