# SPDX-License-Identifier: Apache-2.0
"""--in and --out: only what was named, only files and directories, never by a link."""

import hashlib
import os
import socket
import subprocess

import pytest

import harness

attack = pytest.mark.attack


def problem(got):
    """Whether the result says that something did not come out."""
    return got.status != 0 or got.hint != ""


def test_a_file_goes_in_and_comes_out(bell):
    data = os.urandom(100000)
    source, out = bell.file("data", data), bell.place / "copy"
    got = bell.run("--in", source, "--out", f"result:{out}", "--", "/bin/cp", "data", "result")
    assert got.exit_code == 0 and out.read_bytes() == data
    assert got.files == [{"path": "result", "bytes": 100000, "type": "file",
                          "sha256": hashlib.sha256(data).hexdigest()}]
    assert not problem(got)


def test_a_directory_goes_in_and_comes_out(bell):
    tree = bell.dir("tree")
    (tree / "sub").mkdir()
    (tree / "sub" / "a").write_text("a")
    (tree / "empty").mkdir()
    (tree / "run").write_text("#!/bin/sh\necho ran\n")
    (tree / "run").chmod(0o755)
    subprocess.run(["chmod", "-R", "a+rX", str(tree)], check=True)
    got = bell.run("--in", f"{tree}:work", "--out", f"work:{bell.place}/back", "--", "/bin/sh", "-c",
                   "cat work/sub/a; work/run; echo more > work/sub/b")
    assert got.out == "aran\n", got
    back = bell.place / "back"
    assert (back / "sub" / "b").read_text() == "more\n" and (back / "empty").is_dir()
    assert os.access(back / "run", os.X_OK) and not os.access(back / "sub" / "a", os.X_OK)


def test_the_name_is_optional(bell):
    source = bell.file("named.txt", "x")
    out = bell.dir("here")
    process = bell.start("--in", source, "--out", "result.txt", "--", "/bin/cp", "named.txt",
                         "result.txt", cwd=out)
    bell.finish(process)
    assert (out / "result.txt").read_text() == "x"


def test_output_is_collected_after_a_limit_too(bell):
    out = bell.place / "partial"
    got = bell.run("--time", "400ms", "--out", f"partial:{out}", "--", "/bin/sh", "-c",
                   "echo so far > partial; sleep 60")
    assert got.outcome == "time_limit" and out.read_text() == "so far\n"


def test_what_was_not_made_is_told(bell):
    got = bell.run("--out", f"nothing:{bell.place}/nothing", "--", "/bin/true")
    assert got.outcome == "exited" and not (bell.place / "nothing").exists()
    assert problem(got) and "nothing" in str(got.json)


def test_what_could_not_be_copied_is_named_by_both_ends(bell):
    """As they were typed, in the line and in the result."""
    data, taken, tree = bell.file("data", "x"), bell.dir("taken"), bell.dir("tree")
    os.mkfifo(taken / "pipe")
    (tree / "a").write_text("x")
    for name, host, why in (("nothing", f"{bell.place}/nothing", "is not there"),
                            ("made", f"{taken}/pipe", "is a FIFO"),
                            ("made", f"{bell.place}/none/made", "No such file"),
                            ("made", "./taken/pipe", "is a FIFO")):
        got = bell.run("--out", f"{name}:{host}", "--", "/bin/sh", "-c", "echo x > made")
        assert f'"{name}" was not copied to "{host}": ' in got.hint and why in got.hint, got
        status, _, err = bell.raw("--out", f"{name}:{host}", "--", "/bin/sh", "-c", "echo x > made")
        assert status == 125 and f'to "{host}"'.encode() in err and err.count(b"\n") == 1, err
    got = bell.run("--out", f"made:{bell.place}/made", "--", "/bin/sh", "-c", "echo x > made")
    assert got.hint == "" and (bell.place / "made").read_text() == "x\n"
    for words, names in ((["--in", f"{data}:../x"], f'--in "{data}:../x": '),
                         (["--in", f"{bell.place}/gone:x"], f'--in: open "{bell.place}/gone"'),
                         (["--out", f"../x:{data}"], f'--out "../x:{data}": '),
                         (["--in", f"{data}:a", "--in", f"{data}:a/b"], '"a/b" and "a", the name of'),
                         (["--in", f"{tree}:t", "--in", f"{data}:t/a/b"], "A file of --in is to be where")):
        status, out, err = bell.raw(*words, "--", "/bin/echo", "ran")
        assert (status, out) == (125, b"") and names.encode() in err and err.count(b"\n") == 1, err


