# SPDX-License-Identifier: Apache-2.0
import random
import timeit

values = random.Random(1).sample(range(10_000), 2000)


def insertion(values):
    values = list(values)
    for index in range(1, len(values)):
        one, at = values[index], index
        while at and values[at - 1] > one:
            values[at] = values[at - 1]
            at -= 1
        values[at] = one
    return values


slow = timeit.timeit(lambda: insertion(values), number=1)
fast = timeit.timeit(lambda: sorted(values), number=1)
print("the same" if insertion(values) == sorted(values) else "different", slow > 0 and fast > 0)
