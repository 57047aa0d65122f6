# SPDX-License-Identifier: Apache-2.0
import heapq

ROADS = {"A": {"B": 4, "C": 1}, "B": {"D": 5}, "C": {"B": 2, "D": 8}, "D": {"E": 3}, "E": {}}


def shortest(start, end):
    heap, seen = [(0, start, [start])], set()
    while heap:
        far, at, path = heapq.heappop(heap)
        if at == end:
            return far, path
        if at not in seen:
            seen.add(at)
            for to, length in ROADS[at].items():
                heapq.heappush(heap, (far + length, to, [*path, to]))
    return None


print(shortest("A", "E"), shortest("E", "A"))
