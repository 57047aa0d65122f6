# SPDX-License-Identifier: Apache-2.0
"""A tree to plant defects in: a copy of the sources, built, with the tests run where nothing that a
defect leaves can reach this machine or another worker."""

import contextlib
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "gates"))
import counting  # noqa: E402

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "unified")
PATIENCE = 60  # seconds; a named test takes one or two, and one that does not end is red
BUILD_PATIENCE = 600

PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]

# Processes, mounts, /tmp, network, IPC, host name and cgroups of its own: whatever runs on after the
# tests ends with pid 1, and a wall that was planted open leads here. Some tests count bystanders.
ENCLOSED = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
            "--mount-proc", "--net", "--ipc", "--uts", "--", "sh", "-c", """
    set -e
    mount --bind "$0" /mnt
    /usr/bin/python3 -ISc 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))'  # up
    hostname belljar-defects
    for n in 1 2 3; do sleep 3600 & done
    for top in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 defects $top; done
    mkdir -p "$0"
    mount --move /mnt "$0"
    for pair in $1; do mount --bind "${pair%%=*}" "${pair#*=}"; done
    if [ "$2" ]; then mount -t cgroup2 defects "$2"; fi
    cd "$0/source"
    shift 2
    set +e
    "$@"
    exit $?"""]
# The same from a leaf of a cgroup that is the root of all that is seen: version 2 alone.
IN_LEAF = ["sh", "-c", """
    echo $$ >"$0/cgroup.procs" && exec unshare --cgroup -- sh -c '
        echo $$ >"$0/leaf/cgroup.procs" && exec "$@"' "$0" "$@" """]


def write(path, text):
    Path(path).write_text(text, encoding="ascii")


class Cgroups:
    """Cgroups of its own for a worker, which what is run in it takes for the whole machine's."""

    def __init__(self, name):
        self.version_2 = (CGROUPS / "cgroup.controllers").exists()
        self.made = {}  # the worker's own: the mount that it stands in for
        tops = [CGROUPS] if self.version_2 else [CGROUPS / c for c in CONTROLLERS]
        for top in tops:
            if not os.path.ismount(top):
                continue
            if self.version_2:
                write(top / "cgroup.subtree_control", "+memory +pids +cpu")
            (top / name).mkdir(exist_ok=True)
            self.made[top / name] = top

    def command(self, place, command):
        pairs, fresh = " ".join(f"{own}={top}" for own, top in self.made.items()), ""
        if not self.version_2:
            return [*ENCLOSED, str(place), pairs, fresh, *command]
        (own, top), = self.made.items()
        (own / "leaf").mkdir(exist_ok=True)
        return [*IN_LEAF, str(own), *ENCLOSED, str(place), "", str(top), *command]

    def clear(self, own_too=False):
        """Every process in them is dead or dying; a directory that stays is told by the next run."""
        end = time.monotonic() + 10
        for own in self.made:
            if self.version_2 and (own / "cgroup.kill").exists():
                write(own / "cgroup.kill", "1")
            folders = [Path(top) for top, _, _ in os.walk(own, topdown=False)]
            for folder in folders if own_too else folders[:-1]:
                while folder.exists():
                    try:
                        folder.rmdir()
                    except OSError:
                        if time.monotonic() > end:
                            break
                        time.sleep(0.01)


class DoesNotBuild(Exception):
    pass


