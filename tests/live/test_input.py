# SPDX-License-Identifier: Apache-2.0
"""Bad input: one line that names it, exit 125, and nothing ran."""

import json
import os
import struct

import pytest

import harness

attack = pytest.mark.attack

SIZES = ["memory", "tmp", "workspace", "shm", "keep-output", "max-output", "fsize"]
TIMES = ["time", "cpu-time"]
COUNTS = ["pids", "inodes", "nofile", "landlock-abi-min"]
OPTIONS = {**{n: "size" for n in SIZES}, **{n: "time" for n in TIMES},
           **{n: "count" for n in COUNTS}, "cpus": "milli"}
ANY = ["", " ", "0", "-1", "+1", "NaN", "nan", "inf", "-inf", "1e3", "1e400", "0x10", "1_000", "1,5",
       "１", "abc", "18446744073709551616", "9223372036854775808", "99999999999999999999999999",
       "1 ", " 1", "1\n", "1\x1b[31m", "--", "null", "true", "1.2.3", ".", "1.", "00", "-0", "0.0",
       "9" * 5000]
PER_KIND = {"size": ["1kk", "64mb", "1.5m", "-64m", "0m", "16777216t", "18446744073709551615t", "m",
                     "64 m", "64M B", "1p"],
            "time": ["10", "1d", "-1s", "0s", "0ms", "1.0001ms", "18446744073709551616s", "s", "10 s",
                     "9999999999999h", "1w", "1s1s", "5e-324s"],
            "count": ["64k", "1.5", "64 ", "4294967296000", "0b1"],
            "milli": ["0.0001", "1m", "-0.5", "1e-3", "1/2", "100000000", "50%", "0.5.5"]}


def refused(bell, *words, names=(), **more):
    """One line on stderr that names these, nothing on stdout, exit 125; no JSON but a result."""
    status, out, err = bell.raw(*words, **more)
    assert status == 125, (words, status, out, err)
    assert out == b"", out
    assert err.count(b"\n") == 1 and err.endswith(b"\n"), err
    line = err[:-1].decode("utf-8")  # a line that is no UTF-8 is a failure
    assert line.isprintable(), line
    assert len(line) < 1500, len(line)
    for name in names:
        assert str(name) in line, (name, line)
    return line


@attack("E06")
@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_no_bad_value_of_an_option_passes(first_bell, option):
    lines = set()
    for value in ANY + PER_KIND[OPTIONS[option]]:
        if option == "cpus" and value in ("1.",):
            continue
        # Each field may also be set in a policy only; an option that is none is refused as well.
        line = refused(first_bell, f"--{option}={value}", "--", "/bin/echo", "ran",
                       names=[f"--{option}"])
        lines.add(line)
    assert len(lines) > 3, "the line says which value it was"


@attack("E06")
@pytest.mark.parametrize("option, low, high", [
    ("memory", "1m", "5g"), ("time", "1ms", "2h"), ("cpu-time", "1ms", "2h"), ("pids", "1", "4097"),
    ("tmp", "1k", "5g"), ("workspace", "1k", "5g"), ("keep-output", "1", "65m"), ("cpus", "0.001", "4097")])
def test_outside_its_range_or_above_the_ceiling_is_refused_and_told(first_bell, option, low, high):
    refused(first_bell, f"--{option}", low, "--", "/bin/echo", "ran", names=[option])
    refused(first_bell, f"--{option}", high, "--", "/bin/echo", "ran", names=[option])


@pytest.mark.parametrize("option, good", [
    ("memory", "64m"), ("memory", "67108864"), ("time", "2s"), ("time", "2000ms"), ("time", "1m"),
    ("time", "1.5s"), ("cpu-time", "1s"), ("pids", "8"), ("tmp", "1m"), ("workspace", "1m"), ("cpus", "0.25"),
    ("cpus", "1"), ("keep-output", "1k"), ("max-output", "1g")])
def test_good_values_run(first_bell, option, good):
    assert first_bell.run(f"--{option}", good, "--", "/bin/echo", "ran").out == "ran\n"
    assert first_bell.run(f"--{option}={good}", "--", "/bin/echo", "ran").out == "ran\n"


def test_an_unknown_option_is_refused(first_bell):
    for words in (["--no-sandbox"], ["--privileged"], ["--disable-layer=net"], ["--unsafe"], ["--mem=1m"],
                  ["-x"], ["--net=host"], ["--cap-add=ALL"], ["--memory"], ["--accept-missing=cgroup"],
                  ["--seccomp=off"], ["--=x"], ["--memory\n=1m"], ["--\x1b[31m"], ["--" + "x" * 5000]):
        refused(first_bell, *words, "--", "/bin/echo", "ran")


