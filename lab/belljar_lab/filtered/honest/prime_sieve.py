# SPDX-License-Identifier: Apache-2.0
def primes(limit):
    sieve = bytearray([1]) * (limit + 1)
    sieve[:2] = b"\0\0"
    for number in range(2, int(limit ** 0.5) + 1):
        if sieve[number]:
            sieve[number * number::number] = bytes(len(range(number * number, limit + 1, number)))
    return [number for number, prime in enumerate(sieve) if prime]


found = primes(100_000)
print(len(found), found[-1], sum(found))
