# SPDX-License-Identifier: Apache-2.0
"""The program reads nothing of the host and leaves nothing on it."""

import os
import stat
import subprocess

import pytest

import harness

attack = pytest.mark.attack
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a namespace with real root is needed")


# ---- Reading the host ----------------------------------------------------------------------------


@attack("A01", "D05")
def test_a_file_of_the_host_is_not_there(bell, bare, canary, token):
    (control,) = bare("open", canary, "r", user=True)
    assert control["text"] == token
    assert bell.inside("open", canary, "r").line["name"] == "ENOENT"


@attack("A01", "D05")
@pytest.mark.parametrize("path", ["/root", "/home", "/var/lib", "/var/log", "/srv", "/opt", "/run/secrets",
                                  "/var/run/secrets", "/mnt", "/media", "/boot", "/run/systemd",
                                  "/root/.ssh", "/root/.aws", "/lost+found", "/sys"])
def test_directories_of_the_host_are_absent_or_empty(bell, path):
    line = bell.inside("list", path).line
    assert line["name"] == "ENOENT" or line.get("text") == "", line


@attack("A01")
def test_the_root_holds_only_what_is_listed(bell):
    names = set(bell.inside("list", "/").line["text"].split("/")) - {""}
    assert names <= {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc",
                     "tmp", "workspace", "var", "run", ".belljar"}
    assert {"usr", "etc", "dev", "proc", "tmp", "workspace", "bin"} <= names


@attack("A01")
def test_etc_is_synthesised(bell):
    got = bell.run("--", "/bin/cat", "/etc/passwd", "/etc/group")
    host = harness.read("/etc/passwd").decode()
    assert "program" in got.out and "1000" in got.out
    for line in host.splitlines():
        name = line.split(":")[0]
        if name not in ("root", "nobody"):
            assert f"\n{name}:" not in "\n" + got.out, name
    for name in ("shadow", "hostname", "machine-id", "ssh", "sudoers", "fstab", "resolv.conf"):
        line = bell.inside("open", f"/etc/{name}", "path").line
        assert line["name"] == "ENOENT" or name in ("hostname", "resolv.conf"), (name, line)


@attack("A02")
def test_a_second_chroot_leads_nowhere(bell, bare, canary, token):
    place = bell.dir("jail")
    place.chmod(0o777)
    control = bare("chdir", place, ",", "chroot_walk", canary, outer=True)
    assert control[-1]["text"] == token
    line = bell.inside("chroot_walk", canary).line
    assert (line["ok"], line["name"]) == (False, "EPERM")


@attack("A03", "A04", "D02", "D03", "D04")
def test_proc_shows_no_process_of_the_host(bell, bare):
    control = bare("walk_proc")
    assert control[0]["value"] > 2
    lines = bell.inside("walk_proc").lines
    assert lines[0]["text"].split() == ["1"], "init alone is seen besides the program"
    seen = {line["text"]: line["value"] for line in lines[1:]}
    for name in ("root", "cwd", "exe", "environ", "maps", "mem", "ns/net", "stack", "fd"):
        assert seen[name] == 0, (name, seen)


@attack("A04")
@needs_root
def test_where_a_fresh_proc_is_refused_nothing_runs(bell):
    # A proc with something mounted over a part of it: the kernel gives no fresh one to others.
    before = harness.in_mounts("mount -t tmpfs none /proc/sys/fs")
    got = bell.run("--", "/bin/echo", "ran", before=before)
    assert got.started is False, got
    assert got.outcome in ("refused", "sandbox_error") and got.status == 125
    assert "mount" in str(got.json)
    assert got.json["stdout"]["bytes"] == 0
    assert bell.run("--", "/bin/echo", "ran").out == "ran\n"


