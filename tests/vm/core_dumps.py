# SPDX-License-Identifier: Apache-2.0
"""
Crashes inside a machine whose core_pattern is a pipe, bare and in runs, and says which of them
started the handler. Started as root with the path of belljar and of a policy file that accepts
`cgroup` as missing; prints a JSON list of rows.

A machine of its own is needed: core_pattern is one for the whole host. With a core_pipe_limit the
kernel holds a crashed process until its handler has read all, so what a handler did is there once
the process has been waited for.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys

UID = 1234
STARTED = pathlib.Path("/run/core-handler.started")
HANDLER = pathlib.Path("/run/core-handler")
PYTHON = ["/usr/bin/python3", "-I", "-S"]

# Each starts with a limit of 1 and, on a host without Belljar, all but the first end with one of 0.
HEAD = """
import ctypes, os, resource, sys
CORE = resource.RLIMIT_CORE
libc = ctypes.CDLL(None, use_errno=True)
long, at = ctypes.c_long, ctypes.c_void_p
setrlimit, prlimit = {"x86_64": (160, 302), "aarch64": (164, 261)}[os.uname().machine]
none = (ctypes.c_uint64 * 2)(0, 0)
# A pointer to zeros of which the low 32 bits are zero.
libc.mmap.restype = at
low = libc.mmap(at(1 << 32), long(4096), 3, 0x100022, -1, long(0))
assert low == 1 << 32, low
before = resource.getrlimit(CORE)
"""
LOWERED = {
    "left as it is": "got = 0",
    "setrlimit": "got = libc.setrlimit(CORE, none)",
    "raw setrlimit": "got = libc.syscall(long(setrlimit), long(CORE), none)",
    "raw setrlimit, high bit": "got = libc.syscall(long(setrlimit), long(CORE | 1 << 32), none)",
    "raw prlimit": "got = libc.syscall(long(prlimit), long(0), long(CORE), none, None)",
    "raw prlimit, low half zero":
        "got = libc.syscall(long(prlimit), long(0), long(CORE), at(low), None)",
    "raw prlimit, high bit":
        "got = libc.syscall(long(prlimit), long(os.getpid()), long(CORE | 1 << 32), at(low), None)",
}
TAIL = "\nprint(got, *before, *resource.getrlimit(CORE), flush=True)\n"
CRASH = "ctypes.string_at(0)\n"
ABORT = "os.abort()\n"
IN_A_CHILD = f"os.execv(sys.executable, {PYTHON + ['-c', 'import os; os.abort()']!r})\n"
IN_A_CHILD = f"pid = os.fork()\nif not pid:\n    {IN_A_CHILD}os.waitpid(pid, 0)\n{ABORT}"


def code(lowered, end=CRASH):
    return [*PYTHON, "-c", HEAD + LOWERED[lowered] + TAIL + end]


def as_user():
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


def refusals():
    """Crashes for which the kernel, because of a limit of 1, started no handler."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return log.count("RLIMIT_CORE")


def row(where, name, argv, limit, user=False):
    def enter():
        resource.setrlimit(resource.RLIMIT_CORE, limit)
        if user:
            as_user()

    STARTED.write_bytes(b"")
    before = refusals()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/",
                          preexec_fn=enter, timeout=90, check=False)
    if where == "run":
        result = json.loads(done.stdout)
        died_of = result["signal"] if result["outcome"] == "signaled" else 0
        text, layers = result["stdout"]["text"], result["layers"]
        (note,) = [layer.get("note", "") for layer in layers if layer["name"] == "rlimit"]
        error = result["stderr"]["text"] + (result["error"] or {}).get("message", "")
    else:
        died_of = max(0, -done.returncode)
        text, note, error = done.stdout, "", done.stderr
    return {"where": where, "name": name, "user": user, "limits": text.split(), "error": error,
            "signal": died_of, "note": note, "started": len(STARTED.read_bytes().splitlines()),
            "refused": refusals() - before}


def main():
    belljar, policy = sys.argv[1:]
    HANDLER.write_text(f"#!/bin/sh\necho started >>{STARTED}\nexec cat >/dev/null\n")
    HANDLER.chmod(0o755)
    pathlib.Path("/proc/sys/kernel/core_pattern").write_text(f"|{HANDLER} %P")
    pathlib.Path("/proc/sys/kernel/core_pipe_limit").write_text("8")
    run = [belljar, "run", "--json", "--"]
    run_user = [belljar, "run", "--json", "--policy", policy, "--"]
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--net", "--ipc", "--uts",
             "sh", "-c", '"$@"; exit 0', "sh"]
    free, one, zero = (0, resource.RLIM_INFINITY), (1, 1), (0, 0)
    rows = [row("bare", name, code(name), one) for name in LOWERED]
    rows += [row("bare", "a limit of 0", code("left as it is"), free),
             row("bare", "namespaces", [*alone, *code("left as it is")], free),
             row("bare", "a child", code("setrlimit", IN_A_CHILD), one)]
    rows += [row("run", name, run + code(name), free) for name in LOWERED]
    rows += [row("run", "a child", run + code("setrlimit", IN_A_CHILD), free),
             row("run", "as a user", run_user + code("raw prlimit, low half zero"), free, True),
             row("run", "a hard limit of 0", run + code("setrlimit"), zero),
             row("run", "a user's hard limit of 0", run_user + code("setrlimit"), zero, True)]
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
