# SPDX-License-Identifier: Apache-2.0
import random

source = random.Random(42)
inside = sum(source.random() ** 2 + source.random() ** 2 < 1 for _ in range(50_000))
print(f"pi is about {4 * inside / 50_000:.3f}")