@attack("L01", "A11")
@pytest.mark.parametrize("target", ["/etc/passwd", "/proc/self/environ", "/proc/1/environ",
                                    "../../../../../../etc/passwd", "/workspace/real",
                                    "CANARY", "/proc/self/fd/0", "/dev/null"])
def test_a_symbolic_link_is_not_followed_out(bell, canary, token, target):
    out = bell.place / "out.txt"
    target = str(canary) if target == "CANARY" else target
    got = bell.run("--out", f"out.txt:{out}", "--", "/bin/sh", "-c",
                   f"echo real > real; ln -s {target} out.txt")
    assert not out.exists() and not out.is_symlink()
    assert problem(got) and got.files == []
    assert token not in str(got.json)


@attack("L01")
def test_a_magic_link_is_not_followed(bell):
    out = bell.place / "out"
    got = bell.run("--out", f"d/environ:{out}", "--", "/bin/sh", "-c", "ln -s /proc/self d")
    assert not out.exists() and problem(got)


@attack("L02")
def test_a_directory_swapped_for_a_link_is_never_followed(bell, canary, token):
    out = bell.place / "swapped"
    code = (f"import os, time\n"
            f"os.mkdir('real'); open('real/canary', 'w').write('mine')\n"
            f"os.symlink({str(canary.parent)!r}, 'link')\n"
            f"if os.fork() == 0:\n"
            f"    while True:\n"
            f"        try: os.rename('real', 'd'); os.rename('d', 'real')\n"
            f"        except OSError: pass\n"
            f"        try: os.rename('link', 'd'); os.rename('d', 'link')\n"
            f"        except OSError: pass\n"
            f"time.sleep(0.1)\n")
    for _ in range(5):
        got = bell.python(code, "--out", f"d/canary:{out}")
        assert got.outcome == "exited"
        if out.exists():
            assert out.read_text() == "mine"
            out.unlink()
        assert token not in str(got.json)


@attack("L03")
def test_writing_out_does_not_follow_a_link_of_the_host(bell, canary):
    target = bell.place / "elsewhere"
    link = bell.place / "link"
    link.symlink_to(target)
    got = bell.run("--out", f"a:{link}", "--", "/bin/sh", "-c", "echo x > a")
    assert not target.exists() and link.is_symlink() and problem(got)
    existing = bell.place / "existing"
    existing.symlink_to(canary)
    got = bell.run("--out", f"a:{existing}", "--", "/bin/sh", "-c", "echo x > a")
    assert problem(got) and existing.is_symlink()


@attack("L03", "L09")
def test_an_input_does_not_go_through_a_link_inside(bell):
    data = bell.file("data", "x")
    status, out, err = bell.raw("--in", f"{data}:a", "--in", f"{data}:a/b", "--", "/bin/echo", "ran")
    assert status == 125 and out == b""
    tree = bell.dir("tree")
    (tree / "link").symlink_to("/tmp")
    status, out, err = bell.raw("--in", tree, "--", "/bin/echo", "ran")
    assert status == 125 and out == b"" and b"link" in err


@attack("L04")
def test_a_name_that_begins_alike_is_another(bell):
    out = bell.place / "o"
    got = bell.run("--out", f"12:{out}", "--", "/bin/sh", "-c", "echo secret > 123")
    assert not out.exists() and problem(got)
    got = bell.run("--out", f"../workspacex/a:{out}", "--", "/bin/true")
    assert got.status == 125


BAD_NAMES = ["..", "../x", "a/../b", "a/..", "/etc/passwd", "/workspace/x", ".", "", "./", "a//b",
             "/", "a/./b", "x" * 4097, "x" * 256, "a/" * 2100 + "b"]


@attack("L05")
@pytest.mark.parametrize("name", BAD_NAMES, ids=[n[:12] or "empty" for n in BAD_NAMES])
@pytest.mark.parametrize("option", ["--in", "--out"])
def test_a_bad_name_is_refused_and_nothing_runs(bell, option, name):
    if option == "--in" and not name:
        return  # with nothing after the colon it is the last name of HOST, as documented
    data = bell.file("data", "x")
    value = f"{data}:{name}" if option == "--in" else f"{name}:{bell.place}/o"
    status, out, err = bell.raw(option, value, "--", "/bin/echo", "ran")
    assert (status, out) == (125, b""), (status, out, err)
    assert err.count(b"\n") == 1 and option.encode() in err, err
    assert not (bell.place / "o").exists()


