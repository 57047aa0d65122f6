# SPDX-License-Identifier: Apache-2.0
"""What people expect to work inside does work."""

import shutil

import pytest

import harness

ROOMY = ["--time", "60s", "--cpu-time", "60s", "--cpus", "2", "--memory", "512m"]

PYTHON = {
    "threads": "import threading; r = []\n"
               "t = [threading.Thread(target=r.append, args=(i,)) for i in range(8)]\n"
               "[x.start() for x in t]; [x.join() for x in t]; print(sum(r))",
    "thread pool": "from concurrent.futures import ThreadPoolExecutor as P\n"
                   "with P(4) as p: print(sum(p.map(int, range(8))))",
    "asyncio": "import asyncio\n"
               "async def f(i): await asyncio.sleep(0.001); return i\n"
               "async def main(): print(sum(await asyncio.gather(*map(f, range(8)))))\n"
               "asyncio.run(main())",
    "asyncio subprocess": "import asyncio\n"
                          "async def main():\n"
                          "    p = await asyncio.create_subprocess_exec('echo', '28', stdout=-1)\n"
                          "    print((await p.communicate())[0].decode().strip())\n"
                          "asyncio.run(main())",
    "multiprocessing fork": "import multiprocessing as m\n"
                            "if __name__ == '__main__':\n"
                            "    with m.get_context('fork').Pool(2) as p: print(sum(p.map(int, range(8))))",
    "multiprocessing spawn": "import multiprocessing as m\n"
                             "if __name__ == '__main__':\n"
                             "    with m.get_context('spawn').Pool(2) as p: print(sum(p.map(int, range(8))))",
    "shared memory": "from multiprocessing import shared_memory as s\n"
                     "a = s.SharedMemory(create=True, size=64); a.buf[0] = 28\n"
                     "b = s.SharedMemory(a.name); print(b.buf[0]); b.close(); a.close(); a.unlink()",
    "semaphores": "import multiprocessing as m\n"
                  "q = m.Queue(); p = m.Process(target=q.put, args=(28,)); p.start()\n"
                  "print(q.get()); p.join()",
    "process pool": "from concurrent.futures import ProcessPoolExecutor as P\n"
                    "if __name__ == '__main__':\n"
                    "    with P(2) as p: print(sum(p.map(int, range(8))))",
    "subprocess": "import subprocess\n"
                  "print(subprocess.run('echo 1 | cat; exit 27', shell=True, stdout=-1).returncode + 1)",
    "own session": "import subprocess, os\n"
                   "p = subprocess.run(['sh', '-c', 'echo 28'], start_new_session=True, stdout=-1)\n"
                   "print(p.stdout.decode().strip())",
    "pipes": "import os\n"
             "r, w = os.pipe(); os.write(w, b'28'); print(os.read(r, 9).decode())",
    "sqlite": "import sqlite3\n"
              "c = sqlite3.connect('a.db'); c.execute('pragma journal_mode=wal')\n"
              "c.execute('create table t(x)'); c.execute('insert into t values (28)'); c.commit()\n"
              "print(c.execute('select x from t').fetchone()[0])",
    "tempfile": "import tempfile\n"
                "with tempfile.NamedTemporaryFile() as f: f.write(b'28'); f.flush(); print(open(f.name).read())",
    "home": "import os, pathlib\n"
            "p = pathlib.Path.home() / '.config'; p.mkdir(parents=True); (p / 'x').write_text('28')\n"
            "print((p / 'x').read_text())",
    "localhost": "import socket, threading\n"
                 "s = socket.create_server(('localhost', 0))\n"
                 "threading.Thread(target=lambda: s.accept()[0].sendall(b'28')).start()\n"
                 "print(socket.create_connection(('localhost', s.getsockname()[1])).recv(9).decode())",
    "localhost on ipv6": "import socket, threading\n"
                         "s = socket.create_server(('::1', 0), family=socket.AF_INET6)\n"
                         "threading.Thread(target=lambda: s.accept()[0].sendall(b'28')).start()\n"
                         "print(socket.create_connection(('::1', s.getsockname()[1])).recv(9).decode())",
    "http server": "import http.server, threading, urllib.request\n"
                   "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
                   "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
                   "open('x', 'w').write('28')\n"
                   "print(urllib.request.urlopen(f'http://127.0.0.1:{s.server_port}/x').read().decode())",
    "unix sockets": "import socket\n"
                    "a, b = socket.socketpair(); a.sendall(b'28'); print(b.recv(9).decode())",
    "who am i": "import getpass, os, pwd\n"
                "assert getpass.getuser() == 'program' and pwd.getpwuid(os.getuid()).pw_name == 'program'\n"
                "print(28)",
    "locale": "import locale, sys\n"
              "locale.setlocale(locale.LC_ALL, ''); assert sys.stdout.encoding.lower() == 'utf-8'\n"
              "assert len('é€😀'.encode()) == 9; print('28')",
    "time zone": "import time, datetime, zoneinfo, os\n"
                 "t = datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))\n"
                 "assert t.utcoffset().seconds == 7200; os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()\n"
                 "assert time.timezone == -9 * 3600; print(28)",
    "random numbers": "import os, secrets, random, uuid\n"
                      "assert len({secrets.token_hex(8), uuid.uuid4().hex, os.urandom(9)}) == 3; print(28)",
    "signals": "import signal, os\n"
               "signal.signal(signal.SIGUSR1, lambda *a: print(28)); os.kill(os.getpid(), signal.SIGUSR1)",
    "alarms": "import signal\n"
              "signal.signal(signal.SIGALRM, lambda *a: print(28)); signal.setitimer(0, 0.01); signal.pause()",
    "proc": "import os, re\n"
            "s = open('/proc/self/status').read(); assert re.search(r'^Pid:\\s+%d$' % os.getpid(), s, re.M)\n"
            "open('/proc/self/comm', 'w').write('renamed'); os.readlink('/proc/self/exe')\n"
            "assert os.listdir('/proc/self/fd') and open('/proc/self/maps').read(); print(28)",
    "ssl": "import ssl, os\n"
           "print(28 if ssl.create_default_context().cert_store_stats()['x509_ca'] > 10 else 0)",
    "mmap": "import mmap\n"
            "m = mmap.mmap(-1, 4096); m[0:2] = b'28'; print(m[0:2].decode())",
    "memfd": "import os\n"
             "fd = os.memfd_create('x'); os.write(fd, b'28'); print(os.pread(fd, 9, 0).decode())",
    "big stack": "import threading\n"
                 "threading.stack_size(16 << 20)\n"
                 "t = threading.Thread(target=print, args=(28,)); t.start(); t.join()",
    "traceback": "import traceback\n"
                 "try: 1 / 0\n"
                 "except ZeroDivisionError: traceback.print_exc()\n"
                 "print(28)",
    "copying trees": "import shutil, os\n"
                     "os.mkdir('a'); open('a/x', 'w').write('28'); shutil.copytree('a', 'b')\n"
                     "shutil.move('b', 'c'); print(open('c/x').read()); shutil.rmtree('c')",
    "archives": "import tarfile, zipfile\n"
                "open('x', 'w').write('28')\n"
                "tarfile.open('x.tgz', 'w:gz').add('x'); zipfile.ZipFile('x.zip', 'w').write('x')\n"
                "print(zipfile.ZipFile('x.zip').read('x').decode())",
    "inotify": "import ctypes\n"
               "print(28 if ctypes.CDLL(None).inotify_init1(0) >= 0 else 0)",
    "standard input": "import sys\nprint(28 if sys.stdin.read() == '' else 0)",
}


