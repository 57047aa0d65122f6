# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from itertools import product

AROUND = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]


def following(alive):
    near = Counter((x + dx, y + dy) for x, y in alive for dx, dy in AROUND)
    return {cell for cell, count in near.items() if count == 3 or count == 2 and cell in alive}


alive = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
for _ in range(8):
    alive = following(alive)
for y in range(6):
    print("".join("#" if (x, y) in alive else "." for x in range(6)))
