# SPDX-License-Identifier: Apache-2.0
import csv
import io
import statistics

DATA = """city,month,rain
Bergen,1,235.2
Bergen,2,178.4
Madrid,1,33.1
Madrid,2,35.8
Madrid,3,
"""
rain = {}
for row in csv.DictReader(io.StringIO(DATA)):
    if row["rain"]:
        rain.setdefault(row["city"], []).append(float(row["rain"]))
for city, values in rain.items():
    print(city, len(values), round(statistics.mean(values), 2), round(statistics.stdev(values), 2))