@attack("L05", "L12")
@pytest.mark.parametrize("name", ["%2e%2e", "..%2f", "a\\b", "...", "..a", "a..", "-rf", "a b", "é",
                                  "x" * 255, "a\x1b[31mb", "a\nb", "'", "$(id)", "*"])
def test_an_odd_name_is_only_a_name(bell, name):
    data = bell.file("data", "odd")
    out = bell.dir("outs")
    got = bell.run("--in", f"{data}:{name}", "--out", f"{name}:{out}/copy", "--", "/bin/true")
    assert got.exit_code == 0, got
    assert (out / "copy").read_text() == "odd"
    assert [f["path"] for f in got.files] == [name]
    assert got.raw_out.count(b"\n") <= 1 or b"\x1b" not in got.raw_out


@attack("L12")
def test_names_that_are_no_utf_8_are_listed_in_a_way_that_parses(bell):
    out = bell.place / "tree"
    code = ("import os\n"
            "os.mkdir('t')\n"
            "for n in (b'\\xff\\xfe', b'new\\nline', b'\\x1b[2J', b'-x', b'\"', b'x' * 255):\n"
            "    open(b't/' + n, 'w').write('y')\n")
    got = bell.python(code, "--out", f"t:{out}")
    assert got.exit_code == 0 and len(os.listdir(bytes(out))) == 6, got
    assert len([f for f in got.files if f["type"] == "file"]) == 6
    assert b"\x1b" not in got.raw_out


@attack("L06")
@pytest.mark.parametrize("how", ["mkfifo x", "python3 -c \"import socket; "
                                 "socket.socket(socket.AF_UNIX).bind('x')\"", "mkdir d; mkfifo d/p",
                                 "ln -s x x", "ln -s /dev/zero x"])
def test_what_is_no_file_does_not_block_and_does_not_come_out(bell, how):
    name = "d" if how.startswith("mkdir") else "x"
    out = bell.place / "o"
    got = bell.run("--out", f"{name}:{out}", "--", "/bin/sh", "-c", how)
    assert got.outcome == "exited" and problem(got), got
    assert not out.exists() or list(out.iterdir()) == []


@attack("L06")
@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "link to a fifo"])
def test_what_is_no_file_does_not_go_in(bell, kind):
    path = bell.place / "special"
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "device":
        path = "/dev/zero"
    else:
        os.mkfifo(path)
        if kind.startswith("link"):
            (bell.place / "l").symlink_to(path)
            path = bell.place / "l"
    status, out, err = bell.raw("--in", f"{path}:x", "--", "/bin/echo", "ran")
    assert (status, out) == (125, b"") and err.count(b"\n") == 1, err


@attack("L06")
@pytest.mark.parametrize("kind", ["fifo", "directory of another name", "device"])
def test_an_output_takes_the_place_of_no_special_file(bell, kind):
    path = bell.place / "there"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = "/dev/full"
    else:
        path.mkdir()
        (path / "a").mkdir()
    got = bell.run("--out", f"a:{path}", "--", "/bin/sh", "-c", "echo x > a")
    assert problem(got), got
    if kind == "device":
        assert os.stat(path).st_rdev == os.makedev(1, 7)


@attack("L08")
def test_an_existing_output_is_replaced_whole(bell):
    out = bell.file("out", "a longer text that was here before\n")
    got = bell.run("--out", f"a:{out}", "--", "/bin/sh", "-c", "echo x > a")
    assert got.exit_code == 0 and out.read_text() == "x\n"
    assert sorted(os.listdir(bell.place)) == ["out"], "no temporary file is left"


def test_an_input_that_is_larger_than_the_workspace_is_refused(bell):
    big = bell.file("big", b"x" * (2 << 20))
    status, out, err = bell.raw("--workspace", "1m", "--in", big, "--", "/bin/echo", "ran")
    assert (status, out) == (125, b"") and b"workspace" in err, err


@pytest.mark.parametrize("words", [["--in", "{f}:x", "--in", "{f}:x"], ["--in", "{d}:x", "--in", "{f}:x"],
                                   ["--in", "{d}:x", "--in", "{d}:x"]])
