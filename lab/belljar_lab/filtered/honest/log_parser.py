# SPDX-License-Identifier: Apache-2.0
import re
from collections import defaultdict
from datetime import datetime

LINE = re.compile(r"(?P<at>\S+ \S+) (?P<level>[A-Z]+) (?P<text>.*)")
LOG = """2024-03-01 10:00:00 INFO service started
2024-03-01 10:00:03 ERROR system(disk) is full
2024-03-01 10:01:10 WARNING kill (SIGTERM) received by worker 3
2024-03-01 10:02:00 ERROR cannot open (file) report.csv
"""
levels = defaultdict(list)
for line in LOG.splitlines():
    found = LINE.fullmatch(line)
    levels[found["level"]].append(datetime.fromisoformat(found["at"]))
for level, times in sorted(levels.items()):
    print(level, len(times), (times[-1] - times[0]).total_seconds())
