# SPDX-License-Identifier: Apache-2.0
import textwrap

LETTER = """Dear reader, this letter is about nothing in particular. It is only as long as it is so
that there is something to wrap, and something to indent; the import of it is small."""
print(textwrap.fill(LETTER, width=40, initial_indent="> ", subsequent_indent="> "))
print(textwrap.shorten(LETTER, width=50, placeholder=" ..."))
