# SPDX-License-Identifier: Apache-2.0
"""`belljar doctor --deep`: every check on this host, what it leaves, and what it says where it cannot.

That a check goes red without its layer is shown in tests/seams/test_doctor.py, and that one goes red
when anything else comes of it than its row says in tests/unit/test_doctor.c.
"""

import collections
import functools
import json
import os
import re
import subprocess

import pytest

import harness
from harness import BELLJAR, PATIENCE, ROOT, STAGE, clean_env

TABLE = ROOT / "docs" / "generated" / "checks.md"
LIMIT = 65536  # what a program's kept output may be; more would be cut


def call(*words, before=(), env=None):
    return subprocess.run([*before, str(BELLJAR), "doctor", *words], env=env or clean_env(),
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def as_caller(uid):
    return harness.as_user() if uid else []


def deep(uid, before=(), **env):
    got = call("--deep", "--json", before=[*before, *as_caller(uid)], env=clean_env(**env))
    assert got.stderr == "", got
    return got.returncode, json.loads(got.stdout)


@functools.cache
def deep_once(uid):
    return deep(uid)


def landlock_abi(found):
    text = found["host"]["landlock ABI"]
    return int(text) if text.isdigit() else 0


def cannot_be_tried(bell, found):
    """The checks for which this host has nothing: everything else must have been tried."""
    missing = {"mount_home"}  # the environment names a home that no image has to hide
    if not bell.cgroup:
        missing |= {"cgroup_child", "cgroup_tasks", "cgroup_threads"}
    for check, path in (("mount_kcore", "/proc/kcore"), ("mount_symbols", "/proc/kallsyms"),
                        ("mount_keys", "/proc/keys"), ("mount_kmsg", "/dev/kmsg"),
                        ("mount_sys", "/sys/kernel"), ("mount_shadow", "/etc/shadow")):
        if not os.path.lexists(path):
            missing.add(check)
    if not os.path.exists("/proc/net/if_inet6"):
        missing.add("net_udp6")
    if landlock_abi(found) < 6:
        missing.add("landlock_signal")
    if os.uname().machine != "x86_64":
        missing |= {"seccomp_x32", "seccomp_int80"}
    return missing


def table():
    """(check, layer, sign) of each row of the generated page."""
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|.*\| `(\w+)` \| [^|]*\|$", TABLE.read_text(), re.M)
    assert len(rows) >= 40
    return rows


def test_every_deep_check_comes_to_exactly_what_its_row_says(bell):
    status, found = deep_once(bell.uid)
    checks = found["deep"]["checks"]
    assert found["deep"]["error"] is None
    bad = [check for check in checks if check["state"] == "failed"]
    assert not bad, bad
    untried = {check["id"] for check in checks if check["state"] == "not_tried"}
    assert untried == cannot_be_tried(bell, found)
    assert len(checks) - len(untried) >= 40
    for check in checks:
        if check["state"] == "ok":
            assert (check["got"], check["counterpart_got"]) == (check["expect"], "works"), check
    assert (status, found["proven"]) == ((0, True) if bell.cgroup else (1, False))
    # A missing cgroup is the ordinary doctor's finding, and no deep check changes it.
    failed = {row["name"] for row in found["layers"] if row["state"] == "failed"}
    assert failed == (set() if bell.cgroup else {"cgroup"})


def test_the_checks_are_those_of_the_page_and_cover_the_layers(bell):
    _, found = deep_once(bell.uid)
    checks = found["deep"]["checks"]
    stands_in = {} if bell.cgroup else {"cgroup_memory": "monitor"}
    assert [(check["id"], check["layer"], check["expect"]) for check in checks] == [
        (name, stands_in.get(name, layer), sign) for name, layer, sign in table()]
    assert len({check["id"] for check in checks}) == len(checks)
    tried = collections.Counter(check["layer"] for check in checks if check["state"] == "ok")
    names = {row["name"] for row in found["layers"]} - ({"monitor"} if bell.cgroup else {"cgroup"})
    assert set(tried) == names
    assert all(check["tried"] and check["counterpart"] for check in checks)
    assert {check["where"] for check in checks} == {"inside", "outside"}


def test_a_home_of_the_caller_is_hidden():
    if os.geteuid() != 0:
        pytest.skip("needs a home that is there: root's")
    _, found = deep(0, HOME="/root")
    (check,) = [check for check in found["deep"]["checks"] if check["id"] == "mount_home"]
    assert (check["got"], check["counterpart_got"], check["state"]) == ("ENOENT", "works", "ok")


def test_the_text_is_grouped_by_layer_and_counts(bell):
    got = call("--deep", before=as_caller(bell.uid))
    lines = got.stdout.splitlines()
    start = lines.index("Deep checks: what was tried (what came of it), and what must work.")
    heads = [line for line in lines[start + 2:] if re.fullmatch(r"[a-z]+", line)]
    order = [row["name"] for row in json.loads(call("--json").stdout)["layers"]]
    assert heads == [name for name in order if name in heads] and len(heads) >= 19
    (count,) = [line for line in lines if re.fullmatch(r"\d+ deep checks: .*", line)]
    assert count.startswith(f"{len(table())} deep checks: ") and ", 0 failed, " in count
    mark = "✔" if "✔" in got.stdout else "ok"
    marked = [line for line in lines[start:] if line.startswith(f"{mark}  ")]
    assert count.split()[3] == str(len(marked))
    assert max(map(len, lines)) <= 100


def test_without_deep_none_is_tried():
    got = json.loads(call("--json").stdout)
    assert got["deep"] is None
    assert "eep check" not in call().stdout


def test_it_leaves_nothing_of_its_baits(bell):
    def seen():
        ipc = tuple(harness.read(f"/proc/sysvipc/{kind}").count(b"\n") for kind in ("shm", "sem", "msg"))
        return ipc, {name for name in os.listdir("/tmp") if name.startswith("belljar-d")}, queues()

    def queues():
        code = ("import ctypes; print(ctypes.CDLL(None).mount(b'm', b'/mnt', b'mqueue', 0, None)); "
                "import os; print(*os.listdir('/mnt'))")
        out = subprocess.run(["unshare", "--mount", "--propagation", "private", "/usr/bin/python3", "-c",
                              code], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert out.startswith("0\n"), out
        return {name for name in out.split()[1:] if name.startswith("belljar")}

    if os.geteuid() != 0:
        pytest.skip("needs root to list POSIX queues")
    before = seen()
    deep(bell.uid)
    assert seen() == before


def test_where_no_sandbox_can_be_made_none_is_tried_and_the_reason_is_said():
    if os.geteuid() != 0:
        pytest.skip("needs root to take user namespaces away")
    before = ["unshare", "--user", "--map-root-user", "--", "sh", "-c",
              'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    status, found = deep(0, before=before)
    assert status == 1 and not found["proven"]
    assert {check["state"] for check in found["deep"]["checks"]} == {"not_tried"}
    assert found["deep"]["error"]["layer"] == "user"
    text = call("--deep", before=before)
    assert text.returncode == 1 and "No deep check could be tried: layer user: " in text.stdout


def test_a_probe_that_is_not_there_is_said_and_nothing_is_proven(ledger):
    if os.geteuid() != 0:
        pytest.skip("needs root to cover a file")
    probe = STAGE / "libexec" / "belljar" / "belljar-probe"
    status, found = deep(0, before=harness.in_mounts(f"mount --bind /bin/true {probe}"))
    assert (status, found["proven"]) == (1, False)
    # A run takes place and nothing is said in it: that is no success.
    assert {check["state"] for check in found["deep"]["checks"]} == {"failed"}


def test_what_it_says_inside_is_not_cut(bell):
    """All lines of all checks fit what is kept of a program's output, with room to grow."""
    longest = max(len(json.dumps({"id": name, "part": "counterpart", "got": "EPROTONOSUPPORT"}))
                  for name, _, _ in table())
    assert 2 * len(table()) * (longest + 1) < LIMIT


def test_options_and_pages_speak_of_it():
    assert "--deep" in call("--help").stdout
    page = (STAGE / "share/man/man1/belljar-doctor.1").read_text()
    assert "DEEP CHECKS" in page and "--deep" in page.replace("\\", "")
    completion = (STAGE / "share/bash-completion/completions/belljar").read_text()
    assert "--deep" in completion
    assert call("--deep", "--deep").returncode == 125 and call("--dep").returncode == 125
