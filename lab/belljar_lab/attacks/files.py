# SPDX-License-Identifier: Apache-2.0
"""Attacks on files of the host: what they tell, and what stays in them."""

import ctypes
import stat
import subprocess

from belljar_lab import host, outer
from belljar_lab.attack import BY_ROOT, EVERY, Attack
from belljar_lab.run import Run, must_be_done

MEBI = 1 << 20


def reads_a_file(run: Run):
    secret = run.world.secret()
    return run.python(f"print(open({str(secret.path)!r}).read())", leaks=secret.token)


def changes_a_file(run: Run):
    secret = run.world.secret(mode=0o600)
    said = run.python(f"""
with open({str(secret.path)!r}, "a") as file:
    file.write("changed")
""")
    return run.judge(said, secret.touched())


def makes_a_device(run: Run):
    """A whiteout, which takes no privilege."""
    def look(pid):
        return stat.S_ISCHR(run.made(pid, "device").st_mode)
    return run.python("os.mknod(ROOM + '/device', 0o20600, 0)", look=look)


def prints(path, mark):
    """Python that prints a file, if there is `mark` in it."""
    return f"""
text = open({str(path)!r}).read()
if {mark!r} not in text:
    sys.exit(print("not there"))
print(text)
"""


def reads_the_accounts(run: Run):
    """There is an /etc/passwd inside too, so it must be this one."""
    token, accounts = run.world.token(), host.read("/etc/passwd")
    run.world.over("/etc/passwd", f"{accounts}lab-account:x:4000:4000:{token}:/:/bin/sh\n")
    return run.python(prints("/etc/passwd", "lab-account"), leaks=token)


def reads_sysfs(run: Run):
    token, path = run.world.token(), "/sys/kernel/uevent_seqnum"
    run.world.over(path, token)
    return run.python(f"print(open({path!r}).read())", leaks=token)


def reads_the_mounts(run: Run):
    token = run.world.token()
    run.world.tmpfs(run.world.dir("mounted"), f"lab-mount-{token}")
    return run.python(prints("/proc/self/mountinfo", "lab-mount-"), leaks=token)


def reads_the_kernels_command_line(run: Run):
    return run.python("""
line = open("/proc/cmdline").read().strip()
if not line:
    sys.exit(print("not there"))
print(line)
""", leaks=host.read("/proc/cmdline").strip())


def uses_a_directory_left_open(run: Run):
    """From outside of the run's own tree, so that `mount` does not matter any more."""
    folder, token = run.world.dir("open"), run.world.token()
    name = run.world.file(text=token, folder=folder).name
    return run.python(f"""
directory = 101
print(open(os.open({name!r}, os.O_RDONLY, dir_fd=directory)).read())
""", leaks=token, launcher=["dir-" + folder.name])


def asks_for_a_file_handle(run: Run):
    """What open_by_handle_at opens, wherever the file is mounted; of a device, for an example."""
    path, here, number = b"/dev/null", -100, ctypes.c_int()
    handle = (ctypes.c_ubyte * 136)(128)
    outer.must(outer.libc.name_to_handle_at(here, path, handle, ctypes.byref(number), 0), "handle")
    return run.python(f"""
handle, number = (ctypes.c_ubyte * 136)(128), ctypes.c_int()
must(libc.name_to_handle_at({here}, {path}, handle, ctypes.byref(number), 0))
print(bytes(handle).hex())
""", leaks=bytes(handle).hex())


def plants_a_start_up_file(run: Run):
    """And the caller logs in once more."""
    home, token = run.world.dir("home"), run.world.token()
    said = run.python(f"""
with open("{home}/.profile", "w") as file:
    file.write("echo {token}\\n")
""")
    shell = subprocess.run(["-sh", "-c", ":"], executable="/bin/sh", env={"HOME": str(home)},
                           cwd="/", stdout=subprocess.PIPE, user=run.uid or None)
    return run.judge(said, token.encode() in shell.stdout)


def leaves_a_file(run: Run):
    token, path = run.world.token(), run.world.tmpfs("/dev/shm") / "left"
    must_be_done(run.python(f"open('{path}', 'w').write('{token}')\nos.chmod('{path}', 0o644)"))
    return run.python(f"print(open('{path}').read())", leaks=token)


def writes_below_usr(run: Run):
    """On a file system of its own below /usr: read-only it must be all the way down."""
    path = run.world.tmpfs("/usr/src") / "file"
    said = run.python(f"open('{path}', 'w').close()")
    return run.judge(said, path.exists())


def changes_a_setting_of_the_kernel(run: Run):
    path = "/proc/sys/net/ipv4/ip_default_ttl"
    before = host.read(path)
    run.world.cell.callback(outer.write, path, before)
    said = run.python(f"open('{path}', 'w').write('{int(before) + 1}')")
    return run.judge(said, host.read(path) != before)


