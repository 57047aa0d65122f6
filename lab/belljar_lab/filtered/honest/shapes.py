# SPDX-License-Identifier: Apache-2.0
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass


class Shape(ABC):
    @abstractmethod
    def area(self):
        """Square metres."""


@dataclass(frozen=True)
class Circle(Shape):
    radius: float

    def area(self):
        return math.pi * self.radius ** 2


@dataclass(frozen=True)
class Rectangle(Shape):
    width: float
    height: float

    def area(self):
        return self.width * self.height


for shape in sorted([Circle(1.5), Rectangle(2, 3)], key=lambda shape: shape.area()):
    print(shape, round(shape.area(), 3))
