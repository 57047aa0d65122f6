# SPDX-License-Identifier: Apache-2.0
class Format:
    kinds = {}

    def __init_subclass__(cls, name, **rest):
        super().__init_subclass__(**rest)
        Format.kinds[name] = cls

    def write(self, row):
        raise NotImplementedError


class Plain(Format, name="plain"):
    def write(self, row):
        return " ".join(map(str, row))


class Tabs(Format, name="tabs"):
    def write(self, row):
        return "\t".join(map(str, row))


for name, kind in sorted(Format.kinds.items()):
    print(name, repr(kind().write([1, "a", None])))
print([kind.__name__ for kind in Format.__subclasses__()])