@attack("A05", "B09")
def test_only_the_planned_descriptors_are_open(bell, bare, canary):
    leaked = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    high = 199
    log = os.open(canary, os.O_WRONLY)
    os.dup2(leaked, high)
    try:
        control = bare("fds", pass_fds=(leaked, high, log))
        assert f"{high}=/" in control[0]["text"].split()
        assert str(canary) in control[0]["text"]
        process = bell.start_inside("fds", ",", "openat", high, "etc/hostname", ",", "writefd", log,
                                    "forged", pass_fds=(leaked, high, log))
        out, err = bell.finish(process)
        lines = harness.Result(process, "fds", out, err).lines
    finally:
        for fd in (leaked, high, log):
            os.close(fd)
    open_ones = [part.split("=")[0] for part in lines[0]["text"].split()]
    assert open_ones == ["0", "1", "2"], lines[0]
    assert lines[1]["name"] == "EBADF" and lines[2]["name"] == "EBADF"


@attack("A06")
@pytest.mark.parametrize("cwd", ["/proc/self/cwd", "/proc/1/root", "/proc/1/cwd",
                                 *(f"/proc/self/fd/{fd}" for fd in range(3, 32)),
                                 "/proc/self/fd/3/../.."])
def test_a_working_directory_is_inside_or_nothing_runs(bell, cwd):
    """What the launcher has open is not the program's to stand in, whichever descriptor it is."""
    got = bell.run("--cwd", cwd, "--", "/bin/true")
    assert not got.started and got.outcome in ("not_started", "refused"), got
    assert bell.run("--cwd", "/var/tmp", "--", "/bin/pwd", "-P").out == "/tmp\n"


@attack("A07", "A08")
@needs_root
@pytest.mark.parametrize("name", ["null", "zero", "tty"])
def test_a_device_of_the_host_that_is_a_link_is_not_bound(bell, canary, token, name):
    dev = ("mount -t tmpfs -o mode=755 none /mnt && cp -a /dev/null /dev/zero /dev/full /dev/random "
           "/dev/urandom /dev/tty /mnt && mkdir /mnt/shm")
    before = harness.in_mounts(f"{dev} && ln -sf {canary} /mnt/{name} && mount --move /mnt /dev")
    got = bell.run("--", "/bin/cat", f"/dev/{name}", before=before)
    assert (got.started, got.status) == (False, 125), got
    assert f"/dev/{name}" in str(got.json) and token not in got.out
    before = harness.in_mounts(f"{dev} && mount --move /mnt /dev")
    assert bell.run("--", "/bin/echo", "fine", before=before).out == "fine\n"


@attack("A09")
@needs_root
def test_where_proc_is_a_decoy_nothing_runs(bell):
    """Set-up writes to files of /proc; in a directory that only looks like one, nothing is set."""
    decoy = bell.dir("decoy")
    before = harness.in_mounts(f"cd {decoy} && mkdir -p self/fd sys 1 && echo 0 0 4294967295 > self/uid_map && "
                               f": > self/mountinfo && : > swaps && cd / && mount --bind {decoy} /proc")
    got = bell.run("--", "/bin/echo", "ran", before=before)
    assert (got.started, got.status) == (False, 125), got
    assert got.json["stdout"]["bytes"] == 0


OWN_PIDS = ["unshare", "--pid", "--fork", "--kill-child"]


@attack("A09")
@needs_root
def test_where_proc_is_of_another_pid_namespace_nothing_runs(bell):
    """Its numbers are those of strangers: none of their files is opened, and the line says the mend."""
    words = ["--", "/bin/echo", "ran"]
    got = bell.run(*words, before=[*OWN_PIDS, "--"])
    assert (got.outcome, got.status, got.retry, got.error["layer"]) == ("refused", 125, "never", "pid"), got
    assert "not that of this pid namespace" in got.error["message"] and "-t proc proc /proc" in got.hint
    status, out, err = bell.raw(*words, before=[*OWN_PIDS, "--"])
    assert (status, out, err.count(b"\n")) == (125, b"", 1), err
    assert bell.run(*words, before=[*OWN_PIDS, "--mount-proc", "--"]).out == "ran\n"
    none = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    assert bell.run(*words, before=none).error["message"] == got.error["message"]


