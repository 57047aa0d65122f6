# SPDX-License-Identifier: Apache-2.0
"""Output: all of it is drained, a bounded part is kept, and nothing in it is believed."""

import base64
import fcntl
import json
import os
import pty
import subprocess
import termios

import pytest

import harness

attack = pytest.mark.attack


def stream_bytes(stream):
    if stream["encoding"] == "base64":
        return base64.b64decode(stream["text"])
    return stream["text"].encode()


@attack("I01")
def test_a_flood_is_drained_and_only_its_ends_are_kept(bell):
    got = bell.run("--", "/bin/sh", "-c", "echo first; head -c 30000000 /dev/zero | tr '\\0' x; "
                   "echo; echo last")
    stream = got.json["stdout"]
    assert got.exit_code == 0 and stream["bytes"] == 30000000 + 6 + 6
    assert stream["truncated"] is True
    assert len(stream["text"]) <= 64 << 10
    assert stream["text"].startswith("first\n") and stream["text"].endswith("\nlast\n")
    assert stream["omitted_bytes"] == stream["bytes"] - len(stream["text"])
    assert 0 < stream["omitted_at"] < len(stream["text"])


@attack("I01")
def test_endless_output_ends_with_the_time(bell):
    got = bell.run("--time", "400ms", "--", "/usr/bin/yes")
    assert got.outcome == "time_limit"
    assert got.json["stdout"]["text"].startswith("y\ny\n")


@attack("I02")
@pytest.mark.parametrize("fd, other", [(1, "stderr"), (2, "stdout")])
def test_a_mebibyte_on_one_stream_alone_is_no_deadlock(bell, fd, other):
    got = bell.inside("output", fd, 1 << 20)
    assert (got.outcome, got.exit_code) == ("exited", 0)
    assert got.json["stdout" if fd == 1 else "stderr"]["bytes"] == 1 << 20
    assert got.json[other]["bytes"] == 0


@attack("I02")
def test_both_streams_at_once_are_whole_without_json(bell):
    code = ("import sys, threading, os\n"
            "def w(fd, c):\n"
            "    for _ in range(32): os.write(fd, c * 65536)\n"
            "t = [threading.Thread(target=w, args=a) for a in ((1, b'o'), (2, b'e'))]\n"
            "[x.start() for x in t]; [x.join() for x in t]\n")
    status, out, err = bell.raw("-c", code, "--lang", "python", "--time", "40s")
    assert (status, out, err) == (0, b"o" * (2 << 20), b"e" * (2 << 20))


@attack("I03")
@pytest.mark.parametrize("letter", ["é", "€", "😀", "a"])
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_a_cut_splits_no_character(bell, letter, shift):
    got = bell.python(f"print('x' * {shift} + {letter!r} * 3000, end='')", "--keep-output", "1k")
    stream = got.json["stdout"]
    assert stream["encoding"] == "utf-8" and stream["truncated"] is True
    assert set(stream["text"]) <= {"x", letter}
    assert len(stream["text"].encode()) <= 1024
    assert len(stream["text"].encode()) + stream["omitted_bytes"] == stream["bytes"]


@attack("I03")
@pytest.mark.parametrize("data", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80",
                                  b"\xc0\x80", b"ok\x00\xfe", bytes(range(256))])
def test_bytes_that_are_no_utf_8_come_as_base64(bell, data):
    got = bell.inside("bytes", 1, data.hex())
    assert got.json["stdout"]["encoding"] == "base64"
    assert stream_bytes(got.json["stdout"]) == data


@attack("I03", "I05")
@pytest.mark.parametrize("data", [b"\x00", bytes(range(32)), b"\x7f", b"\x1b]52;c;aGk=\x07",
                                  b"\"\\/\b\f\n\r\t", "\u2028\u202e\u0085\ufeff".encode(),
                                  "\U0010ffff".encode()])
def test_control_characters_arrive_escaped_and_whole(bell, data):
    got = bell.inside("bytes", 1, data.hex())
    assert got.json["stdout"]["encoding"] == "utf-8"
    assert stream_bytes(got.json["stdout"]) == data
    body = got.raw_out.rstrip(b"\n")
    assert not any(byte < 32 for byte in body), "raw in JSON"


@attack("I04")
@pytest.mark.parametrize("forged", ['{"event":"exit","code":0}\n',
                                    '{"schema":"belljar.result/1","outcome":"exited",'
                                    '"exit_code":0}\n',
                                    "\n\n--boundary--\n", "__BELLJAR_END__ 0\n", '"}]}\n'])
def test_a_forged_frame_is_only_text(bell, forged):
    got = bell.inside("bytes", 1, forged.encode().hex(), ",", "bytes", 2, forged.encode().hex(),
                      ",", "exit", 9)
    assert (got.outcome, got.exit_code, got.out, got.err) == ("exited", 9, forged, forged)
    assert got.raw_out.count(b"\n") <= 1 or json.loads(got.raw_out)["exit_code"] == 9


@attack("I05")
def test_belljars_own_line_has_no_escape_of_the_program(bell):
    name = "evil\x1b[31m\n\u202eforged"
    status, out, err = bell.raw("--", "/workspace/" + name)
    assert status == 127 and out == b""
    assert err.count(b"\n") == 1 and b"\x1b" not in err and "\u202e".encode() not in err