class Worker:
    def __init__(self, place, root):
        self.place, self.root = place, root
        self.source, self.build = place / "source", place / "build"
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "BELLJAR_MUST_WORK": "1",
            "BELLJAR_STAGE": str(self.build / "stage"),
            "SEAM_DIR": str(self.build / "tests" / "seams")}
        self.cgroups = Cgroups(f"defects-{os.getpid()}-{place.name}")

    def close(self):
        self.cgroups.clear(own_too=True)

    # ---- The tree ---------------------------------------------------------------------------

    def prepare(self):
        """Brings the copy up to date and builds it."""
        self.source.mkdir(parents=True, exist_ok=True)
        self.copy()
        if not (self.build / "build.ninja").exists():
            shutil.rmtree(self.build, ignore_errors=True)
            self.run_build([*counting.MESON, "setup", str(self.build), str(self.source),
                            f"--prefix={self.build / 'stage'}", "-Dtests=enabled"])
        self.make()

    def copy(self):
        """Only what differs is written, so that little is built anew."""
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"],
                                cwd=self.root, check=True, stdout=subprocess.PIPE).stdout
        names = {os.fsdecode(name) for name in listed.split(b"\0") if name}
        cache = self.root / "subprojects" / "packagecache"
        names |= {str(path.relative_to(self.root)) for path in cache.glob("*")}
        names = {name for name in names if (self.root / name).is_file()}
        for name in names:
            here, there = self.root / name, self.source / name
            if there.exists() and there.read_bytes() == here.read_bytes():
                continue
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(here, there)
            there.chmod(0o755 if os.access(here, os.X_OK) else 0o644)
        for path in self.source.rglob("*"):
            name = path.relative_to(self.source)
            # What its set-up has unpacked stays.
            unpacked = name.parts[0] == "subprojects" and len(name.parts) > 2 and \
                name.parts[1] != "packagefiles"
            if path.is_file() and not unpacked and str(name) not in names:
                path.unlink()

    def run_build(self, command):
        done = subprocess.run(command, cwd=self.source, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=BUILD_PATIENCE)
        if done.returncode:
            raise DoesNotBuild(done.stdout[-3000:])

    def make(self):
        self.run_build(["ninja", "-C", str(self.build), "--quiet"])
        self.run_build([*counting.MESON, "install", "-C", str(self.build), "--no-rebuild",
                        "--quiet", "--only-changed"])

    @contextlib.contextmanager
    def planted(self, edits):
        """The tree with these edits, which were seen to apply."""
        before = {}
        try:
            for edit in edits:
                path = self.source / edit["file"]
                before.setdefault(path, path.read_bytes())
                path.write_text(path.read_text().replace(edit["old"], edit["new"]))
            yield
        finally:
            for path, content in before.items():
                path.write_bytes(content)

    # ---- Tests ------------------------------------------------------------------------------

    def enclosed(self, command, patience):
        """Its exit status, or None where it did not end in time."""
        with (self.place / "log").open("wb") as log:
            process = subprocess.Popen(self.cgroups.command(self.place, command), cwd=self.source,
                                       env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                return process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()  # and with it pid 1 of what it encloses
                process.wait()
                return None
            finally:
                self.cgroups.clear()

    def meson(self, suites, names=()):
        """Results of Meson's tests, each case of it too: name -> "ok", "red" or "skipped"."""
        log = self.build / "meson-logs" / "defects.json"
        log.unlink(missing_ok=True)
        command = [*counting.MESON, "test", "-C", str(self.build), "--no-rebuild", "--logbase",
                   "defects", *(f"--suite={suite}" for suite in suites), *names]
        if self.enclosed(command, PATIENCE) is None or not log.exists():
            return {"all of them": "red"}
        results = {}
        for line in log.read_text().splitlines():
            results.update(of_record(json.loads(line)))
        return results

    def suites(self):
        """Those of Meson's that this tree has."""
        listed = subprocess.run([*counting.MESON, "introspect", "--tests", str(self.build)],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        return {suite.rpartition(":")[2] for test in json.loads(listed) for suite in test["suite"]}

    def collected(self, words):
        """What pytest has of these: FILE::TEST, with [PARAMETER] or for all of them. Stars in it stand
        for anything: steps are numbered, and what is planted may move the numbers. None where
        nothing can be collected."""
        files = sorted({w.partition("::")[0] for w in words})
        if self.enclosed([*PYTEST, "--collect-only", *files], PATIENCE) != 0:
            return None
        there = re.findall(r"^(tests/\S+?::.*)$", self.log(None), re.M)
        return [name for name in there if any(is_of(name, word) for word in words)]

    def pytest(self, words, look=False):
        """Results of pytest: test -> "ok", "red" or "skipped"; `look`: of those that are there."""
        if look or any("*" in word for word in words):
            words = self.collected(words)
            if not words:
                return {} if words == [] else {"all of them": "red"}
        report = self.place / "pytest.xml"
        report.unlink(missing_ok=True)
        status = self.enclosed([*PYTEST, f"--junitxml={report}", *words],
                               PATIENCE * (1 + len(words) // 20))
        if status == 4 and "ERROR: not found: " in self.log(None):
            return {}
        if status not in (0, 1, 5):  # did not end, or nothing could be collected
            return {"all of them": "red"}
        return of_junit(report)

    def log(self, size=6000):
        text = (self.place / "log").read_text(errors="replace")
        return text if size is None else text[-size:]


def is_of(name, wanted):
    """Whether a test is the wanted one, or that with a parameter."""
    if "*" in wanted:
        return fnmatch.fnmatchcase(name, wanted.replace("[", "[[]", 1))
    return name == wanted or (name.startswith(wanted + "[") and name.endswith("]"))


def of_record(record):
    """One line of Meson's testlog.json: the test, and "test: case" for each case that it tells."""
    name, text = record["name"].rpartition(" / ")[2], record.get("stdout") or ""
    # "project:suite / name"; a name of ours may have a "/" in it, but not with blanks around it.
    state = {"OK": "ok", "EXPECTEDFAIL": "ok", "SKIP": "skipped"}.get(record["result"], "red")
    results = {name: state}
    for verdict, case in re.findall(r"^(ok|not ok) \d+ - (.*)$", text, re.M):
        results[f"{name}: {case.strip()}"] = "ok" if verdict == "ok" else "red"
    return results


def of_junit(report):
    results = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        state = "ok"
        if case.find("failure") is not None or case.find("error") is not None:
            state = "red"
        elif case.find("skipped") is not None:
            state = "skipped"
        results[name] = "red" if "red" in (state, results.get(name)) else state
    return results
