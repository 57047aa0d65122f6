# SPDX-License-Identifier: Apache-2.0
"""Greets everybody.

Before it was rewritten this did `import os` and os.system("echo hello"), or exec("print('hello')");
none of that was needed. See also: subprocess.
"""


def greet(name):
    """Says hello. Do not eval(name): it is only a text."""
    return f"hello {name}"


for one in ("Ann", "Bob"):
    print(greet(one))