def test_a_program_whose_path_is_too_long_is_refused_and_not_shortened(first_bell):
    deep = "/" + "/".join(["c" * 100] * 3)
    for words in (["--cwd", deep, "--", "./" + "p" * 300], ["--", "p" * 401], ["--", "/" + "p" * 401]):
        refused(first_bell, *words, names=["program", "longer than"])


def test_a_repeated_option_is_refused(first_bell):
    for words in (["--memory", "64m", "--memory", "64m"], ["--time=1s", "--time", "1s"], ["--quiet", "-q"],
                  ["-c", "1", "--code", "1"], ["--cwd", "/tmp", "--cwd", "/tmp"]):
        refused(first_bell, *words, "--", "/bin/echo", "ran", names=["twice"])


def test_nothing_to_run_is_refused(first_bell):
    for words in ([], ["--"], ["--time", "1s"], ["-c", "print(1)"], ["--lang", "python"],
                  ["-c", "print(1)", "--lang", "klingon"], ["-c", "", "--lang", ""]):
        refused(first_bell, *words)


def test_a_language_that_is_not_known_is_refused(first_bell):
    refused(first_bell, first_bell.file("a.unknown", "x"))
    refused(first_bell, "-c", "x", "--lang", "py\nthon")
    refused(first_bell, "-c", "x", "--lang", "../../bin/sh")


BAD_ENV = ["", "=", "=x", "NAME", "A B=x", "A\n=x", "1A=x", "A-B=x", "A\x1b=x", "É=x", "A.B=x",
           "A=" + "x" * 300000]


@pytest.mark.parametrize("entry", BAD_ENV, ids=range(len(BAD_ENV)))
def test_a_bad_environment_entry_is_refused(first_bell, entry):
    try:
        refused(first_bell, "--env", entry, "--", "/bin/echo", "ran", names=["--env"])
    except OSError as error:  # the host's own exec refuses 128 KiB of one argument
        assert error.errno == 7 and len(entry) > 131072


def test_bytes_that_are_no_utf_8_in_options(first_bell):
    refused(first_bell, b"--memory=\xff", "--", "/bin/echo", "ran")
    refused(first_bell, b"--profile=\xff\xfe", "--", "/bin/echo", "ran")
    refused(first_bell, b"--\xff", "--", "/bin/echo", "ran")
    refused(first_bell, b"--policy=/\xff", "--", "/bin/echo", "ran", policy=False)
    refused(first_bell, b"--cwd=\xff", "--", "/bin/echo", "ran")
    got = first_bell.run("--", "/bin/echo", b"\xff\xfe")
    assert got.json["stdout"]["encoding"] == "base64", "arguments of the program are bytes"


@pytest.mark.parametrize("value, says", [
    ("", "names nothing"), (":x", "names nothing"), ("/no/such", "No such file"),
    ("/no/such:x", "No such file"), ("a/below:x", "Not a directory"), ("/dev/zero:x", "character device"),
    ("a:/x", "absolute"), ("a:../x", '".."'), ("a:x//y", "empty component"), ("a:" + "x" * 300, "longer than"),
    ("/" + "x" * 5000, "longer than"), ("/no\n\x1b[31m", "No such file"), ("fifo:x", "FIFO")],
    ids=range(13))
def test_a_bad_input_is_refused_and_the_line_says_that_it_came_from_in(first_bell, value, says):
    first_bell.file("a", "x")
    os.mkfifo(first_bell.place / "fifo")
    refused(first_bell, "--in", value, "--", "/bin/echo", "ran", names=["--in", says])


@pytest.mark.parametrize("one, other", [("x", "x"), ("x", "x/y"), ("x/y", "x"), ("x/y/z", "x"),
                                        (".belljar", None), (".belljar/main.py", None)])
def test_inputs_of_which_one_excludes_the_other_are_refused(first_bell, one, other):
    """A file and what is to be below it, or two of one name; `other` None: the code itself."""
    first_bell.file("a", "x")
    words = ["--in", f"a:{one}"]
    words += ["--in", f"a:{other}", "--", "/bin/echo", "ran"] if other else \
        ["-c", "print('ran')", "--lang", "python"]
    refused(first_bell, *words, names=["--in", "another input"])
    got = first_bell.run(*words)
    assert (got.outcome, got.started, got.retry) == ("refused", False, "change"), got


