# SPDX-License-Identifier: Apache-2.0
"""Honest programs: those here, the repository's examples, and a file of HumanEval's form."""

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
OWN = HERE / "honest"
# Installed with the lab, or in the source tree.
EXAMPLES = [HERE / "examples", HERE.parents[2] / "examples"]
# The others there end badly, and are to.
HONEST_EXAMPLES = {"csv_report.py": ["sales.csv"]}
FIELDS = ("task_id", "prompt", "canonical_solution", "test", "entry_point")
CHECKED = "checked"
MOST = 64 << 20  # bytes, and as many of what was compressed: a file may have no end, or swell


class Honest(NamedTuple):
    source: str  # whose it is
    name: str
    code: str
    judged: str  # what a filter is shown
    inputs: tuple = ()  # (name, bytes) of files beside it


def own():
    for path in sorted(OWN.glob("*.py")):
        code = path.read_text(encoding="utf-8")
        yield Honest("own", path.name, code, code)


def examples():
    folder = next(one for one in EXAMPLES if one.is_dir())
    for name, inputs in HONEST_EXAMPLES.items():
        code = (folder / name).read_text(encoding="utf-8")
        yield Honest("example", name, code, code, tuple((one, (folder / one).read_bytes()) for one in inputs))


def human_eval(path):
    """The programs of a file of HumanEval's form, plain or compressed. ValueError says what is
    wrong with it in one line."""
    try:
        with open(path, "rb") as file:
            data = no_more(path, file)
        if data[:2] == b"\x1f\x8b":
            data = no_more(path, gzip.GzipFile(fileobj=io.BytesIO(data)))
        text = data.decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    found = [problem(path, number, line) for number, line in enumerate(text.splitlines(), 1)
             if line.strip()]
    if not found:
        raise ValueError(f"{path}: there is no program in it")
    return found


def no_more(path, file):
    data = file.read(MOST + 1)
    if len(data) > MOST:
        raise ValueError(f"{path}: more than {MOST >> 20} MiB")
    return data


def problem(path, number, line):
    try:
        row = json.loads(line)
        missing = [name for name in FIELDS if not isinstance(row[name], str)]
    except (ValueError, TypeError):
        raise ValueError(f"{path}: line {number} is no JSON object") from None
    except KeyError as error:
        missing = [error.args[0]]
    if missing:
        raise ValueError(f"{path}: line {number} has no text {missing[0]!r}, as HumanEval's has")
    wrote = row["prompt"] + row["canonical_solution"]
    check = f"\n{row['test']}\n\ncheck({row['entry_point']})\nprint({CHECKED!r})\n"
    return Honest("HumanEval", row["task_id"], wrote + check, wrote)
