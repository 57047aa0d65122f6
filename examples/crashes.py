# SPDX-License-Identifier: Apache-2.0
# Reads from address 0.
import ctypes

print("about to crash")
ctypes.string_at(0)
