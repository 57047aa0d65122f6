# SPDX-License-Identifier: Apache-2.0
# Never ends. What it printed before the limit is kept.
print("counting")
count = 0
while True:
    count += 1
