# SPDX-License-Identifier: Apache-2.0
"""The lab is believed only because it fails where it must: declarations that are wrong, oracles that
are broken, a hook that does nothing and rows that make no sense are planted in it, and each is seen.
What is not asked rightly, or cannot be done here, is said in one line.

That every cell is as declared is the gate `lab`; here each layer is shown by one attack.
"""

import ctypes
import dataclasses
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from collections import namedtuple

import pytest

import harness
import seams
from belljar_lab import ablate, attack, attacks, cells, host, ladder, main, page, run, show

LAYERS = seams.table()["layers"]
TABLE = attack.Table(attacks.ROWS, LAYERS, host.facts())
READS, NAMES = "read-host-file", "learn-host-name"
AS_ROOT = os.geteuid() == 0
SYS_LANDLOCK_CREATE_RULESET, SYS_SWAPON = 444, {"x86_64": 167, "aarch64": 224}
ENOSYS = 38
CLONE_NEWUSER = 0x10000000

Said = namedtuple("Said", "status out err")

START = """
import dataclasses, sys
sys.path.insert(0, {lab!r})
from belljar_lab import attacks, cells, main
def change(name, **changes):
    attacks.ROWS[:] = [dataclasses.replace(row, **changes) if row.id == name else row
                       for row in attacks.ROWS]
    cells.ROWS.update((row.id, row) for row in attacks.ROWS)
{planted}
sys.exit(main.main({programs!r}))
"""


def belljar_lab(*words, planted="", lab=harness.ROOT / "lab", programs=seams.LAB, enter=None,
                stdout=subprocess.PIPE):
    """The whole command, with something planted in it, or in a process that `enter` changed."""
    text = START.format(lab=str(lab), planted=planted, programs=str(programs))
    got = subprocess.run([sys.executable, "-IB", "-c", text, *words], stdin=subprocess.DEVNULL,
                         stdout=stdout, stderr=subprocess.PIPE, text=True,
                         timeout=harness.PATIENCE, check=False, preexec_fn=enter)
    assert "Traceback" not in got.stderr, got.stderr
    return Said(got.returncode, got.stdout, got.stderr)


ONE_CELL = ("ablate", "--attack", READS, "--mode", "user", "--layer", "mount")


def test_of_each_layer_one_attack_is_stopped_by_it_alone():
    got = belljar_lab("quick", "--json")
    found = json.loads(got.out)
    table = found["tables"]["quick"]
    assert got.status == 0 and found["ok"] and not table["problems"], table["problems"]
    assert {mode["name"] for mode in table["modes"] if mode["run"]} == \
        {mode for mode, why_not in host.modes().items() if why_not is None}
    if AS_ROOT:
        assert table["unshown"] == []
    for row in table["rows"]:
        assert row["with"] not in (attack.DONE, "") and row["without"] == attack.DONE, row


@pytest.mark.parametrize("words", [ONE_CELL, ("filter", "--attack", READS, "--mode", "user")],
                         ids=["ablate", "filter"])
