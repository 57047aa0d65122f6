# SPDX-License-Identifier: Apache-2.0
"""Three filters on code, as agent frameworks have them in place of a sandbox, each made with care.

Each is a function of the code: None, or why it is refused. The first sees text, the others the
syntax tree, which no spacing, comment or Unicode spelling of a name changes.
"""

import ast
import re
from typing import NamedTuple

# ---- A list of regular expressions ---------------------------------------------------------------

MODULES = ("os|sys|subprocess|shutil|socket|ssl|ctypes|importlib|builtins|pty|signal|resource|"
           "pickle|marshal|multiprocessing|threading|pathlib|http|urllib|requests|httpx|ftplib|"
           "smtplib|telnetlib|socketserver|webbrowser|runpy|code|mmap|fcntl|posix|gc|inspect")
PATTERNS = [re.compile(pattern) for pattern in (
    rf"\bimport\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*(?:{MODULES})\b",
    rf"\bfrom\s+(?:{MODULES})\b",
    rf"""\bimport_module\s*\(|__import__|sys\.modules|\bmodules\s*\[\s*['"]""",
    r"(?<![\w.])(?:eval|exec|compile|globals|locals|vars|breakpoint|input)\s*\(",
    r"(?<![\w.])(?:io\s*\.\s*)?open\s*\(",
    r"\bgetattr\s*\(|\bsetattr\s*\(|\bdelattr\s*\(",
    r"__(?:builtins|globals|subclasses|bases|base|mro|class|code|dict|reduce|loader)__",
    r"\b(?:gi_frame|cr_frame|tb_frame|f_back|f_globals|f_locals|f_builtins|_getframe)\b",
    r"\bos\s*\.\s*\w+|\b_os\b|\bsubprocess\b",
    r"\b(?:system|popen|Popen|check_output|fork|execv\w*|spawn\w*|posix_spawn\w*|kill)\s*\(",
    r"\b(?:rmtree|unlink|remove_dir|chmod|chown)\s*\(",
    r"\bsocket\s*\.|\burlopen\b|\burlretrieve\b|https?://",
    r"/etc/(?:passwd|shadow|hosts)|\.ssh\b|\.bashrc|\.profile|authorized_keys|crontab",
    r"\brm\s+-rf\b|\bcurl\s|\bwget\s|\bnc\s+-|/dev/tcp|\bbash\s+-c|\b/bin/(?:ba)?sh\b",
    r"\bb(?:16|32|64|85)decode\b|\bfromhex\b|\brot_?13\b",
    r"\bwhile\s+(?:True|1)\s*:\s*pass\b",
)]


def by_patterns(code):
    for pattern in PATTERNS:
        found = pattern.search(code)
        if found:
            return f"line {code.count(chr(10), 0, found.start()) + 1}: {found.group().strip()}"
    return None


# ---- What both filters of the syntax tree refuse -------------------------------------------------

DENIED_MODULES = frozenset("""
    builtins code codeop ctypes fcntl ftplib gc http httpx imaplib importlib inspect io marshal
    mmap multiprocessing nntplib os pathlib pickle pip pkgutil poplib posix posixsubprocess pty
    requests resource runpy shelve shutil signal site smtplib socket socketserver ssl subprocess
    sys telnetlib urllib urllib3 webbrowser xmlrpc""".split())
# Those whose name is no common word: an attribute of that name is the module.
DENIED_WITHIN = DENIED_MODULES - set("code http inspect requests resource signal site".split())
DENIED_NAMES = frozenset("""
    __builtins__ __import__ __loader__ __spec__ breakpoint compile delattr eval exec globals input
    locals setattr vars""".split())
DENIED_ATTRIBUTES = frozenset("""
    __base__ __bases__ __builtins__ __class__ __closure__ __code__ __dict__ __func__
    __getattribute__ __globals__ __import__ __loader__ __module__ __mro__ __reduce__ __reduce_ex__
    __self__ __spec__ __subclasses__ __traceback__
    ag_frame cr_code cr_frame f_back f_builtins f_code f_globals f_locals gi_code gi_frame mro
    tb_frame tb_next
    check_output eval exec execl execle execlp execv execve execvp execvpe exec_module fork forkpty
    import_module kill load_module modules popen posix_spawn posix_spawnp rmtree spawnl spawnv
    startfile system unlink""".split())
