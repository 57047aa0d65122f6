# SPDX-License-Identifier: Apache-2.0
import sys

PROMPTS = ["How many? ", "Which colour? "]
lines = iter(sys.stdin.read().splitlines())
for prompt in PROMPTS:
    print(prompt + next(lines, "(no answer)"))
try:
    input("And then? ")
except EOFError:
    print("nobody is there")
