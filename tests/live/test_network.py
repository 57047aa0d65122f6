# SPDX-License-Identifier: Apache-2.0
"""No packet leaves, no host is reached, and no rare kind of socket can be had."""

import socket
import subprocess

import pytest

attack = pytest.mark.attack


@attack("C01", "C20")
def test_a_tcp_listener_of_the_host_is_not_reached(bell, bare, listen, token):
    listener = listen("tcp")
    assert bare("connect", "tcp", "127.0.0.1", listener.port, "hello " + token)[0]["ok"]
    assert listener.heard("hello " + token)
    line = bell.inside("connect", "tcp", "127.0.0.1", listener.port, "escaped").line
    assert line["name"] == "ECONNREFUSED", "there is a loopback, but it is the run's own"
    line = bell.inside("fastopen", "127.0.0.1", listener.port, "escaped").line
    assert not line["ok"]
    assert listener.got == [("hello " + token).encode()]


@attack("C01")
def test_a_tcp_listener_on_ipv6_is_not_reached(bell, bare, listen, token):
    listener = listen("tcp6")
    assert bare("connect", "tcp", "::1", listener.port, "hello " + token)[0]["ok"]
    assert listener.heard("hello " + token)
    line = bell.inside("connect", "tcp", "::1", listener.port, "escaped").line
    assert line["name"] == "ECONNREFUSED", line
    assert listener.got == [("hello " + token).encode()]


@attack("C02")
def test_a_udp_listener_of_the_host_is_not_reached(bell, bare, listen, token):
    listener = listen("udp")
    assert bare("connect", "udp", "127.0.0.1", listener.port, "hello " + token)[0]["ok"]
    assert listener.heard("hello " + token)
    bell.inside("connect", "udp", "127.0.0.1", listener.port, "escaped")
    # What was sent after it arrives after it: so that nothing arriving late is missed.
    assert bare("connect", "udp", "127.0.0.1", listener.port, "last " + token)[0]["ok"]
    assert listener.heard("last " + token)
    assert not any(b"escaped" in piece for piece in listener.got)


@attack("C01", "C02", "C05")
@pytest.mark.parametrize("kind", ["tcp", "udp"])
@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "169.254.169.254", "100.100.100.200",
                                  "8.8.8.8", "224.0.0.1", "255.255.255.255", "2001:db8::1",
                                  "fd00:ec2::254", "fe80::1", "ff02::1"])
def test_no_address_can_be_reached(bell, kind, host):
    line = bell.inside("connect", kind, host, 80, "escaped").line
    assert not line["ok"]
    assert line["name"] in ("ENETUNREACH", "EINVAL", "EADDRNOTAVAIL", "EACCES"), line
    if ":" not in host and host.split(".")[0] not in ("224", "255"):
        assert line["name"] == "ENETUNREACH"


@attack("C02", "J18")
@pytest.mark.parametrize("proto", ["icmp", "raw"])
def test_icmp_and_raw_sockets_are_refused(bell, bare, proto):
    words = {"icmp": ("socket", 2, 2, 1), "raw": ("socket", 2, 3, 1)}[proto]
    (control,) = bare("socket", 2, 3, 1, outer=True)
    assert control["ok"]
    line = bell.inside(*words).line
    assert line["name"] == {"icmp": "EACCES", "raw": "EPERM"}[proto], line


@attack("C03")
def test_names_are_not_resolved_and_no_resolver_is_asked(bell, listen, token):
    code = ("import socket\n"
            "for name in ('%s.example.test', 'metadata.google.internal'):\n"
            "    try: print(socket.getaddrinfo(name, 80))\n"
            "    except socket.gaierror as e: print('gaierror', e.errno)\n"
            "print(socket.getaddrinfo('localhost', 80, socket.AF_INET)[0][4])\n" % token)
    got = bell.python(code)
    lines = got.out.splitlines()
    assert got.exit_code == 0, got
    assert lines[0].startswith("gaierror") and lines[1].startswith("gaierror")
    assert lines[2] == "('127.0.0.1', 80)"


