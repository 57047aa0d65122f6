# SPDX-License-Identifier: Apache-2.0
import os
import platform
import sys

colour = os.environ.get("REPORT_COLOUR", "blue")
print("colour:", colour)
print(platform.system(), sys.version_info >= (3, 6), os.sep)