def test_inputs_in_one_directory_are_no_hindrance(first_bell):
    first_bell.file("a", "x")
    (first_bell.dir("d") / "b").write_text("y")
    got = first_bell.run("--in", "a:d/a", "--in", "d:d", "--in", "a:d/b2", "--in", "a:da", "--",
                         "/usr/bin/find", "d", "da", "-type", "f")
    assert sorted(got.out.split()) == ["d/a", "d/b", "d/b2", "da"]


def test_no_name_in_the_workspace_is_belljars(bell):
    """Whatever a layer is proven by, it needs no name that an input may have."""
    bell.file("a", "mine\n")
    for name in (".belljar-landlock", "belljar-landlock", ".belljar"):
        got = bell.run("--in", f"a:{name}", "--", "/bin/cat", name)
        assert (got.outcome, got.out) == ("exited", "mine\n"), got


@pytest.mark.parametrize("name, says", [("d/a", "File exists"), ("d/a/x", "Not a directory"),
                                        ("d/" + "/".join(["e" * 200] * 21)[:4000], None)])
def test_an_input_that_excludes_what_is_in_a_directory_is_refused(bell, name, says):
    (bell.dir("d") / "a").write_text("x")
    bell.file("b", "y")
    words = ["--in", "d:d", "--in", f"b:{name}", "--", "/bin/echo", "ran"]
    if not says:
        assert bell.run(*words).out == "ran\n"
        return
    refused(bell, *words, names=["--in", '"b"', says])
    got = bell.run(*words)
    assert (got.outcome, got.started, got.retry) == ("refused", False, "change"), got
    assert got.error["layer"] is None


@pytest.mark.parametrize("how", ["in", "source", "below"])
def test_an_input_that_cannot_be_read_is_named_with_its_error(bell, how):
    """At its beginning no process has memory: EIO, as of a disk that is broken."""
    before, words, name = [], ["--in", "/proc/self/mem:x", "--", "/bin/echo", "ran"], "/proc/self/mem"
    if how == "source":
        words = ["--lang", "python", "/proc/self/mem"]
    elif how == "below":
        if os.geteuid() != 0:
            pytest.skip("needs root to put such a file into a directory")
        (bell.dir("d") / "bad").write_text("")
        before = harness.in_mounts(f"mount --bind /proc/$$/mem {bell.place}/d/bad")
        words, name = ["--in", "d:d", "--", "/bin/echo", "ran"], "bad"
        if bell.uid:
            return  # not its own memory
    line = refused(bell, *words, names=[name, "Input/output error"], before=before)
    assert "ulimit" not in line and "Belljar failed" not in line, line
    assert ("--in" in line) == (how != "source"), line
    got = bell.run(*words, before=before)
    assert (got.outcome, got.started, got.retry) == ("refused", False, "change"), got


@pytest.mark.parametrize("path", ["/no/such", "/a\nb\x1b[31m", "/etc/passwd"])
def test_a_working_directory_that_is_missing_is_quoted(bell, path):
    got = bell.run("--cwd", path, "--", "/bin/echo", "ran")
    shown = path.replace("\n", "\\n").replace("\x1b", "\\x1b")
    reason = "Not a directory" if path == "/etc/passwd" else "No such file or directory"
    assert got.error["message"] == f'--cwd "{shown}": {reason}', got
    assert got.outcome == "not_started"
    status, out, err = bell.raw("--cwd", path, "--", "/bin/echo", "ran")
    assert out == b"" and err.count(b"\n") == 1 and f'--cwd "{shown}"'.encode() in err, err


@pytest.mark.parametrize("path", ["relative", "", "/no/such", "/workspace/../../x", "/etc/passwd",
                                  "/" + "x" * 5000, "/a\nb", "/tmp/\x1b[31m"])
def test_a_bad_working_directory_is_refused_or_not_started(first_bell, path):
    status, out, err = first_bell.raw("--cwd", path, "--", "/bin/echo", "ran")
    assert status in (125, 126, 127) and out == b"" and err.count(b"\n") == 1, (status, out, err)
    assert b"\x1b" not in err


@pytest.mark.parametrize("value", ["nosuchimage", "", "/no/such", "../x", "a/b/../c", "x" * 5000, "\x1b"])
def test_a_bad_image_is_refused(first_bell, value):
    refused(first_bell, "--image", value, "--", "/bin/echo", "ran", names=["image"])


@pytest.mark.parametrize("value", ["nosuch", "", "AGENT", "agent ", "../agent", "\x1b[31m", "a" * 5000])
def test_an_unknown_profile_is_refused(first_bell, value):
    refused(first_bell, "--profile", value, "--", "/bin/echo", "ran")


# ---- Policy files --------------------------------------------------------------------------------

