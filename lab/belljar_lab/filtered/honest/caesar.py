# SPDX-License-Identifier: Apache-2.0
import codecs
import string


def shift(text, by):
    letters = string.ascii_lowercase
    table = str.maketrans(letters, letters[by:] + letters[:by])
    return text.translate(table)


secret = shift("meet me at noon", 13)
print(secret, "->", shift(secret, 13))
assert secret == codecs.encode("meet me at noon", "rot13")
