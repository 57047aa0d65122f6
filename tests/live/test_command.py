# SPDX-License-Identifier: Apache-2.0
"""The command around a run: its other verbs, languages, what it says, how it passes output on."""

import json
import os
import resource
import select
import signal
import subprocess

import pytest

import harness
from harness import BELLJAR, PATIENCE, ROOT, STAGE, clean_env, until

EXAMPLES = ROOT / "examples"
LAYERS = ["cgroup", "user", "pid", "init", "mount", "net", "ipc", "uts", "cgroupns", "env", "terminal",
          "rlimit", "caps", "nnp", "landlock", "seccomp", "fds", "deadline", "output", "monitor"]
VERBS = ["run", "doctor", "layers", "policy show", "policy check", "version", "help"]


def call(*words, before=(), env=None, **more):
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([*before, str(BELLJAR), *words], env=env or clean_env(),
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, text=True, **more)


# ---- help, verbs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_names_its_page(verb):
    for words in ([*verb.split(), "--help"], ["help", *verb.split()]):
        got = call(*words)
        assert got.returncode == 0 and got.stderr == "", got
        assert got.stdout.startswith(f"usage: belljar {verb}")
        page = got.stdout.rsplit("More: man ", 1)[1].strip()
        assert list((STAGE / "share/man/man1").glob(f"{page}.1*")), page


def test_a_wrong_verb_is_refused_and_the_right_one_named():
    for words, names in ((["rnu"], "belljar run"), (["foo.py"], "belljar run FILE"),
                         (["policy"], "policy show"), (["policy", "shwo"], "policy show"), (["zzz"], "help")):
        got = call(*words)
        assert got.returncode == 125 and got.stdout == "" and got.stderr.count("\n") == 1, got
        assert names in got.stderr, got
    assert call().returncode == 125


@pytest.mark.parametrize("words", [["layers", "foo"], ["version", "x"], ["doctor", "x"],
                                   ["policy", "show", "x"], ["policy", "check", "a", "b"],
                                   ["help", "policy", "show", "x"]])
def test_an_argument_too_many_is_refused(words):
    got = call(*words)
    assert (got.returncode, got.stdout) == (125, "") and got.stderr.count("\n") == 1, got
    assert f'"{words[-1]}"' in got.stderr, got
    verb = 2 if words[0] == "policy" else 1
    for again in ([*words[:verb], "--json", *words[verb:]], [*words, "--json"]):
        got = call(*again)
        if words[0] != "help":
            assert (got.returncode, got.stderr) == (125, ""), got
            assert json.loads(got.stdout)["error"]["code"] == "invalid"
    if words[0] in ("layers", "version"):
        assert call(words[0]).returncode == 0


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in ("run", "help")])
def test_with_json_every_verb_prints_one_object_whatever_happens(verb):
    bad = call(*verb.split(), "--bogus", "--json")
    assert bad.returncode == 125 and bad.stderr == ""
    assert json.loads(bad.stdout)["schema"] == "belljar.error/1"
    file = ["/nonexistent"] if verb == "policy check" else []
    got = call(*verb.split(), "--json", *file)
    assert got.stderr == ""
    assert json.loads(got.stdout)["schema"] == f"belljar.{verb.replace(' show', '').replace(' ', '_')}/1"


def test_layers_are_listed_in_their_order():
    got = json.loads(call("layers", "--json").stdout)["layers"]
    assert [row["name"] for row in got] == LAYERS
    assert [row["name"] for row in got if row["may_be_missing"]] == ["cgroup", "landlock"]
    assert all(row["stops"] and row["leaves"] for row in got)
    lines = call("layers").stdout.splitlines()
    assert [line.split()[0] for line in lines if line[:1].isalpha()][1:] == LAYERS


def test_the_policy_shown_is_the_policy_in_force(tmp_path):
    file = tmp_path / "policy.json"
    file.write_text('{"time": "20s", "profiles": {"big": {"memory": "1g"}}}')
    got = call("policy", "show", "--json", "--policy", str(file), "--profile", "big", "--pids", "32")
    fields = json.loads(got.stdout)["fields"]
    assert got.returncode == 0
    assert (fields["time"]["value"], fields["time"]["number"]) == ("20s", 20000)
    assert str(file) in fields["time"]["origin"]
    assert fields["memory"]["number"] == 1 << 30 and "big" in fields["memory"]["origin"]
    assert fields["pids"]["number"] == 32 and "--pids" in fields["pids"]["origin"]
    assert fields["cpus"]["origin"] == "built-in" and fields["memory"]["ceiling"] == "4g"
    above = call("policy", "show", "--memory", "8g")
    assert above.returncode == 125 and "memory" in above.stderr and "4g" in above.stderr


