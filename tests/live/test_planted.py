# SPDX-License-Identifier: Apache-2.0
"""What a planted defect showed that nothing saw: small differences with walls that stand all the same."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

import harness

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a namespace with real root is needed")


def mounts_of(text):
    """point -> (options, what follows them up to the dash)"""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        rows[words[4]] = (words[5].split(","), words[6:words.index("-")])
    return rows


# ---- Mounts --------------------------------------------------------------------------------------


@needs_root
def test_no_mount_follows_one_of_the_host(bell):
    """Where the host's mounts are shared, as systemd has them, a copy that is not private follows."""
    shared = harness.in_mounts("mount --make-rshared /")
    # In a shell that stays: with its last process a namespace ends, and so does what followed it.
    control = subprocess.run([*shared, "sh", "-c", '"$@"; exit $?', "sh", "unshare", "--user", "--map-root-user", "--mount",
                              "--propagation", "unchanged", "--", "cat", "/proc/self/mountinfo"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    assert any(word.startswith("master:") for _, more in mounts_of(control).values() for word in more)
    rows = mounts_of(bell.run("--", "/bin/cat", "/proc/self/mountinfo", before=shared).out)
    assert "/usr" in rows
    assert {point: more for point, (_, more) in rows.items() if more} == {}


def test_what_steers_the_kernel_lies_on_a_read_only_mount(bell):
    """That its files belong to the host's root guards them too; here is the other wall."""
    rows = mounts_of(bell.run("--", "/bin/cat", "/proc/self/mountinfo").out)
    for point in ("/proc/sys", *(["/proc/sysrq-trigger"] if os.path.exists("/proc/sysrq-trigger") else [])):
        assert point in rows and "ro" in rows[point][0], rows


@needs_root
def test_a_device_of_the_host_of_another_number_is_not_bound(bell):
    dev = ("mount -t tmpfs -o mode=755 none /mnt && cp -a /dev/null /dev/zero /dev/full /dev/random "
           "/dev/urandom /dev/tty /mnt && mkdir /mnt/shm")
    got = bell.run("--", "/bin/cat", "/dev/null", before=harness.in_mounts(
        f"{dev} && rm /mnt/null && mknod -m 666 /mnt/null c 1 5 && mount --move /mnt /dev"))
    assert (got.started, got.status) == (False, 125), got
    assert "/dev/null is not the character device 1:3" in got.json["error"]["message"], got
    got = bell.run("--", "/bin/echo", "fine", before=harness.in_mounts(f"{dev} && mount --move /mnt /dev"))
    assert got.out == "fine\n"


# ---- Init ----------------------------------------------------------------------------------------


def running(bell, token, *words, options=()):
    """A run that has printed the token, and its init as the host sees it."""
    process = bell.start_inside(*words, "pause", token, options=options)
    assert harness.until(lambda: harness.started(token))
    (init,) = harness.inits(process.pid)
    return process, init


def end(bell, process, token):
    process.terminate()
    bell.finish(process)
    assert not harness.marked(token)


def test_init_has_no_privileges(bell, token):
    process, init = running(bell, token)
    rows = dict(line.split(":", 1) for line in harness.read(f"/proc/{init}/status").decode().splitlines())
    end(bell, process, token)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(rows[name], 16) == 0, (name, rows[name])
    assert rows["NoNewPrivs"].strip() == "1"


def test_init_holds_what_it_needs_and_no_more(bell, token):
    """A signalfd and its socket: not the launcher's files, nor the caller's."""
    process, init = running(bell, token)
    links = sorted(os.readlink(f"/proc/{init}/fd/{name}") for name in os.listdir(f"/proc/{init}/fd"))
    end(bell, process, token)
    assert len(links) == 2, links
    assert links[0] == "anon_inode:[signalfd]" and links[1].startswith("socket:"), links


def test_the_program_goes_first_where_the_hosts_memory_runs_out(bell, token):
    process, _ = running(bell, token)
    (program,) = harness.marked(token)
    adjust = harness.read(f"/proc/{program}/oom_score_adj")
    end(bell, process, token)
    assert int(adjust) >= 500


def test_soft_limits_of_the_caller_are_not_set_ups(bell):
    """Its hard ones stand; a soft one it may have lowered for itself."""
    source = bell.file("large", b"x" * (2 << 20))

    def odd():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 4096))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    got = bell.run("--in", f"{source}:large", "--", "/bin/sh", "-c", "ulimit -S -n; wc -c <large",
                   preexec_fn=odd)
    assert got.out.split() == ["1024", str(2 << 20)], got


