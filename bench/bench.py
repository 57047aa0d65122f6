#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: Belljar beside what it replaces, in one run on one machine.

Commands take turns, pair by pair, so what disturbs one disturbs all; the ratio of their medians is
the result, the milliseconds are the machine's. A row that cannot be measured here is left out and
the table says so. Everything measured is kept as JSON in bench/results/.
"""

import argparse
import contextlib
import datetime
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
STAGE = Path(os.environ.get("STAGE", BUILD / "stage"))
BELLJAR = str(STAGE / "bin/belljar")
TOOLS = BUILD / "bench"
NO_CGROUP = str(ROOT / "examples/no-cgroup.json")
PYTHON = "/usr/bin/python3"
ORDINARY_UID = 4321
GIB = 1 << 30
BWRAP = ["/usr/bin/bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "/bin/true"]

# What lies between two stages of timings_ms, in the order of a run.
SPLIT = [("plan", None, "enter"), ("launcher reads plan", "enter", "planned"),
         ("cgroups", "planned", "prepared"), ("clone", "prepared", "cloned"),
         ("ids, cgroup entered", "cloned", "mapped"), ("set-up", "mapped", "exec"),
         ("receipt", "exec", "go"), ("go to end", "go", "end"), ("end to dead", "end", "dead"),
         ("clean-up", "dead", "clean")]


# ---- Numbers ---------------------------------------------------------------------------------

def median(values):
    return statistics.median(values)


def p95(values):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def summary(values, unit):
    return {"median": median(values), "p95": p95(values), "min": min(values), "max": max(values),
            "n": len(values), "unit": unit, "samples": values}


def milliseconds(nanoseconds):
    return [round(value / 1e6, 4) for value in nanoseconds]


class Table:
    """Rows on the terminal as they come, and the same as data."""

    def __init__(self):
        self.rows = []

    def title(self, text):
        print(f"\n{text}\n  {'':44}{'median':>10}{'p95':>10}{'ratio':>8}  target", flush=True)

    def row(self, name, numbers=None, ratio=None, target=None, met=None, note=""):
        cells = f"{numbers['median']:>10.2f}{numbers['p95']:>10.2f}" if numbers else " " * 20
        share = f"{ratio:>8.2f}" if ratio is not None else " " * 8
        verdict = {True: "  met", False: "  MISSED", None: ""}[met]
        unit = f" {numbers['unit']}" if numbers else ""
        print(f"  {name + unit:44}{cells}{share}  {target or ''}{verdict}{note}", flush=True)
        self.rows.append({"name": name, "numbers": numbers, "ratio": ratio, "target": target,
                          "met": met, "note": note.strip()})

    def left_out(self, name, why):
        print(f"\n{name}\n  left out: {why}", flush=True)
        self.rows.append({"name": name, "left_out": why})


# ---- Running ---------------------------------------------------------------------------------

def spawn(commands, rounds, uid=None, jobs=1, listed=None):
    """bench/spawn over `commands`, which take turns; the samples of each."""
    words = [str(TOOLS / "spawn"), "-n", str(rounds), "-j", str(jobs)]
    if uid is not None and os.geteuid() == 0:
        words += ["-u", str(uid)]
    if listed:
        words += ["-f", str(listed)]
    for i, command in enumerate(commands):
        words += [":::" if i else "--", *command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    got = json.loads(done.stdout)
    for command in got:
        bad = [status for status in command["status"] if status != 0]
        if bad:
            raise RuntimeError(f"{' '.join(command['argv'])}: {len(bad)} runs ended with {bad[0]}")
    return got


def as_uid(uid):
    if uid is None or os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


def result_of(words, uid=None, options=()):
    """One `belljar run --json`, and how long the whole command took in milliseconds."""
    began = time.monotonic()
    done = subprocess.run([*as_uid(uid), BELLJAR, "run", "--json", *options, *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    whole_ms = (time.monotonic() - began) * 1000
    try:
        return json.loads(done.stdout), whole_ms
    except ValueError:
        raise RuntimeError(f"belljar run {' '.join(words)}: {done.stderr.decode()}") from None


def policy_for(uid=None):
    """[] where the built-in policy runs here, else the one that lives without a cgroup."""
    result, _ = result_of(["--", "/bin/true"], uid)
    if result["outcome"] == "exited":
        return []
    options = ["--policy", NO_CGROUP]
    result, _ = result_of(["--", "/bin/true"], uid, options)
    if result["outcome"] != "exited":
        raise RuntimeError(f"belljar does not run here: {result['hint'] or result['outcome']}")
    return options


def cgroup_kind(policy):
    if policy:
        return "no cgroup"
    return "cgroup v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "cgroup v1"


# ---- Start -----------------------------------------------------------------------------------

def bench_start(table, data, args):
    users = [("root", None)] if os.geteuid() == 0 else []
    users.append(("ordinary user", ORDINARY_UID))
    for who, uid in users:
        policy = policy_for(uid)
        kind = cgroup_kind(policy)
        belljar = [BELLJAR, "run", *policy, "--", "/bin/true"]
        bare, bwrap, ours = spawn([["/bin/true"], BWRAP, belljar], args.n, uid)
        data[f"start, {who}, {kind}"] = start_rows(table, f"{who}, {kind}", bare, bwrap, ours,
                                                  1.1 if policy else 1.2)
        data[f"split, {who}, {kind}"] = split_rows(table, f"{who}, {kind}", ours, uid, policy,
                                                  args.n)
    data["system calls"] = count_calls(table)


def start_rows(table, who, bare, bwrap, ours, most):
    numbers = {name: summary(milliseconds(command["wall_ns"]), "ms")
               for name, command in (("bare", bare), ("bwrap", bwrap), ("belljar", ours))}
    cpu = {name: summary([us / 1000 for us in command["cpu_us"]], "ms")
           for name, command in (("bare", bare), ("bwrap", bwrap), ("belljar", ours))}
    base = numbers["bwrap"]["median"]
    ratio = numbers["belljar"]["median"] / base
    table.title(f"/bin/true, whole process, {who}")
    table.row("bare", numbers["bare"], numbers["bare"]["median"] / base)
    table.row("bwrap --ro-bind / / --unshare-all", numbers["bwrap"], 1.0)
    table.row("belljar run", numbers["belljar"], ratio, f"at most {most} of bwrap", ratio <= most)
    spread = numbers["belljar"]["p95"] / numbers["belljar"]["median"]
    table.row("  its p95 to its median", None, spread, "at most 2", spread <= 2)
    table.row("CPU time of bwrap", cpu["bwrap"], 1.0)
    table.row("CPU time of belljar run", cpu["belljar"],
              cpu["belljar"]["median"] / cpu["bwrap"]["median"])
    return {"wall": numbers, "cpu": cpu, "ratio": ratio}


def span(timings, begin, end):
    return timings[end] - (timings[begin] if begin else 0.0)


def split_rows(table, who, ours, uid, policy, rounds):
    """Where the time goes, by what the result itself says."""
    parts = {name: [] for name, _, _ in SPLIT}
    whole = []
    for _ in range(rounds):
        result, _ = result_of(["--", "/bin/true"], uid, policy)
        timings = result["timings_ms"]
        for name, begin, end in SPLIT:
            parts[name].append(span(timings, begin, end))
        whole.append(timings["clean"])
    numbers = {name: summary(values, "ms") for name, values in parts.items()}
    command = median(milliseconds(ours["wall_ns"])) - median(whole)
    table.title(f"where the time goes, {who}")
    for name, values in numbers.items():
        table.row(name, values)
    table.row(f"command: start and exit, the rest: {command:.2f} ms")
    return {"parts": numbers, "command_ms": command}


def count_calls(table):
    """Calls of bwrap as a whole; of Belljar the command, the launcher and init."""
    counts = {}
    for name, depth, words in (("bwrap", 7, BWRAP),
                               ("belljar", 2, [BELLJAR, "run", *policy_for(), "--", "/bin/true"])):
        done = subprocess.run([TOOLS / "syscalls", str(depth), *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, check=True)
        counts[name] = json.loads(done.stdout)
        if counts[name]["exit"] != 0:
            raise RuntimeError(f"{name} failed while its system calls were counted")
    totals = [process["total"] for process in counts["belljar"]["depth"]]
    table.title("system calls")
    table.row(f"bwrap, its init and /bin/true: {sum(p['total'] for p in counts['bwrap']['depth'])}")
    table.row(f"belljar, launcher, init: {' + '.join(map(str, totals))} = {sum(totals)}")
    return counts


# ---- Deadline --------------------------------------------------------------------------------

def bench_deadline(table, data, args):
    policy = policy_for()
    dead, late, whole = [], [], []
    options = [*policy, "--time", "1s", "--cpus", "0.5", "--in", str(TOOLS / "hydra")]
    for _ in range(args.n):
        result, whole_ms = result_of(["--", "/workspace/hydra", "38"], None, options)
        if result["outcome"] != "time_limit" or any((result["left_behind"] or {}).values()):
            raise RuntimeError(f"hydra: {result['outcome']}, left {result['left_behind']}")
        timings = result["timings_ms"]
        dead.append(span(timings, "end", "dead"))
        late.append(span(timings, "go", "dead"))
        whole.append(whole_ms)
    numbers = {"dead": summary(dead, "ms"), "run": summary(late, "ms"), "command": summary(whole, "ms")}
    table.title("38 tasks replacing themselves by fork and setsid, 0.5 CPU, 1 s")
    table.row("kill to empty", numbers["dead"], None, "at most 60", numbers["dead"]["median"] <= 60)
    table.row("go to empty", numbers["run"], None, "at most 1050", numbers["run"]["median"] <= 1050)
    table.row("the whole command", numbers["command"])
    data["deadline"] = numbers


# ---- Output ----------------------------------------------------------------------------------

def time_cat():
    began = time.monotonic()
    flood = subprocess.Popen([TOOLS / "flood", str(GIB)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    cat = subprocess.Popen(["cat"], stdin=flood.stdout, stdout=subprocess.DEVNULL)
    flood.stdout.close()
    if cat.wait() or flood.wait():
        raise RuntimeError("flood | cat failed")
    return (time.monotonic() - began) * 1000


def time_drain(policy, watch=None):
    words = [BELLJAR, "run", *policy, "--quiet", "--cpus", str(os.cpu_count()), "--time", "5m",
             "--cpu-time", "5m", "--in", str(TOOLS / "flood"), "--", "/workspace/flood", str(GIB)]
    began = time.monotonic()
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if watch:
        watch(process)
    if process.wait():
        raise RuntimeError(f"belljar run flood: {process.returncode}")
    return (time.monotonic() - began) * 1000


class PeakWatch:
    """Highest resident memory of the launcher that a command started (VmHWM only grows)."""

    def __init__(self):
        self.kib = 0

    def __call__(self, process):
        threading.Thread(target=self.poll, args=(process,), daemon=True).start()

    def poll(self, process):
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        with contextlib.suppress(OSError):
            while process.returncode is None:
                for pid in Path(children).read_text().split():
                    with contextlib.suppress(OSError, StopIteration):
                        status = Path(f"/proc/{pid}/status").read_text()
                        if status.startswith("Name:\tbelljar-launch"):
                            line = next(x for x in status.splitlines() if x.startswith("VmHWM"))
                            self.kib = max(self.kib, int(line.split()[1]))
                time.sleep(0.005)


def bench_output(table, data, args):
    policy = policy_for()
    watch = PeakWatch()
    for _ in range(3):
        time_drain(policy, watch)
    cat, ours = [], []
    for turn in range(args.n):
        order = [(cat, time_cat), (ours, lambda: time_drain(policy))]
        for kept, measure in order if turn % 2 else reversed(order):
            kept.append(measure())
    numbers = {"cat": summary(cat, "ms"), "belljar": summary(ours, "ms")}
    speed = numbers["cat"]["median"] / numbers["belljar"]["median"]
    table.title("1 GiB to standard output")
    table.row("cat >/dev/null", numbers["cat"], 1.0)
    table.row("belljar run >/dev/null", numbers["belljar"],
              numbers["belljar"]["median"] / numbers["cat"]["median"], "at most 2", speed >= 0.5)
    table.row(f"launcher's memory, highest: {watch.kib} KiB", None, None, "under 4096",
              0 < watch.kib < 4096)
    data["output"] = {**numbers, "launcher_peak_kib": watch.kib}


# ---- HumanEval -------------------------------------------------------------------------------

def write_programs(path, place):
    names = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            task = json.loads(line)
            name = place / f"task_{number:03}.py"
            name.write_text(f"{task['prompt']}{task['canonical_solution']}\n{task['test']}\n"
                            f"check({task['entry_point']})\n", encoding="utf-8")
            names.append(name)
    listed = place / "list"
    listed.write_text("".join(f"{name}\n" for name in names))
    return listed, len(names)


# A program that computes for longer than a period of its quota waits for the next one. That is the
# profile's half a CPU at work, and not what Belljar costs: the bare interpreter has a CPU of its own.
ONE_CPU = ("cpus", "1")


def api_round(listed, policy):
    done = subprocess.run([TOOLS / "humaneval", "2", listed, policy[1] if policy else "-",
                           "=".join(ONE_CPU)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    got = json.loads(done.stdout)[0]
    bad = [status for status in got["status"] if status != 0]
    if bad:
        raise RuntimeError(f"through the C API {len(bad)} programs ended with {bad[0]}")
    return got


def bench_humaneval(table, data, args):
    if not args.humaneval:
        table.left_out("HumanEval, two at a time", "make bench HUMANEVAL=FILE.jsonl.gz runs it")
        return
    policy = policy_for()
    with tempfile.TemporaryDirectory(prefix="belljar-bench.") as place:
        listed, count = write_programs(args.humaneval, Path(place))
        half = [BELLJAR, "run", "--quiet", *policy, "{}"]
        command = [*half[:-1], f"--{ONE_CPU[0]}", ONE_CPU[1], "{}"]
        rounds, each = ({name: [] for name in ("bare", "command", "api", "half")} for _ in range(2))
        for _ in range(args.rounds):
            bare, ours, slower = spawn([[PYTHON, "{}"], command, half], 1, None, 2, listed)
            for name, got in (("bare", bare), ("command", ours), ("half", slower),
                              ("api", api_round(listed, policy))):
                rounds[name] += milliseconds(got["round_ns"])
                each[name] += milliseconds(got["wall_ns"])
    whole = {name: summary(values, "ms") for name, values in rounds.items()}
    single = {name: summary(values, "ms") for name, values in each.items()}
    table.title(f"{count} programs of HumanEval, two at a time, all exit 0, {args.rounds} rounds")
    base = whole["bare"]["median"]
    for name, label, most in (("bare", "bare python3", None), ("command", "belljar run --cpus 1", 1.6),
                              ("api", "bj_run, two threads, cpus 1", 1.45),
                              ("half", "belljar run, half a CPU each", None)):
        ratio = whole[name]["median"] / base
        table.row(f"{label}: all", whole[name], ratio, f"at most {most}" if most else None,
                  ratio <= most if most else None)
        table.row(f"{label}: each", single[name], single[name]["median"] / single["bare"]["median"])
    data["humaneval"] = {"all": whole, "each": single, "programs": count, "cpus": ONE_CPU[1]}


# ---- Soak ------------------------------------------------------------------------------------

def of_a_run(status):
    """Whether the owner is an outside id: what a run started by root leaves belongs to one."""
    return 0x70000000 <= status.st_uid < 0x70400000


def count_processes():
    """Launchers, and whatever lives in a pid namespace other than ours."""
    ours = os.readlink("/proc/self/ns/pid")
    count = 0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                name = Path(f"/proc/{entry.name}/comm").read_text()
                count += (name.startswith("belljar") or of_a_run(entry.stat()) or
                          os.readlink(f"/proc/{entry.name}/ns/pid") != ours)
    return count


def count_files():
    """In the places where temporary files lie: those of runs, and those that bear our name."""
    folders = ["/tmp", "/var/tmp", "/dev/shm", "/run", os.environ.get("XDG_RUNTIME_DIR", "")]
    count = 0
    for folder in {folder for folder in folders if folder}:
        for place, directories, names in os.walk(folder):
            for name in directories + names:
                with contextlib.suppress(OSError):
                    count += "belljar" in name or of_a_run(os.lstat(os.path.join(place, name)))
    return count


def count_host():
    """What a run could leave: a count of each kind, on this host."""
    return {"cgroups": sum(1 for _ in os.walk("/sys/fs/cgroup")),
            "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
            "processes": count_processes(), "files": count_files()}


def bench_soak(table, data, args):
    if args.soak == 0:
        table.left_out("soak", "SOAK=0")
        return
    policy = policy_for()
    before = count_host()
    began = time.monotonic()
    done = subprocess.run([TOOLS / "soak", str(args.soak), policy[1] if policy else "-"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    seconds = time.monotonic() - began
    if not done.stdout:
        raise RuntimeError("soak: no answer")
    got = json.loads(done.stdout)
    after = count_host()
    table.title(f"{got['runs']} runs in a row, mixed outcomes, {seconds:.0f} s")
    told = ", ".join(f"{name} {count}" for name, count in got["outcomes"].items() if count)
    print(f"  {told}")
    table.row(f"outcomes other than expected: {got['wrong']}", None, None, "0", got["wrong"] == 0)
    table.row(f"runs that say something was left: {got['left_behind']}", None, None, "0",
              got["left_behind"] == 0)
    grown = got["resident_kib"][1] - got["resident_kib"][0]
    table.row(f"caller's descriptors: {got['descriptors'][0]}, then {got['descriptors'][1]}", None,
              None, "the same", got["descriptors"][0] == got["descriptors"][1])
    table.row(f"caller's memory: {got['resident_kib'][0]} KiB, {grown:+} after", None, None,
              "at most +512", grown <= 512)
    for name, count in before.items():
        table.row(f"{name} on the host: {count}, then {after[name]}", None, None, "the same",
                  after[name] <= count)
    data["soak"] = {**got, "before": before, "after": after, "seconds": seconds}


# ---- All -------------------------------------------------------------------------------------

BENCHES = {"start": bench_start, "deadline": bench_deadline, "output": bench_output,
           "humaneval": bench_humaneval, "soak": bench_soak}


def machine():
    cpu = next((line.partition(":")[2].strip() for line in
                Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return {"kernel": platform.release(), "machine": platform.machine(), "cpu": cpu,
            "cpus": os.cpu_count(), "uid": os.geteuid(), "commit": commit.stdout.strip(),
            "load_before": os.getloadavg(),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100, help="samples of each")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all HumanEval programs")
    parser.add_argument("--soak", type=int, default=10000, help="runs in a row; 0: none")
    parser.add_argument("--humaneval", type=Path, help="HumanEval.jsonl.gz")
    parser.add_argument("--name", default=platform.release(), help="name of the results")
    parser.add_argument("--only", action="append", choices=BENCHES, help="this part alone")
    parser.add_argument("--strict", action="store_true", help="a missed target is a failure")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    args = parser.parse_args()
    if args.n < 1 or args.rounds < 1 or args.soak < 0:
        parser.error("counts are positive")
    return args


def main():
    args = parse()
    table, data, facts, broken = Table(), {}, machine(), []
    print(f"{facts['kernel']} {facts['machine']}, {facts['cpus']} CPUs, {facts['cpu']}, "
          f"load {facts['load_before'][0]:.1f}")
    for name in args.only or BENCHES:
        try:
            BENCHES[name](table, data, args)
        except (RuntimeError, KeyError, OSError, subprocess.CalledProcessError) as error:
            broken.append(f"{name}: {error}")
            table.row(f"{name}: {type(error).__name__}: {error}", None, None, None, False)
    facts["load_after"] = os.getloadavg()
    out = args.out or ROOT / "bench/results" / f"{args.name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"schema": "belljar.bench/1", "machine": facts, "rows": table.rows,
                               "data": data}, separators=(",", ":")) + "\n")
    missed = [row["name"] for row in table.rows if row.get("met") is False]
    print(f"\nkept in {out}")
    for name in missed:
        print(f"missed: {name}")
    sys.exit(1 if broken or (args.strict and missed) else 0)


if __name__ == "__main__":
    main()
