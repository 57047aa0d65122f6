# SPDX-License-Identifier: Apache-2.0
"""From the source tree: LAB_DIR=build/lab python3 -m belljar_lab VERB."""

import os
import sys

from belljar_lab import main

sys.exit(main.main(os.environ.get("LAB_DIR", "build/lab")))
