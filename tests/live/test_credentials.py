# SPDX-License-Identifier: Apache-2.0
"""Secrets of the caller are nowhere inside, and the caller's environment steers nothing."""

import re
import subprocess

import pytest

import harness

attack = pytest.mark.attack

FIXED = {"PATH", "HOME", "LANG", "TZ", "TMPDIR"}


@attack("D01")
def test_the_environment_is_the_allow_list_and_what_was_named(bell, bare, token):
    env = harness.clean_env(API_KEY=token, AWS_SECRET_ACCESS_KEY=token, SSH_AUTH_SOCK="/x",
                            LD_LIBRARY_PATH="/x", http_proxy="http://127.0.0.1:1")
    got = bell.inside("getenv", env=env, options=["--env", "NAMED=value"])
    names = {line.split("=")[0] for line in got.line["text"].split("\n") if line}
    assert names == FIXED | {"NAMED"} or names == (FIXED - {"TZ"}) | {"NAMED"}
    assert token not in str(got.json)
    assert "NAMED=value\n" in got.line["text"]


@attack("D01")
def test_a_variable_of_the_allow_list_does_not_bring_the_callers_value_in(bell, token):
    env = harness.clean_env(TMPDIR="/" + token, HOME="/" + token)
    env["PATH"] += ":/" + token
    text = bell.inside("getenv", env=env).line["text"]
    assert token not in text
    assert re.search(r"^HOME=/", text, re.M) and re.search(r"^TMPDIR=/tmp$", text, re.M)


@attack("D02", "D03", "D04")
def test_a_secret_of_the_caller_is_in_nothing_that_proc_shows(bell, token):
    env = harness.clean_env(API_KEY=token)
    code = ("import os\n"
            "hits, read = [], 0\n"
            "for top, dirs, files in os.walk('/proc'):\n"
            "    if '/task/' in top or top.endswith('/fd'): dirs[:], files = [], []\n"
            "    for name in files:\n"
            "        if name in ('kmsg', 'kcore', 'pagemap', 'clear_refs'): continue\n"
            "        path = os.path.join(top, name)\n"
            "        try:\n"
            "            with open(path, 'rb') as f: data = f.read(1 << 16)\n"
            "        except OSError: continue\n"
            "        read += 1\n"
            "        if os.environ['HALF1'].encode() + os.environ['HALF2'].encode() in data:\n"
            "            hits.append(path)\n"
            "print(read > 100, hits)\n")
    got = bell.python(code, "--env", f"HALF1={token[:10]}", "--env", f"HALF2={token[10:]}",
                      "--time", "60s", "--cpu-time", "60s", "--cpus", "1", env=env)
    assert got.out == "True []\n", got
    control = bell.python("import os; print(os.environ['NAMED'])", "--env", f"NAMED={token}")
    assert control.out == token + "\n"


@attack("D03", "D08")
def test_command_lines_inside_tell_nothing_of_the_caller(bell, token):
    place = bell.file(token, "x")
    got = bell.run("--in", f"{place}:data", "--", "/bin/sh", "-c",
                   "cat /proc/*/cmdline | tr '\\0' ' '; ls /workspace")
    assert "data" in got.out and token not in got.out
    assert str(harness.STAGE) not in got.out


@attack("D03")
def test_no_secret_is_on_the_launchers_command_line_or_in_its_environment(bell, token):
    env = harness.clean_env(API_KEY=token)
    process = bell.start_inside("pause", "secret-" + token, options=["--env", f"S={token}"],
                                env=env)
    try:
        assert harness.until(lambda: harness.started("secret-" + token))
        found = harness.launchers(process.pid) | harness.inits(process.pid)
        assert len(found) >= 2, found
        for pid in found:
            assert token.encode() not in harness.cmdline(pid)
            assert token.encode() not in harness.read(f"/proc/{pid}/environ")
            assert harness.read(f"/proc/{pid}/environ") == b""
    finally:
        process.terminate()
        bell.finish(process)


@attack("D05")
def test_files_with_credentials_are_not_there(bell):
    home = bell.dir("home")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text("secret")
    got = bell.run("--", "/bin/sh", "-c", f"cat {home}/.ssh/id_ed25519; ls -A ~ | head; echo $HOME",
                   env=harness.clean_env(HOME=str(home)))
    assert "secret" not in got.out and str(home) not in got.out


STEERING = {"LD_PRELOAD": "/nonexistent/steer.so", "LD_AUDIT": "/nonexistent/steer.so",
            "BASH_ENV": "/workspace/steer", "ENV": "/workspace/steer", "PYTHONPATH": "/workspace",
            "PYTHONSTARTUP": "/workspace/steer", "NODE_OPTIONS": "--version",
            "GCONV_PATH": "/tmp", "LD_LIBRARY_PATH": "/workspace", "GIT_DIR": "/workspace"}


@attack("D07")
@pytest.mark.parametrize("name", sorted(STEERING))
def test_an_environment_entry_reaches_only_the_program(bell, name):
    """It may steer the program, which is the caller's own wish, but no helper before it."""
    got = bell.inside("getenv", options=["--env", f"{name}={STEERING[name]}"])
    assert got.outcome == "exited"
    assert f"{name}={STEERING[name]}\n" in got.line["text"]


@attack("D07")
def test_the_callers_own_environment_does_not_steer_the_launcher(bell, token):
    source = bell.file("steer.c", "#include <unistd.h>\n#include <stdlib.h>\n"
                       "__attribute__((constructor)) static void steer(void)\n"
                       "{ if (!getenv(\"NOT_HERE\")) (void)!write(2, \"steered\", 7); }\n")
    library = bell.place / "steer.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    control = subprocess.run(["/bin/true"], env=harness.clean_env(LD_PRELOAD=str(library)),
                             stderr=subprocess.PIPE)
    assert control.stderr == b"steered"
    # BELLJAR_* of the caller and the loader's variables change nothing of what runs inside.
    env = harness.clean_env(LD_PRELOAD=str(library), BELLJAR_LAUNCHER="/bin/false",
                            BELLJAR_LIBEXECDIR="/tmp", BELLJAR_DISABLE="1", BELLJAR_UNSAFE="1",
                            NOT_HERE="1")
    got = bell.inside("getenv", env=env)
    assert got.outcome == "exited" and got.json["stderr"]["bytes"] == 0
    assert "BELLJAR" not in got.line["text"] and "LD_" not in got.line["text"]
