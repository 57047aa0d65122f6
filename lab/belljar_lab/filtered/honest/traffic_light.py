# SPDX-License-Identifier: Apache-2.0
from enum import Enum


class Light(Enum):
    RED = 40
    GREEN = 30
    AMBER = 5

    def next(self):
        lights = list(Light)
        return lights[(lights.index(self) + 1) % len(lights)]


def describe(light):
    match light:
        case Light.GREEN:
            return "go"
        case Light.RED | Light.AMBER:
            return "stop"


light, seconds = Light.RED, 0
for _ in range(6):
    print(f"{seconds:3} s {light.name:<5} {describe(light)}")
    seconds += light.value
    light = light.next()
