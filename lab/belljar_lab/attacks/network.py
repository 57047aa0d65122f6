# SPDX-License-Identifier: Apache-2.0
"""Attacks that reach somebody over a socket."""

from belljar_lab.attack import EVERY, Attack
from belljar_lab.run import Run


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
    Attack("reach-host-loopback", "C", connects_to_the_callers_loopback,
           does="connects to a server on the host's loopback and sends a token",
           success="the server received the token",
           stops=(("net", "ECONNREFUSED"),)),
    Attack("reach-abstract-socket", "A", connects_to_an_abstract_socket,
           does="connects to an abstract socket of a process outside and sends a token",
           success="the server received the token",
           stops=(("net", "ECONNREFUSED"), ("landlock", "EPERM", EVERY, "landlock-scopes"))),
]
