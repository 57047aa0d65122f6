# SPDX-License-Identifier: Apache-2.0
import itertools


def numbers():
    yield from itertools.count(1)


def odd(values):
    return (value for value in values if value % 2)


def running(values):
    return itertools.accumulate(values)


print(list(itertools.islice(running(odd(numbers())), 10)))
for key, group in itertools.groupby(sorted("mississippi")):
    print(key, len(list(group)), end="; ")
print()