def test_two_inputs_of_one_name_are_a_wrong_request(bell, words):
    names = {"f": bell.file("f", "x"), "d": bell.dir("d")}
    got = bell.run(*[word.format(**names) for word in words], "--", "/bin/echo", "ran")
    assert (got.outcome, got.status, got.out) == ("refused", 125, ""), got
    assert "--in" in got.json["error"]["message"] and got.json["retry"] == "change", got


def test_an_output_is_delivered_or_said_to_be_missing(bell):
    """However few descriptors the caller may have open."""
    ends = set()
    for most in range(5, 40):
        path = bell.place / f"out{most}"
        status, _, err = bell.raw("--out", f"a:{path}", "--", "/bin/sh", "-c", "echo x > a",
                                  before=["prlimit", f"--nofile={most}:1024", "--"])
        assert path.exists() or err, (most, status)
        ends.add(path.exists())
    assert ends == {True, False}


@attack("L14")
def test_what_is_delivered_is_what_was_hashed(bell):
    out = bell.place / "racing"
    code = ("import os, time\n"
            "if os.fork() == 0:\n"
            "    n = 0\n"
            "    while True:\n"
            "        n += 1; open('racing', 'w').write(str(n) * 1000)\n"
            "time.sleep(0.1)\n")
    got = bell.python(code, "--out", f"racing:{out}")
    assert got.outcome == "exited" and len(got.files) == 1, got
    assert hashlib.sha256(out.read_bytes()).hexdigest() == got.files[0]["sha256"]
    assert out.stat().st_size == got.files[0]["bytes"]


@attack("B04")
def test_an_output_that_others_run_by_its_name_is_said(bell):
    script = ("mkdir -p d/.git/hooks; echo x >d/.git/hooks/pre-commit; echo x >d/plain; echo x >conftest.py;"
              "for i in 1 2 3 4; do echo x >d/$i.pth; done")
    place = bell.dir("out")
    words = ["--out", f"d:{place}/d", "--out", f"conftest.py:{place}/harmless.py", "--", "/bin/sh", "-c",
             script]
    got = bell.run(*words)
    risky = {file["path"]: file["risky"] for file in got.files if "risky" in file}
    assert set(risky) == {"d/.git", "d/.git/hooks", "d/.git/hooks/pre-commit", "conftest.py",
                          *(f"d/{i}.pth" for i in range(1, 5))}
    assert risky["conftest.py"] == "pytest runs it"
    status, _, err = bell.raw(*words)
    lines = err.decode().splitlines()
    assert status == 0 and len(lines) == 6, err
    assert lines[0] == 'belljar: risky output "d/.git": git runs its hooks and obeys its config'
    assert lines[5] == "belljar: risky outputs: 3 more: --json names all"
    status, _, err = bell.raw("--out", f"d/plain:{place}/plain", "--", "/bin/sh", "-c", script)
    assert (status, err) == (0, b"")


def test_two_outputs_are_not_one_file_of_the_host(bell):
    code = ["--", "/bin/sh", "-c", "echo 1 >a; echo 2 >b"]
    status, out, err = bell.raw("--out", "a:o", "--out", "b:o", *code)
    assert (status, out, err.count(b"\n")) == (125, b"", 1) and b"another output" in err, err
    assert not os.path.lexists(bell.place / "o")
    bell.dir("there")
    for words in (["--out", "a:there", "--out", "b:there"], ["--out", "a", "--out", "a"]):
        got = bell.run(*words, *code)
        assert (got.exit_code, got.error) == (0, None), got
    assert sorted(os.listdir(bell.place / "there")) == ["a", "b"]


@pytest.mark.parametrize("first, second, file", [
    ("x/f:there/", "y/f:there/", "there/f"), ("x/f:there", "y/f:there", "there/f"),
    ("x/f:there/f", "y/f:there", "there/f"), ("x/f:o", "y/f:./o", "o"), ("x:there", "y:there", "there/f")])
def test_of_two_outputs_that_turn_out_to_be_one_file_the_first_stays(bell, first, second, file):
    bell.dir("there")
    code = ["--", "/bin/sh", "-c", "mkdir x y; echo 1 >x/f; echo 2 >y/f"]
    got = bell.run("--out", first, "--out", second, *code)
    assert "another output of this run" in got.error["message"], got
    assert [row["path"] for row in got.json["files"] if row["type"] == "file"] == ["x/f"]
    assert (bell.place / file).read_text() == "1\n"
    again = bell.run("--out", first, "--out", first, *code)
    assert (again.exit_code, again.error) == (0, None), again
