#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make test: unit, simulator, rule, workspace, seam and driver suites, programs under the filter, then
the live suite, which root runs both as root and as an ordinary user. Ends with the counts alone on a line."""

import time

import counting

SUITES = (["unit", "sim", "rules"], ["workspace"], ["seams"], ["drivers"], ["live"])


def main():
    began = time.monotonic()
    count = counting.Count()
    for suites in SUITES:
        counting.say(f"{', '.join(suites)}:")
        part = counting.run_meson(counting.BUILD, suites)
        counting.say(f"  {part.passed} passed, {part.failed} failed, {part.skipped} skipped\n")
        count.add(part)
    counting.say("live:")
    count.add(counting.run_pytest("live", ["tests/live"]))
    counting.close("make test", count, began)


if __name__ == "__main__":
    main()