@attack("A12")
def test_sys_is_not_there(bell, bare):
    (control,) = bare("list", "/sys")
    assert control["value"] > 3
    line = bell.inside("list", "/sys").line
    assert line["name"] == "ENOENT" or line["value"] == 0


SECRET_PROC = ["/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/timer_list", "/proc/kmsg",
               "/proc/sched_debug", "/proc/latency_stats", "/proc/key-users",
               "/proc/cmdline", "/proc/modules", "/proc/iomem", "/proc/vmallocinfo",
               "/proc/slabinfo", "/proc/interrupts", "/proc/partitions", "/proc/diskstats",
               "/proc/swaps", "/proc/ioports", "/proc/sysrq-trigger", "/proc/kpageflags", "/proc/kpagecount"]


@attack("A13")
@pytest.mark.parametrize("path", SECRET_PROC)
def test_what_proc_tells_of_the_host_is_masked(bell, path):
    line = bell.inside("open", path, "r").line
    assert not line["ok"] or line["text"] == "", line


@attack("A13")
def test_the_host_shows_most_of_that_to_anybody(bare):
    """The control: some of the same files say something to an ordinary user of the host."""
    told = {path for path in SECRET_PROC if path != "/proc/kmsg" and
            bare("open", path, "r", user=True)[0].get("text")}
    assert {"/proc/cmdline", "/proc/interrupts", "/proc/iomem"} <= told, told


@attack("A13")
def test_mountinfo_names_no_path_of_the_host(bell, canary):
    got = bell.run("--", "/bin/cat", "/proc/self/mountinfo", "/proc/self/mounts")
    assert got.exit_code == 0
    for word in (str(bell.place), str(harness.STAGE), str(harness.ROOT), str(canary), "/sys/fs/cgroup"):
        assert word not in got.out
    for line in got.out.splitlines():
        if " - " in line:
            assert line.split()[4].split("/")[1] in ("", "usr", "etc", "dev", "proc", "tmp",
                                                     "workspace", "bin", "lib", "lib64", "sbin",
                                                     "home", "run", "var", ".belljar", "null", "zero",
                                                     "full", "random", "urandom", "tty", "sys", "bus",
                                                     "fs", "irq"), line


@attack("A13")
def test_the_hosts_name_and_cgroup_are_not_told(bell):
    got = bell.run("--", "/bin/sh", "-c", "uname -n; cat /proc/self/cgroup")
    lines = got.out.splitlines()
    assert lines[0] != os.uname().nodename
    for line in lines[1:]:
        assert line.endswith(":/"), line


@attack("A14")
def test_an_abstract_socket_of_the_host_is_not_reached(bell, bare, listen, token):
    listener = listen("unix", "\0" + token)
    assert bare("unix", "stream", "@" + token, "hello " + token)[0]["ok"]
    assert listener.heard("hello " + token)
    line = bell.inside("unix", "stream", "@" + token, "escaped").line
    assert line["name"] in ("ECONNREFUSED", "EPERM") and not line["ok"]
    assert not any(b"escaped" in piece for piece in listener.got)


@attack("A15")
def test_a_path_socket_of_the_host_is_not_reached(bell, bare, listen, token):
    path = str(bell.place / "host.sock")
    listener = listen("unix", path)
    os.chmod(path, 0o777)
    assert bare("unix", "stream", path, "hello " + token, user=True)[0]["ok"]
    assert listener.heard("hello " + token)
    assert bell.inside("unix", "stream", path, "escaped").line["name"] == "ENOENT"
    for name in ("/var/run/docker.sock", "/run/docker.sock", "/run/dbus/system_bus_socket",
                 "/run/systemd/private"):
        assert bell.inside("unix", "stream", name, "x").line["name"] == "ENOENT"
    assert not any(b"escaped" in piece for piece in listener.got)