BAD_POLICIES = {
    "empty": b"", "no object": b"[]", "a number": b"5", "a string": b'"x"', "null": b"null",
    "open": b"{", "open string": b'{"memory": "64m', "comma": b'{"memory": "64m",}', "twice": b"{}{}",
    "rest": b"{} x", "unknown": b'{"memroy": "64m"}', "case": b'{"Memory": "64m"}',
    "repeated": b'{"memory": "64m", "memory": "32m"}', "null value": b'{"memory": null}',
    "object": b'{"memory": {}}', "list": b'{"memory": ["64m"]}', "true": b'{"memory": true}',
    "negative": b'{"memory": -1}', "zero": b'{"memory": 0}', "float": b'{"memory": 1.5}',
    "nan": b'{"memory": NaN}', "infinity": b'{"memory": Infinity}', "exponent": b'{"memory": 1e400}',
    "overflow": b'{"memory": 18446744073709551616}', "2^64+64m": b'{"memory": "18446744073776660480"}',
    "zero pids": b'{"pids": 0}', "negative pids": b'{"pids": -5}', "text pids": b'{"pids": "x"}',
    "huge pids": b'{"pids": 99999999999}', "time": b'{"time": "0s"}', "bad utf-8": b'{"memory": "\xff"}',
    "bad utf-8 key": b'{"\xff": 1}', "surrogate": b'{"memory": "\\ud800"}', "nul": b'{"memory": "64m\\u0000"}',
    "raw nul": b'{"memory": "64m"\x00}', "newline": b'{"memory": "64m\\n"}', "escape": b'{"memory": "\\u001b[31m"}',
    "key escape": b'{"\\u001b[31m": 1}', "bom": b'\xef\xbb\xbf{}', "deep": b'{"memory":' + b"[" * 100000,
    "missing net": b'{"accept_missing": ["net"]}', "missing seccomp": b'{"accept_missing": ["seccomp"]}',
    "missing user": b'{"accept_missing": ["user", "pid"]}', "missing any": b'{"accept_missing": ["*"]}',
    "missing text": b'{"accept_missing": "cgroup"}', "missing empty": b'{"accept_missing": [""]}',
    "missing number": b'{"accept_missing": [1]}', "missing monitor": b'{"accept_missing": ["monitor"]}',
    "missing nothing known": b'{"accept_missing": ["nosuch"]}', "own prefixes": b'{"ro_prefixes": ["/"]}',
    "above the ceiling": b'{"memory": "8g"}', "comment": b'{/* x */}', "single": b"{'memory': '64m'}",
    "huge key": b'{"' + b"k" * 100000 + b'": 1}', "long value": b'{"memory": "' + b"9" * 100000 + b'"}',
    "layer off": b'{"layers": {"net": false}}', "disable": b'{"disable": ["seccomp"]}',
}


@attack("M07", "E06")
@pytest.mark.parametrize("name", sorted(BAD_POLICIES))
def test_a_bad_policy_file_is_refused(first_bell, name):
    path = first_bell.file("bad-policy.json", BAD_POLICIES[name])
    line = refused(first_bell, "--policy", path, "--", "/bin/echo", "ran", policy=False,
                   names=["bad-policy.json"])
    if name in ("repeated", "unknown", "open", "comma", "nan"):
        assert any(c.isdigit() for c in line.split("bad-policy.json")[1][:20]), line


def test_a_policy_that_is_no_file_is_refused(first_bell):
    os.mkfifo(first_bell.place / "fifo")
    for path in (first_bell.place, first_bell.place / "fifo", "/dev/zero", "/no/such/file", "",
                 "/etc/shadow\n"):
        refused(first_bell, "--policy", path, "--", "/bin/echo", "ran", policy=False)


def test_the_users_own_policy_file_is_taken_and_told(bell):
    config = bell.dir("config")
    (config / "belljar").mkdir()
    fields = {"pids": 7} if bell.cgroup else {"pids": 7, "accept_missing": ["cgroup"]}
    (config / "belljar" / "policy.json").write_text(json.dumps(fields))
    env = harness.clean_env(XDG_CONFIG_HOME=str(config))
    got = bell.inside("forks", 30, env=env, policy=False)
    assert got.line["name"] == "EAGAIN" and int(got.line["text"]) <= 7
    (config / "belljar" / "policy.json").write_text('{"pids": "many"}')
    refused(bell, "--", "/bin/echo", "ran", env=env, policy=False,
            names=[config / "belljar" / "policy.json", "pids"])