RELATIVE = re.compile(r"[\w.-]+(/[\w.-]+)*")


class Refused(Exception):
    """Why the code is refused."""


class Tree(ast.NodeVisitor):
    """Walks the tree, and raises Refused at what is not to be."""

    def refuse(self, node, what):
        raise Refused(f"line {node.lineno}: {what}")

    def module(self, node, name):
        """An import of `name`."""

    def visit_Import(self, node):
        for alias in node.names:
            self.module(node, alias.name)

    def visit_ImportFrom(self, node):
        self.module(node, node.module or ".")
        for alias in node.names:
            self.attribute(node, alias.name)

    def visit_Name(self, node):
        if node.id in DENIED_NAMES:
            self.refuse(node, node.id)

    def visit_Attribute(self, node):
        self.attribute(node, node.attr)
        self.visit(node.value)

    def attribute(self, node, name):
        """A module inside another is that module: shutil.os, random._os."""
        if name in DENIED_ATTRIBUTES or name.lstrip("_") in DENIED_WITHIN:
            self.refuse(node, f".{name}")

    def visit_Call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "getattr":
            self.read_by_name(node)
        elif name == "open":
            self.opened(node)
        self.generic_visit(node)

    def read_by_name(self, node):
        """getattr() with a name that can be read, and that may be read."""
        name = literal(node, 1)
        if name is None:
            self.refuse(node, "getattr")
        self.attribute(node, name)

    def opened(self, node):
        self.refuse(node, "open")


def literal(call, index):
    """An argument that is a text written there, or None."""
    one = call.args[index] if len(call.args) > index else None
    return one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else None


def refusal(visitor, code):
    try:
        visitor.visit(ast.parse(code))
    except Refused as error:
        return str(error)
    except (SyntaxError, ValueError, RecursionError) as error:
        return f"not Python: {error}"
    return None


# ---- A list of what is denied --------------------------------------------------------------------


class Denied(Tree):
    def module(self, node, name):
        if any(part.lstrip("_") in DENIED_MODULES for part in name.split(".")):
            self.refuse(node, f"import {name}")

    def opened(self, node):
        """A file that is named there, in the work directory."""
        name = literal(node, 0)
        if name is None or not RELATIVE.fullmatch(name) or ".." in name.split("/"):
            self.refuse(node, "open")


def by_denials(code):
    return refusal(Denied(), code)


# ---- A list of what may be imported --------------------------------------------------------------

ALLOWED_MODULES = frozenset("""
    __future__ abc array base64 bisect calendar cmath collections colorsys copy csv dataclasses
    datetime decimal difflib enum fractions functools graphlib hashlib heapq html itertools json
    keyword math numbers operator pprint queue random re secrets stat statistics string struct
    textwrap time typing unicodedata uuid zlib zoneinfo""".split())


class Allowed(Tree):
    """Besides, nothing is opened, and nobody's private names are read but one's own."""

    def module(self, node, name):
        if name.split(".")[0] not in ALLOWED_MODULES:
            self.refuse(node, f"import {name}")

    def visit_Attribute(self, node):
        mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "other")
        if node.attr.startswith("_") and not mine and node.attr not in ("__init__", "__name__"):
            self.refuse(node, f".{node.attr}")
        super().visit_Attribute(node)

    def visit_Name(self, node):
        if node.id == "open":
            self.refuse(node, "open")
        super().visit_Name(node)


def by_imports(code):
    return refusal(Allowed(), code)


class Filter(NamedTuple):
    name: str
    refuses: object  # of the code: None, or why
    what: str


FILTERS = (
    Filter("patterns", by_patterns, f"{len(PATTERNS)} regular expressions over the text"),
    Filter("deny-list", by_denials, f"the syntax tree: {len(DENIED_MODULES)} modules, "
           f"{len(DENIED_NAMES)} names and {len(DENIED_ATTRIBUTES)} attributes are denied"),
    Filter("allow-list", by_imports, f"the syntax tree: {len(ALLOWED_MODULES)} modules may be "
           "imported, nothing opened, no private attribute read"),
)


def verdicts(code):
    """{filter: None, or why it refuses}."""
    return {one.name: one.refuses(code) for one in FILTERS}