def test_nobody_but_belljar_holds_what_its_caller_left_open(bell, token, canary):
    leaked = os.open(canary, os.O_RDONLY)
    try:
        process = bell.start_inside("pause", token, pass_fds=(leaked,))
        assert harness.until(lambda: harness.started(token))
        holders = {pid: [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
                   for pid in {process.pid} | harness.descendants(process.pid)}
        mine = holders.pop(process.pid)
    finally:
        os.close(leaked)
        end(bell, process, token)
    assert str(canary) in mine, "what is looked for would be found"
    assert len(holders) >= 4, "launcher, guard, init and program"
    assert not any(str(canary) in links for links in holders.values()), holders


def test_the_limits_are_in_the_files_of_the_runs_cgroup(first_bell, token):
    """What the kernel is told, swap too, which a host without swap never shows."""
    bell = first_bell
    process, _ = running(bell, token, options=["--memory", "64m", "--pids", "20", "--cpus", "0.5"])
    (program,) = harness.marked(token)
    paths = {controller: path for _, controllers, path in
             (line.split(":", 2) for line in harness.read(f"/proc/{program}/cgroup").decode().splitlines())
             for controller in controllers.split(",")}
    found = {}
    for controller, names in {"memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
                              "pids": ("pids.max",), "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us"),
                              "": ("memory.max", "memory.swap.max", "cpu.max", "pids.max")}.items():
        for path in harness.cgroups_named(paths[controller].rpartition("belljar-")[2]) \
                if "belljar-" in paths.get(controller, "") else []:
            found |= {name: harness.read(f"{path}/{name}").decode().strip() for name in names
                      if os.path.exists(f"{path}/{name}")}
    end(bell, process, token)
    wanted = {"memory.limit_in_bytes": str(64 << 20), "memory.memsw.limit_in_bytes": str(64 << 20),
              "memory.max": str(64 << 20), "memory.swap.max": "0", "pids.max": "21",
              "cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000", "cpu.max": "50000 100000"}
    assert bool(found) == bell.cgroup
    assert found == {name: wanted[name] for name in found}
    if bell.cgroup:
        assert {"pids.max"} < set(found) and {"memory.limit_in_bytes", "memory.max"} & set(found), found


def test_a_stopped_init_does_not_keep_the_program_when_the_launcher_dies(bell, token):
    """It reads no end of a socket then; that it dies with the launcher is the kernel's to see to."""
    process, init = running(bell, token)
    (launcher,) = harness.launchers(process.pid) - {process.pid}
    os.kill(init, signal.SIGSTOP)
    os.kill(launcher, signal.SIGKILL)
    bell.finish(process)
    assert harness.until(lambda: not harness.marked(token), 10)


def test_a_stopped_init_does_not_keep_a_program_that_printed_too_much(bell, token):
    """This end is the launcher's alone to bring about: there is no timer, and nobody cancels."""
    script = f"read line <fifo; yes {token}"
    process = bell.start("--max-output", "1m", "--", "/bin/sh", "-c",
                         f"mkfifo fifo; echo {token}; sh -c '{script}' & wait")
    try:
        found = harness.until(lambda: harness.started(token) and harness.inits(process.pid))
        (init,) = found
        os.kill(init, signal.SIGSTOP)
        # The fifo's other end, through the program's own root.
        (reader, *_) = harness.marked(token)
        assert harness.until(lambda: os.path.exists(f"/proc/{reader}/root/workspace/fifo"))
        with open(f"/proc/{reader}/root/workspace/fifo", "w", encoding="ascii") as fifo:
            fifo.write("go\n")
    finally:
        out, err = bell.finish(process)
    got = harness.Result(process, "stopped", out, err)
    bell.check(got)
    assert got.outcome == "output_limit", got
    assert not harness.marked(token)


