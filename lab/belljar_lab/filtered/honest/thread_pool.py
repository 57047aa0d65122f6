# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor


def digits(number):
    return sum(map(int, str(2 ** number)))


with ThreadPoolExecutor(max_workers=4) as pool:
    print(list(pool.map(digits, range(100, 1000, 100))))
