# SPDX-License-Identifier: Apache-2.0
# Takes memory until there is none.
blocks = []
while True:
    blocks.append(bytearray(16 << 20))
    print(f"{16 * len(blocks)} MiB")
