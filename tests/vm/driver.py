# SPDX-License-Identifier: Apache-2.0
"""
Runs commands inside a machine, one after the other, and says what each did and what it left there.

Started as root with a JSON list of commands as its argument; prints a JSON list of answers. A
command is {"argv", "who", "env"}: who is `root`; `user`; `user-cgroup`, alone in a cgroup made for
it and delegated; or `user-scope`, in one that its systemd delegates.
"""
import json
import os
import pathlib
import subprocess
import sys

UID = 1234
CGROUPS = pathlib.Path("/sys/fs/cgroup")
DELEGATED = ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control")
PATIENCE = 240  # seconds; a command that takes longer is a failure


def processes():
    """Everything alive but this process, kernel threads, and what systemd starts as it likes."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if (line or state == "Z") and "systemd" not in line and "dbus" not in line:
            found[entry.name] = line or "zombie"
    return found


def cgroups():
    return {top: "" for top, _, _ in os.walk(CGROUPS) if "/belljar-" in top}


def mounts():
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return {line.split()[4] + " " + line.split()[0]: "" for line in lines}


def files():
    found = {}
    for top in ("/tmp", "/var/tmp", "/dev/shm", "/run/user"):
        for where, directories, names in os.walk(top):
            if not where.startswith("/run/user/1234/systemd"):
                found.update({os.path.join(where, name): "" for name in directories + names})
    return found


LEDGERS = {"processes": processes, "cgroups": cgroups, "mounts": mounts, "files": files}


def delegate(number):
    """A cgroup as a system manager delegates it."""
    for controller in ("cpu", "memory", "pids"):
        (CGROUPS / "cgroup.subtree_control").write_text("+" + controller)
    place = CGROUPS / f"delegated-{number}"
    place.mkdir()
    for name in DELEGATED:
        os.chown(place / name, UID, UID)
    return place


def remove(place):
    """From the leaves up; fails where a process is left."""
    for top, _, _ in os.walk(place, topdown=False):
        os.rmdir(top)


def become(who, place):
    if place is not None:
        (place / "cgroup.procs").write_text(str(os.getpid()))
    if who != "root":
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)


def run(number, command):
    who, argv = command["who"], command["argv"]
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/root", **command.get("env", {})}
    if who != "root":
        env["HOME"] = "/home/tester"
    place = delegate(number) if who == "user-cgroup" else None
    if who == "user-scope":
        env["XDG_RUNTIME_DIR"] = f"/run/user/{UID}"
        env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path=/run/user/{UID}/bus"
        argv = ["systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", *argv]
    before = {name: look() for name, look in LEDGERS.items()}
    done = subprocess.run(argv, env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=lambda: become(who, place), timeout=PATIENCE, check=False)
    if place is not None:
        remove(place)
    left = {}
    for name, look in LEDGERS.items():
        new = {key: value for key, value in look().items() if key not in before[name]}
        if new:
            left[name] = new
    return {"status": done.returncode, "stdout": done.stdout.decode(errors="replace"),
            "stderr": done.stderr.decode(errors="replace"), "left": left}


def main():
    answers = []
    for number, command in enumerate(json.loads(sys.argv[1])):
        try:
            answers.append(run(number, command))
        except (OSError, subprocess.SubprocessError) as error:
            answers.append({"status": -1, "stdout": "", "stderr": repr(error), "left": {}})
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
