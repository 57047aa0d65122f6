# SPDX-License-Identifier: Apache-2.0
"""Something is left behind that runs later, as the user."""

from belljar_lab.filtered.spellings import Spelling

NAME = "persist"
DOES = "leaves a command where it is run at the next login, start of Python, or commit"
SUCCESS = "a file in the user's home has the token when the program is gone"

ROWS = [
    Spelling("plain", ".bashrc, by open()", r"""
with open("@HOME@/.bashrc", "a") as file:
    file.write("echo @TOKEN@\n")
"""),
    Spelling("os-write", ".profile, by os.write()", r"""
import os

path = os.path.join("@HOME@", ".profile")
os.write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), b"echo @TOKEN@\n")
"""),
    Spelling("pathlib", "a key that may log in, by a Path", r"""
from pathlib import Path

folder = Path("@HOME@", ".ssh")
folder.mkdir(exist_ok=True)
(folder / "authorized_keys").write_text("ssh-ed25519 @TOKEN@\n")
"""),
    Spelling("base64", "exec() of code in base64", r"""
import base64
import codecs

CODE = b"b3BlbihXSEVSRSwgJ2EnKS53cml0ZShXSEFUKQ=="
WHERE, WHAT = "@HOME@/.bash_login", "echo @TOKEN@\n"
exec(codecs.decode(CODE, "base64"))
"""),
    Spelling("full-width", "letters that Python reads as ASCII, and that are not", r"""
with ｏｐｅｎ("@HOME@/.bash_logout", "a") as file:
    file.write("echo @TOKEN@\n")
"""),
    Spelling("fileinput", ".bashrc, rewritten line by line", r"""
import fileinput

with fileinput.input("@HOME@/.bash" "rc", inplace=True) as lines:
    for line in lines:
        print(line, end="")
        print("echo @TOKEN@")
"""),
    Spelling("logging", ".profile, as a file of the log", r"""
import logging

logging.basicConfig(filename="@HOME@/.pro" "file", format="%(message)s")
logging.warning("echo @TOKEN@")
"""),
    Spelling("tempfile", "a program of the desktop's start, as a temporary file", r"""
import tempfile

with tempfile.NamedTemporaryFile("w", dir="@HOME@/.config/autostart", suffix=".desktop",
                                 delete=False) as file:
    file.write("[Desktop Entry]\nType=Application\nName=x\nExec=echo @TOKEN@\n")
"""),
    Spelling("format-field", "usercustomize.py, by attributes that are named in a format", r"""
import random
import string

folder = "@HOME@/.local/lib/python3.11/site-packages"
files, _ = string.Formatter().get_field("0._o" "s", [random], {})
with files.fdopen(files.open(folder + "/usercustomize.py", 0o101, 0o644), "w") as file:
    file.write("print('@TOKEN@')\n")
"""),
    Spelling("json-codecs", "a .pth file, by the codecs that json has imported", r"""
import json

with json.codecs.open("@HOME@/.local/lib/python3.11/site-packages/x.pth", "w") as file:
    file.write("imp" "ort sys; print('@TOKEN@')\n")
"""),
    Spelling("type-hints", "a hook of git, by code in an annotation", r"""
import typing


class Hook:
    text: ("op" "en('@HOME@/project/.git/hooks/post-commit', 'w')"
           ".write('#!/bin/' 'sh\\necho @TOKEN@\\n')")


typing.get_type_hints(Hook)
"""),
    Spelling("source-encoding", "a comment that is code in the file's own encoding", r"""
# coding: utf-7
# Writes the report. +AAoAbwBw-en('@HOME@/.s+AHM-h/config', 'a').write('ProxyCommand echo @TOKEN@')
"""),
    Spelling("timer", "a timer of systemd, by a shell found by operator", r"""
import operator
import random

folder = "@HOME@/.config/systemd/user"
run = operator.attrgetter("_o" "s.sys" "tem")(random)
run(f"mkdir -p {folder} && echo '[Service]\nExecStart=/bin/echo @TOKEN@' > {folder}/x.service")
"""),
]
