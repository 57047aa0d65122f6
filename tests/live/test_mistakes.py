# SPDX-License-Identifier: Apache-2.0
"""What somebody new here types wrong, or meets: one line that says what would be right."""

import ctypes
import json
import os
import platform
import struct
import subprocess

import pytest

from harness import BELLJAR, PATIENCE, clean_env


def command(*words):
    return subprocess.run([str(BELLJAR), *words], env=clean_env(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True).stdout


@pytest.mark.parametrize("words, meant", [
    (["--memory", "64MB"], "64m"), (["--memory", "1.5g"], "1536m"), (["--tmp", "16 MiB"], "16m"),
    (["--time", "10sec"], "10s"), (["--cpu-time", "1 Minute"], "1m")])
def test_a_unit_of_elsewhere_is_refused_and_the_right_one_named(first_bell, words, meant):
    status, out, err = first_bell.raw(*words, "--", "/bin/echo", "ran")
    assert (status, out) == (125, b"") and err.count(b"\n") == 1
    assert f"(did you mean {meant}?)".encode() in err, err
    assert first_bell.run(words[0], meant, "--", "/bin/echo", "ran").out == "ran\n"


def test_a_name_of_a_policy_file_is_suggested(first_bell):
    for text, meant in (('{"memroy": "64m"}', b"did you mean memory?"),
                        ('{"accept_missing": ["cgroups"]}', b"did you mean cgroup?"),
                        ('{"accept_missing": ["seccomp"]}', b"only cgroup and landlock")):
        file = first_bell.file("policy.json", text)
        status, out, err = first_bell.raw("--policy", file, "--", "/bin/echo", "ran", policy=False)
        assert (status, out) == (125, b"") and meant in err and err.count(b"\n") == 1, err


def test_a_relative_working_directory_is_refused_and_said_to_be_inside(first_bell):
    for path, names in (("sub", "/workspace/sub."), ("./a/b", "/workspace/a/b."), ("../x", "/workspace, for")):
        status, out, err = first_bell.raw("--cwd", path, "--", "/bin/echo", "ran")
        assert (status, out) == (125, b"") and names.encode() in err and b"inside the sandbox" in err, err
    got = first_bell.run("--cwd", "/workspace/sub", "--in", f"{first_bell.file('f', 'x')}:sub/f", "--",
                         "/bin/pwd")
    assert got.out == "/workspace/sub\n", got
    text = " ".join(command("run", "--help").split())
    assert "working directory inside, an absolute path; a relative one is refused" in text


def test_the_profile_agent_takes_nothing_from_a_file(bell):
    """Not what is accepted as missing either: then the line says that it is the profile's doing."""
    file = bell.policy(pids=17, accept_missing=["cgroup"])
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[0] > 40)"
    words = ["-c", code, "--lang", "python"]
    assert bell.run("--policy", file, *words, policy=False).out == "False\n"
    shown = json.loads(command("policy", "show", "--json", "--policy", str(file), "--profile", "agent"))
    assert shown["fields"]["accept_missing"]["value"] == []
    assert shown["fields"]["accept_missing"]["origin"] == "profile agent"
    got = bell.run("--policy", file, "--profile", "agent", *words, policy=False)
    if bell.cgroup:
        assert (got.out, got.layer("cgroup")["state"]) == ("True\n", "proven"), got
    else:
        assert (got.outcome, got.status, got.json["error"]["layer"]) == ("refused", 125, "cgroup"), got
        assert "profile `agent`, which was asked for" in got.hint, got
        other = bell.run("--policy", bell.policy(), "--profile", "agent", *words, policy=False)
        assert "profile `agent`" in other.hint
        plain = bell.run("--policy", bell.file("none.json", "{}"), *words, policy=False)
        assert plain.outcome == "refused" and "profile" not in plain.hint, plain
    # A profile of the file's own leaves the rest of the file in force.
    file = bell.file("own.json", json.dumps({"accept_missing": ["cgroup"], "profiles": {"p": {"pids": 17}}}))
    got = bell.run("--policy", file, "--profile", "p", *words, policy=False)
    assert got.out == "False\n", got


# ---- what a host refuses -------------------------------------------------------------------------

# Numbers of calls; one that nothing needs is the control.
CALLS = {"x86_64": {"memfd_create": 319, "signalfd4": 289, "acct": 163},
         "aarch64": {"memfd_create": 279, "signalfd4": 74, "acct": 89}}


def refusing(call_name):
    """A preexec_fn: a filter that refuses this one call with EPERM, as a container's might."""
    number = CALLS[platform.machine()][call_name]
    program = b"".join(struct.pack("HBBI", *op) for op in (
        (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)

    def load():
        if os.geteuid() != 0 and libc.prctl(38, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        if libc.prctl(22, 2, filter_, 0, 0) != 0 or not buffer.raw:
            raise OSError(ctypes.get_errno(), "seccomp")
    return load


@pytest.mark.parametrize("name", ["memfd_create", "signalfd4"])
def test_a_refused_call_of_set_up_is_named_with_its_reason_and_mend(bell, name):
    words = ["-c", "print(1)", "--lang", "python"]
    got = bell.run(*words, preexec_fn=refusing("acct"))
    assert got.out == "1\n", got
    status, out, err = bell.raw(*words, preexec_fn=refusing(name))
    assert (status, out) == (125, b"") and err.count(b"\n") == 1, err
    assert b": Operation not permitted. " in err, err
    assert b"around Belljar" in err and b"try again" not in err, err
    got = bell.run(*words, preexec_fn=refusing(name))
    assert got.status == 125 and not got.started and "around Belljar" in got.hint, got
