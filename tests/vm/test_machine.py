# SPDX-License-Identifier: Apache-2.0
"""The machines themselves: what they run, and that a failure of theirs is never a result."""
import os
import pathlib
import subprocess
import uuid

import pytest

import vm

ABI = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"


def children():
    listing = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return listing.split()


@pytest.mark.parametrize(("kernel", "abi"), [("6.1", 2), ("6.12", 6)])
def test_kernel_and_landlock_are_those_asked_for(boot, kernel, abi):
    script = f"uname -r; id -u; /usr/bin/python3 -c '{ABI}'; cat /sys/fs/cgroup/cgroup.controllers"
    got = boot(["sh", "-c", script], kernel=kernel)
    release, uid, found, controllers = got.stdout.decode().splitlines()
    assert got.status == 0 and got.stderr == b""
    assert release.startswith(kernel + ".") and release != os.uname().release
    assert (uid, found) == ("0", str(abi))
    assert {"cpu", "memory", "pids"} <= set(controllers.split())


def test_landlock_is_absent_without_its_module(boot):
    got = boot(["/usr/bin/python3", "-c", ABI], cmdline="lsm=yama,apparmor")
    assert (got.status, got.stdout) == (0, b"-1\n")


def test_an_ordinary_user_sits_alone_in_its_cgroup(boot):
    script = (
        "id -u; id -G; cat /proc/self/cgroup; echo $$; cat /sys/fs/cgroup/user-test/cgroup.procs;"
        "mkdir /sys/fs/cgroup/user-test/leaf && echo $$ >/sys/fs/cgroup/user-test/leaf/cgroup.procs"
        " && echo +memory >/sys/fs/cgroup/user-test/cgroup.subtree_control && echo delegated"
    )
    got = boot(["sh", "-c", script], user=vm.USER, delegate=True)
    uid, groups, cgroup, *pids, last = got.stdout.decode().splitlines()
    assert (uid, groups, cgroup, last) == ("1234", "1234", "0::/user-test", "delegated")
    # The shell and the cat that it started, nobody else.
    assert pids[0] == pids[1] and len(pids) == 3, got


def test_an_ordinary_user_gets_no_cgroup_undelegated(boot):
    got = boot(["mkdir", "/sys/fs/cgroup/x"], user=vm.USER)
    assert got.status == 1 and b"Permission denied" in got.stderr


def test_systemd_delegates_to_an_ordinary_user(boot):
    inner = "cd /sys/fs/cgroup/$(cut -d: -f3 /proc/self/cgroup) && mkdir leaf && " \
        "cat cgroup.controllers && pwd"
    script = f"systemd-run --user --scope -q -p Delegate=yes sh -c '{inner}'"
    got = boot(["sh", "-c", script], user=vm.USER, init="systemd")
    assert got.status == 0, got
    controllers, place = got.stdout.decode().splitlines()
    assert {"cpu", "memory", "pids"} <= set(controllers.split())
    assert f"/user@{vm.USER_ID}.service/" in place


@pytest.mark.parametrize("cgroup", ["v1", "hybrid", "none"])
def test_other_cgroup_layouts(boot, cgroup):
    got = boot(["sh", "-c", "grep -c ' cgroup ' /proc/mounts; grep -c ' cgroup2 ' /proc/mounts"],
               cgroup=cgroup)
    wanted = {"v1": b"5\n0\n", "hybrid": b"5\n1\n", "none": b"0\n0\n"}
    assert got.stdout == wanted[cgroup]


def test_sysctls_and_setup_are_in_force(boot):
    got = boot(["sh", "-c", "cat /proc/sys/kernel/yama/ptrace_scope; ls /tmp"],
               sysctl=["kernel.yama.ptrace_scope=3"], setup="echo >/tmp/made")
    assert got.stdout == b"3\nmade\n"


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_the_status_is_the_commands_whatever_it_prints(boot, script, status):
    places = "/dev/stdout /dev/stderr /dev/console"
    lies = f"for to in {places}; do printf 'start\\nexit 0\\n' >$to; done;"
    got = boot(["sh", "-c", lies + script])
    assert (got.status, got.stdout, got.stderr) == (status, b"start\nexit 0\n", b"start\nexit 0\n")


def test_output_is_whole_and_unchanged(boot):
    wanted = bytes(range(256)) * 8192
    code = "import os; d = bytes(range(256)) * 8192\nwhile d: d = d[os.write(1, d):]"
    got = boot(["/usr/bin/python3", "-c", code])
    assert got.status == 0 and got.stdout == wanted and got.stderr == b""


def test_nothing_the_machine_writes_reaches_the_host(boot):
    mark = uuid.uuid4().hex
    places = ["/usr", "/etc", "/tmp", str(vm.REPO)]
    script = f"for d in {' '.join(places)}; do echo >$d/{mark} && cat $d/{mark}; done"
    got = boot(["sh", "-c", script])
    assert (got.status, got.stdout) == (0, b"\n" * 4)
    assert not [place for place in places if (pathlib.Path(place) / mark).exists()]


def test_a_hang_is_cut_and_leaves_nothing(boot):
    before = children()
    with pytest.raises(vm.VmError, match="no end after 15 s, while the command: killed"):
        boot(["sleep", "1000"], timeout_s=15)
    assert children() == before
    assert list((vm.CACHE / "runs").glob(f"run-{os.getpid()}-*")) == []


def test_a_panic_is_a_failure(boot):
    with pytest.raises(vm.VmError, match="kernel panic, while the command"):
        boot(["sh", "-c", "echo c >/proc/sysrq-trigger; sleep 60"])


def test_a_failed_setup_is_a_failure(boot):
    with pytest.raises(vm.VmError, match="the setup inside the machine failed"):
        boot(["echo", "not reached"], setup="false")


def test_the_command_line_gives_the_status_and_says_when_the_machine_failed():
    run = [vm.HERE / "run", "--kernel", "6.12"]
    got = subprocess.run([*run, "--", "sh", "-c", "echo out; echo err >&2; exit 7"],
                         capture_output=True, check=False)
    assert (got.returncode, got.stdout, got.stderr) == (7, b"out\n", b"err\n")
    got = subprocess.run([*run, "--timeout", "1", "--", "true"], capture_output=True, check=False)
    assert got.returncode == 99
    assert got.stderr.endswith(b"tools/vm/run: no end after 1 s, while booting: killed\n")
