# SPDX-License-Identifier: Apache-2.0
"""--in and --out: only what was named, only files and directories, never by a link."""

import hashlib
import json
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


# ---- --ro ---------------------------------------------------------------------------------------


def with_ceiling(bell, ceiling):
    """Words that run a command in a mount namespace with this operator's file."""
    path = bell.file("ceiling.json", json.dumps(ceiling))
    # /etc of links to the real one, and beside them the directory of the operator's file.
    script = ('mkdir -p "$1" && mount --bind /etc "$1" && mount -t tmpfs -o mode=755 none /etc && '
              'ln -s "$1"/* /etc && rm -f /etc/belljar && mkdir /etc/belljar && '
              'install -m 644 "$0" /etc/belljar/policy.json && shift && exec "$@"')
    return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script, path,
            bell.place / "etc"]


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can stand in for the operator")


@needs_root
def test_a_read_only_directory_needs_the_operators_word(bell):
    data = bell.dir("shared")
    (data / "file").write_text("shared\n")
    words = ["--ro", f"{data}:/data", "--", "/bin/sh", "-c", "cat /data/file; echo x > /data/new; "
             "echo y > /data/file; touch /data/file"]
    status, out, err = bell.raw(*words)
    assert (status, out) == (125, b"") and b"--ro" in err or b"ro_prefixes" in err, err
    got = bell.run(*words, before=with_ceiling(bell, {"ro_prefixes": [str(bell.place)]}))
    assert got.out == "shared\n" and got.err.count("Read-only") == 2, got
    assert "cannot touch" in got.err
    assert sorted(os.listdir(data)) == ["file"] and (data / "file").read_text() == "shared\n"


@attack("L04", "A10", "A24")
@needs_root
@pytest.mark.parametrize("how", ["sibling", "link", "dots", "missing", "target"])
def test_a_read_only_directory_is_beneath_the_prefix_by_whole_names(bell, canary, token, how):
    allowed, other = bell.dir("allowed"), bell.dir("allowed2")
    (other / "file").write_text(token)
    (allowed / "out").symlink_to(other)
    path = {"sibling": other, "link": allowed / "out", "dots": f"{allowed}/../allowed2",
            "missing": allowed / "gone", "target": allowed}[how]
    target = "/usr/../etc" if how == "target" else "/data"
    status, out, err = bell.raw("--ro", f"{path}:{target}", "--", "/bin/sh", "-c",
                                f"cat {target}/file",
                                before=with_ceiling(bell, {"ro_prefixes": [str(allowed)]}))
    assert status == 125 and token.encode() not in out, (status, out, err)
    assert err.count(b"\n") == 1


# A program that asks for a directory, swaps a part of its path for a link (or not), and runs.
SWAP = """
import ctypes, os, sys
lib, place, swapped, secret = sys.argv[1:]
bell = ctypes.CDLL(lib)
bell.bj_request_new.restype, bell.bj_result_json.restype = ctypes.c_void_p, ctypes.c_char_p
req, res = ctypes.c_void_p(bell.bj_request_new()), ctypes.c_void_p()
argv = (ctypes.c_char_p * 3)(b"/bin/cat", b"/data/file", None)
assert bell.bj_request_program(req, argv, None) == 0
assert bell.bj_request_ro(req, place.encode(), b"/data", None) == 0
if swapped != "-":
    os.rename(swapped, swapped + ".away")
    os.symlink(secret, swapped)
assert bell.bj_run(req, -1, ctypes.byref(res), None) == 0
print(bell.bj_result_json(res).decode())
"""


@attack("L04")
@needs_root
@pytest.mark.parametrize("swapped", ["-", "a", "a/b"])
def test_a_read_only_directory_is_the_one_that_was_judged(bell, token, swapped):
    allowed, other = bell.dir("allowed"), bell.dir("other")
    for place, text in ((allowed / "a" / "b", "fine"), (other, token), (other / "b", token)):
        place.mkdir(parents=True, exist_ok=True)
        (place / "file").write_text(text)
    lib = next(harness.STAGE.rglob("libbelljar.so"))
    target = "-" if swapped == "-" else allowed / swapped
    got = subprocess.run([*map(str, with_ceiling(bell, {"ro_prefixes": [str(allowed)]})),
                          "/usr/bin/python3", "-c", SWAP, lib, allowed / "a" / "b", target, other],
                         capture_output=True, text=True, check=True)
    result = json.loads(got.stdout)
    if swapped == "-":
        assert result["stdout"]["text"] == "fine", result
    else:
        assert result["outcome"] == "refused" and token not in got.stdout, result
        assert "--ro" in result["error"]["message"], result


@needs_root
@pytest.mark.parametrize("target", ["/var/tmp/belljar-ro", "/var", "/run", "twice"])
def test_a_read_only_directory_has_a_place_of_its_own(bell, target):
    data = bell.dir("shared")
    words = ["--ro", f"{data}:{target}"] if target != "twice" else ["--ro", f"{data}:/x"] * 2
    before = with_ceiling(bell, {"ro_prefixes": [str(data)]})
    got = bell.run(*words, "--", "/bin/echo", "ran", before=before)
    assert (got.outcome, got.status, got.out) == ("refused", 125, ""), got
    assert "--ro" in got.json["error"]["message"], got
    assert not os.path.lexists("/tmp/belljar-ro"), "made on the host"
    free = bell.run("--ro", f"{data}:/var/lib/x", "--", "/bin/ls", "/var/lib", before=before)
    assert free.out == "x\n", free