def test_a_policy_file_is_checked_with_its_profiles(tmp_path):
    file = tmp_path / "policy.json"
    for text, status, names in (('{"time": "20s"}', 0, ""), ('{"time": "20s",}', 1, "line 1"),
                                ('{"memory": "8g"}', 1, "ceiling"),
                                ('{"profiles": {"x": {"memory": "8g"}}}', 1, "ceiling")):
        file.write_text(text)
        got = call("policy", "check", str(file))
        assert got.returncode == status, got
        assert names in got.stderr
        assert json.loads(call("policy", "check", "--json", str(file)).stdout)["ok"] == (status == 0)


def test_the_completion_offers_verbs_options_and_languages():
    script = STAGE / "share/bash-completion/completions/belljar"

    def offered(*words):
        quoted = " ".join(f"'{word}'" for word in words)
        got = subprocess.run(
            ["bash", "-c", f". {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
             "_belljar; printf '%s\\n' \"${COMPREPLY[@]}\""], capture_output=True, text=True, check=True)
        return got.stdout.split()

    assert offered("belljar", "r") == ["run"]
    assert offered("belljar", "policy", "") == ["show", "check"]
    assert "--keep-output" in offered("belljar", "run", "--keep")
    assert offered("belljar", "layers", "--") == ["--help", "--json"]
    assert offered("belljar", "run", "--lang", "py") == ["python"]
    assert "--memory" in offered("belljar", "policy", "show", "--mem")


# ---- doctor --------------------------------------------------------------------------------------


def doctor(uid, *words, before=(), **more):
    got = call("doctor", "--json", *words, before=[*before, *(harness.as_user() if uid else [])], **more)
    return got.returncode, json.loads(got.stdout)


def test_the_doctor_proves_each_layer_by_what_is_denied_and_what_works(bell):
    status, got = doctor(bell.uid)
    states = {row["name"]: row["state"] for row in got["layers"]}
    assert got["error"] is None
    missing = set() if bell.cgroup else {"cgroup"}
    assert {name for name, state in states.items() if state == "failed"} == missing, got
    assert states["monitor"] == ("not_needed" if bell.cgroup else "proven")
    assert (status, got["proven"]) == ((0, True) if bell.cgroup else (1, False))
    for row in got["layers"]:
        if row["state"] == "proven":
            assert {check["expect"] for check in row["checks"]} == {"denied", "works"}, row
            assert all(check["ok"] for check in row["checks"]), row
        elif row["state"] == "failed":
            assert row["mend"] and row["error"]["message"], row


