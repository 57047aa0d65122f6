# SPDX-License-Identifier: Apache-2.0
"""Spellings of the five attacks: a module for each, with NAME, DOES, SUCCESS and ROWS.

To add one, write a row: a name, how it is spelled, and the code. In the code stand @PATH@ for the
file that is to be read, @HOME@ for the home that is to be changed, @HOST@ for who is to be called
and @TOKEN@ for what is to arrive there. A memory or fork spelling stays as it is when it comes to
its end: it is looked at then. It is bounded to 600 MB and to 40 processes.
"""

import importlib
from typing import NamedTuple

TASKS = 40
HELD = 300_000_000  # bytes that a spelling holds at the least


class Spelling(NamedTuple):
    name: str
    how: str
    code: str


def families():
    return [importlib.import_module(f"{__name__}.{name}")
            for name in ("read", "phone", "memory", "fork", "persist")]
