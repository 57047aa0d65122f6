# SPDX-License-Identifier: Apache-2.0
"""Disk: bytes, files, holes and depths; what was filled up is told, and nothing is kept."""

import os

import pytest

import harness

attack = pytest.mark.attack


@attack("H01")
@pytest.mark.parametrize("place", ["/tmp", "/workspace", "/dev/shm"])
def test_a_full_disk_is_told(bell, place):
    got = bell.inside("fill", place, 100, options=["--tmp", "1m", "--workspace", "3m", "--shm",
                                                   "1m"])
    assert got.line["name"] == "ENOSPC"
    assert got.limits_hit == ["disk"] and got.outcome == "exited"


@attack("H02")
def test_a_disk_without_room_for_a_file_is_told(bell):
    got = bell.inside("mkfiles", "/tmp", 5000, options=["--inodes", "500"])
    assert got.line["name"] == "ENOSPC" and got.limits_hit == ["disk"]
    assert bell.inside("mkfiles", "/tmp", 100).limits_hit == []


@attack("H01")
def test_one_file_has_a_size(bell):
    code = ("import os, signal\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "f = open('/workspace/big', 'wb')\n"
            "try:\n"
            "    f.write(b'x' * (3 << 20)); f.flush(); print('fine')\n"
            "except OSError as e: print(e.errno, os.path.getsize('/workspace/big'))\n")
    got = bell.python(code, "--policy", bell.policy(fsize="1m"), policy=False)
    assert got.out.split() == ["27", str(1 << 20)], got


@attack("H03")
def test_a_file_with_a_huge_hole_is_not_read_for_ever(bell):
    out = bell.place / "sparse"
    got = bell.run("--in", f"{bell.inside_binary}:inside", "--out", f"sparse:{out}", "--",
                   "/workspace/inside", "sparse", "sparse", 1 << 29)
    assert got.lines[0]["ok"]
    assert not out.exists() or out.stat().st_size <= 64 << 20
    assert "sparse" not in [f["path"] for f in got.files]
    assert got.hint or got.status != 0


@attack("H04")
def test_depths_closed_directories_and_odd_names_do_not_stop_the_cleaning_up(bell):
    got = bell.inside("deep", "/workspace", 3000, options=["--inodes", "16000"])
    assert got.line["value"] == 3000, got
    assert got.left_behind["files"] == 0
    code = ("import os\n"
            "os.makedirs(b'/workspace/d/\\xff\\n\\x1b[31m'); os.makedirs('/workspace/d/-rf')\n"
            "open('/workspace/d/' + 'x' * 255, 'w')\n"
            "os.mkdir('/workspace/closed', 0); print('made')\n")
    got = bell.python(code)
    assert got.out == "made\n"


@attack("H04")
def test_a_tree_that_is_too_deep_is_refused_whole(bell):
    out = bell.place / "deep"
    got = bell.run("--in", f"{bell.inside_binary}:inside", "--out", f"tree:{out}", "--inodes",
                   "8000", "--", "/workspace/inside", "mkdir", "tree", ",", "deep", "tree", 2000)
    assert got.lines[1]["value"] == 2000, got
    depth = 0
    if out.exists():
        depth = max((len(os.path.relpath(top, out).split("/")) for top, _, _ in os.walk(out)),
                    default=0)
    assert depth < 100
    assert got.hint, "it is told that not all came out"


@attack("H06")
def test_a_flood_of_errors_goes_to_no_log_of_the_host(bell):
    got = bell.inside("output", 2, 20 << 20)
    stream = got.json["stderr"]
    assert stream["bytes"] == 20 << 20 and stream["truncated"] is True
    assert len(stream["text"]) <= 64 << 10
    assert got.raw_err == b""


@attack("H05")
def test_an_unlinked_open_file_gives_its_space_back(bell):
    code = ("import os\n"
            "f = open('/tmp/x', 'wb'); f.write(b'x' * (8 << 20)); f.flush(); os.unlink('/tmp/x')\n"
            "if os.fork() == 0:\n"
            "    import time; time.sleep(3600)\n")
    got = bell.python(code)
    assert (got.outcome, got.exit_code) == ("exited", 0)
    assert harness.Ledger().left() == {}
