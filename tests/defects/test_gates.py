# SPDX-License-Identifier: Apache-2.0
"""What counts tests fails closed: a skip, nothing at all, an exit that is not understood."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

GATES = Path(__file__).resolve().parent.parent / "gates"
sys.path.insert(0, str(GATES))
import counting  # noqa: E402
import gates  # noqa: E402
import lab_gate  # noqa: E402


def run_gate(monkeypatch, count):
    monkeypatch.setitem(gates.GATES, "one", lambda: count)
    return gates.run("one")


def test_a_skip_fails_the_gate(monkeypatch):
    got = run_gate(monkeypatch, counting.Count(passed=3, skipped=1, left_out=["x: no such host"]))
    assert (got.passed, got.failed) == (3, 1)
    got = run_gate(monkeypatch, counting.Count(passed=3))
    assert (got.passed, got.failed) == (3, 0)


def test_a_gate_that_breaks_fails(monkeypatch):
    def broken():
        raise OSError("no compiler")
    monkeypatch.setitem(gates.GATES, "one", broken)
    assert gates.run("one").failed == 1


@pytest.mark.parametrize("count, status", [
    (counting.Count(passed=1), 0), (counting.Count(), 1), (counting.Count(passed=5, failed=1), 1),
    (counting.Count(skipped=5), 1)])
def test_nothing_that_ran_is_no_success(count, status):
    with pytest.raises(SystemExit) as end:
        counting.close("x", count, 0)
    assert end.value.code == status


JUNIT = """<testsuites><testsuite><testcase classname="a" name="b">{}</testcase></testsuite></testsuites>"""


@pytest.mark.parametrize("inside, passed, failed, skipped", [
    ("", 1, 0, 0), ("<failure/>", 0, 1, 0), ("<error/>", 0, 1, 0), ('<skipped message="m"/>', 0, 0, 1)])
def test_a_result_of_pytest_is_counted_as_what_it_is(tmp_path, inside, passed, failed, skipped):
    report = tmp_path / "report.xml"
    report.write_text(JUNIT.format(inside))
    got = counting.count_junit(report, "x")
    assert (got.passed, got.failed, got.skipped) == (passed, failed, skipped)


@pytest.mark.parametrize("text, failed", [
    ("def test_a(): pass", 0), ("def test_a(): assert False", 1), ("", 1), ("import no_such_module", 1)])
def test_a_run_of_pytest_is_failed_by_no_test_at_all(tmp_path, monkeypatch, text, failed):
    monkeypatch.setattr(counting, "BUILD", tmp_path)
    monkeypatch.setattr(counting, "STAGE", tmp_path)
    monkeypatch.setattr(counting, "reachable", lambda path: True)
    (tmp_path / "test_x.py").write_text(text)
    got = counting.run_pytest("x", [str(tmp_path)])
    assert bool(got.failed) == bool(failed)


@pytest.mark.skipif(os.geteuid() != 0, reason="what an ordinary user started, that user can reach")
@pytest.mark.parametrize("away", [None, "bin/belljar", "examples/no-cgroup.json"])
def test_a_source_or_a_build_out_of_reach_is_copied(monkeypatch, away):
    monkeypatch.setattr(counting, "reachable", lambda path: not away or not str(path).endswith(away))
    monkeypatch.setattr(counting, "copy_tree", lambda place: ("source", "build"))
    with counting.reachable_tree() as got:
        assert got == (("source", "build") if away else (counting.ROOT, counting.BUILD))


RECORD = {"name": "n", "result": "OK", "stdout": ""}


@pytest.mark.parametrize("record, passed, failed, skipped", [
    ({}, 1, 0, 0), ({"result": "SKIP"}, 0, 0, 1), ({"result": "FAIL"}, 0, 1, 0),
    ({"result": "TIMEOUT"}, 0, 1, 0), ({"stdout": "1..2\nok 1 - a\nok 2 - b\n"}, 2, 0, 0),
    ({"stdout": "1..2\nok 1 - a\nnot ok 2 - b\n", "result": "FAIL"}, 1, 1, 0),
    ({"stdout": "1..1\nok 1 - a # SKIP no\n"}, 0, 0, 1)])
def test_a_result_of_meson_is_counted_as_what_it_is(record, passed, failed, skipped):
    got = counting.count_record({**RECORD, **record})
    assert (got.passed, got.failed, got.skipped) == (passed, failed, skipped)


def test_a_list_of_known_findings_hides_no_other(tmp_path):
    output, known = tmp_path / "output", tmp_path / "known"
    output.write_text("../src/a.c:1:2: warning: bad [-Wbad]\n../src/b.c:1:2: warning: bad [-Wbad]\n")
    known.write_text("src/a.c bad a reason\n")
    done = subprocess.run([sys.executable, GATES / "known.py", output, known], stdout=subprocess.PIPE,
                          text=True, check=False)
    assert done.returncode == 1 and "src/b.c" in done.stdout and "src/a.c" not in done.stdout


def lab_said(**changes):
    table = {"cells": [1, 2, 3], "problems": [],
             "modes": [{"name": "user", "run": True}, {"name": "root", "run": False}]}
    return json.dumps({"tables": {"ablate": {**table, **changes}, "filter": {"rows": [1], "runs": 2}}})


@pytest.mark.parametrize("verbs, modes, status, out, counts", [
    (["ablate", "filter"], {"user"}, 0, lab_said(), (6, 0)),
    (["ablate"], {"user"}, 1, lab_said(problems=["not as declared\nwhy"]), (2, 1)),
    (["ablate"], {"user"}, 1, lab_said(), (3, 1)),
    (["ablate"], {"user"}, 0, lab_said(cells=[]), (0, 1)),
    (["ablate", "isolate"], {"user"}, 0, lab_said(), (3, 1)),
    (["ablate"], {"user", "root"}, 0, lab_said(), (3, 1)),
    (["ablate"], {"user"}, 2, "", (0, 1)), (["ablate"], {"user"}, 0, "{}", (0, 1))],
    ids=["right", "problem", "exit", "nothing", "a-verb", "a-mode", "no-answer", "no-tables"])
def test_what_the_lab_did_not_see_fails_its_gate(verbs, modes, status, out, counts):
    got = lab_gate.judge("root", verbs, modes, status, out)
    assert (got.passed, got.failed) == counts


@pytest.mark.parametrize("how", ["right", "another hash", "no answer", "junk", "too short"])
def test_a_source_is_fetched_whole_or_a_line_says_why(tmp_path, how):
    """By a server that speaks as a mirror, or a proxy, may."""
    body = b"an archive"
    answers = {"junk": b"SSH-2.0-OpenSSH\r\n",
               "too short": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nan arch"}
    answer = answers.get(how, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    tools, subprojects = tmp_path / "tools", tmp_path / "subprojects"
    tools.mkdir()
    subprojects.mkdir()
    shutil.copy(GATES.parent.parent / "tools/fetch", tools)
    with socket.create_server(("127.0.0.1", 0)) as server:
        (subprojects / "x.wrap").write_text(
            f"[wrap-file]\nsource_url = http://127.0.0.1:{server.getsockname()[1]}/x.tar\n"
            f"source_filename = x.tar\n"
            f"source_hash = {hashlib.sha256(b'' if how == 'another hash' else body).hexdigest()}\n")

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                if how != "no answer":
                    connection.sendall(answer)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        done = subprocess.run([tools / "fetch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, env={"PATH": os.environ["PATH"], "no_proxy": "*"})
        thread.join()
    lines = done.stderr.splitlines()
    got = sorted(subprojects.glob("packagecache/*"))
    assert (done.returncode, done.stdout) == (0, ""), done
    if how == "right":
        assert not lines and [path.read_bytes() for path in got] == [body]
        assert got[0].name == "x.tar" and got[0].stat().st_mode & 0o777 == 0o644 & ~umask()
    else:
        assert len(lines) == 2 and not got, done


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