@pytest.mark.parametrize("what", sorted(PYTHON))
def test_python(bell, what):
    got = bell.python(PYTHON[what], *ROOMY)
    assert got.out.strip().splitlines()[-1:] == ["28"] and got.exit_code == 0, got


def test_python_with_the_default_limits(bell):
    got = bell.python("import json, re, csv, math, statistics, decimal, datetime\nprint(6 * 7)")
    assert (got.out, got.exit_code, got.err) == ("42\n", 0, "")


needs = {name: pytest.mark.skipif(not shutil.which(name, path="/usr/bin:/bin"),
                                  reason=f"{name} is not installed")
         for name in ("node", "git", "gcc", "g++", "ps", "free", "perl")}


@needs["node"]
@pytest.mark.parametrize("code", [
    "console.log(6 * 7)",
    "require('child_process').execFile('echo', ['42'], (e, out) => process.stdout.write(out))",
    "const {Worker} = require('worker_threads');"
    "new Worker('require(\"worker_threads\").parentPort.postMessage(42)', {eval: true})"
    ".on('message', m => console.log(m))",
    "const fs = require('fs'); fs.writeFileSync('x', '42'); fs.promises.readFile('x')"
    ".then(b => console.log(b.toString()))",
    "const s = require('net').createServer(c => c.end('42\\n')).listen(0, '127.0.0.1', () => "
    "require('net').connect(s.address().port).on('data', d => {process.stdout.write(d); s.close()}))",
    "console.log(require('crypto').createHash('sha256').update('x').digest().length + 10)",
    "setTimeout(() => console.log(42), 5)",
    "const c = require('child_process').fork('/workspace/.belljar/main.js', ['child']);"
    "if (process.argv[2] === 'child') process.exit(42); else c.on('exit', n => console.log(n))"
    .replace("const c = require", "const c = process.argv[2] === 'child' ? null : require"),
])
def test_javascript(bell, code):
    got = bell.run(*ROOMY, "-c", code, "--lang", "javascript")
    assert (got.out, got.exit_code) == ("42\n", 0), got