@attack("C21")
def test_a_listener_inside_is_not_reached_from_the_host(bell, bare):
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    process = bell.start_inside("listen", port, json_=False, options=["--time", "20s"])
    try:
        assert b'"verb":"listen","ok":true' in process.stdout.readline()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
    finally:
        process.terminate()
        out, _ = bell.finish(process)
    assert b"accept" not in out
    # The same by a program of the host is reached.
    control = subprocess.Popen([bell.inside_binary, "listen", str(port)], stdout=subprocess.PIPE)
    assert b'"ok":true' in control.stdout.readline()
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    assert b'"verb":"accept","ok":true' in control.communicate(timeout=10)[0]


def test_loopback_works_inside(bell):
    assert bell.inside("loopback").line["text"] == "echo"


def test_only_a_loopback_is_there(bell):
    got = bell.run("--", "/bin/cat", "/proc/net/dev", "/proc/net/route", "/proc/net/unix")
    names = [line.split(":")[0].strip() for line in got.out.splitlines() if "lo:" in line or
             (":" in line and "|" not in line and line.split(":")[0].strip().isalnum())]
    assert "lo" in names
    assert not [n for n in names if n.startswith(("eth", "en", "wl", "docker", "br"))]


AF = {"UNIX": 1, "INET": 2, "AX25": 3, "IPX": 4, "X25": 9, "INET6": 10, "KEY": 15, "NETLINK": 16,
      "PACKET": 17, "RDS": 21, "PPPOX": 24, "CAN": 29, "TIPC": 30, "BLUETOOTH": 31, "ALG": 38,
      "NFC": 39, "VSOCK": 40, "KCM": 41, "QIPCRTR": 42, "SMC": 43, "XDP": 44, "MCTP": 45}
FINE = {"UNIX", "INET", "INET6"}
REFUSED_FAMILY = "EAFNOSUPPORT"  # also what a kernel without it answers


@attack("C22", "J18", "A19")
@pytest.mark.parametrize("name", sorted(set(AF) - FINE - {"NETLINK"}))
def test_a_rare_family_of_sockets_is_refused(bell, name):
    words = []
    for kind in (1, 2, 3, 5):
        words += ["socket", AF[name], kind, 0, ",", "socket_high", AF[name], kind, 0, ","]
    lines = bell.inside(*words[:-1]).lines
    assert {line["name"] for line in lines} == {REFUSED_FAMILY}, lines


@attack("A19")
def test_vsock_is_refused_where_the_host_has_it(bell, bare):
    control = bare("socket", AF["VSOCK"], 1, 0)
    line = bell.inside("socket", AF["VSOCK"], 1, 0).line
    assert line["name"] == REFUSED_FAMILY
    assert control[0]["ok"] or control[0]["name"] == "EAFNOSUPPORT", control


@attack("C22")
def test_packet_sockets_are_refused_where_root_of_a_namespace_has_them(bell, bare):
    assert bare("socket", AF["PACKET"], 3, 0, outer=True)[0]["ok"]
    assert bell.inside("socket", AF["PACKET"], 3, 0).line["name"] == REFUSED_FAMILY


@attack("C22")
def test_netlink_is_for_routes_only(bell, bare):
    assert bell.inside("socket", AF["NETLINK"], 3, 0).line["ok"], "getifaddrs needs it"
    words = []
    for proto in (1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 15, 16, 18, 19, 20, 21):
        words += ["socket", AF["NETLINK"], 3, proto, ",", "socket_high", AF["NETLINK"], 3, proto,
                  ","]
    lines = bell.inside(*words[:-1]).lines
    assert {line["name"] for line in lines} == {"EPROTONOSUPPORT"}, lines
    assert bare("socket", AF["NETLINK"], 3, 9, ",", "socket", AF["NETLINK"], 3, 12)[0]["ok"]


def test_the_common_families_work(bell):
    words = []
    for name in sorted(FINE):
        for kind in (1, 2):
            words += ["socket", AF[name], kind, 0, ",", "socket_high", AF[name], kind, 0, ","]
    assert all(line["ok"] for line in bell.inside(*words[:-1]).lines)


@attack("J18")
def test_kernel_tls_and_filters_on_sockets_are_refused(bell, bare):
    words = ["setsockopt", 6, 31, "tls", ",", "setsockopt", 1, 50, "xxxx", ",",
             "setsockopt", 1, 52, "xxxx"]
    lines = bell.inside(*words).lines
    assert [line["name"] for line in lines] == ["EPERM"] * 3, lines
    assert "EPERM" not in [line["name"] for line in bare(*words)]
