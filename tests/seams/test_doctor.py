# SPDX-License-Identifier: Apache-2.0
"""The deep checks of the doctor go red without their layer, inside namespaces made for it.

With every layer, started by the same launcher, the same checks are green. Nothing but the layer's
own checks, and those of layers that cannot be put up without it, may change; what a limit must end
is judged by limits_hit, for the library takes no outcome from a launcher that left a layer out.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "lab"))
from belljar_lab import host, outer  # noqa: E402

LAB = Path(os.environ.get("LAB_DIR", harness.STAGE.parent / "lab")).resolve()
PROBE = harness.STAGE / "libexec" / "belljar" / "belljar-probe"
TABLE = {name: (layer, sign) for name, layer, sign in re.findall(
    r"^\| `(\w+)` \| `(\w+)` \|.*\| `(\w+)` \| [^|]*\|$",
    (harness.ROOT / "docs" / "generated" / "checks.md").read_text(), re.M)}
ROOT, USER = 0, outer.USER_ID
USERS = [ROOT, USER] if os.geteuid() == 0 else [ROOT]  # root of the outer namespaces is nobody
SCOPES = host.landlock_abi() >= 6
LEFT = f"belljar-seams-{os.getpid()}"  # what a run leaves for the next to look for
NO_CGROUP = ["--policy", "{place}/no-cgroup.json"]

# What `doctor --deep` finds red without a layer: checks that must be among them. What is planted in
# the launcher stands beside it.
BY_THE_DOCTOR = {
    "init": ({"init_descriptors"}, []),
    "net": ({"net_ports", "net_sockets"}, []),
    "ipc": ({"ipc_semaphores", "ipc_queue", "ipc_count", "ipc_left"}, []),
    "uts": ({"uts_name", "uts_proc"}, []),
    "cgroupns": ({"cgroupns_same"}, []),
    "env": ({"env_all"}, ["env-planted"]),
    "terminal": ({"terminal_session"}, []),
    "rlimit": ({"rlimit_core", "rlimit_raise", "rlimit_fsize", "rlimit_descriptors"}, []),
    "caps": ({"caps_bounding", "caps_securebits"}, []),
    "nnp": ({"nnp_exec", "nnp_child"}, []),
    "seccomp": ({"seccomp_clone3", "seccomp_ptrace", "seccomp_vm_read", "seccomp_keys",
                 "seccomp_perf", "seccomp_filter", "seccomp_lease", "seccomp_limits",
                 "seccomp_type", "seccomp_type_high", "seccomp_packet", "seccomp_netlink",
                 "seccomp_socket_filter"}, []),
    "fds": ({"fds_list", "fds_reopen"}, ["fd-planted"]),
}
# Layers that cannot be put up without another; their checks are red too. Without RLIMIT_NPROC it is
# `monitor` that ends a run for its tasks, once it looks: what that run had still to try is not said.
WITH_IT = {"nnp": {"landlock", "seccomp"}, "rlimit": {"mount", "cgroup"}}

# A layer without which the doctor's program has no place to be in, or whose absence a policy may
# accept: what the probe says by itself.
BY_THE_PROBE = {
    "user": {"user_other_id", "user_root_group", "pid_list", "caps_bounding"},
    "pid": {"pid_proc", "pid_pidfd", "pid_ask", "pid_list", "mount_etc"},
    "mount": {"mount_image", "mount_root", "mount_etc", "mount_dev", "mount_mode", "mount_rename",
              "mount_sysctl", "mount_shadow", "mount_nosuid", "mount_nodev", "mount_devices"},
    "landlock": {"landlock_stack"} | ({"landlock_signal"} if SCOPES else set()),
}
HAS_NO_PLACE = {"user", "pid", "mount"}

# check: (layer, action, options, limit)
ENDED = {
    "deadline_stubborn": ("deadline", "stubborn", ["--time", "300ms"], "time"),
    "deadline_children": ("deadline", "children", ["--cpu-time", "200ms"], "cpu"),
    "output_error": ("output", "flood-error", ["--max-output", "64k"], "output"),
    "output_child": ("output", "flood-child", ["--max-output", "64k"], "output"),
    "cgroup_memory": ("monitor", "memory", ["--memory", "32m"], "memory"),
}


class World:
    """The outer namespaces, and a place in them with the programs."""

    def __init__(self, cgroups):
        self.outer = outer.Outer(cgroups)
        self.place = harness.temporary_dir()
        # Read here: no id of the worker's may enter a checkout in root's home.
        self.outer.call(furnish, self.place, {path.name: path.read_bytes() for path in
                                              (LAB / "lab-belljar", LAB / "lab-launch", PROBE)})

    def close(self):
        self.outer.stop()
        os.rmdir(self.place)

    def call(self, function, *args):
        return self.outer.call(function, self.place, *args)


def furnish(place, programs):
    """In the worker: a mount of its own with the programs in it."""
    outer.mount("doctor", place, "tmpfs", data="size=64m,mode=0755")
    for name, data in programs.items():
        (place / name).write_bytes(data)
        (place / name).chmod(0o755)
    install_probe(programs[PROBE.name])
    (place / "no-cgroup.json").write_text(json.dumps({"accept_missing": ["cgroup"]}))


def install_probe(data):
    """`doctor` starts it where it was installed. Everywhere on a mount of the worker's, over the first
    directory that it may not enter, so that no test depends on where the checkout lies."""
    os.umask(0o022)
    at = next((path for path in reversed(PROBE.parents) if not os.access(path, os.X_OK)), PROBE.parent)
    outer.mount("probe", at, "tmpfs", data="size=64m,mode=0755")
    PROBE.parent.mkdir(parents=True, exist_ok=True)
    PROBE.write_bytes(data)
    PROBE.chmod(0o755)


def start(place, uid, without, planted, *words):
    names = (["without-" + without] if without else []) + planted
    link = place / ".".join(["lab-launch", *names])
    if not os.path.lexists(link):
        link.symlink_to("lab-launch")
    ids = {"user": uid, "group": uid, "extra_groups": []} if uid else {}
    got = subprocess.run([str(place / "lab-belljar"), *(str(word).format(place=place) for word in words)],
                         cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=harness.PATIENCE, check=False,
                         env=harness.clean_env(LAB_LAUNCHER=str(link)), **ids)
    return got.returncode, json.loads(got.stdout)


def doctor(place, uid, without, planted):
    return start(place, uid, without, planted, "doctor", "--deep", "--json")


def run(place, uid, without, options, *words):
    """The probe in a run; where there is no /workspace to copy it to, from where it is."""
    probe = "{place}/belljar-probe"
    at = [] if without in HAS_NO_PLACE else ["--in", probe + ":probe"]
    return start(place, uid, without, [], "run", "--json", *options, *at, "--",
                 "/workspace/probe" if at else probe, *words)[1]


def probe(place, uid, without, run_name, options):
    """{check: what came of it} in one run."""
    facts = [f"pid={os.getpid()}", f"abstract={LEFT}", "cgroup=1", f"name={outer.HOST_NAME}"]
    try:
        got = run(place, uid, without, options, "deep", run_name, *facts)
    finally:
        for path in ("/tmp", "/dev/shm"):  # there without `mount`, and nowhere else
            Path(path, LEFT).unlink(missing_ok=True)
    assert got["started"] and (got["outcome"] == "sandbox_error") == bool(without), got
    lines = [json.loads(line) for line in got["stdout"]["text"].splitlines()]
    return {line["id"]: line["got"] for line in lines if line["part"] == "tried"}


@pytest.fixture(scope="module")
def worlds():
    made = {}

    def world(cgroups=False):
        if cgroups not in made:
            made[cgroups] = World(cgroups)
        return made[cgroups]
    yield world
    for one in made.values():
        one.close()


def red(found):
    return {check["id"] for check in found["deep"]["checks"] if check["state"] == "failed"}


@pytest.mark.parametrize("uid", USERS)
def test_with_every_layer_all_checks_are_green(worlds, uid):
    status, found = worlds().call(doctor, uid, "", [])
    assert not red(found) and found["deep"]["error"] is None
    assert status == 1, "there is no cgroup here, and that is said"


@pytest.mark.parametrize("uid", USERS)
@pytest.mark.parametrize("layer", BY_THE_DOCTOR)
def test_without_a_layer_its_checks_are_red(worlds, layer, uid):
    expected, planted = BY_THE_DOCTOR[layer]
    status, found = worlds().call(doctor, uid, layer, planted)
    failed = red(found)
    assert status == 1 and not found["proven"]
    assert found["deep"]["error"]["message"].endswith("was let go without its proof")
    assert expected <= failed, expected - failed
    # A run of its own that a limit ends has no such end with that launcher, whatever the layer.
    others = {TABLE[name][0] for name in failed if name not in ENDED and name != "pid_outlive"}
    assert others <= {layer} | WITH_IT.get(layer, set()), failed
    states = {row["name"]: row["state"] for row in found["layers"]}
    assert states[layer] == "failed"


@pytest.mark.parametrize("uid", USERS)
@pytest.mark.parametrize("layer", BY_THE_PROBE)
def test_without_a_layer_the_probe_says_something_else(worlds, layer, uid):
    world = worlds()
    whole = world.call(probe, uid, "", "inside", NO_CGROUP)
    lacking = world.call(probe, uid, layer, "inside", NO_CGROUP)
    expected = BY_THE_PROBE[layer]
    if layer == "user" and (uid != ROOT or os.geteuid() != 0):
        # What no ordinary user may, or has no ids for.
        expected = expected - {"user_other_id", "user_root_group"}
    if os.geteuid() != 0:
        # The worker's number is small, and may be that of a process of the run.
        expected = expected - {"pid_proc", "pid_pidfd", "pid_ask"}
    for name in expected:
        assert whole[name] == TABLE[name][1], (name, whole[name])
        assert lacking[name] not in (TABLE[name][1], "untried"), (name, lacking[name])


def test_without_a_cgroup_a_child_keeps_its_memory(worlds):
    if os.geteuid() != 0 or not harness.root_has_cgroups():
        pytest.skip("needs root, to give cgroups to the outer namespaces")
    options = ["--memory", "32m", "--pids", "16", "--tmp", "256k", "--shm", "256k", "--workspace", "8m",
               "--inodes", "64", "--nofile", "64"]
    world = worlds(cgroups=True)
    whole = world.call(probe, USER, "", "small", options)
    lacking = world.call(probe, USER, "cgroup", "small", options)
    assert whole == {name: TABLE[name][1] for name in whole}
    assert (whole["cgroup_child"], lacking["cgroup_child"]) == ("SIGKILL", "works")


@pytest.mark.parametrize("uid", USERS)
@pytest.mark.parametrize("check", ENDED)
def test_without_a_layer_no_limit_ends_the_run(worlds, check, uid):
    layer, action, options, limit = ENDED[check]
    world = worlds()
    ends = {without: world.call(run, uid, without, [*NO_CGROUP, *options], "end", action, "much", "word")
            for without in ("", "uts", layer)}
    assert ends[""]["outcome"] == TABLE[check][1]
    assert limit in ends["uts"]["limits_hit"]
    # Another layer's absence is no reason; its own is: the action ends by itself.
    if limit == "output":  # is said wherever there was too much
        assert written(ends["uts"]) < written(ends[layer]), ends
    else:
        assert limit not in ends[layer]["limits_hit"], ends


def written(result):
    return result["stdout"]["bytes"] + result["stderr"]["bytes"]


def test_each_layer_is_left_out_somewhere():
    ends = {row[0] for row in ENDED.values()}
    assert set(BY_THE_DOCTOR) | set(BY_THE_PROBE) | ends | {"cgroup"} == {
        layer["name"] for layer in json.loads(subprocess.run(
            [LAB / "lab-belljar", "layers", "--json"], stdout=subprocess.PIPE, check=True).stdout)["layers"]}
