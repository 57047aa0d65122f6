# SPDX-License-Identifier: Apache-2.0
import string

letter = string.Template("Dear $name,\nyour order of $count items (exec summary: $$12.50) is sent.")
print(letter.substitute(name="Ann", count=3))
print("{:>10}|{:^10}|{:<10}".format("right", "middle", "left"))
print("%05.1f%% of %s" % (12.345, "all"))
