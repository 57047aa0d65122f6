# SPDX-License-Identifier: Apache-2.0
"""
Runs one command on another kernel, under QEMU's software emulation.

The guest's root is the host's, over virtiofs and read-only, with a tmpfs on top: whatever is
installed or staged here is there at the same path, and nothing that the guest writes comes back.

What goes in: an initramfs (made by `prepare`: busybox and modules) with a second archive appended
to it that holds the job. What comes out: three virtio-serial ports, one each for the command's
stdout, its stderr and the status line. The console is a fourth stream. So no output of the
command, whatever it prints, can be taken for its status, nor a kernel message for its output.
"""
import ctypes
import dataclasses
import os
import pathlib
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parent.parent
CACHE = REPO / "build" / "vm"
KERNELS = {"6.1": "linux-image-cloud-amd64", "6.12": "linux-image-6.12-cloud-amd64"}

USER, USER_ID = "tester", 1234
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
STREAMS = ("out", "err", "status")

# Kept of each stream, so that a runaway guest cannot fill the host's memory.
KEEP_BYTES = 64 << 20

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class VmError(Exception):
    """The machine failed, or could not be made: nothing is known about the command."""

    def __init__(self, message, console=b""):
        super().__init__(message)
        self.console = console


@dataclasses.dataclass
class Job:
    """A command and the machine that it wants."""

    command: list
    kernel: str = "6.1"
    user: str = "root"  # or USER
    init: str = "plain"  # or systemd
    cgroup: str = "v2"  # or v1, hybrid, none; with systemd: v2 or hybrid
    delegate: bool = False  # plain init: put the command alone into a cgroup of the user's
    sysctl: list = dataclasses.field(default_factory=list)  # "key=value"
    cmdline: str = ""  # added to the kernel's
    setup: str = ""  # shell text, run as root before the command
    env: list = dataclasses.field(default_factory=list)  # "NAME=VALUE"
    cwd: str = "/"
    share: list = dataclasses.field(default_factory=list)  # directories beneath /tmp or /run
    memory_mib: int = 1024
    cpus: int = 1
    timeout_s: float = 120


@dataclasses.dataclass
class Outcome:
    status: int  # as a shell says it: 128+N for signal N
    stdout: bytes
    stderr: bytes
    console: bytes
    boot_s: float  # from starting QEMU to the command's start
    total_s: float


# ---- cpio ------------------------------------------------------------------------------------


def cpio_archive(entries):
    """A `newc` archive of (name, mode, content); parents must come first."""
    out = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        raw = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(raw), 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + raw
        out += bytes(-len(out) % 4) + content
        out += bytes(-len(out) % 4)
    return bytes(out)


# ---- the job, as the guest reads it -----------------------------------------------------------


def job_settings(job):
    mode = {"plain": "plain", "systemd": "systemd"}[job.init]
    shares = [str(REPO), *map(os.path.abspath, job.share)]
    settings = {
        "VM_INIT": mode,
        "VM_CGROUP": job.cgroup,
        "VM_DELEGATE": "1" if job.delegate else "",
        "VM_USER": job.user,
        "VM_UID": str(USER_ID) if job.user != "root" else "0",
        "VM_SYSCTL": "\n".join(job.sysctl),
        "VM_SHARE": "\n".join(shares),
        "VM_PATH": PATH,
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())


