#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which system calls programs make, by strace: what src/layers/seccomp_rules.def was found from.

    trace_syscalls.py [--under RUNNER] [WORKLOAD…]     workloads of tests/sim/workloads.py; all
    trace_syscalls.py [--under RUNNER] -- PROGRAM…     one program

Prints a line for each call: its name; for calls that the rules look into, each value of the
argument that matters; who made it. With --under (the built tests/sim/under_filter) it prints
instead what the filter answered: calls that gave EPERM, ENOSYS and the like.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "sim"))
import workloads  # noqa: E402

# The argument to tell apart, by call.
ARGUMENT = {"ioctl": 1, "prctl": 0, "socket": (0, 1, 2), "socketpair": 0, "setsockopt": (1, 2),
            "fcntl": 1, "madvise": 2, "personality": 0, "sched_setscheduler": 1, "arch_prctl": 0,
            "seccomp": 0, "mknod": 1, "mknodat": 2, "memfd_create": 1, "unshare": 0}
REFUSALS = ("EPERM", "ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ENOTTY", "EINVAL")
# strace splits calls that another thread interrupts; the first half has the arguments.
CALL = re.compile(r"^\d+ +(\w+)\((.*)$")
RESUMED = re.compile(r"^\d+ +<\.\.\. (\w+) resumed>(.*)$")
RESULT = re.compile(r"\) += (?:-1 (E\w+)|\S+)")


def split_arguments(text):
    """Arguments at the top level of strace's text: commas inside brackets do not count."""
    out, depth, quoted, last = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"' and text[i - 1:i] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth < 0:
                return out + [text[last:i].strip()]
        elif c == "," and depth == 0:
            out.append(text[last:i].strip())
            last = i + 1
    return out + [text[last:].strip()]


def detail(call, text):
    if call in ("clone", "clone3"):
        found = re.search(r"flags=([\w|]+)", text)
        return found.group(1) if found else ""
    if call == "mmap":
        return "MAP_HUGETLB" if "MAP_HUGETLB" in text else ""
    at = ARGUMENT.get(call)
    if at is None:
        return ""
    args = split_arguments(text)
    at = at if isinstance(at, tuple) else (at,)
    return ", ".join(args[i] for i in at if i < len(args))


def traced(command, cwd):
    """Yields (call, detail, errno or None) of a command and all its children."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".strace", errors="replace") as log:
        subprocess.run(["strace", "-f", "-qq", "-s", "16", "-o", log.name, *command], cwd=cwd,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=600, check=False)
        for line in log:
            call = CALL.match(line)
            resumed = RESUMED.match(line)
            if call:
                result = RESULT.search(line)
                yield call[1], detail(call[1], call[2]), result and result[1]
            elif resumed:
                result = RESULT.search(line)
                if result and result[1]:
                    yield resumed[1], "", result[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--under", metavar="RUNNER")
    parser.add_argument("what", nargs="*")
    argv = sys.argv[1:]
    program = argv[argv.index("--") + 1:] if "--" in argv else None
    options = parser.parse_args(argv[:argv.index("--")] if program else argv)
    chosen = [("program", [], program)] if program else [
        w for w in workloads.WORKLOADS if not options.what or w[0] in options.what]
    prefix = [os.path.abspath(options.under)] if options.under else []

    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for name, needs, text in chosen:
        lacking = workloads.missing(needs)
        if lacking:
            print(f"# {name}: {lacking} is not installed", file=sys.stderr)
            continue
        command = text if program else ["/bin/bash", "-c", text]
        with tempfile.TemporaryDirectory() as cwd:
            for call, what, error in traced([*prefix, *command], cwd):
                if not options.under:
                    found[call][what].add(name)
                elif error in REFUSALS:
                    found[call][f"{what} {error}".strip()].add(name)
    for call in sorted(found):
        for what in sorted(found[call]):
            print(f"{call:24} {what:48} {', '.join(sorted(found[call][what]))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