@needs["node"]
def test_javascript_with_the_default_limits(bell):
    got = bell.run("-c", "console.log(6 * 7)", "--lang", "javascript")
    assert (got.out, got.exit_code) == ("42\n", 0), got


@needs["gcc"]
@pytest.mark.parametrize("limits", [[], ROOMY], ids=["default", "roomy"])
def test_c(bell, limits):
    source = bell.file("a.c", "#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\n"
                       "static void *f(void *x) { return x; }\n"
                       "int main(int c, char **v) { pthread_t t; pthread_create(&t, 0, f, 0);\n"
                       "pthread_join(t, 0); printf(\"%d %s\\n\", (int)sqrt(1764), v[c - 1]);"
                       " return 3; }\n")
    got = bell.run(*limits, source, "arg")
    assert (got.out, got.exit_code) == ("42 arg\n", 3), got


@needs["g++"]
def test_cpp(bell):
    source = bell.file("a.cpp", "#include <iostream>\n#include <vector>\n#include <thread>\n"
                       "int main() { std::vector<int> v{40, 2}; int s = 0;\n"
                       "std::thread t([&] { for (int i : v) s += i; }); t.join();\n"
                       "std::cout << s << std::endl; }\n")
    got = bell.run(*ROOMY, source)
    assert (got.out, got.exit_code) == ("42\n", 0), got


@needs["gcc"]
def test_a_compilers_message_is_kept(bell):
    got = bell.run(*ROOMY, "-c", "int main(void) { return x; }", "--lang", "c")
    assert got.exit_code not in (0, None) and "undeclared" in got.err


def test_bash(bell):
    got = bell.run("-c", "set -euo pipefail\na=(1 2 3)\nfor i in \"${a[@]}\"; do echo $((i * 2)); "
                   "done | tail -1\ncat <<< here\ndiff <(echo a) <(echo a) && echo same; "
                   "exec 3<>/dev/shm/x; sleep 0.01 & wait", "--lang", "bash")
    assert got.out == "6\nhere\nsame\n" and got.exit_code == 0, got


@needs["perl"]
def test_a_script_by_its_first_line(bell):
    script = bell.file("script", "#!/usr/bin/perl -w\nprint 6 * 7, \"@ARGV\\n\";\n", 0o755)
    assert bell.run(script, "x").out == "42x\n"
    script = bell.file("env", "#!/usr/bin/env python3\nimport sys; print(sys.argv[1])\n", 0o755)
    assert bell.run(script, "y").out == "y\n"


@needs["git"]
def test_git_in_the_workspace(bell):
    got = bell.run(*ROOMY, "-c", "git init -q . && git config user.email a@b && "
                   "git config user.name n && echo x > f && git add f && git commit -qm one && "
                   "git checkout -qb two && git log --oneline | wc -l && git clone -q . /tmp/c && "
                   "cat /tmp/c/f && git gc -q", "--lang", "bash")
    assert got.out == "1\nx\n" and got.exit_code == 0, got


