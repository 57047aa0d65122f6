# SPDX-License-Identifier: Apache-2.0
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((self.x, self.y))


one = Point(1, 2)
for name, value in sorted(vars(one).items()):
    print(name, value)
print(one == Point(1, 2), len({one, Point(1, 2), Point(2, 1)}), Point.__module__)