@attack("I06")
def test_what_a_program_does_to_its_stdout_loses_nothing(bell):
    code = ("import os, fcntl, sys\n"
            "os.write(1, b'before ')\n"
            "for f in (lambda: os.ftruncate(1, 0), lambda: os.lseek(1, 0, 0),\n"
            "          lambda: fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK),\n"
            "          lambda: fcntl.fcntl(1, 1031, 4096)):\n"
            "    try: f()\n"
            "    except OSError: pass\n"
            "n = 0\n"
            "while n < 300000:\n"
            "    try: n += os.write(1, b'x' * 1000)\n"
            "    except BlockingIOError: pass\n"
            "os.write(2, b'%d' % n)\n")
    got = bell.python(code)
    assert got.exit_code == 0, got
    assert got.out.startswith("before ")
    assert got.json["stdout"]["bytes"] == 7 + int(got.err)


@attack("I06")
def test_a_program_cannot_reach_the_callers_own_files_by_its_stdout(bell, token):
    path = bell.file("log", token)
    with open(path, "r+b") as log:
        log.seek(0, os.SEEK_END)
        process = bell.start("--in", f"{bell.inside_binary}:inside", "--", "/bin/sh", "-c",
                             "echo more; exec 3<>/proc/self/fd/1 2>/dev/null; truncate -s 0 "
                             "/proc/self/fd/1 2>/dev/null; true", json_=False, stdout=log)
        bell.finish(process)
    assert path.read_text() == token + "more\n"


@attack("I07", "J06")
def test_a_terminal_of_the_caller_is_not_reached(bell, bare, inside):
    """Run from a terminal of its own: nothing is typed into it, and /dev/tty is not it."""
    def on_a_terminal(*command):
        master, slave = pty.openpty()

        def control():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=control,
                                   env=harness.clean_env(), cwd=bell.place)
        out, err = process.communicate(timeout=harness.PATIENCE)
        os.set_blocking(slave, False)
        mode = termios.tcgetattr(slave)
        mode[3] &= ~termios.ICANON
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        try:
            typed = os.read(slave, 100)
        except BlockingIOError:
            typed = b""
        os.close(master)
        os.close(slave)
        return out, err, typed

    words = []
    for high in (0, 1, 1 << 31):
        words += ["ioctl", "0", str(0x5412 | high << 32), ",", "ioctl", "1",
                  str(0x5412 | high << 32), ",", "ioctl", "0", str(0x541c | high << 32), ","]
    words += ["open", "/dev/tty", "rw"]
    out, _, typed = on_a_terminal(str(inside), *words)
    control = harness.lines_of(out.decode())
    assert control[0]["ok"] and typed.startswith(b"x") and control[-1]["ok"], (control, typed)
    out, err, typed = on_a_terminal(*bell.command("--in", f"{bell.inside_binary}:inside", "--",
                                                  "/workspace/inside", *words, json_=False))
    lines = harness.lines_of(out.decode())
    assert typed == b"" and len(lines) == 10, (out, err)
    assert {line["name"] for line in lines[:-1]} == {"EPERM"}
    assert lines[-1]["name"] == "ENXIO", "there is no controlling terminal"


@attack("I08")
def test_no_descriptor_is_left_on_which_a_status_could_be_forged(bell):
    code = ("import os\n"
            "done = []\n"
            "for fd in range(3, 1024):\n"
            "    try: os.write(fd, b'\\0' * 64); done.append(fd)\n"
            "    except OSError: pass\n"
            "print(done); os._exit(4)\n")
    got = bell.python(code)
    assert (got.outcome, got.exit_code, got.out) == ("exited", 4, "") or got.out == "[]\n"
    assert got.exit_code == 4


def test_closing_its_stdout_does_not_end_the_run(bell):
    got = bell.inside("bytes", 1, b"kept".hex(), ",", "close", 1, ",", "close", 2, ",", "exit", 6)
    assert (got.outcome, got.exit_code, got.out) == ("exited", 6, "kept")


@pytest.mark.parametrize("json_", [True, False])
@pytest.mark.parametrize("closed, fd", [(1, 2), (2, 1)])
def test_a_stream_that_was_closed_early_does_not_cost_the_other_its_end(bell, closed, fd, json_):
    words = ["close", closed, ",", "output", fd, 200000, ",", "bytes", fd, b"end".hex()]
    name = {1: "stdout", 2: "stderr"}[fd]
    for _ in range(3):
        if json_:
            got = bell.inside(*words)
            assert got.json[name]["bytes"] == 200003, got.json[name]["bytes"]
            assert got.json[name]["text"].endswith("xend")
        else:
            status, *both = bell.raw("--in", f"{bell.inside_binary}:inside", "--", "/workspace/inside",
                                     *words)
            assert status == 0 and len(both[fd - 1]) == 200003


def test_output_before_death_is_kept(bell):
    got = bell.inside("bytes", 1, b"last words".hex(), ",", "raise", 9)
    assert (got.outcome, got.out) == ("signaled", "last words")
