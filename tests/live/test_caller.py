# SPDX-License-Identifier: Apache-2.0
"""bj_run() from C programs that are odd callers, linked as the installed pkg-config file says."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

import harness

attack = pytest.mark.attack

WAYS = ["threads", "closed-stdio", "ignored-sigchld", "reaping-handler", "umask", "blocked-signals",
        "limits", "many-descriptors", "leaks", "output", "reuse", "errors", "thread-that-ends"]


def pkg_config(*words):
    paths = [str(p) for p in harness.STAGE.glob("lib*/**/pkgconfig")]
    env = {**os.environ, "PKG_CONFIG_PATH": ":".join(paths)}
    return subprocess.run(["pkg-config", *words, "libbelljar"], env=env, check=True,
                          stdout=subprocess.PIPE).stdout.decode().split()


@pytest.fixture(scope="module")
def callers():
    """The same program linked with the shared library and with the static one."""
    place = harness.temporary_dir()
    source = str(harness.HERE / "caller.c")
    libraries = pkg_config("--variable=libdir")[0]
    built = {}
    for kind in ("shared", "static"):
        built[kind] = place / kind
        link = pkg_config("--libs") + [f"-Wl,-rpath,{libraries}"]
        if kind == "static":
            link = [word if word != "-lbelljar" else "-l:libbelljar.a"
                    for word in pkg_config("--libs", "--static")]
        subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", source,
                        *pkg_config("--cflags"), *link, "-pthread", "-o", str(built[kind])], check=True)
    yield built
    shutil.rmtree(place)


@attack("K04", "K05", "J09")
@pytest.mark.parametrize("way", WAYS)
def test_an_odd_caller(bell, callers, way):
    words = [str(harness.NO_CGROUP)] if not bell.cgroup else []
    for kind in ("shared",) if way != "threads" else ("shared", "static"):
        got = subprocess.run([*bell.prefix(), str(callers[kind]), way, *words], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=harness.clean_env(), cwd=bell.place,
                             timeout=harness.PATIENCE)
        assert (got.returncode, got.stdout, got.stderr) == (0, b"", b"ok\n"), got


def test_the_installed_header_works_alone_in_c_and_cpp():
    code = "#include <belljar/belljar.h>\nint main(void) { return bj_version() ? 0 : 1; }\n"
    for compiler, language in (("cc", "c"), ("c++", "c++"), ("clang-14", "c")):
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        subprocess.run([compiler, "-x", language, "-", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                        "-pedantic", *pkg_config("--cflags")], input=code.encode(), check=True)


def test_only_public_names_are_exported():
    (library,) = list(harness.STAGE.glob("lib*/**/libbelljar.so"))
    names = subprocess.run(["nm", "-D", "--defined-only", str(library)], stdout=subprocess.PIPE,
                           check=True).stdout.decode().split("\n")
    exported = {line.split()[-1] for line in names if line}
    assert exported and all(name.startswith("bj_") for name in exported), exported


def test_python_calls_the_shared_library_from_threads(bell):
    """A caller with an interpreter lock, a garbage collector and threads of its own."""
    libraries = pkg_config("--variable=libdir")[0]
    code = f"""
import ctypes, threading, sys
lib = ctypes.CDLL("{libraries}/libbelljar.so")
lib.bj_request_new.restype = ctypes.c_void_p
for name in ("bj_result_json", "bj_version"): getattr(lib, name).restype = ctypes.c_char_p
def run(n):
    req = ctypes.c_void_p(lib.bj_request_new())
    if {not bell.cgroup}: assert lib.bj_request_policy_file(req, b"{harness.NO_CGROUP}", None) == 0
    argv = (ctypes.c_char_p * 4)(b"/bin/sh", b"-c", b"exit %d" % n, None)
    assert lib.bj_request_program(req, argv, None) == 0
    res = ctypes.c_void_p()
    assert lib.bj_run(req, -1, ctypes.byref(res), None) == 0
    codes.append(lib.bj_result_exit_code(res))
    lib.bj_result_free(res); lib.bj_request_free(req)
codes = []
threads = [threading.Thread(target=run, args=(n,)) for n in range(10)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(codes) == list(range(10)))
"""
    got = subprocess.run([*bell.prefix(), sys.executable, "-c", code], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=harness.clean_env(), cwd=bell.place,
                         timeout=harness.PATIENCE)
    assert got.stdout == b"True\n", got


@pytest.mark.parametrize("limit", [8, 12, 16, 20])
def test_too_few_descriptors_are_said_and_no_killer_is_blamed(bell, limit):
    got = bell.run("--", "/bin/echo", "ran", before=["prlimit", f"--nofile={limit}:{limit}", "--"])
    assert not got.started and got.status == 125, got
    assert "Too many open files" in got.error["message"] and "OOM" not in got.hint, got
    assert "ulimit -n" in got.hint and "installed" not in got.hint, got
    enough = bell.run("--", "/bin/echo", "ran", before=["prlimit", "--nofile=64:64", "--"])
    assert enough.out == "ran\n"


@pytest.mark.parametrize("words", [["run", "--json", "--", "/bin/true"], ["layers"], ["layers", "--json"],
                                   ["policy", "show"]], ids=" ".join)
def test_what_stdout_refuses_is_said_and_a_reader_that_left_is_not(bell, words):
    if words[0] == "run" and not bell.cgroup:
        words = ["run", "--policy", harness.NO_CGROUP, *words[1:]]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe, open("/dev/full", "wb") as full:
        for stdout, status, said in ((pipe, 141, b""), (full, 125, b"belljar: failed: No space left on device\n"),
                                     (subprocess.DEVNULL, 0, b"")):
            got = subprocess.run([*bell.prefix(), harness.BELLJAR, *words], stdout=stdout,
                                 stderr=subprocess.PIPE, env=harness.clean_env(), cwd=bell.place,
                                 timeout=harness.PATIENCE, check=False)
            assert (got.returncode, got.stderr) == (status, said), got


def test_a_line_is_one_write(bell):
    """Whoever else writes to the same log: a socket that keeps writes apart sees them."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, its:
        process = bell.start("--receipt", "--", "/bin/sh", "-c", "exit 3", json_=False, stderr=its)
        process.communicate(timeout=harness.PATIENCE)
        its.close()
        writes = list(iter(lambda: mine.recv(1 << 16), b""))
    assert process.returncode == 3 and len(writes) > 20
    assert all(write.endswith(b"\n") for write in writes), writes