def test_a_killed_launcher_leaves_no_cgroup(bell, token):
    """Whoever asked for the run removes them, before the next one could."""
    process, _ = running(bell, token)
    (launcher,) = harness.launchers(process.pid) - {process.pid}
    os.kill(launcher, signal.SIGKILL)
    out, err = bell.finish(process)
    run_id = harness.Result(process, "killed", out, err).run_id
    assert run_id and harness.cgroups_named(run_id) == []
    assert harness.until(lambda: not harness.marked(token), 10)


# ---- What may be missing -------------------------------------------------------------------------


def test_what_may_be_missing_is_put_up_where_it_can_be(bell):
    got = bell.run("--policy", bell.policy(accept_missing=["cgroup", "landlock"]), "--", "/bin/true",
                   policy=False)
    assert got.layer("landlock")["state"] == "proven", got
    assert got.layer("cgroup")["state"] == ("proven" if bell.cgroup else "accepted_missing")


def test_the_least_abi_of_landlock_may_be_the_one_that_is_there(bell):
    note = bell.run("--", "/bin/true").layer("landlock")["note"]
    there = int(note.split(";")[0].removeprefix("ABI "))
    for least, outcome in ((there, "exited"), (there + 1, "refused")):
        got = bell.run("--policy", bell.policy(landlock_abi_min=least), "--", "/bin/true", policy=False)
        assert got.outcome == outcome, got


# ---- Outputs -------------------------------------------------------------------------------------


def test_every_output_is_delivered(bell):
    names = ("one", "two", "three")
    options = [word for name in names for word in ("--out", f"{name}:{bell.place / name}")]
    got = bell.run(*options, "--", "/bin/sh", "-c", "for n in one two three; do echo $n >$n; done")
    assert got.exit_code == 0 and [file["path"] for file in got.files] == list(names), got
    assert [(bell.place / name).read_text() for name in names] == ["one\n", "two\n", "three\n"]


def test_an_output_that_was_not_made_is_no_success(bell):
    """What was asked for did not come, whatever the program says of itself."""
    out = bell.place / "never"
    got = bell.run("--out", f"never:{out}", "--", "/bin/true")
    assert (got.outcome, got.exit_code, got.status, got.retry) == ("exited", 0, 125, "change"), got
    assert not out.exists()
    # A failure of the program's own is the greater one.
    assert bell.run("--out", f"never:{out}", "--", "/bin/sh", "-c", "exit 4").status == 4


# ---- Output and time -----------------------------------------------------------------------------


def test_output_of_just_the_limit_is_not_too_much(bell):
    """Of both streams together."""
    code = "head -c 3000 /dev/zero; head -c {} /dev/zero >&2; sleep 0; read line; exit 3"
    got = bell.run("--max-output", "5000", "--", "/bin/sh", "-c", code.format(2000))
    assert (got.outcome, got.exit_code) == ("exited", 3), got
    got = bell.run("--max-output", "5000", "--time", "60s", "--", "/bin/sh", "-c",
                   "head -c 3000 /dev/zero; head -c 2001 /dev/zero >&2; sleep 1000")
    assert got.outcome == "output_limit", got


def test_an_end_that_came_by_itself_counts_before_the_deadline(bell, token):
    """The launcher, stopped, finds both when it goes on: the program had ended in time."""
    script = f"echo {token}; read line <fifo; exit 7"
    process = bell.start("--time", "5s", "--", "/bin/sh", "-c", f"mkfifo fifo; {script} # {token}")
    assert harness.until(lambda: harness.started(token))
    (launcher,) = harness.launchers(process.pid) - {process.pid}
    (program,) = harness.marked(token)
    assert harness.until(lambda: os.path.exists(f"/proc/{program}/root/workspace/fifo"))
    os.kill(launcher, signal.SIGSTOP)
    try:
        with open(f"/proc/{program}/root/workspace/fifo", "w", encoding="ascii") as fifo:
            fifo.write("go\n")
        assert harness.until(lambda: not harness.marked(token))
        timer = [name for name in os.listdir(f"/proc/{launcher}/fd")
                 if os.readlink(f"/proc/{launcher}/fd/{name}") == "anon_inode:[timerfd]"]
        # Its count of ends, as the kernel shows it.
        assert len(timer) == 1
        assert harness.until(lambda: b"ticks: 1" in harness.read(f"/proc/{launcher}/fdinfo/{timer[0]}"))
    finally:
        os.kill(launcher, signal.SIGCONT)
    out, err = bell.finish(process)
    got = harness.Result(process, "stopped", out, err)
    assert (got.outcome, got.exit_code) == ("exited", 7), got