def job_command(job):
    """The command as a script: exec, so that the process that was placed becomes the command."""
    home = "/root" if job.user == "root" else f"/home/{USER}"
    env = [f"PATH={PATH}", f"HOME={home}", f"USER={job.user}", f"LOGNAME={job.user}"]
    env.append("LANG=C.UTF-8")
    if job.init == "systemd" and job.user != "root":
        env.append(f"XDG_RUNTIME_DIR=/run/user/{USER_ID}")
        env.append(f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{USER_ID}/bus")
    env += job.env
    line = shlex.join(["env", "-i", *env, *map(str, job.command)])
    return f"#!/bin/sh\ncd {shlex.quote(str(job.cwd))} || exit 99\nexec {line}\n"


def job_archive(job):
    def script(name):
        return (HERE / name).read_bytes()

    return cpio_archive(
        [
            ("vm", 0o40755, b""),
            ("init", 0o100755, script("stage1.sh")),
            ("vm/stage2", 0o100755, script("stage2.sh")),
            ("vm/report", 0o100755, script("report.sh")),
            ("vm/settings", 0o100644, job_settings(job).encode()),
            ("vm/setup", 0o100755, f"#!/bin/sh\nset -e\n{job.setup}\n".encode()),
            ("vm/command", 0o100755, job_command(job).encode()),
        ]
    )


# ---- the host's side ---------------------------------------------------------------------------


def die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def mount_points():
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def share_script(run_dir, wanted, program):
    """
    Shell text that shows virtiofsd a read-only view of the host's root without what is mounted on
    it (/proc, /sys, /tmp …), but with those mounts that hold what the guest needs.
    """
    root = shlex.quote(str(run_dir / "root"))
    needed = ["/usr", "/etc", *map(str, wanted)]
    lines = ["set -e", f"mount --bind / {root}"]
    for point in sorted(set(mount_points())):
        if point != "/" and any(p == point or p.startswith(point + "/") for p in needed):
            quoted = shlex.quote(point)
            lines.append(f"mkdir -p {root}{quoted}; mount --bind {quoted} {root}{quoted}")
            lines.append(f"mount -o remount,bind,ro {root}{quoted}")
    lines += [f"mount -o remount,bind,ro {root}", f"exec {shlex.join(program)}"]
    return "\n".join(lines)


def start_virtiofsd(run_dir, job, log):
    binary = next((path for path in VIRTIOFSD if os.access(path, os.X_OK)), None)
    if binary is None:
        raise VmError("no virtiofsd: run tools/vm/prepare")
    (run_dir / "root").mkdir()
    sock = run_dir / "fs.sock"
    options = ["source=" + str(run_dir / "root"), "cache=always", "sandbox=chroot"]
    program = [binary, f"--socket-path={sock}"]
    for option in options:
        program += ["-o", option]
    text = share_script(run_dir, [REPO, *map(os.path.abspath, job.share)], program)
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        preexec_fn=die_with_parent,
    )
    deadline = time.monotonic() + 10
    while not sock.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            end_process(process)
            raise VmError("virtiofsd did not start (the host's files cannot be shared)")
        time.sleep(0.01)
    return process, sock


def qemu_command(job, kernel_dir, initrd, fs_sock, fds):
    cmdline = f"console=ttyS0 quiet panic=-1 printk.time=1 tsc=unstable {job.cmdline}"
    command = ["qemu-system-x86_64", "-machine", "q35,sata=off,usb=off,vmport=off"]
    # One thread for all CPUs: with one each, patched kernel code (static keys) is run stale and
    # the kernel panics. 5-level page tables make every emulated page walk longer.
    command += ["-accel", "tcg,thread=single,tb-size=256", "-cpu", "max,la57=off"]
    command += ["-smp", str(job.cpus)]
    command += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    command += ["-m", str(job.memory_mib), "-object"]
    command += [f"memory-backend-memfd,id=mem,size={job.memory_mib}M,share=on"]
    command += ["-numa", "node,memdev=mem"]
    command += ["-kernel", str(kernel_dir / "vmlinuz"), "-initrd", str(initrd)]
    command += ["-append", cmdline, "-chardev", f"socket,id=fs,path={fs_sock}"]
    command += ["-device", "vhost-user-fs-pci,chardev=fs,tag=host,queue-size=512"]
    command += ["-chardev", f"socket,id=console,fd={fds['console']}", "-serial", "chardev:console"]
    command += ["-device", "virtio-serial-pci"]
    for name in STREAMS:
        command += ["-chardev", f"socket,id={name},fd={fds[name]}"]
        command += ["-device", f"virtserialport,chardev={name},name=vm.{name}"]
    return command


def end_process(process):
    if process is None:
        return
    if process.poll() is None:
        process.kill()
    process.wait()