@needs_root
@pytest.mark.parametrize("turned", [False, True])
def test_a_read_only_directory_may_lie_in_another(bell, turned):
    outer, inner, file = bell.dir("outer"), bell.dir("inner"), bell.file("file", "a file\n")
    (outer / "deep" / "place").mkdir(parents=True)
    (outer / "spot").write_text("covered\n")
    (inner / "own").write_text("of the inner\n")
    binds = [f"{outer}:/d", f"{inner}:/d/deep/place", f"{file}:/d/spot"]
    words = [word for bind in (reversed(binds) if turned else binds) for word in ("--ro", bind)]
    before = with_ceiling(bell, {"ro_prefixes": [str(bell.place)]})
    got = bell.run(*words, "--", "/bin/sh", "-c", "cat /d/deep/place/own /d/spot; "
                   "for f in /d/new /d/deep/place/new; do echo x >$f; done", before=before)
    assert got.out == "of the inner\na file\n" and got.err.count("Read-only") == 2, got
    assert (outer / "spot").read_text() == "covered\n"
    assert os.listdir(inner) == ["own"]


@needs_root
@pytest.mark.parametrize("how", ["missing", "below a file", "of another kind", "link", "closed",
                                 "link above"])
def test_a_read_only_directory_with_no_place_in_another_is_refused(bell, token, how):
    outer, inner = bell.dir("outer"), bell.dir("inner")
    (inner / token).mkdir()
    (outer / "a").mkdir()
    target = {"missing": "b", "below a file": "b/c", "of another kind": "b", "link": "b",
              "closed": "a", "link above": "b/c"}[how]
    if how in ("below a file", "of another kind"):
        (outer / "b").write_text("")
    elif how in ("link", "link above"):
        (inner / "c").mkdir()
        (outer / "b").symlink_to(inner)
    elif how == "closed":
        outer.chmod(0o700)
    before = with_ceiling(bell, {"ro_prefixes": [str(bell.place)]})
    words = ["--ro", f"{outer}:/d", "--ro", f"{inner}:/d/{target}", "--", "/bin/echo", "ran"]
    if how == "closed" and bell.uid != 0:  # its owner, whose id is the run's
        os.chown(outer, bell.uid, bell.uid)
        assert bell.run(*words, before=before).out == "ran\n"
        return
    status, out, err = bell.raw(*words, before=before)
    assert (status, out, err.count(b"\n")) == (125, b"", 1), (status, out, err)
    for word in ("--ro", f"/d/{target}", str(outer), "Make an empty directory there"):
        assert word.encode() in err, (word, err)
    got = bell.run(*words, before=before)
    assert (got.outcome, got.retry) == ("refused", "change"), got


@needs_root
@pytest.mark.parametrize("target, says", [
    ("/", "image's own"), ("/etc/passwd", "/etc"), ("/proc/x", "/proc"), ("/dev/null", "/dev"),
    ("/tmp/x", "/tmp"), ("/workspace", "/workspace"), ("/.belljar", "/.belljar"),
    ("/" + "/".join(["a"] * 300), "256 places"), ("/" + "/".join(["a" * 200] * 21)[:4095], "longer than"),
    ("x", "absolute"), ("/x/", "empty component"), ("/x/../y", '".."')])
def test_a_place_that_no_read_only_directory_can_have_is_one_line(bell, target, says):
    data = bell.dir("shared")
    before = with_ceiling(bell, {"ro_prefixes": [str(data)]})
    words = ["--ro", f"{data}:{target}", "--", "/bin/echo", "ran"]
    status, out, err = bell.raw(*words, before=before)
    assert (status, out, err.count(b"\n")) == (125, b"", 1), (status, out, err)
    assert b"--ro" in err and says.encode() in err, err
    assert bell.run(*words, before=before).outcome == "refused"


@needs_root
def test_what_is_neither_a_file_nor_a_directory_is_not_bound(bell):
    os.mkfifo(bell.place / "fifo")
    before = with_ceiling(bell, {"ro_prefixes": [str(bell.place)]})
    got = bell.run("--ro", f"{bell.place}/fifo:/d", "--", "/bin/echo", "ran", before=before)
    assert got.outcome == "refused" and "is a FIFO" in got.error["message"], got


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


@needs_root
def test_a_prefix_is_shown_without_its_escapes(bell):
    before = with_ceiling(bell, {"ro_prefixes": ["/x\x1b[2J"]})
    shown = subprocess.run([*map(str, before), harness.BELLJAR, "policy", "show"],
                           capture_output=True, check=True)
    assert b"/x\\x1b[2J" in shown.stdout and b"\x1b" not in shown.stdout, shown.stdout


@needs_root
def test_the_ceiling_of_the_operator_binds(bell):
    before = with_ceiling(bell, {"memory": "100m", "time": "5s"})
    got = bell.run("--memory", "100m", "--time", "5s", "--", "/bin/true", before=before)
    assert got.exit_code == 0
    status, out, err = bell.raw("--memory", "101m", "--time", "5s", "--", "/bin/echo", "ran",
                                before=before)
    assert (status, out) == (125, b"")
    for word in (b"memory", b"101", b"100m", b"/etc/belljar/policy.json"):
        assert word in err, err
