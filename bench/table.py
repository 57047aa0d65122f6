#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RESULTS.json [README.md]: the numbers of a bench as a table in Markdown; with a second
file, put between its `<!-- numbers -->` lines."""

import json
import sys
from pathlib import Path

BEGIN, END = "<!-- numbers -->", "<!-- end of numbers -->"


def pair(ratio, target, numbers):
    return f"{numbers['median']:.1f} ms | {numbers['p95']:.1f} ms | {ratio:.2f} | {target}"


def lines(kept):
    data = kept["data"]
    for name, part in data.items():
        if name.startswith("start, "):
            who = name.removeprefix("start, ")
            wall, base = part["wall"], part["wall"]["bwrap"]["median"]
            target = "1.1" if "no cgroup" in who else "1.2"
            yield f"`/bin/true`, bare, {who} | {pair(wall['bare']['median'] / base, '', wall['bare'])}"
            yield f"the same by bubblewrap | {pair(1, '', wall['bwrap'])}"
            yield f"the same by `belljar run` | {pair(part['ratio'], f'at most {target}', wall['belljar'])}"
    if "deadline" in data:
        dead, run = data["deadline"]["dead"], data["deadline"]["run"]
        yield ("38 tasks replacing themselves, half a CPU: kill to empty | "
               f"{dead['median']:.1f} ms | {dead['p95']:.1f} ms | | at most 60 ms")
        yield f"the same, 1 s allowed | {run['median']:.0f} ms | {run['p95']:.0f} ms | | at most 1050 ms"
    if "output" in data:
        cat, ours = data["output"]["cat"], data["output"]["belljar"]
        yield f"1 GiB of output, `cat` | {cat['median']:.0f} ms | {cat['p95']:.0f} ms | 1.00 |"
        yield (f"the same through Belljar | {ours['median']:.0f} ms | {ours['p95']:.0f} ms | "
               f"{ours['median'] / cat['median']:.2f} | at most 2")
        peak = data["output"]["launcher_peak_kib"]
        yield f"memory of the launcher meanwhile | {peak / 1024:.1f} MiB | | | under 4 MiB"
    if "humaneval" in data:
        part, count = data["humaneval"]["all"], data["humaneval"]["programs"]
        base = part["bare"]["median"]
        for key, label, target in (("bare", f"{count} Python programs, two at a time, bare", ""),
                                   ("command", "the same by `belljar run --cpus 1`", "at most 1.6"),
                                   ("api", "the same by `bj_run()`, `cpus` 1", "at most 1.45"),
                                   ("half", "the same by `belljar run`, half a CPU each", "")):
            numbers = part[key]
            yield (f"{label} | {numbers['median']:.0f} ms | {numbers['p95']:.0f} ms | "
                   f"{numbers['median'] / base:.2f} | {target}")
    if "soak" in data:
        soak = data["soak"]
        yield (f"{soak['runs']:,} runs in a row, mixed outcomes: left on the host | "
               f"{soak['left_behind'] or 'nothing'} | | |")


def main():
    kept = json.loads(Path(sys.argv[1]).read_text())
    machine = kept["machine"]
    table = "\n".join(["| what | median | p95 | ratio | target |", "|---|---|---|---|---|",
                       *(f"| {line} |" for line in lines(kept))])
    text = (f"Linux {machine['kernel'].split('-')[0]}, {machine['cpus']} CPUs ({machine['cpu']}), "
            f"{machine['date'][:10]}, commands taking turns in one run:\n\n{table}\n")
    if len(sys.argv) < 3:
        print(text, end="")
        return
    readme = Path(sys.argv[2])
    before, begin, rest = readme.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{readme}: no {BEGIN} or no {END}")
    readme.write_text(f"{before}{BEGIN}\n{text}{END}{after}")


if __name__ == "__main__":
    main()
