# SPDX-License-Identifier: Apache-2.0
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

CENT = Decimal("0.01")
items = [("paper", 3, "4.99"), ("ink", 1, "17.49"), ("stapler", 2, "8.255")]
net = sum(count * Decimal(price) for _, count, price in items)
tax = (net * Decimal("0.19")).quantize(CENT, ROUND_HALF_UP)
print(net.quantize(CENT, ROUND_HALF_UP), tax, Fraction(1, 3) + Fraction(1, 6))