class Machine:
    """QEMU, its file server and its four streams; everything is gone at the end of the block."""

    def __init__(self, job):
        self.job = job
        self.qemu = None
        self.virtiofsd = None
        self.ends = {}
        self.got = {name: bytearray() for name in ("console", *STREAMS)}
        self.dir = None
        self.started = self.command_started = None

    def __enter__(self):
        kernel_dir = CACHE / "kernels" / self.job.kernel
        if not (kernel_dir / "initramfs").exists():
            raise VmError(f"kernel {self.job.kernel} is not there: run tools/vm/prepare")
        (CACHE / "runs").mkdir(parents=True, exist_ok=True)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"run-{os.getpid()}-", dir=CACHE / "runs"))
        try:
            self.start(kernel_dir)
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, kernel_dir):
        initrd = self.dir / "initrd"
        initrd.write_bytes((kernel_dir / "initramfs").read_bytes() + job_archive(self.job))
        theirs = {}
        for name in self.got:
            self.ends[name], theirs[name] = socket.socketpair()
            self.ends[name].setblocking(False)
        fds = {name: end.fileno() for name, end in theirs.items()}
        with open(self.dir / "log", "wb") as log:
            self.virtiofsd, sock = start_virtiofsd(self.dir, self.job, log)
            self.started = time.monotonic()
            self.qemu = subprocess.Popen(
                qemu_command(self.job, kernel_dir, initrd, sock, fds),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=list(fds.values()),
                preexec_fn=die_with_parent,
            )
        for end in theirs.values():
            end.close()

    def __exit__(self, *_):
        end_process(self.qemu)
        end_process(self.virtiofsd)
        for end in self.ends.values():
            end.close()
        if self.dir is not None:
            # `root` is where the host's files are bound, in virtiofsd's namespace only: an empty
            # directory here, and should it ever not be, nothing is removed.
            root = self.dir / "root"
            if root.exists():
                root.rmdir()
            shutil.rmtree(self.dir)

    def log(self):
        return (self.dir / "log").read_text(errors="replace").strip()

    def pump(self, on_output):
        """Reads the four streams until QEMU has closed them all, or the time is up."""
        deadline = self.started + self.job.timeout_s
        with selectors.DefaultSelector() as selector:
            for name, end in self.ends.items():
                selector.register(end, selectors.EVENT_READ, name)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                for key, _ in selector.select(left):
                    self.take(selector, key, on_output)
        return True

    def take(self, selector, key, on_output):
        try:
            data = key.fileobj.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            selector.unregister(key.fileobj)
            return
        kept = self.got[key.data]
        kept += data[: KEEP_BYTES - len(kept)]
        if key.data == "status" and self.command_started is None:
            self.command_started = time.monotonic()
        if on_output is not None:
            on_output(key.data, data)

    def verdict(self, in_time):
        """The status line is `start\\nexit N\\n`; anything less is a failure of the machine."""
        console = bytes(self.got["console"])
        lines = self.got["status"].decode("ascii", "replace").split("\n")
        if lines[0] == "setup-failed":
            raise VmError("the setup inside the machine failed", console)
        if len(lines) == 3 and lines[0] == "start" and lines[1].startswith("exit "):
            return int(lines[1].split()[1])
        where = "the command" if lines[0] == "start" else "booting"
        if not in_time:
            raise VmError(f"no end after {self.job.timeout_s:g} s, while {where}: killed", console)
        if b"Kernel panic" in console:
            raise VmError(f"kernel panic, while {where}", console)
        raise VmError(f"QEMU ended without a status, while {where}: {self.log()}", console)


def run(job, on_output=None):
    """Boots, runs, returns an Outcome; VmError when the machine did not do its part."""
    with Machine(job) as machine:
        in_time = machine.pump(on_output)
        status = machine.verdict(in_time)
        end = time.monotonic()
        return Outcome(
            status=status,
            stdout=bytes(machine.got["out"]),
            stderr=bytes(machine.got["err"]),
            console=bytes(machine.got["console"]),
            boot_s=machine.command_started - machine.started,
            total_s=end - machine.started,
        )