@needs["ps"]
def test_ps_and_top(bell):
    got = bell.run("--", "/bin/sh", "-c", "ps -ef | wc -l; ps aux >/dev/null && top -bn1 >/dev/null "
                   "&& uptime >/dev/null && echo fine")
    lines = got.out.splitlines()
    assert lines[-1] == "fine" and 2 < int(lines[0]) < 7, got


@needs["free"]
def test_free_nproc_and_df(bell):
    got = bell.run("--memory", "256m", "--", "/bin/sh", "-c", "free -m | awk '/Mem/ {print $2}'; nproc; "
                   "getconf _NPROCESSORS_ONLN; df -m /workspace | awk 'END {print $2}'; cat /proc/loadavg "
                   "/proc/uptime /proc/stat /proc/cpuinfo /proc/meminfo >/dev/null && echo fine")
    assert got.out.split() == ["256", "1", "1", "64", "fine"], got
    got = bell.run("--cpus", "2", "--", "/bin/sh", "-c", "nproc; getconf _NPROCESSORS_ONLN")
    assert got.out.split() == ["2", "2"], got


@pytest.mark.parametrize("command", [
    "ls -la / /workspace /tmp ~ >/dev/null", "date && date -u", "cp -a /usr/bin/env . && ./env true",
    "find /usr/share -maxdepth 1 >/dev/null", "sort /etc/passwd | uniq -c", "mktemp && mktemp -d",
    "head -c 100 /dev/urandom | sha256sum", "echo x | tee a b", "mkfifo p; echo x > p & cat p",
    "tar czf a.tgz /etc/passwd && tar tzf a.tgz", "sed -i s/a/b/ a 2>/dev/null || echo a > a && sed -i s/a/b/ a",
    "awk 'BEGIN {print 1}'", "xargs -P4 -n1 echo < /etc/group", "timeout 5 true", "nice -n 5 true",
    "id && whoami && groups", "hostname", "uname -a", "which python3", "env", "stat /workspace",
    "getent passwd program", "getent hosts localhost", "test -w . && test -w /tmp && test -w ~",
    "touch -d yesterday f && chmod 600 f && chown 1000:1000 f", "ln -s a b && readlink b",
    "dd if=/dev/zero of=z bs=1M count=4 2>&1", "script=1; trap 'echo bye' EXIT", "tty; test $? = 1",
    "ulimit -a", "locale", "less --version", "openssl version || true", "setsid true", "nohup true",
    "flock /tmp/lock true", "command -v sh", "sleep 0.01", "python3 -m venv --without-pip v && v/bin/python -c ''",
])
def test_a_shell_command(first_bell, command):
    got = first_bell.run(*ROOMY, "--", "/bin/bash", "-c", command)
    assert (got.outcome, got.exit_code) == ("exited", 0), got


def test_the_working_directory_and_arguments(bell):
    got = bell.run("--", "/bin/sh", "-c", "pwd; echo $0 $1; echo $HOME; echo $PATH; umask", "a", "b c")
    lines = got.out.splitlines()
    assert lines[0] == "/workspace" and lines[1] == "a b c" and lines[2].startswith("/")
    assert "/usr/bin" in lines[3].split(":") and lines[4] == "0022"


def test_a_program_is_found_by_the_path_inside(bell):
    assert bell.run("--", "echo", "found").out == "found\n"
    got = bell.run("--env", "PATH=/workspace:/usr/bin", "--in", f"{bell.inside_binary}:mine", "--",
                   "mine", "exit", "4")
    assert got.exit_code == 4


def test_text_in_any_script_arrives(bell):
    text = "日本語 עברית ไทย 😀 ñ"
    assert bell.python(f"print({text!r})").out == text + "\n"
    assert bell.run("--", "/bin/echo", text).out == text + "\n"
    assert bell.run("--env", f"T={text}", "--", "/bin/sh", "-c", "echo $T").out == text + "\n"


def test_two_programs_talk_by_a_named_pipe_and_shared_files(bell):
    got = bell.run("--", "/bin/bash", "-c", "mkfifo p; (for i in 1 2 3; do echo $i; done > p) & "
                   "cat p > out; wait; cat out | tr '\\n' ' '")
    assert got.out == "1 2 3 "


def test_harness_knows_its_modes():
    assert set(harness.modes_of_this_host()) <= set(harness.MODES)