def test_without_a_cgroup_a_run_is_refused_unless_the_policy_accepts_that(bell):
    if bell.cgroup:
        return
    line = refused(bell, "--", "/bin/echo", "ran", policy=False, names=["cgroup"])
    assert "accept_missing" in line or "systemd-run" in line
    got = bell.run("--", "/bin/true")
    assert got.layer("cgroup")["state"] == "accepted_missing"
    assert got.layer("monitor")["state"] == "proven"


# ---- Programs that cannot be started -------------------------------------------------------------


def elf(machine, kind=2):
    """The head of an executable for another machine; there is nothing behind it."""
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01" + bytes(9), kind, machine, 1, 0x400000,
                       64, 0, 0, 64, 56, 1, 64, 0, 0) + struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000,
                                                                    0x400000, 120, 120, 4096)


CANNOT = {
    # name: (content or None, mode, exit status)
    "missing": (None, 0, 127), "not executable": (b"#!/bin/sh\n", 0o644, 126),
    "another architecture": (elf(183), 0o755, 126), "no such machine": (elf(9999), 0o755, 126),
    "garbage": (b"\x00\x01\x02\x03" * 50, 0o755, 126), "empty": (b"", 0o755, 126),
    "interpreter missing": (b"#!/no/such/interpreter\n", 0o755, 127),
    "interpreter empty": (b"#!\n", 0o755, 126), "interpreter a directory": (b"#!/tmp\n", 0o755, 126),
    "interpreter long": (b"#!/" + b"x" * 5000 + b"\n", 0o755, None),
    "interpreter with escape": (b"#!/\x1b[31m\n", 0o755, 127), "cut ELF": (b"\x7fELF", 0o755, 126),
    "own interpreter": (b"#!/workspace/prog\n", 0o755, 126),
}


@pytest.mark.parametrize("name", sorted(CANNOT))
def test_a_program_that_cannot_be_started(bell, name):
    content, mode, status = CANNOT[name]
    words = ["--", "/workspace/prog"]
    if content is not None:
        words = ["--in", f"{bell.file('prog', content, mode)}:prog", *words]
    got = bell.run(*words)
    assert got.outcome == "not_started" and got.started is False, got
    assert got.status in ((126, 127) if status is None else (status,)), got
    assert got.hint and got.json["stdout"]["bytes"] == 0 and got.exit_code is None
    code, out, err = bell.raw(*words)
    assert code == got.status and out == b"" and err.count(b"\n") == 1 and b"\x1b" not in err, err


def test_a_directory_and_a_dangling_link_cannot_be_started(bell):
    got = bell.run("--", "/workspace")
    assert (got.outcome, got.status) == ("not_started", 126), got
    got = bell.run("--", "/proc/self/fd/99")
    assert (got.outcome, got.status) == ("not_started", 127), got
    if os.geteuid() != 0:
        return
    before = harness.in_mounts("mount -t tmpfs -o mode=755 none /usr/share && cd /usr/share && "
                               "ln -s /no/such dangling && ln -s circle circle")
    for name, status in (("dangling", 127), ("circle", 126)):
        got = bell.run("--", f"/usr/share/{name}", before=before)
        assert (got.outcome, got.status, got.started) == ("not_started", status, False), got


def test_a_name_that_the_path_does_not_have_is_127(bell):
    got = bell.run("--", "no-such-program-at-all")
    assert (got.outcome, got.status) == ("not_started", 127) and "no-such-program-at-all" in str(got.json)
    got = bell.run("--env", "PATH=/nowhere", "--", "echo", "ran")
    assert (got.outcome, got.status) == ("not_started", 127)


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "dangling", "device", "closed"])
def test_a_source_file_that_cannot_be_read_is_refused(first_bell, kind):
    path = first_bell.place / "a.py"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "dangling":
        path.symlink_to("/no/such")
    elif kind == "device":
        path = "/dev/tty"
    elif kind == "closed":
        path = f"{path}/below"
    status, out, err = first_bell.raw(path)
    assert status in (125, 126, 127) and out == b"" and err.count(b"\n") == 1, (status, err)


def test_a_refusal_is_one_json_object_with_json(first_bell):
    got = first_bell.run("--memory=x", "--", "/bin/echo", "ran")
    assert (got.outcome, got.started, got.status) == ("refused", False, 125)
    assert got.retry in ("change", "never") and "memory" in str(got.json)
    assert got.left_behind == {"processes": 0, "mounts": 0, "cgroups": 0, "files": 0}
    got = first_bell.run("--memory=\x1b[31m", "--", "/bin/echo", "ran")
    assert b"\x1b" not in got.raw_out