def test_all_of_it_may_lie_where_only_its_user_may_look(tmp_path, words):
    """A checkout in root's home: no id of a worker's may enter that."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    seams.copy_lab(private)
    got = belljar_lab(*words, lab=private, programs=private)
    assert (got.status, got.err) == (0, ""), got


def test_the_table_makes_sense():
    assert list(TABLE.problems()) == []


# ---- Planted, and seen -------------------------------------------------------------------------

BROKEN = f"change({READS!r}, attack=lambda run: run.python({{}}))"


@pytest.mark.parametrize(("planted", "problem"), [
    (f"change({READS!r}, stops=(('net', 'ENOENT'),))",
     f"{READS}, user, without mount: declared ENOENT, observed done"),
    (f"change({READS!r}, stops=(('mount', 'EACCES'),))",
     f"{READS}, user, without nothing: declared EACCES, observed ENOENT"),
    (BROKEN.format("'pass', leaks=run.world.token()"),
     "the program says done, and outside it is not seen to have worked"),
    (BROKEN.format("'print(7); raise OSError(errno.EPERM, \"\")', leaks='7'"),
     "the program says EPERM, and outside it is seen to have worked"),
    (BROKEN.format("'raise ValueError'"), "the program failed: Traceback"),
    (BROKEN.format("'os.dup2(2, 1)'"), "the program failed: done"),
], ids=["wrong-layer", "wrong-sign", "nothing-seen", "it-was-seen", "fails", "says-nothing"])
def test_what_is_planted_in_a_row_is_seen(planted, problem):
    assert belljar_lab(*ONE_CELL).status == 0
    got = belljar_lab(*ONE_CELL, planted=planted)
    assert got.status == 1 and problem in got.out, got
    assert f"NOT AS DECLARED  {READS}, user, without " in got.out, got
    assert got.out.endswith("Something is not as declared: see above.\n") and not got.err, got


def test_no_program_is_believed_for_what_it_says(monkeypatch):
    """Each has nothing in its way, does nothing, and prints all that the lab told it."""
    words_of = run.Run.python_words

    def claims(self, code):
        return words_of(self, f"print({code!r})" + (run.PYTHON_SHOWN if run.SHOWN in code else ""))
    monkeypatch.setattr(run.Run, "python_words", claims)
    with cells.Lab(seams.LAB) as one:
        tried = [(row, next((mode for mode in one.modes if not TABLE.why_not(row, mode)), None))
                 for row in TABLE.attacks]
        seen = one.observe([cells.Cell(row.id, mode, *ablate.control(TABLE, row, mode))
                            for row, mode in tried if mode])
    assert len(seen) > len(TABLE.attacks) / 2
    assert [cell.attack for cell, got in seen.items() if got.sign == attack.DONE] == []


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("outrun-kill", "if os.fork():", "if True:"),
    ("kill-process-group", "os.kill(0, 9)", "os.kill(os.getpid(), 9)"),
    ("outlive-launcher", "libc.prctl(1, 0,", "libc.prctl(1, 9,"),
    ("read-host-command-lines", "print(*lines)", "print(len(lines))"),
    ("exhaust-memory", str(200 << 20), str(40 << 20)),
])
def test_a_program_with_a_small_fault_is_seen(monkeypatch, name, right, wrong):
    """Where nothing is in its way, its row says that it works."""
    words_of, row = run.Run.python_words, next(row for row in TABLE.attacks if row.id == name)

    def faulty(self, code):
        assert right in code
        return words_of(self, code.replace(right, wrong))

    def sign():
        cell = cells.Cell(name, "user", *ablate.control(TABLE, row, "user"))
        with cells.Lab(seams.LAB, modes=["user"]) as one:
            return one.observe([cell])[cell].sign
    assert sign() == attack.DONE
    monkeypatch.setattr(run.Run, "python_words", faulty)
    assert sign() != attack.DONE


@pytest.fixture(name="programs")
def programs_with_another_launcher():
    """A function: the lab's programs, with this one as their launcher."""
    place = harness.temporary_dir()

    def with_launcher(launcher):
        for program in seams.LAB.glob("lab-*"):
            if program.is_file():
                link = place / program.name
                link.unlink(missing_ok=True)
                link.symlink_to(launcher if program.name == "lab-launch" else program)
        return place
    yield with_launcher
    shutil.rmtree(place)


def test_a_hook_that_does_nothing_is_seen(programs):
    """The receipt shows a namespace, and not the name in it: what was to hide that does nothing."""
    words = ("ablate", "--attack", NAMES, "--mode", "user", "--layer", "uts")
    assert belljar_lab(*words, programs=programs(seams.LAB / "lab-launch")).status == 0
    got = belljar_lab(*words, programs=programs(seams.DIR / "skip-launch"))
    assert got.status == 1, got
    assert f"NOT AS DECLARED  {NAMES}, user, without nothing: declared belljar, observed done\n" \
        in got.out, got