@attack("A16")
def test_system_v_objects_and_queues_of_another_run_are_not_found(bell, bare):
    key = 0x42454c4c
    control = bare("ipc", "make", key, ",", "ipc", "find", key, outer=True)
    assert all(line["ok"] for line in control), control
    first = bell.inside("ipc", "make", key, ",", "ipc", "find", key).lines
    made = {line["verb"] for line in first[:4] if line["ok"]}
    assert made >= {"shmget", "semget", "msgget"}, first
    second = bell.inside("ipc", "find", key).lines
    assert {line["name"] for line in second} <= {"ENOENT", "EPERM"}, second
    assert not any(line["ok"] for line in bare("ipc", "find", key)), "none is on the host"


@attack("A17", "B11")
def test_files_of_another_run_are_not_found(bell, token):
    paths = [f"/{place}/{token}" for place in ("dev/shm", "tmp", "workspace")]
    words = []
    for path in paths:
        words += ["write", path, token, ",", "open", path, "r", ","]
    first = bell.inside(*words[:-1]).lines
    assert all(line["ok"] for line in first), first
    words = []
    for path in [*paths, f"/var/tmp/{token}"]:
        words += ["open", path, "r", ","]
    second = bell.inside(*words[:-1]).lines
    assert {line["name"] for line in second} == {"ENOENT"}
    for path in paths:
        assert not os.path.exists(path)


@attack("A18", "J08")
def test_keys_are_refused(bell, bare):
    add = ["sys", 248, "s:user", "s:belljar-test", "s:x", 1, -2]  # add_key, process keyring
    ask = ["sys", 249, "s:user", "s:belljar-test", 0, -2]  # request_key
    control = ["sys", 250, 0, -2, 1]  # keyctl GET_KEYRING_ID
    assert bare(*add, ",", *ask, ",", *control)[0]["ok"]
    lines = bell.inside(*add, ",", *ask, ",", *control).lines
    assert [line["name"] for line in lines] == ["EPERM"] * 3


@attack("A20")
def test_locks_on_the_image_are_a_declared_covert_channel(bell):
    # The image is shared; a lock on it crosses runs. SECURITY.md says so.
    text = (harness.ROOT / "SECURITY.md").read_text().lower()
    assert "lock" in text and "covert" in text
    assert bell.inside("flock", "/workspace/inside").line["ok"]


@attack("A21", "D02", "D04", "K01")
def test_init_gives_nothing_to_the_program(bell, bare):
    lines = bell.inside("proc_mem", 1, ",", "ptrace", "attach", 1, ",", "ptrace", "seize", 1, ",",
                        "vm_read", 1, 4096, ",", "vm_write", 1, 4096, ",", "pidfd_getfd", 1, 0, ",",
                        "open", "/proc/1/environ", "r", ",", "list", "/proc/1/fd", ",",
                        "readlink", "/proc/1/exe", ",", "readlink", "/proc/1/root", ",",
                        "readlink", "/proc/1/cwd", ",", "readlink", "/proc/1/ns/net", ",",
                        "list", "/proc/1/map_files", ",", "open", "/proc/1/maps", "r", ",",
                        "open", "/proc/1/auxv", "r").lines
    for line in lines:
        if line["verb"] == "pidfd_open":
            continue
        assert not line["ok"], line
        assert line["name"] in ("EPERM", "EACCES"), line
    own = bare("proc_mem", "self", ",", "vm_read", os.getpid(), 4096)
    assert own[0]["ok"] and own[1]["ok"]


@attack("A22")
def test_a_crash_leaves_no_core(bell):
    got = bell.run("--out", "core:" + str(bell.place / "core"), "--in",
                   f"{bell.inside_binary}:inside", "--", "/workspace/inside", "setrlimit", 4, ",",
                   "segv")
    assert got.json["outcome"] == "signaled"
    assert got.lines[0]["text"] == "1 1" and got.lines[1]["ok"], "it stays; see test_privilege.py"
    assert not (bell.place / "core").exists()


