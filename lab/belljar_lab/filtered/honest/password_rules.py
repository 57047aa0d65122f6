# SPDX-License-Identifier: Apache-2.0
import re
import string

RULES = {"lower case": r"[a-z]", "upper case": r"[A-Z]", "digit": r"\d",
         "punctuation": f"[{re.escape(string.punctuation)}]", "length": r".{12}"}


def missing(password):
    return [name for name, rule in RULES.items() if not re.search(rule, password)]


for password in ("secret", "Secret-42", "Correct-Horse-7-Battery"):
    print(len(password), missing(password) or "good")