def test_a_symbol_of_the_lab_in_an_installed_file_is_seen(tmp_path):
    stage = tmp_path / "stage"
    shutil.copytree(harness.STAGE, stage, symlinks=True)

    def symbols():
        return subprocess.run([harness.ROOT / "tests" / "gates" / "symbols.sh"], text=True,
                              env={**os.environ, "STAGE": str(stage)}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
    got = symbols()
    assert got.returncode == 0, got
    launcher = stage / "libexec" / "belljar" / "belljar-launch"
    subprocess.run(["objcopy", "--add-symbol", "lab_planted=0,global", launcher], check=True)
    got = symbols()
    assert got.returncode == 1, got
    assert f"symbols: {launcher} holds symbols of the lab or the tests" in got.stdout


# ---- Rows that make no sense -------------------------------------------------------------------


def problems_of(**changes):
    """Of the table with one row changed."""
    rows = [dataclasses.replace(row, **changes) if row.id == READS else row for row in TABLE.attacks]
    return list(attack.Table(rows, LAYERS, host.facts()).problems())


@pytest.mark.parametrize(("changes", "said"), [
    ({"stops": (("moun", "ENOENT"),)}, f"attack {READS}: it is stopped by moun, and there is no"),
    ({"stops": ()}, f"attack {READS}: nothing stops it"),
    ({"stops": (("mount", "done"),)}, "mount is said to stop it with 'done'"),
    ({"stops": (("mount", "ENOENT", ("rot",)),)}, "there is no mode rot"),
    ({"stops": (("mount", "ENOENT", ("root",), "luck"),)}, "nobody knows the fact luck"),
    ({"needs": ("luck",)}, "it needs luck, and nobody knows that fact"),
    ({"without": {"nett": "done"}}, "without nett: there is no such layer"),
    ({"without": {"all but nett+uts": "done"}}, "without nett: there is no such layer"),
    ({"group": "Z"}, "there is no group Z"),
    ({"id": "fork-bomb"}, "attack fork-bomb: there are two of that id"),
])
def test_a_row_that_makes_no_sense_is_found(changes, said):
    assert any(said in problem for problem in problems_of(**changes))


def without_rows_of(layer):
    rows = [row for row in TABLE.attacks if layer not in str(row.stops)]
    return list(attack.Table(rows, LAYERS, host.facts()).problems())


def test_a_layer_without_an_attack_is_found():
    assert "layer uts: no attack is stopped by it alone, and its row does not say why" in \
        without_rows_of("uts")


def test_a_second_wall_that_no_attack_shows_is_found():
    assert any(problem.startswith("layer landlock: others stop the same")
               for problem in without_rows_of("landlock"))


@pytest.fixture(scope="module")
def lab():
    with cells.Lab(seams.LAB) as one:
        yield one


@pytest.fixture(name="one_row")
def lab_of_one_row(lab, monkeypatch):
    """A function: the lab with that row alone, changed, and one mode."""
    def change(**changes):
        row = dataclasses.replace(next(row for row in TABLE.attacks if row.id == READS), **changes)
        monkeypatch.setattr(lab, "table", attack.Table([row], LAYERS, host.facts(), whole=False))
        monkeypatch.setattr(lab, "modes", ["user"])
        return lab
    return change


@pytest.mark.parametrize("verb", [ablate, ladder], ids=["ablate", "ladder"])
@pytest.mark.parametrize("stops", [(("net", "ENOENT"),), (("mount", "EACCES"),)],
                         ids=["wrong-layer", "wrong-sign"])
def test_a_wrong_declaration_fails_each_table(one_row, stops, verb):
    data = verb.collect(one_row(stops=stops), None)
    assert not data["ok"] and data["problems"]
    assert all(problem.startswith(f"{READS}, user, with") for problem in data["problems"])


def test_the_page_is_whole_and_fetches_nothing(one_row, tmp_path):
    path, facts = tmp_path / "report.html", {"kernel": "<b>"}
    page.write(path, [ablate], {"ablate": ablate.collect(one_row(), None)}, facts)
    text = path.read_text()
    assert text.count('title="without mount: done"') == 1 and "&lt;b&gt;" in text
    assert not re.search(r'(src|href)=(?!"#)|<script|url\(|@import', text)


# ---- What whoever asks gets to see -------------------------------------------------------------

VERBS = [*(module.VERB for module in main.VERBS), "all", "list"]


def nobody_reads(*words, **how):
    """The same, its output a pipe whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    try:
        return belljar_lab(*words, stdout=write, **how)
    finally:
        os.close(write)


@pytest.mark.parametrize("words", [("list",), ("list", "--markdown"), ("--help",), ONE_CELL,
                                   (*ONE_CELL, "--json")], ids=" ".join)
def test_it_ends_quietly_when_nobody_reads(words):
    assert belljar_lab(*words).status == 0
    assert nobody_reads(*words) == (141, None, "")


@pytest.mark.parametrize("words", [("list",), (*ONE_CELL, "--json")], ids=" ".join)
def test_a_full_disk_under_its_output_is_said_in_a_line(words):
    with open("/dev/full", "wb") as full:
        got = belljar_lab(*words, stdout=full)
    assert got == (2, None, "belljar-lab: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("each_s, lines", [(0, ["a 1/2", "a 2/2"]), (60, [])])
def test_without_a_terminal_progress_is_a_line_a_minute(monkeypatch, capsys, each_s, lines):
    monkeypatch.setattr(show.Progress, "EACH_S", each_s)
    progress = show.Progress("a")
    progress.more(2)
    progress.step()
    progress.step()
    progress.end()
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" 0 s")[0] for line in said] == lines
    assert "\r" not in "".join(said)


def test_another_pipe_that_broke_is_not_taken_for_that():
    planted = "cells.Lab.host_facts = lambda _: (_ for _ in ()).throw(BrokenPipeError('a worker'))"
    got = subprocess.run(
        [sys.executable, "-IB", "-c", START.format(lab=str(harness.ROOT / "lab"), planted=planted,
                                                   programs=str(seams.LAB)), *ONE_CELL],
        capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
    assert got.returncode == 1 and got.stderr.endswith("BrokenPipeError: a worker\n"), got


@pytest.mark.parametrize("verb", VERBS)
def test_make_lab_asks_each_verb_rightly(verb):
    """What `make` would start, and the command's own parser."""
    out = subprocess.run(["make", "-n", "--no-print-directory", "lab", f"LAB={verb}"],
                         cwd=harness.ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    words = out.partition("belljar_lab ")[2].replace("\\\n", " ")
    args = main.parser().parse_args(shlex.split(words))
    assert args.verb == verb
    assert verb == "list" or args.html.endswith("/lab.html")


@pytest.mark.parametrize("planted", ["", f"change({READS!r}, stops=(('mount', 'EACCES'),))"],
                         ids=["green", "red"])
def test_the_page_is_named_whatever_it_says(tmp_path, planted):
    got = belljar_lab(*ONE_CELL, "--html", str(tmp_path / "a.html"), "--svg",
                      str(tmp_path / "a.svg"), planted=planted)
    assert got.status == bool(planted)
    assert got.out.endswith(f"\nThe page: {tmp_path}/a.html\nThe picture: {tmp_path}/a.svg\n"), got


# ---- What is not asked rightly, and what this host cannot do -----------------------------------


def is_refused(got, said):
    assert (got.status, got.out) == (2, ""), got
    assert got.err.startswith("belljar-lab: ") and got.err.count("\n") == 1, got
    assert said in got.err, got


@pytest.mark.parametrize(("words", "said"), [
    (("--attack", "luck"), "there is no attack 'luck'; `belljar-lab list` prints them"),
    (("--attack", "x" * 100000), f"there is no attack '{'x' * 57}...'; `belljar-lab list` prints them"),
    (("--layer", "luck"), "there is no layer 'luck'; there are cgroup, user"),
    (("--mode", "luck"), "there is no mode 'luck'; there are root-cgroup, "),
    (("--html", "/nonexistent/report.html"), "/nonexistent/report.html: No such file or directory"),
    (("--html", "/"), "/: Is a directory"),
    (("--html", "/proc/report.html"), "/proc/report.html: "),
])
def test_what_is_not_asked_rightly_is_said_in_one_line(words, said):
    is_refused(belljar_lab(*ONE_CELL, *words), said)


def test_the_same_asked_rightly_works(tmp_path):
    report = tmp_path / "report.html"
    assert belljar_lab(*ONE_CELL, "--html", str(report)).status == 0
    assert report.read_text().startswith("<!DOCTYPE html>")


def test_programs_that_are_not_there_are_said_in_one_line(tmp_path):
    is_refused(belljar_lab(*ONE_CELL, programs=tmp_path), "the lab's programs do not start")


def answering(call, errno):
    """A preexec_fn: a filter that gives this call that answer."""
    program = b"".join(struct.pack("HBBI", *op) for op in (
        (0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | errno), (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)

    def load():
        if not AS_ROOT and libc.prctl(38, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        if libc.prctl(22, 2, filter_, 0, 0) != 0 or not buffer.raw:
            raise OSError(ctypes.get_errno(), "seccomp")
    return load


def test_a_host_without_landlock_is_said_in_one_line():
    assert belljar_lab(*ONE_CELL, enter=answering(SYS_SWAPON[os.uname().machine], ENOSYS)).status == 0
    is_refused(belljar_lab(*ONE_CELL, enter=answering(SYS_LANDLOCK_CREATE_RULESET, ENOSYS)),
               "mode user: Nothing ran: layer landlock: this kernel has none. It needs ")


def allowing(number):
    """A preexec_fn: a user namespace with every id, in which there may be so many of them."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter():
        read, write = os.pipe()
        me, pid = os.getpid(), os.fork()
        if pid == 0:
            os.read(read, 1)
            for name in ("uid_map", "gid_map"):
                with open(f"/proc/{me}/{name}", "w", encoding="utf-8") as file:
                    file.write("0 0 4294967295")
            os._exit(0)
        if libc.unshare(CLONE_NEWUSER) < 0:
            raise OSError(ctypes.get_errno(), "unshare")
        os.write(write, b"x")
        os.waitpid(pid, 0)
        os.close(read)
        os.close(write)
        with open("/proc/sys/user/max_user_namespaces", "w", encoding="utf-8") as file:
            file.write(str(number))
    return enter


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a user namespace every id")
def test_a_host_without_user_namespaces_is_said_in_one_line():
    assert belljar_lab(*ONE_CELL, enter=allowing(100)).status == 0
    is_refused(belljar_lab(*ONE_CELL, enter=allowing(0)),
               "the outer namespaces cannot be built: [Errno 28] unshare: No space left on device")


def become_ordinary():
    """A preexec_fn."""
    if AS_ROOT:
        os.setgroups([])
        os.setresgid(harness.USER_ID, harness.USER_ID, harness.USER_ID)
        os.setresuid(harness.USER_ID, harness.USER_ID, harness.USER_ID)


def test_a_mode_that_an_ordinary_user_cannot_have_is_said_in_one_line(open_lab):
    where = {"lab": open_lab, "programs": open_lab, "enter": become_ordinary}
    assert belljar_lab(*ONE_CELL, **where).status == 0
    is_refused(belljar_lab("ablate", "--attack", READS, "--layer", "mount", "--mode", "root", **where),
               "mode root: an ordinary user starts the lab: start it as root")


@pytest.mark.parametrize(("closed", "mode"), [("", 0o311), ("", 0), ("lab-launch", 0o311),
                                              ("lab-belljar", 0)])
def test_programs_that_an_ordinary_user_may_not_read_are_said_in_one_line(open_lab, closed, mode):
    where = {"lab": open_lab, "enter": become_ordinary}
    programs = open_lab / "programs"
    programs.mkdir()
    for program in open_lab.glob("lab-*"):
        shutil.copy(program, programs)
    assert belljar_lab(*ONE_CELL, programs=programs, **where).status == 0
    (programs / closed).chmod(mode)
    got = belljar_lab(*ONE_CELL, programs=programs, **where)
    programs.chmod(0o755)
    is_refused(got, f"{programs}: the lab's programs do not start: [Errno 13] Permission denied: "
                    f"'{programs / closed}")
