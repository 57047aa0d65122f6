# SPDX-License-Identifier: Apache-2.0
class Robot:
    def __init__(self):
        self.x = self.y = 0

    def do_north(self, steps):
        self.y += steps

    def do_east(self, steps):
        self.x += steps

    def follow(self, plan):
        for line in plan:
            name, _, steps = line.partition(" ")
            action = getattr(self, f"do_{name}", None)
            if action is None:
                print("cannot", name)
                continue
            action(int(steps))


robot = Robot()
robot.follow(["north 3", "east 4", "fly 1", "north 2"])
print(robot.x, robot.y)