@attack("A23")
def test_open_by_handle_is_refused(bell, bare):
    control = bare("open_by_handle", "/usr")
    assert control[1]["ok"] or os.geteuid() != 0
    lines = bell.inside("open_by_handle", "/usr").lines
    assert [line["name"] for line in lines] == ["EPERM", "EPERM"]


@attack("A24")
@needs_root
def test_a_path_that_is_missing_and_one_that_is_forbidden_look_alike_to_a_user(user_bell):
    bell = user_bell
    hidden = harness.temporary_dir()
    hidden.chmod(0o700)
    (hidden / "there").write_text("x")
    said = []
    for name in ("there", "gone"):
        status, out, err = bell.raw("--in", hidden / name, "--", "/bin/true")
        assert (status, out) == (125, b"")
        said.append(err.replace(name.encode(), b"NAME"))
    subprocess.run(["rm", "-r", str(hidden)], check=True)
    assert said[0] == said[1]


# ---- Writing to the host -------------------------------------------------------------------------


@attack("B01")
@pytest.mark.parametrize("path", ["/usr/planted", "/usr/bin/planted", "/usr/lib/planted",
                                  "/etc/planted", "/planted", "/bin/planted", "/dev/planted",
                                  "/proc/planted", "/usr/local/planted"])
def test_the_image_cannot_be_written(bell, path):
    line = bell.inside("write", path, "x").line
    assert line["name"] in ("EROFS", "EACCES", "EPERM", "ENOENT"), line
    if path.startswith("/usr"):
        assert line["name"] in ("EROFS", "EACCES")
    assert not os.path.exists(path)


@attack("B01", "B08")
def test_every_mount_is_nosuid_and_the_image_is_read_only_all_the_way_down(bell):
    got = bell.run("--", "/bin/cat", "/proc/self/mountinfo")
    writable = []
    for line in got.out.splitlines():
        words = line.split()
        point, options = words[4], words[5].split(",")
        assert "nosuid" in options, line
        if "ro" not in options:
            writable.append(point)
        if not point.startswith("/dev/"):
            assert "nodev" in options, line
    assert all(p in ("/tmp", "/workspace", "/dev/shm", "/proc", "/home", "/home/program",
                     "/var/tmp") or p.startswith(("/dev/", "/tmp/", "/workspace/"))
               for p in writable), writable
    usr = [l for l in got.out.splitlines() if l.split()[4].startswith("/usr")]
    assert usr and all("ro" in l.split()[5].split(",") for l in usr)


@attack("B01")
@needs_root
def test_a_mount_below_the_image_is_read_only_too(bell):
    point = "/usr/share"
    before = harness.in_mounts(f"mount -t tmpfs -o mode=1777 none {point}")
    got = bell.inside("write", f"{point}/planted", "x", ",", "statfs", point, before=before)
    assert got.lines[0]["name"] == "EROFS"
    assert "type=1021994" in got.lines[1]["text"], "it is the mounted one that was tried"


@attack("B02", "B03", "J02")
def test_mounting_is_refused_by_the_old_calls_and_the_new(bell, bare):
    words = ["mkdir", "/tmp/m", ",", "mount", "none", "/tmp/m", "tmpfs", 0, ",",
             "mount", "none", "/usr", "none", 32, ",", "fsopen", "tmpfs", ",",
             "open_tree", "/tmp", ",", "mount_setattr", "/usr", ",",
             "move_mount", "/tmp", "/tmp/m", ",", "umount", "/tmp", 2, ",",
             "pivot_root", "/tmp", "/tmp"]
    before = harness.read("/proc/self/mountinfo")
    control = bare("mount", "none", "/mnt", "tmpfs", 0, ",", "fsopen", "tmpfs", ",",
                   "open_tree", "/mnt", ",", "umount", "/mnt", 0, outer=True)
    assert all(line["ok"] for line in control), control
    lines = bell.inside(*words).lines
    assert lines[0]["ok"]
    assert [line["name"] for line in lines[1:]] == ["EPERM"] * 8, lines
    assert harness.read("/proc/self/mountinfo") == before


