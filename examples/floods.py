# SPDX-License-Identifier: Apache-2.0
# Prints for ever. More than a limit ends it; what is kept are the head and the tail.
import sys

line = "x" * 79 + "\n"
while True:
    sys.stdout.write(line * 1000)
