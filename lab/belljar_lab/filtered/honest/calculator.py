# SPDX-License-Identifier: Apache-2.0
import re


class Calculator:
    """Sums and products, with brackets; Python's own eval() is not needed for that."""

    def __init__(self, text):
        self.tokens = re.findall(r"\d+\.?\d*|[-+*/()]", text)

    def take(self):
        return self.tokens.pop(0)

    def eval(self):
        value = self.product()
        while self.tokens and self.tokens[0] in "+-":
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self):
        value = self.atom()
        while self.tokens and self.tokens[0] in "*/":
            value = value * self.atom() if self.take() == "*" else value / self.atom()
        return value

    def atom(self):
        token = self.take()
        if token != "(":
            return float(token)
        value = self.eval()
        self.take()
        return value


for text in ("1 + 2 * 3", "(1 + 2) * 3", "10 / 4 - 0.5"):
    print(text, "=", Calculator(text).eval())
