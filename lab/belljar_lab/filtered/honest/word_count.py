# SPDX-License-Identifier: Apache-2.0
from collections import Counter

TEXT = """the quick brown fox jumps over the lazy dog and the dog sleeps while the fox runs"""
counts = Counter(TEXT.split())
for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]:
    print(f"{word:<8} {count}")
