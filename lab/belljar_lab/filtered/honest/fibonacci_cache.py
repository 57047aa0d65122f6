# SPDX-License-Identifier: Apache-2.0
import sys
from functools import lru_cache

sys.setrecursionlimit(5000)


@lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


print(fibonacci(300))
print(fibonacci.cache_info().misses)