@attack("B07")
def test_the_image_cannot_be_linked_into_the_workspace(bell, bare):
    line = bell.inside("link", "/usr/bin/env", "/workspace/linked").line
    assert line["name"] in ("EXDEV", "EPERM", "EROFS"), line
    fine = bell.inside("write", "/workspace/a", "x", ",", "link", "/workspace/a", "/workspace/b")
    assert all(line["ok"] for line in fine.lines)


@attack("B06")
def test_the_directories_of_the_root_cannot_be_moved(bell):
    for path in ("/usr", "/workspace", "/tmp", "/etc", "/dev/null", "/proc", "/dev/shm"):
        line = bell.inside("rename", path, "/tmp/moved").line
        assert not line["ok"] and line["name"] in ("EBUSY", "EROFS", "EXDEV", "EACCES", "EPERM",
                                                   "EINVAL"), (path, line)
    assert bell.inside("mkdir", "/tmp/a", ",", "rename", "/tmp/a", "/tmp/b").lines[1]["ok"]


@attack("B08")
def test_no_setuid_file_and_no_capability_of_a_file_comes_out(bell):
    out = bell.place / "tool"
    got = bell.run("--out", f"tool:{out}", "--in", f"{bell.inside_binary}:inside", "--",
                   "/workspace/inside", "suid", "/workspace/tool", ",", "setxattr",
                   "/workspace/tool", "user.note", "x", ",", "setxattr", "/workspace/tool",
                   "security.capability", "x")
    assert got.exit_code == 0
    assert got.lines[2]["ok"] is False
    mode = out.stat().st_mode
    assert stat.S_IMODE(mode) in (0o755, 0o644), oct(mode)
    assert os.listxattr(out) == []
    if bell.uid or os.geteuid() == 0:
        assert out.stat().st_uid == bell.uid


@attack("B04", "B05")
def test_only_named_outputs_are_delivered(bell):
    code = ("import os\n"
            "os.makedirs('.git/hooks'); open('.git/hooks/pre-commit','w').write('x')\n"
            "open('sitecustomize.py','w').write('x'); open('wanted','w').write('fine')\n")
    out = bell.dir("delivered")
    got = bell.python(code, "--out", f"wanted:{out}/")
    assert got.exit_code == 0, got
    assert os.listdir(out) == ["wanted"]
    assert [f["path"] for f in got.files] == ["wanted"]


@attack("B10")
def test_the_launcher_cannot_be_overwritten_through_proc(bell):
    launcher = next(harness.STAGE.glob("lib*/**/belljar-launch"))
    before = launcher.read_bytes()
    lines = bell.inside("open", "/proc/1/exe", "w", ",", "open", "/proc/self/exe", "w").lines
    assert lines[0]["name"] == "EACCES"
    assert lines[1]["name"] == "ETXTBSY", "its own file is busy, and in its own workspace"
    assert launcher.read_bytes() == before


@attack("B12", "B14")
def test_no_cgroup_file_can_be_reached(bell):
    for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cgroup.procs"):
        assert bell.inside("list", path).line["name"] == "ENOENT"
    lines = bell.inside("mkdir", "/tmp/cg", ",", "mount", "cgroup", "/tmp/cg", "cgroup", 0, ",",
                        "mount", "cgroup2", "/tmp/cg", "cgroup2", 0, ",", "unshare",
                        0x02000000).lines
    assert [line["name"] for line in lines[1:]] == ["EPERM"] * 3


