# SPDX-License-Identifier: Apache-2.0
class Matrix:
    def __init__(self, rows):
        self.rows = [list(row) for row in rows]

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, column)) for column in columns]
                       for row in self.rows])

    def __repr__(self):
        return f"{self.__class__.__name__}({self.rows})"


power = Matrix([[1, 0], [0, 1]])
for _ in range(10):
    power = power @ Matrix([[1, 1], [1, 0]])
print(power)