def makes_a_sparse_file(run: Run):
    """It takes no room here, and all the time of whoever reads it."""
    def look(pid):
        return run.made(pid, "sparse").st_size == 1 << 40
    return run.python("os.truncate(os.open(ROOM + '/sparse', os.O_WRONLY | os.O_CREAT), 1 << 40)",
                      look=look)


def fills_the_disk(run: Run):
    def look(pid):
        return run.made(pid, "full").st_size == MEBI
    return run.python(f"""
with open(ROOM + "/full", "wb") as file:
    file.write(b"x" * {MEBI})
""", "--workspace", "64k", look=look)


def takes_all_inodes(run: Run):
    def look(pid):
        return len(list(run.room_of(pid).iterdir())) == 100
    return run.python("""
for number in range(100):
    open(f"{ROOM}/{number}", "w").close()
""", "--inodes", "64", look=look)


def renames_and_leaves_a_device(run: Run):
    """A whiteout again, where the file was."""
    def look(pid):
        return stat.S_ISCHR(run.made(pid, "here").st_mode)
    return run.python("""
old, new = (os.fsencode(ROOM + name) for name in ("/here", "/there"))
open(old, "w").close()
must(libc.renameat2(-100, old, -100, new, 4))
""", look=look)


ROWS = [
    Attack("read-host-file", "A", reads_a_file, main=True,
           does="opens a file of the host by its path",
           success="the file's random token is in the program's output",
           stops=(("mount", "ENOENT"),)),
    Attack("persist", "B", plants_a_start_up_file, main=True,
           does="writes a .profile into the caller's home",
           success="the next login shell of the caller runs it",
           stops=(("mount", "ENOENT"), ("user", "EACCES", BY_ROOT))),
    Attack("change-host-file", "B", changes_a_file,
           does="appends to a file that the caller alone may write",
           success="the file has other content than before",
           stops=(("mount", "ENOENT"), ("user", "EACCES", BY_ROOT))),
    Attack("leave-file", "B", leaves_a_file,
           does="leaves a file in /dev/shm for the next run",
           success="the next run prints the file's random token",
           stops=(("mount", "ENOENT"),)),
    Attack("write-below-usr", "B", writes_below_usr,
           does="makes a file on a writable file system that is mounted below /usr",
           success="the file is there",
           stops=(("mount", "EROFS"),)),
    Attack("change-kernel-setting", "B", changes_a_setting_of_the_kernel, modes=BY_ROOT,
           does="writes to a file of /proc/sys",
           success="the setting is another one",
           stops=(("mount", "EROFS"), ("user", "EACCES"))),
    Attack("read-accounts", "A", reads_the_accounts,
           does="reads /etc/passwd",
           success="an account of the host is in the program's output",
           stops=(("mount", "not there"),)),
    Attack("read-sysfs", "A", reads_sysfs,
           does="reads what /sys tells of the machine",
           success="a random token that is there is in the program's output",
           stops=(("mount", "ENOENT"),)),
    Attack("read-mounts", "A", reads_the_mounts,
           does="reads in /proc what is mounted where",
           success="the random name of a mount of the host is in the program's output",
           stops=(("mount", "not there"),)),
    Attack("read-kernel-command-line", "A", reads_the_kernels_command_line,
           does="reads in /proc with which words the host's kernel was started",
           success="those are in the program's output",
           stops=(("mount", "not there"),)),
    Attack("use-open-directory", "A", uses_a_directory_left_open,
           does="opens a file beneath a directory of the host that the launcher left open",
           success="the file's random token is in the program's output",
           stops=(("fds", "EBADF"), ("landlock", "EACCES"))),
    Attack("name-file-by-handle", "A", asks_for_a_file_handle,
           does="asks for the handle by which the kernel opens a file past all mounts",
           success="the file's handle is in the program's output",
           stops=(("seccomp", "EPERM"),)),
    Attack("sparse-file", "H", makes_a_sparse_file,
           does="makes a file of 1 TiB that has nothing in it",
           success="the file has its whole size",
           stops=(("rlimit", "EFBIG"),)),
    Attack("fill-disk", "H", fills_the_disk,
           does="writes a file of 1 MiB where /workspace has 64 KiB",
           success="the file has its whole size",
           stops=(("mount", "ENOSPC"),)),
    Attack("take-all-inodes", "H", takes_all_inodes,
           does="makes 100 files where there may be 64",
           success="all of them are there",
           stops=(("mount", "ENOSPC"),)),
    Attack("leave-whiteout", "J", renames_and_leaves_a_device,
           does="renames a file so that a device node is left in its place",
           success="there is a character device in the run's /workspace",
           stops=(("seccomp", "EINVAL"),)),
    Attack("make-device", "J", makes_a_device,
           does="makes a device node in /workspace, one that takes no privilege",
           success="there is a character device in the run's /workspace",
           needs=("landlock-whiteouts",),
           stops=(("seccomp", "EPERM"), ("landlock", "EACCES", EVERY, "landlock-whiteouts"))),
]