@attack("B13")
@pytest.mark.parametrize("path", ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
                                  "/proc/sysrq-trigger", "/proc/sys/fs/binfmt_misc/register",
                                  "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
                                  "/proc/sys/user/max_user_namespaces", "/proc/irq/0/smp_affinity",
                                  "/proc/bus/pci/00", "/sys/kernel/uevent_helper",
                                  "/proc/sys/net/ipv4/ip_forward", "/proc/self/oom_score_adj_x"])
def test_the_kernels_switches_cannot_be_opened_for_writing(bell, bare, path):
    if os.geteuid() == 0 and path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory"):
        # The control opens and closes; only a write would do something.
        assert bare("open", path, "w", before=["unshare", "--mount", "--"])[0]["ok"]
    line = bell.inside("open", path, "w").line
    assert line["name"] in ("EROFS", "EACCES", "EPERM", "ENOENT", "EISDIR"), line


@attack("B15")
def test_no_device_can_be_made(bell, bare):
    words = []
    for kind, major, minor in (("c", 1, 1), ("c", 1, 3), ("b", 8, 0), ("b", 254, 0)):
        words += ["mknod", f"/workspace/{kind}{major}", kind, major, minor, ","]
    lines = bell.inside(*words, "mkfifo", "/workspace/fifo", ",",
                        "sys", 259, -100, "s:/workspace/at", 0o20666, 0x103).lines
    assert [line["name"] for line in lines[:4]] == ["EPERM"] * 4
    assert lines[4]["ok"], "a FIFO is no device"
    assert lines[5]["name"] == "EPERM"


@attack("B16")
def test_every_sibling_of_a_refused_call_is_refused_by_its_effect(bell):
    lines = bell.inside("rename", "/usr/bin/env", "/usr/bin/env2", ",",
                        "renameat2", "/usr/bin/env", "/usr/bin/env2", 0, ",",
                        "openat2", "/proc/1/environ", 0, ",", "open", "/proc/1/environ", "r", ",",
                        "truncate", "/usr/bin/env", 0, ",", "open", "/usr/bin/env", "trunc", ",",
                        "chmod", "/usr/bin/env", 0, ",", "utime", "/usr/bin/env", ",",
                        "unlink", "/usr/bin/env").lines
    assert not any(line["ok"] for line in lines), lines
    for line in lines:
        assert line["name"] in ("EROFS", "EACCES", "EPERM", "ENOSYS"), line


@attack("B11")
@needs_root
def test_nothing_is_left_in_the_hosts_own_tmp(bell):
    """Exact: /tmp, /var/tmp and /dev/shm are fresh and private for this one."""
    script = ('exec 3<"$1"; stage=$2 root=$3; shift 3; mount -t tmpfs none /mnt && mkdir /mnt/s /mnt/r && '
              'mount --bind "$stage" /mnt/s && mount --bind "$root" /mnt/r || exit 90; '
              'for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 none $d || exit 91; done; '
              'mkdir -p "$root" && mount --bind /mnt/r "$root" && mkdir -p "$stage" && '
              'mount --bind /mnt/s "$stage" && cat <&3 >/mnt/inside && chmod 755 /mnt/inside && '
              'exec 3<&- || exit 92; seen() { find /tmp /var/tmp /dev/shm -xdev; }; before=$(seen); '
              '"$@" >/mnt/result; echo $?; [ "$(seen)" = "$before" ] || seen')
    command = bell.command("--in", "/mnt/inside:inside", "--", "/workspace/inside", "write", "/tmp/a",
                           "x", ",", "write", "/dev/shm/b", "x", ",", "write", "/var/tmp/c", "x", ",",
                           "raise", "9")
    got = subprocess.run(["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script,
                          "sh", bell.inside_binary, harness.STAGE, harness.ROOT, *command],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                         env=harness.clean_env(), check=False)
    assert (got.returncode, got.stdout, got.stderr) == (0, b"137\n", b""), got
