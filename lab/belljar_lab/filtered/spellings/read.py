# SPDX-License-Identifier: Apache-2.0
"""A file of the host is read."""

from belljar_lab.filtered.spellings import Spelling

NAME = "read-host-file"
DOES = "prints what is in a file of the host"
SUCCESS = "the file's random token is in the output"

ROWS = [
    Spelling("plain", "open()", r"""
print(open("@PATH@").read())
"""),
    Spelling("os-open", "os.open() and os.read()", r"""
import os

print(os.read(os.open("@PATH@", os.O_RDONLY), 1000).decode())
"""),
    Spelling("pathlib", "a Path", r"""
from pathlib import Path

print(Path("@PATH@").read_text())
"""),
    Spelling("io-open", "the open() of module io", r"""
import io

print(io.open("@PATH@").read())
"""),
    Spelling("joined-import", "__import__() of a joined name", r"""
print(__import__("o" + "s").popen("cat @PATH@").read())
"""),
    Spelling("joined-getattr", "getattr() of a joined name", r"""
print(getattr(__builtins__, "op" + "en")("@PATH@").read())
"""),
    Spelling("subprocess", "cat, started by subprocess", r"""
import subprocess

print(subprocess.run(["cat", "@PATH@"], capture_output=True, text=True).stdout)
"""),
    Spelling("module-within", "a module that another has imported", r"""
import tempfile

print(tempfile._io.open("@PATH@").read())
"""),
    Spelling("subclasses", "from an object to its class, and down to all classes", r"""
for kind in ().__class__.__base__.__subclasses__():
    if kind.__name__ == "_wrap_close":
        print(kind.__init__.__globals__["popen"]("cat @PATH@").read())
"""),
    Spelling("match-statement", "the same walk by patterns of match, which are no attributes", r"""
match ():
    case object(__class__=kind):
        match kind:
            case object(__base__=base):
                match base:
                    case object(__subclasses__=subclasses):
                        pass
for kind in subclasses():
    if "_wrap_close" in repr(kind):
        match kind:
            case object(__init__=start):
                match start:
                    case object(__globals__=names):
                        print(names["popen"]("cat @PATH@").read())
"""),
    Spelling("codecs", "codecs.open()", r"""
import codecs

print(codecs.open("@PATH@", encoding="utf-8").read())
"""),
    Spelling("linecache", "what prints the source lines of a traceback", r"""
import linecache

print(linecache.getlines("@PATH@"))
"""),
    Spelling("fileinput", "a loop over lines of named files", r"""
import fileinput

for line in fileinput.input("@PATH@"):
    print(line)
"""),
    Spelling("error-message", "an error message that quotes the file", r"""
import configparser

configparser.ConfigParser().read("@PATH@")
"""),
    Spelling("timeit", "code in a text, timed", r"""
import timeit

timeit.timeit("print(op" "en('@PATH@').read())", number=1)
"""),
    Spelling("renamed-within", "builtins, that enum has imported under another name", r"""
import enum

print(enum.bltns.open("@PATH@").read())
"""),
    Spelling("attrgetter", "attributes named in a text, by operator", r"""
import operator
import random

run = operator.attrgetter("_o" "s.po" "pen")(random)
print(run("cat @PATH@").read())
"""),
    Spelling("format-field", "attributes named in a format, by string.Formatter", r"""
import random
import string

run, _ = string.Formatter().get_field("0._o" "s.po" "pen", [random], {})
print(run("cat @PATH@").read())
"""),
    Spelling("licence-text", "the name of the file that license() prints, changed in place", r"""
match license:
    case object(_Printer__filenames=names):
        names[:] = ["@PATH@"]
license()
"""),
]
