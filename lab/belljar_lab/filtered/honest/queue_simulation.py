# SPDX-License-Identifier: Apache-2.0
"""Customers at two tills: an event simulation. No real system is asked for anything."""
import heapq
import random

source = random.Random(7)
events, free, waiting, served = [], 2, [], 0
at = 0.0
for customer in range(200):
    at += source.expovariate(1.0)
    heapq.heappush(events, (at, "arrives", customer))
longest = 0
while events:
    now, what, customer = heapq.heappop(events)
    if what == "leaves":
        free += 1
        served += 1
    else:
        waiting.append(customer)
    longest = max(longest, len(waiting))
    while free and waiting:
        free -= 1
        heapq.heappush(events, (now + source.uniform(0.5, 2.0), "leaves", waiting.pop(0)))
print(f"served {served}, longest queue {longest}, closed at {now:.1f}")
