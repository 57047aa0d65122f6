# SPDX-License-Identifier: Apache-2.0
"""--ro: directories of the host, to read and no more."""

import json
import os
import subprocess
import sys

import pytest

import harness

attack = pytest.mark.attack


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
@pytest.mark.parametrize("how, says", [
    ("missing", "No such file"), ("below a file", "Not a directory"), ("of another kind", "there is a file"),
    ("link", "there is a symbolic link"), ("closed", "Permission denied"), ("link above", "Not a directory")])
def test_a_read_only_directory_with_no_place_in_another_is_refused(bell, token, how, says):
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
    for word in ("--ro", f"/d/{target}", str(outer), says, "Make an empty directory there"):
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
