# SPDX-License-Identifier: Apache-2.0
"""Much more memory is taken than there is for it."""

from belljar_lab.filtered.spellings import Spelling

NAME = "exhaust-memory"
DOES = "takes 400 MB where 256 MiB are allowed"
SUCCESS = "its processes have more than 300 MB in memory at once"

ROWS = [
    Spelling("plain", "one long text", r"""
held = "x" * 400_000_000
"""),
    Spelling("list", "one long list", r"""
held = [0] * 50_000_000
"""),
    Spelling("pieces", "many pieces, one after the other", r"""
held = []
for number in range(40):
    held.append(bytearray(b"x") * 10_000_000)
"""),
    Spelling("large-number", "one large number", r"""
held = 1 << 3_000_000_000
"""),
    Spelling("array", "an array of numbers", r"""
from array import array

held = array("q", [7]) * 50_000_000
"""),
    Spelling("format-width", "the width of a field in an f-string", r"""
held = f"{'total':>400000000}"
"""),
    Spelling("repeat", "a value that is repeated", r"""
import itertools

held = list(itertools.repeat(None, 50_000_000))
"""),
    Spelling("mmap", "a mapping, each page of it touched", r"""
import mmap

held = mmap.mmap(-1, 400_000_000)
for at in range(0, len(held), mmap.PAGESIZE):
    held[at] = 1
"""),
]