def test_the_doctor_on_a_host_without_user_namespaces_says_what_is_missing(bell):
    if os.geteuid() != 0:
        pytest.skip("needs root to take user namespaces away")
    # A user namespace of its own whose limit is 0: the host's is not touched.
    before = ["unshare", "--user", "--map-root-user", "--", "sh", "-c",
              'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    got = call("doctor", "--json", before=before)
    found = json.loads(got.stdout)
    assert got.returncode == 1 and not found["proven"] and found["error"], found
    row = next(row for row in found["layers"] if row["name"] == "user")
    assert row["state"] == "failed"
    assert any(check["got"] == "ENOSPC" and not check["ok"] for check in row["checks"]), row
    assert {"Debian", "Ubuntu 24.04", "Fedora", "inside Docker"} <= {m["where"] for m in row["mend"]}
    # What does not hang on it is still seen.
    assert next(r for r in found["layers"] if r["name"] == "nnp")["checks"][0]["ok"]


def test_the_doctor_under_a_masked_proc_names_the_mount(ledger):
    if os.geteuid() != 0:
        pytest.skip("needs root to cover a part of /proc")
    before = harness.in_mounts("mount --bind /dev/null /proc/timer_list")
    if not os.path.exists("/proc/timer_list"):
        before = harness.in_mounts("mount --bind /dev/null /proc/keys")
    # Root of the host may mount a proc whatever covers the old one; nobody else may.
    got = call("doctor", "--json", before=[*before, *harness.as_user()])
    found = json.loads(got.stdout)
    assert got.returncode == 1 and found["error"]["layer"] == "mount", found
    row = next(row for row in found["layers"] if row["name"] == "mount")
    assert row["state"] == "failed" and row["mend"][0]["where"] == "masked /proc"
    tried = {check["check"]: check for check in row["checks"]}
    assert tried["mount a fresh proc"]["got"] == "EPERM"
    assert tried["mount a tmpfs in a namespace"]["ok"]


@pytest.mark.parametrize(("pattern", "hard", "says"), [
    ("|/usr/lib/handler %P", "0", "the hard limit here is 0"),
    ("|/usr/lib/handler %P", "1", ""), ("|/usr/lib/handler %P", "unlimited", ""),
    ("@/run/handler.socket", "unlimited", "is a socket"), ("@@/run/handler.socket", "0", "is a socket"),
    ("core", "0", ""), ("/var/cores/%p|@x", "0", "")])
def test_the_doctor_warns_of_a_handler_that_a_crash_inside_would_reach(ledger, pattern, hard, says):
    if os.geteuid() != 0:
        pytest.skip("needs root to put another core_pattern there")
    place = harness.temporary_dir()
    file, plain = place / "core_pattern", place / "plain"
    plain.write_text("core\n")
    file.write_text(pattern + "\n")
    found = {}
    for path in (plain, file):
        # What covers a part of proc costs the layer `mount`, the same with either file.
        before = [*harness.in_mounts(f"mount --bind {path} /proc/sys/kernel/core_pattern"),
                  "prlimit", f"--core=0:{hard}", "--", *harness.as_user()]
        got = call("doctor", "--json", before=before)
        text = call("doctor", before=before)
        found[path] = json.loads(got.stdout)
        assert (got.returncode, text.returncode) == (1, 1), "it changes nothing, here a failure"
        path.unlink()
    place.rmdir()
    assert [row["state"] for row in found[file]["layers"]] == [
        row["state"] for row in found[plain]["layers"]]
    assert found[plain]["warnings"] == [] and found[file]["host"]["kernel.core_pattern"] == pattern
    if says:
        (warning,) = found[file]["warnings"]
        assert f'"{pattern.removeprefix("|")}"' in warning["text"] and says in warning["text"]
        assert "kernel.core_pattern=core" in warning["do"]
        assert "\nwarning: " in text.stdout and "what to do: " in text.stdout
    else:
        assert found[file]["warnings"] == [] and "warning" not in text.stdout


def test_a_warning_of_the_doctor_is_no_failure(bell):
    """On this host as it is: the layers alone decide, whatever the warnings."""
    status, got = doctor(bell.uid)
    pattern = harness.read("/proc/sys/kernel/core_pattern")
    stuck = resource.getrlimit(resource.RLIMIT_CORE)[1] == 0
    assert bool(got["warnings"]) <= (pattern.startswith(b"@") or stuck and pattern.startswith(b"|"))
    assert (status == 0) == got["proven"] == bell.cgroup, got


def test_the_doctor_leaves_nothing_of_its_baits(bell):
    before = set(os.listdir("/tmp"))
    segments = harness.read("/proc/sysvipc/shm").count(b"\n")
    doctor(bell.uid)
    assert not [name for name in set(os.listdir("/tmp")) - before if name.startswith("belljar-doctor")]
    assert harness.read("/proc/sysvipc/shm").count(b"\n") == segments


# ---- languages -----------------------------------------------------------------------------------

PROGRAMS = {
    "a.py": "import sys; print('hi', *sys.argv[1:])",
    "a.js": "console.log('hi', ...process.argv.slice(2))",
    "a.sh": 'echo hi "$@"',
    "a.c": '#include <stdio.h>\nint main(int c, char **v) { printf("hi %s %s\\n", v[1], v[2]); return c != 3; }',
    "a.cpp": "#include <iostream>\nint main(int, char **v) { std::cout << \"hi \" << v[1] << ' ' << v[2] << '\\n'; }",
    "python": "#!/usr/bin/env python3\nimport sys; print('hi', *sys.argv[1:])",
    "shell": '#!/bin/sh\necho hi "$@"',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_runs_by_its_extension_or_its_first_line(bell, name):
    file = bell.file(name, PROGRAMS[name])
    got = bell.run("--time", "60s", "--cpu-time", "20s", file, "1", "two words")
    assert (got.outcome, got.exit_code, got.out) == ("exited", 0, "hi 1 two words\n"), got


def test_code_comes_from_standard_input(bell):
    code = "import sys\nprint('hi', *sys.argv[1:])\nprint(repr(sys.stdin.read()))\n"
    got = bell.run("--lang", "python", "-", "1", "two words", give=code.encode())
    assert (got.outcome, got.exit_code, got.out) == ("exited", 0, "hi 1 two words\n''\n"), got
    got = bell.run("--lang", "python", "--stdin", bell.file("data", "more"), "-", give=code.encode())
    assert got.out == "hi\n'more'\n", got
    # A file that is called so, an argument, a program.
    bell.file("-", "print('the file')")
    assert bell.run("--lang", "python", "./-", give=code.encode()).out == "the file\n"
    assert bell.run("-c", "import sys; print(sys.argv[1])", "--lang", "python", "-", give=b"x").out == "-\n"
    got = bell.run("--", "-", give=code.encode())
    assert (got.outcome, got.status) == ("not_started", 127), got


def test_code_on_standard_input_needs_its_language_and_is_nothing_else(first_bell):
    bell = first_bell
    for words, names in ((["-"], "--lang"), (["--json", "-"], "--lang"),
                         (["--lang", "python", "--stdin", "-", "-"], "--stdin"),
                         (["--lang", "pyhton", "-"], "Did you mean python?"),
                         (["--lang", "python", "--workspace", "64k", "-"], "--workspace"),
                         (["--lang", "python", "--workspace", "64kb", "-"], "did you mean 64k?")):
        status, out, err = bell.raw(*words, give=b"#" * (64 << 10) + b"\n")
        said = json.loads(out)["hint"] if "--json" in words else err.decode()
        assert status == 125 and names in said, (words, status, out, err)
        assert (out == b"") == ("--json" not in words) and err.count(b"\n") == (out == b""), err
    # What it may hold, it holds; what cannot be read is said.
    got = bell.run("--lang", "python", "--workspace", "1m", "-", give=b"#" * (900 << 10) + b"\nprint(1)\n")
    assert got.out == "1\n", got
    directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    status, out, err = bell.raw("--lang", "python", "-", stdin=directory)
    os.close(directory)
    assert (status, out) == (125, b"") and b"standard input: Is a directory" in err, err


def blocks(pid, number):
    """Whether belljar, and not yet who starts it, takes this signal by a descriptor."""
    status = harness.read(f"/proc/{pid}/status").decode()
    masks = [line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:")]
    return status.startswith("Name:\tbelljar\n") and masks and int(masks[0], 16) >> (number - 1) & 1


def test_waiting_for_code_ends_with_a_signal(bell):
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        for json_ in (False, True):
            process = bell.start("--lang", "python", "-", json_=json_, stdin=subprocess.PIPE)
            process.stdin.write(b"print('ran')\n")
            process.stdin.flush()
            assert until(lambda: blocks(process.pid, number))
            process.send_signal(number)
            assert process.wait(PATIENCE) == status
            out, err = process.stdout.read(), process.stderr.read()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
            if json_:
                assert json.loads(out)["outcome"] == "cancelled" and not json.loads(out)["started"]
            else:
                assert out == b"" and b"before the program started" in err, err


def test_a_script_for_another_interpreter_runs_as_it_is(bell):
    file = bell.file("script", '#!/usr/bin/perl\nprint "hi @ARGV\\n";', mode=0o755)
    assert bell.run(file, "x").out == "hi x\n"


def test_a_compile_error_is_the_programs_own(bell):
    got = bell.run("--time", "60s", bell.file("bad.c", "int main(void) { return nothing; }"))
    assert got.outcome == "exited" and got.exit_code == 1 and "nothing" in got.err


def test_a_language_of_the_users_file_is_known(bell):
    config = bell.dir("config")
    (config / "belljar").mkdir()
    file = config / "belljar" / "languages.json"
    file.write_text(json.dumps({"languages": {"upper": {
        "extensions": ["up"], "command": ["tr", "a-z", "A-Z"] + ["{file}"]}}}))
    got = bell.run("-c", "x", "--lang", "upper", env=clean_env(XDG_CONFIG_HOME=str(config)))
    assert got.outcome == "exited" and got.exit_code == 1 and "extra operand" in got.err
    file.write_text('{"languages": {"upper": {"comand": ["tr"]}}}')
    got = bell.run("-c", "x", "--lang", "upper", env=clean_env(XDG_CONFIG_HOME=str(config)))
    assert got.outcome == "refused" and str(file) in got.hint and "comand" in got.hint


def test_what_was_printed_before_a_limit_is_kept(bell):
    got = bell.run("--time", "1s", EXAMPLES / "loops.py")
    assert got.outcome == "time_limit" and got.out == "counting\n"


# ---- what is said, and passed on -------------------------------------------------------------------


def recorded():
    """The commands of examples/README.md with the line of belljar's own that ends each."""
    command = None
    for line in (EXAMPLES / "README.md").read_text().splitlines():
        if line.startswith("$ belljar run "):
            command = line.split()[3:]
        elif line.startswith("belljar: "):
            yield pytest.param(command, line, id=command[-1])


STATUSES = {"time limit": 124, "memory limit": 137, "signal 11": 139, "output limit": 123, "exit 1": 1,
            "refused": 125}


@pytest.mark.parametrize("command, line", recorded())
def test_the_examples_end_as_their_page_says(bell, command, line):
    status, _, err = bell.raw(*command, cwd=ROOT)
    assert err.decode().splitlines()[-1] == line
    assert status == STATUSES[line.split(": ")[1]]


def test_the_report_on_sales_draws_its_chart(bell):
    place = bell.dir("out")
    status, out, err = bell.raw("--in", EXAMPLES / "sales.csv", "--out", f"chart.svg:{place}/chart.svg",
                                "--receipt", EXAMPLES / "csv_report.py")
    assert status == 0 and out.startswith(b"269 orders, 92,122.75 in all"), err
    chart = (place / "chart.svg").read_text()
    assert chart.startswith("<svg ") and chart.count("<rect") == 1 + 48 + 4
    rows = {line.split()[0]: line.split()[1] for line in err.decode().splitlines()[1:-1]}
    assert set(LAYERS) - {"monitor"} <= set(rows)
    assert set(rows.values()) <= ({"proven"} if bell.cgroup else {"proven", "accepted_missing"})
    assert err.decode().splitlines()[-1] == "left behind: processes 0 mounts 0 cgroups 0 files 0"


def test_a_second_signal_does_not_end_belljar_before_the_run_is_gone(bell, token):
    process = bell.start("--", "/bin/sh", "-c", f"echo up; exec sleep 1000; : {token}", json_=False)
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    bell.finish(process)
    assert process.returncode == 130
    assert not harness.marked(token)


def test_an_ignored_signal_stays_ignored(bell):
    process = bell.start("--", "/bin/sh", "-c", "echo up; read line; exit 7", json_=False,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    bell.finish(process)
    assert process.returncode == 7


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_reader_that_is_stuck_does_not_keep_belljar_from_ending(bell, number, status):
    reader, writer = os.pipe()
    process = bell.start("--", "/bin/sh", "-c", "while :; do echo xxxxxxxxxxxxxxxx; done", json_=False,
                         stdout=writer)
    # Until the pipe takes nothing more: then belljar waits to write.
    assert until(lambda: not select.select([], [writer], [], 0)[1])
    process.send_signal(number)
    assert process.wait(PATIENCE) == status
    process.stderr.close()
    os.close(reader)
    os.close(writer)


def test_output_that_cannot_be_passed_on_is_no_success(bell):
    with open("/dev/full", "wb") as full:
        process = bell.start("--", "/bin/echo", "hi", json_=False, stdout=full)
        bell.finish(process)
        assert process.returncode == 125
        process = bell.start("--", "/bin/echo", "hi", stdout=full)
        bell.finish(process)
        assert process.returncode == 125
        process = bell.start("--", "/bin/true", json_=False, stdout=full)
        bell.finish(process)
        assert process.returncode == 0


def test_standard_descriptors_that_are_closed_are_nobodys(bell):
    close = lambda *fds: lambda: [os.close(fd) for fd in fds]
    process = bell.start("--", "/bin/echo", "hi", json_=False, preexec_fn=close(1))
    bell.finish(process)
    assert process.returncode == 141
    process = bell.start("--", "/bin/sh", "-c", "cat; echo hi; echo no >&2", json_=False,
                         preexec_fn=close(0, 2))
    out, _ = bell.finish(process)
    assert out == b"hi\n"


def test_a_name_with_a_colon(bell):
    bell.file("data:2024.csv", "x")
    got = bell.run("--in", "data:2024.csv:", "--", "/bin/ls", "/workspace")
    assert got.out == "data:2024.csv\n"
    got = bell.run("--in", "data\\:2024.csv:b", "--", "/bin/ls", "/workspace")
    assert got.out == "b\n"
