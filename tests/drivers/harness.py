# SPDX-License-Identifier: Apache-2.0
"""A driver, bare: its channel one end of a SEQPACKET socketpair, its streams pipes."""

import json
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVERS = ROOT / "src" / "drivers"
PYTHON = os.environ.get("DRIVER_PYTHON", "/usr/bin/python3")
NODE = os.environ.get("DRIVER_NODE", "node")
CODEC = os.environ.get("DRIVER_CODEC", str(ROOT / "build/tests/drivers/driver_codec"))

HEADER = struct.Struct("<IBBHQ")
MAGIC = 0x52444A42
RUN, READY, DISPLAY, ERROR, DONE = 1, 2, 3, 4, 5
STORE, SILENT = 1, 2
STATUS = {0: "ok", 1: "error", 2: "interrupted"}
HANG_S = 60  # what takes this long will never come


class Gone(Exception):
    """The driver has closed its end."""


@dataclass
class Cell:
    """What came of one."""
    status: str = ""
    count: int = 0
    stdout: str = ""
    stderr: str = ""
    results: list = field(default_factory=list)  # {MIME: bytes}, of kind result
    displays: list = field(default_factory=list)  # and of kind display
    error: tuple = None  # name, value, traceback

    @property
    def text(self):
        assert len(self.results) == 1, self
        return self.results[0]["text/plain"].decode()

    def json(self, number=0):
        return json.loads(self.results[number]["application/json"])


class Driver:
    def __init__(self, command, cwd, env=None):
        self.outside, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.recorded = []
        pipes = [os.pipe() for _ in range(2)]
        self.streams = {"stdout": pipes[0][0], "stderr": pipes[1][0]}
        self.text = {"stdout": b"", "stderr": b""}
        self.call = 0
        environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8", **(env or {})}
        null = os.open("/dev/null", os.O_RDONLY)
        # As posix_spawn has it: no code between fork and exec, and each number as it is to be. SIGINT
        # may be ignored here, as a shell's background jobs are, and would be there.
        actions = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in
                   ((null, 0), (pipes[0][1], 1), (pipes[1][1], 2), (inside.fileno(), 3))]
        self.pid = os.posix_spawn("/usr/bin/env", ["env", "-C", str(cwd), *command], environment,
                                  file_actions=actions, setsigdef=[signal.SIGINT])
        for fd in (null, pipes[0][1], pipes[1][1]):
            os.close(fd)
        inside.close()
        for fd in self.streams.values():
            os.set_blocking(fd, False)
        kind, payload = self.next_frame()
        assert kind == READY, (kind, payload)
        assert payload[:4] == b"\1\0\0\0"
        size = int.from_bytes(payload[4:8], "little")
        self.language = payload[8:8 + size].decode()
        self.version = payload[12 + size:].decode()

    # Frames

    def drain(self):
        for name, fd in self.streams.items():
            try:
                while True:
                    data = os.read(fd, 1 << 16)
                    if not data:
                        break
                    self.text[name] += data
            except BlockingIOError:
                pass

    def receive(self):
        """One packet; meanwhile the streams are read, so that no cell waits for that."""
        while True:
            ready, _, _ = select.select([self.outside, *self.streams.values()], [], [], HANG_S)
            assert ready, f"nothing came for {HANG_S} s; so far {self.text}"
            if self.outside in ready:
                try:
                    packet = self.outside.recv(1 << 17)
                except ConnectionResetError:
                    packet = b""
                if not packet:
                    raise Gone(self.text)
                self.recorded.append((self.call, packet))
                return packet
            self.drain()

    def next_frame(self):
        data = b""
        while True:
            packet = self.receive()
            magic, kind, more, zero, call = HEADER.unpack_from(packet)
            assert (magic, zero, call) == (MAGIC, 0, self.call) and more <= 1
            assert len(packet) <= 65536
            data += packet[HEADER.size:]
            if not more:
                return kind, data

    def begin(self, code, flags=STORE):
        self.drain()
        self.text = {"stdout": b"", "stderr": b""}
        self.call = secrets.randbits(63) + 1
        payload = struct.pack("<I", flags) + code.encode()
        room = 65536 - HEADER.size
        for at in range(0, len(payload), room):
            more = int(at + room < len(payload))
            self.outside.send(HEADER.pack(MAGIC, RUN, more, 0, self.call) + payload[at:at + room])

    def end(self):
        cell, shown = Cell(), {}
        while True:
            kind, data = self.next_frame()
            if kind == DISPLAY:
                index, what, size = struct.unpack_from("<IBH", data)
                _, formats = shown.setdefault(index, (what, {}))
                formats[data[7:7 + size].decode("ascii")] = data[7 + size:]
            elif kind == ERROR:
                assert cell.error is None
                texts = []
                while data:
                    size = int.from_bytes(data[:4], "little")
                    texts.append(data[4:4 + size].decode())
                    data = data[4 + size:]
                cell.error = tuple(texts)
                assert len(cell.error) == 3
            else:
                assert kind == DONE
                status, cell.count = struct.unpack("<BI", data)
                break
        # What the cell printed is in the pipes already: nothing is waited for.
        self.drain()
        cell.status = STATUS[status]
        cell.stdout, cell.stderr = (self.text[n].decode() for n in ("stdout", "stderr"))
        for what, formats in shown.values():
            (cell.displays if what else cell.results).append(formats)
        return cell

    def run(self, code, flags=STORE):
        self.begin(code, flags)
        return self.end()

    def ok(self, code, flags=STORE):
        cell = self.run(code, flags)
        assert cell.status == "ok", cell
        return cell

    def wait_for(self, text, stream="stdout"):
        """Until the cell that runs has printed this."""
        while text.encode() not in self.text[stream]:
            ready, _, _ = select.select([self.streams[stream]], [], [], HANG_S)
            assert ready, f"never printed: {text}; but {self.text}"
            self.drain()

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def interrupt_until_done(self):
        """As whoever interrupts Node must: it loses a signal at the end of a cell's first step."""
        while not select.select([self.outside], [], [], 0.1)[0]:
            self.interrupt()

    # The end

    def exit_status(self):
        """Waits for it; negative for a signal."""
        pidfd = os.pidfd_open(self.pid)
        ready, _, _ = select.select([pidfd], [], [], HANG_S)
        os.close(pidfd)
        assert ready, "it does not end"
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def close(self):
        """The channel's end is the driver's. What it sent pleases the codec outside."""
        self.outside.close()
        if self.pid:
            self.exit_status()
        for fd in self.streams.values():
            os.close(fd)
        self.check_codec()

    def check_codec(self):
        data = b"".join(struct.pack("<QI", call, len(packet)) + packet for call, packet in self.recorded)
        done = subprocess.run([CODEC], input=data, stdout=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stdout.decode()
        assert done.stdout.startswith(b"ready\n") and done.stdout.endswith(b"\n0 stale\n") or (
            done.stdout == b"ready\n0 stale\n")


def python(cwd, env=None):
    return Driver([PYTHON, "-I", "-u", str(DRIVERS / "python.py")], cwd, env)


def node(cwd, env=None):
    return Driver([NODE, str(DRIVERS / "javascript.js")], cwd, env)