BURNERS = """
import os, time
def burn(seconds):
    while time.process_time() < seconds: pass
def child(seconds):
    pid = os.fork()
    if pid == 0:
        burn(time.process_time() + seconds)
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_the_cpu_time_of_short_children_counts(bell):
    """Each is over before a second look at it; its parent's account has it."""
    code = BURNERS + """
import resource
while resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime < 2: child(0.008)
"""
    got = bell.python(code, "--cpu-time", "600ms", "--time", "80s", "--cpus", "1")
    assert (got.outcome, got.limits_hit) == ("cpu_limit", ["cpu"]), got


def test_limits_hold_though_nobody_reads_the_output(bell, token):
    """Whoever started belljar does not read: the launcher goes on all the same."""
    code = BURNERS + f"""
if os.fork() == 0:
    while True: os.write(1, b"x" * 65536)
marker = "{token}"
while True: child(0.2)
"""
    reader, writer = os.pipe()
    process = bell.start("--cpu-time", "1s", "--time", "90s", "--cpus", "1", "-c", code + "#" + token,
                         "--lang", "python", json_=False, stdout=writer)
    os.close(writer)
    try:
        assert harness.until(lambda: harness.inits(process.pid), 10)
        assert harness.until(lambda: not harness.inits(process.pid), 30)
    finally:
        os.close(reader)
        process.terminate()
        bell.finish(process)


def test_an_input_that_nobody_gives_has_an_end(bell):
    got = bell.run("--", "/bin/cat")
    assert (got.outcome, got.exit_code) == ("exited", 0), got


# ---- Names ---------------------------------------------------------------------------------------


SAME = """
#include <string.h>
#include <sys/types.h>
ssize_t getrandom(void *data, size_t size, unsigned flags)
{
\tmemset(data, 0x5a, size);
\treturn (ssize_t)size + (flags & 0);
}
"""
CALLER = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.bj_request_new.restype = ctypes.c_void_p
lib.bj_result_json.restype = ctypes.c_char_p
req = ctypes.c_void_p(lib.bj_request_new())
assert lib.bj_request_set(req, b"time", b"100s", None) == 0
argv = (ctypes.c_char_p * 4)(b"/bin/sh", b"-c", sys.argv[2].encode(), None)
assert lib.bj_request_program(req, argv, None) == 0
res = ctypes.c_void_p()
assert lib.bj_run(req, -1, ctypes.byref(res), None) == 0
print(lib.bj_result_json(res).decode())
"""


@pytest.mark.skipif(harness.modes_of_this_host()[0] != "root", reason="only root's runs have one parent")
def test_two_runs_of_one_id_do_not_share_a_cgroup(first_bell, token):
    """Random ids do not meet; if they did, the second would be refused and the first go on. By the
    shared library: the command's own libc is in it."""
    bell, run_id = first_bell, "5a" * 8
    library = bell.place / "same.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(bell.file("same.c", SAME))],
                   check=True)
    (belljar,) = harness.STAGE.glob("lib*/**/libbelljar.so")

    def start(script):
        return subprocess.Popen([*bell.prefix(), sys.executable, "-c", CALLER, str(belljar), script],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=bell.place,
                                env=harness.clean_env(LD_PRELOAD=str(library)))
    first = start(f"sleep 600; : {token}")
    try:
        assert harness.until(lambda: bell_inside(first, token)), first.poll()
        assert harness.cgroups_named(run_id)
        out, err = start("echo ran").communicate(timeout=harness.PATIENCE)
        got = json.loads(out)
        assert (got["started"], got["run_id"]) == (False, run_id), (got, err)
        assert "cgroup" in got["error"]["message"] and "File exists" in got["error"]["message"], got
        assert bell_inside(first, token), "the first one lives"
        assert harness.cgroups_named(run_id)
    finally:
        first.kill()
        first.communicate()
    assert harness.until(lambda: not harness.cgroups_named(run_id), 10)


def bell_inside(process, token):
    """Processes of a run below this one; the caller itself has the token in its words too."""
    return {pid for pid in harness.marked(token) & harness.descendants(process.pid)
            if harness.cmdline(pid).startswith(b"/bin/sh")}
