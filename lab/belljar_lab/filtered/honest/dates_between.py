# SPDX-License-Identifier: Apache-2.0
import calendar
from datetime import date, timedelta


def working_days(start, end):
    day = start
    while day <= end:
        if day.weekday() < calendar.SATURDAY:
            yield day
        day += timedelta(days=1)


days = list(working_days(date(2024, 2, 26), date(2024, 3, 5)))
print(len(days), "working days:", ", ".join(day.strftime("%d %b") for day in days))
print("leap year" if calendar.isleap(2024) else "common year")
