# SPDX-License-Identifier: Apache-2.0
"""Whom an attack wants to reach over a network, all of it inside the outer namespaces.

    run.world.http      takes what is posted to http://203.0.113.7/, an address of nobody
    run.world.dns       answers every name with that address; asked at 127.0.0.1, as a C library
                        without /etc/resolv.conf does it, and as the one made here says
    run.world.metadata  gives a token to whoever asks http://169.254.169.254/, as a cloud does

Each has hits(), all that arrived, and heard(TOKEN). They are started once in a worker and forget()
before each cell.
"""

import contextlib
import http.server
import json
import os
import secrets
import select
import socket
import struct
import threading

from belljar_lab import outer

BACKLOG = 16
RESOLVER = "127.0.0.1"
LONGEST = 1 << 20  # of a body that is read


class Server:
    """Remembers what reached it, and answers if it is given an answer."""

    def __init__(self, family, kind, address, answer=None):
        self.got, self.answer, self.lock = [], answer, threading.Lock()
        self.stream = kind == socket.SOCK_STREAM
        self.socket = socket.socket(family, kind)
        if family == socket.AF_INET:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(address)
        if self.stream:
            self.socket.listen(BACKLOG)
        self.stop_read, self.stop_write = os.pipe()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def ready(self, seconds):
        return select.select([self.socket, self.stop_read], [], [], seconds)[0]

    def serve(self):
        while True:
            ready = self.ready(None)
            if self.stop_read in ready:
                return
            with self.lock:
                self.take()

    def take(self):
        """Takes what waits; the caller holds the lock."""
        while self.socket in self.ready(0):
            if not self.stream:
                data, peer = self.socket.recvfrom(4096)
                self.got.append(data)
                if self.answer:
                    self.socket.sendto(self.answer(data), peer)
                continue
            peer, address = self.socket.accept()
            with peer, contextlib.suppress(OSError):
                peer.settimeout(5)
                self.speak(peer, address)

    def speak(self, peer, _address):
        data = peer.recv(4096)
        self.got.append(data)
        if self.answer:
            peer.sendall(self.answer(data))

    def hits(self):
        """All that arrived until now."""
        with self.lock:
            self.take()
            return list(self.got)

    def heard(self, token):
        return any(token.encode() in piece for piece in self.hits())

    def forget(self):
        with self.lock:
            self.take()
            self.got.clear()

    def close(self):
        os.write(self.stop_write, b"x")
        self.thread.join()
        for fd in (self.stop_read, self.stop_write):
            os.close(fd)
        self.socket.close()


class Http(Server):
    """Remembers whole requests, and answers each of them with answer()."""

    def __init__(self, host):
        super().__init__(socket.AF_INET, socket.SOCK_STREAM, (host, 80), self.page)
        self.url = f"http://{host}/"

    def speak(self, peer, address):
        Request(peer, address, self)

    @staticmethod
    def page(_request):
        return b"welcome\n"


class Request(http.server.BaseHTTPRequestHandler):
    timeout = 5

    def do_GET(self):
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(min(int(length), LONGEST)) if length.isdecimal() else b""
        request = self.raw_requestline + bytes(self.headers) + body
        self.server.got.append(request)
        answer = self.server.answer(request)
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, *_):
        pass


class Metadata(Http):
    """Its token is another one for each cell."""

    def __init__(self, host):
        self.token = ""
        super().__init__(host)

    def page(self, _request):
        return json.dumps({"Code": "Success", "Token": self.token}).encode() + b"\n"

    def forget(self):
        super().forget()
        self.token = secrets.token_hex(12)


class Dns(Server):
    def __init__(self, host):
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM, (host, 53), self.reply)

    @staticmethod
    def reply(query):
        name, _, rest = query[12:].partition(b"\0")
        question, is_address = name + b"\0" + rest[:4], rest[:2] == b"\0\1"
        header = query[:2] + struct.pack(">5H", 0x8180, 1, is_address, 0, 0)
        address = struct.pack(">2sHHIH4s", b"\xc0\x0c", 1, 1, 0, 4, socket.inet_aton(outer.PUBLIC))
        return header + question + address * is_address

    def names(self):
        """The names that it was asked for."""
        return [question_name(query) for query in self.hits()]


def question_name(query):
    labels, rest = [], query[12:]
    while rest and rest[0]:
        labels.append(rest[1:rest[0] + 1].decode(errors="replace"))
        rest = rest[rest[0] + 1:]
    return ".".join(labels)


def start():
    return Http(outer.PUBLIC), Dns(RESOLVER), Metadata(outer.METADATA)
