#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What programs that a model writes do, as small programs: found the seccomp rules (through
tools/trace_syscalls.py), and run here under the filter.

    workloads.py RUNNER        each workload under RUNNER, which loads the filter and execs; TAP
    workloads.py --list        their names

A workload is (name, programs it needs, shell text); it runs in a directory of its own and must
exit 0 and print nothing on stderr that says it was refused something.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

PYTHON = os.environ.get("WORKLOAD_PYTHON", "/usr/bin/python3")


def python(text):
    return f"{PYTHON} - <<'END'\n{text}\nEND"


def node(text):
    return f"cat > w.js <<'END'\n{text}\nEND\nnode w.js"


PYTHON_THREADS = """
import threading, queue, concurrent.futures, signal, time, os
q = queue.Queue()
ts = [threading.Thread(target=lambda i=i: q.put(i)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
assert sorted(q.get() for _ in ts) == list(range(8))
with concurrent.futures.ThreadPoolExecutor(4) as p:
    assert sum(p.map(abs, range(-9, 1))) == 45
hit = []
signal.signal(signal.SIGALRM, lambda *a: hit.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
assert hit
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
os.kill(os.getpid(), signal.SIGUSR1)
assert signal.sigtimedwait({signal.SIGUSR1}, 1).si_signo == signal.SIGUSR1
threading.Timer(0.01, hit.clear).start(); time.sleep(0.05)
"""

PYTHON_ASYNCIO = """
import asyncio, socket
async def echo(r, w):
    w.write((await r.readline()).upper()); await w.drain(); w.close()
async def main():
    for start, connect in (
        (lambda: asyncio.start_server(echo, '127.0.0.1', 0), None),
        (lambda: asyncio.start_server(echo, '::1', 0) if socket.has_ipv6 else None, None)):
        try:
            server = await start()
        except OSError as e:
            import errno
            assert e.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT), e   # no ::1 here
            continue
        host, port = server.sockets[0].getsockname()[:2]
        r, w = await asyncio.open_connection(host, port)
        w.write(b'hi\\n'); assert await r.readline() == b'HI\\n'
        w.close(); server.close()
    server = await asyncio.start_unix_server(echo, 's.sock')
    r, w = await asyncio.open_unix_connection('s.sock')
    w.write(b'hi\\n'); assert await r.readline() == b'HI\\n'
    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    out, _ = await p.communicate(b'x'); assert out == b'x'
    await asyncio.wait_for(asyncio.to_thread(sum, [1, 2]), 5)
asyncio.run(main())
a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
socket.getaddrinfo('localhost', 80)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))
u.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
u.sendto(b'x', u.getsockname()); assert u.recvfrom(9)[0] == b'x'
"""

PYTHON_MULTIPROCESSING = """
import multiprocessing as mp, sys
from multiprocessing import shared_memory
open('w.py', 'w').write('''
import multiprocessing as mp
from multiprocessing import shared_memory
def square(x): return x * x
def put(q, n): q.put(n)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        c = mp.get_context(method)
        with c.Pool(2) as p: assert p.map(square, range(5)) == [0, 1, 4, 9, 16]
        q = c.Queue(); p = c.Process(target=put, args=(q, 7)); p.start()
        assert q.get() == 7; p.join(); assert p.exitcode == 0
    m = shared_memory.SharedMemory(create=True, size=4096); m.buf[0] = 1; m.close(); m.unlink()
    with mp.Manager() as m: assert dict(m.dict(a=1)) == {"a": 1}
    l = mp.Lock(); l.acquire(); l.release()
''')
import subprocess
subprocess.run([sys.executable, 'w.py'], check=True)
"""

PYTHON_FILES = """
import os, shutil, tempfile, mmap, fcntl, select, stat, pathlib, zipfile, tarfile, sqlite3, ssl
import subprocess, pty, resource, time, json, random, hashlib, glob
d = tempfile.mkdtemp(); p = pathlib.Path(d)
(p/'a').write_text('x' * 100000); shutil.copy2(p/'a', p/'b'); shutil.copyfile(p/'a', p/'c')
os.link(p/'a', p/'l'); os.symlink('a', p/'s'); os.rename(p/'c', p/'e'); os.replace(p/'e', p/'f')
os.mkfifo(p/'fifo'); os.chmod(p/'a', 0o600); os.utime(p/'a', (1, 2)); os.truncate(p/'b', 10)
with open(p/'a', 'r+b') as f:
    m = mmap.mmap(f.fileno(), 0); m[0] = 65; m.flush(); m.close()
    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); os.fsync(f.fileno())
    os.posix_fallocate(f.fileno(), 0, 200000); os.sendfile(os.open(p/'g', os.O_CREAT | os.O_RDWR), f.fileno(), 0, 10)
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
os.sync()
shutil.copytree(p, p.parent/(p.name + '2'), ignore=lambda *a: ['fifo']); shutil.disk_usage(d)
with zipfile.ZipFile(p/'z.zip', 'w') as z: z.write(p/'a')
with tarfile.open(p/'t.tgz', 'w:gz') as t: t.add(p/'a')
tarfile.open(p/'t.tgz').extractall(p/'x')
for s in ('os.eventfd(1)', 'os.memfd_create("m")', 'os.pidfd_open(os.getpid())',
          'os.getxattr(p/"a", "user.x")', 'os.copy_file_range(os.open(p/"a", 0), os.open(p/"b", 2), 5)'):
    try: eval(s)
    except (AttributeError, OSError) as e:
        import errno
        assert getattr(e, 'errno', errno.ENODATA) in (errno.ENODATA, errno.EOPNOTSUPP), (s, e)
r, w = os.pipe(); os.set_blocking(r, False); select.select([r], [w], [], 0)
e = select.epoll(); e.register(w, select.EPOLLOUT); assert e.poll(1)
c = sqlite3.connect(p/'db'); c.execute('pragma journal_mode=wal')
c.execute('create table t(x)'); c.executemany('insert into t values(?)', [(i,) for i in range(100)])
c.commit(); assert c.execute('select sum(x) from t').fetchone() == (4950,); c.close()
ssl.create_default_context()
assert subprocess.run('echo hi | tr a-z A-Z', shell=True, capture_output=True).stdout == b'HI\\n'
subprocess.run(['true'], start_new_session=True, check=True, close_fds=True)
subprocess.run(['true'], preexec_fn=os.setsid, check=True); os.posix_spawn('/bin/true', ['true'], {})
resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.nice(1); os.sched_getaffinity(0); os.sched_setaffinity(0, os.sched_getaffinity(0)); os.getloadavg()
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)); os.getpriority(0, 0)
os.getrandom(8); os.urandom(8); os.uname(); os.cpu_count(); os.getgroups(); os.getpgid(0)
os.statvfs(d); os.umask(0o22); os.times(); time.get_clock_info('monotonic'); time.process_time()
[s.stat() for s in os.scandir('/proc/self')]; os.readlink('/proc/self/exe'); os.isatty(0)
glob.glob('/usr/lib/*'); hashlib.sha256(b'x').hexdigest(); os.waitstatus_to_exitcode(0)
shutil.rmtree(d); shutil.rmtree(d + '2')
"""

PYTHON_SSL = """
import ssl, socket, threading, subprocess, http.server, urllib.request
subprocess.run('openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 '
               '-subj /CN=localhost -addext subjectAltName=DNS:localhost', shell=True, check=True,
               capture_output=True)
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
s.RequestHandlerClass.log_message = lambda *a: None
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain('c.pem', 'k.pem')
s.socket = c.wrap_socket(s.socket, server_side=True)
threading.Thread(target=s.serve_forever, daemon=True).start()
x = ssl.create_default_context(cafile='c.pem')
u = urllib.request.urlopen(f'https://localhost:{s.server_port}/c.pem', context=x)
assert b'CERTIFICATE' in u.read(); s.shutdown()
"""

PYTHON_DATA = """
import os
os.environ['MPLCONFIGDIR'] = os.getcwd()
import numpy as np, pandas as pd, matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
a = np.random.rand(400, 400); np.linalg.inv(a @ a.T + np.eye(400))
f = pd.DataFrame({'x': range(1000), 'y': np.random.rand(1000)}); f.to_csv('f.csv')
g = pd.read_csv('f.csv').groupby(lambda i: i % 3).sum()
plt.plot(g['y']); plt.savefig('p.svg'); plt.savefig('p.png')
np.save('a.npy', a); assert np.load('a.npy', mmap_mode='r')[3, 3] == a[3, 3]
"""

NODE = """
const {execSync, spawn, spawnSync, fork} = require('child_process');
const {Worker, isMainThread} = require('worker_threads');
const fs = require('fs'), http = require('http'), os = require('os'), net = require('net');
const crypto = require('crypto'), zlib = require('zlib'), dns = require('dns');
if (process.argv[2] === 'child') { process.send('up'); process.disconnect(); return; }
(async () => {
  if (execSync('echo hi').toString() !== 'hi\\n') throw 1;
  if (spawnSync('cat', {input: 'x'}).stdout.toString() !== 'x') throw 2;
  await new Promise(r => fork(__filename, ['child']).on('message', r));
  await new Promise(r => new Worker('require("worker_threads").parentPort.postMessage(1)',
                                    {eval: true}).on('message', r));
  const w = fs.watch('.', () => {}); fs.writeFileSync('a', 'x'.repeat(1e6)); w.close();
  fs.copyFileSync('a', 'b'); fs.renameSync('b', 'c'); fs.mkdirSync('d/e', {recursive: true});
  fs.cpSync('d', 'f', {recursive: true}); fs.rmSync('d', {recursive: true});
  await fs.promises.readFile('a'); fs.realpathSync('.'); fs.mkdtempSync('t'); fs.statfsSync('.');
  const s = http.createServer((q, a) => a.end('ok')).listen(0, '127.0.0.1');
  await new Promise(r => s.on('listening', r));
  const body = await (await fetch('http://127.0.0.1:' + s.address().port)).text();
  if (body !== 'ok') throw 3;
  s.close(); s.closeAllConnections();
  const u = net.createServer(c => c.end()).listen('u.sock');
  await new Promise(r => net.connect('u.sock').on('close', r).resume()); u.close();
  os.cpus(); os.networkInterfaces(); os.userInfo(); os.freemem(); os.setPriority(1);
  crypto.generateKeyPairSync('ec', {namedCurve: 'P-256'}); zlib.gzipSync('x');
  await new Promise(r => dns.lookup('localhost', r));
  await new Promise(r => setTimeout(r, 5)); process.exit(0);
})().catch(e => { console.error(e); process.exit(1); });
"""

WORKLOADS = [
    ("python threads", [PYTHON], python(PYTHON_THREADS)),
    ("python asyncio", [PYTHON], python(PYTHON_ASYNCIO)),
    ("python multiprocessing", [PYTHON], python(PYTHON_MULTIPROCESSING)),
    ("python files and subprocess", [PYTHON], python(PYTHON_FILES)),
    ("python tls on localhost", [PYTHON, "openssl"], python(PYTHON_SSL)),
    ("python numpy pandas matplotlib", [PYTHON, "+numpy,pandas,matplotlib"], python(PYTHON_DATA)),
    ("python psutil", [PYTHON, "+psutil"], python(
        "import psutil as p; p.virtual_memory(); p.cpu_percent(0.01); p.net_if_addrs();"
        "p.net_if_stats(); p.Process().open_files(); p.Process().ionice(); p.Process().nice();"
        "p.disk_usage('/'); [q.name() for q in p.process_iter()]; p.Process().cpu_affinity()")),
    ("python venv and pip", [PYTHON], f"{PYTHON} -m venv v && v/bin/pip list >/dev/null"),
    ("node", ["node"], node(NODE)),
    ("npm", ["npm"], "npm init -y >/dev/null && npm ls >/dev/null"),
    ("bash", ["bash"], """bash -ec 'set -o pipefail; for i in 1 2 3; do echo $i; done | sort -rn | head -2 >o
        sleep 0.01 & wait $!; x=$(cat <(echo sub)); [ "$x" = sub ]; mkfifo p; echo hi >p & read y <p; [ $y = hi ]
        trap "echo t >>o" EXIT; ulimit -c 0; ulimit -a >/dev/null; umask 022; cat <<<here >/dev/null
        exec 3<>o; kill -0 $$; set -m; sleep 0.01 & jobs >/dev/null; wait; time true' 2>/dev/null"""),
    ("coreutils", ["cp"], """set -e; echo hi >a; cp a b; cp -a a c; cp --reflink=auto a d; mv d e; ln a f; ln -s a g
        ls -la --color=auto . /usr >/dev/null; stat a >/dev/null; touch -d yesterday a; chmod 600 a; chown $(id -u) a
        dd if=/dev/zero of=z bs=64k count=4 2>/dev/null; truncate -s 1M s; shred -u s; du -sh . >/dev/null
        df -h . >/dev/null; install -m 755 a i; mktemp >/dev/null; sort -S 1M --parallel=2 z >/dev/null; wc z >/dev/null
        sha256sum z >/dev/null; split -b 64k z; cat x* | cmp - z; tail -c 1 z | od >/dev/null; tac a >/dev/null
        timeout 5 true; nice true; nohup true >/dev/null 2>&1; env true; date >/dev/null; uname -a >/dev/null
        nproc >/dev/null; id >/dev/null 2>&1; tee t <a >/dev/null; sync; rm -rf x*; mkdir -p q/r; rmdir q/r
        yes | head -1000 >/dev/null; seq 1000 | shuf >/dev/null; stdbuf -oL true; stty -a >/dev/null 2>&1 || true
        realpath a >/dev/null; mkfifo ff; sync a; readlink -f g >/dev/null; expr 1 + 1 >/dev/null; numfmt 1 >/dev/null"""),
    ("text tools", ["sed"], """set -e; echo hello >a; sed -i s/h/j/ a; grep -r jello . >/dev/null; awk '{print}' a >/dev/null
        diff a a; echo x | xargs -P 2 -n 1 echo >/dev/null; find / -maxdepth 2 -name u\\* >/dev/null 2>&1 || true
        find . -type f -exec true {} +; ps aux >/dev/null; free >/dev/null; (top -bn1 || true) >/dev/null 2>&1"""),
    ("archives", ["tar"], """set -e; mkdir d; cp -r /usr/include/asm-generic d/; tar czf t.tgz d; rm -r d; tar xzpf t.tgz
        tar cJf t.xz d; tar tf t.xz >/dev/null; gzip -k t.xz; gunzip -f t.xz.gz"""),
    ("gcc", ["gcc"], """set -e; echo '#include <stdio.h>
        #include <pthread.h>
        static void *f(void *p) { return p; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts("ok"); return 0; }' >a.c
        gcc -O2 -pipe -pthread a.c -o a; ./a >/dev/null; gcc -static -pthread a.c -o s; ./s >/dev/null
        gcc -c a.c; ar rcs liba.a a.o; gcc -shared -fPIC a.c -o a.so; strip a; objdump -d s >/dev/null; nm s >/dev/null
        printf 'all: b\\nb: a.c\\n\\tgcc a.c -o b\\n' >Makefile; make -j2 >/dev/null; gcc -flto=2 a.c -o l"""),
    ("g++", ["g++"], """set -e; echo '#include <thread>
        #include <filesystem>
        #include <fstream>
        #include <iostream>
        #include <future>
        int main() { std::thread t([]{}); t.join(); auto f = std::async(std::launch::async, []{ return 1; });
        std::ofstream("o") << f.get(); std::filesystem::copy_file("o", "p"); std::filesystem::remove_all("p");
        try { throw 1; } catch (int) {} std::cout << std::filesystem::file_size("o"); }' >a.cc
        g++ -std=c++17 -pthread a.cc -o a; ./a >/dev/null"""),
    ("clang", ["clang-14"], "echo 'int main(void){return 0;}' >a.c; clang-14 -O1 a.c -o a && ./a"),
    ("sanitizers", ["gcc"], """echo 'int main(void){return 0;}' >a.c; gcc -fsanitize=address,undefined a.c -o a &&
        ASAN_OPTIONS=detect_leaks=0 ./a"""),
    ("cmake", ["cmake", "gcc"], """set -e; printf 'cmake_minimum_required(VERSION 3.5)\\nproject(x C)\\nadd_executable(x x.c)\\n' >CMakeLists.txt
        echo 'int main(void){return 0;}' >x.c; cmake -B b >/dev/null; cmake --build b >/dev/null; b/x"""),
    ("git", ["git"], """set -e; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git init -q r; cd r; git config user.email a@b; git config user.name a
        for i in $(seq 20); do echo $i >f$i; done; git add .; git commit -qm one; echo 2 >f1; git commit -qam two; git log >/dev/null
        git diff HEAD~ >/dev/null; git branch b; git checkout -q b; git merge -q master 2>/dev/null || git merge -q main; git stash -q || true
        git gc -q; git status >/dev/null; cd ..; git clone -q r s; git clone -q --no-local r t; git -C s pull -q; git -C r fsck 2>/dev/null
        git -C s grep -n 2 >/dev/null; git -C s tag v1; git -C s archive HEAD | tar t >/dev/null; git -C s rebase -q HEAD~"""),
    ("sqlite3", ["sqlite3"], "sqlite3 d 'pragma journal_mode=wal; create table t(x); insert into t values(1); select * from t; vacuum' >/dev/null"),
    ("perl", ["perl"], """perl -MSocket -MIO::Socket -MFile::Temp -MPOSIX -e 'my $p=fork; if(!$p){exit 3} waitpid $p,0; die if $?>>8!=3;
        my $s=IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1") or die $!; my $t=File::Temp->new; flock $t,2 or die; print `echo hi` eq "hi\\n"?"":die;
        socketpair(my $a,my $b,AF_UNIX,SOCK_STREAM,PF_UNSPEC) or die; $SIG{ALRM}=sub{}; alarm 1; select undef,undef,undef,0.01'"""),
    ("curl", ["curl", PYTHON], python(
        "import http.server, threading, subprocess\n"
        "h = http.server.SimpleHTTPRequestHandler; h.log_message = lambda *a: None\n"
        "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), h)\n"
        "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
        "subprocess.run(['curl', '-sf', f'http://127.0.0.1:{s.server_port}/', '-o', 'o'], check=True)")),
    ("network tools", ["ip"], "ip addr >/dev/null; ip route >/dev/null; ss -tln >/dev/null 2>&1; true"),
    ("java", ["java", "javac"], """set -e; cat >A.java <<'END'
        import java.nio.file.*; import java.util.concurrent.*; import java.net.*;
        public class A { public static void main(String[] a) throws Exception {
          var p = Executors.newFixedThreadPool(4); p.submit(() -> 1).get(); p.shutdown();
          Files.writeString(Path.of("o"), "x"); Files.copy(Path.of("o"), Path.of("q"));
          Files.walk(Path.of(".")).count(); NetworkInterface.getNetworkInterfaces();
          try (var s = new ServerSocket(0); var c = new Socket("localhost", s.getLocalPort())) { s.accept(); }
          if (new ProcessBuilder("true").start().waitFor() != 0) throw new Exception();
          Files.getFileStore(Path.of(".")).getTotalSpace(); Runtime.getRuntime().availableProcessors();
          FileSystems.getDefault().newWatchService().close(); System.gc();
        } }
END
        javac A.java; java -Xmx128m A"""),
    ("go", ["go"], """set -e; export HOME=$PWD GOCACHE=$PWD/c GOFLAGS=-mod=mod GOTOOLCHAIN=local; cat >a.go <<'END'
package main
import ("fmt"; "net"; "net/http"; "os"; "os/exec"; "sync"; "time"; "io")
func main() {
	var w sync.WaitGroup
	for i := 0; i < 100; i++ { w.Add(1); go func() { time.Sleep(time.Millisecond); w.Done() }() }
	w.Wait()
	l, e := net.Listen("tcp", "127.0.0.1:0"); if e != nil { panic(e) }
	go http.Serve(l, http.FileServer(http.Dir(".")))
	r, e := http.Get("http://" + l.Addr().String() + "/"); if e != nil { panic(e) }
	io.Copy(io.Discard, r.Body)
	if e := exec.Command("true").Run(); e != nil { panic(e) }
	os.WriteFile("o", []byte("x"), 0644); os.CopyFS("cp", os.DirFS("cc")); os.MkdirAll("q/r", 0755); os.RemoveAll("q")
	s, _ := os.Open("o"); d, _ := os.Create("p"); io.Copy(d, s); fmt.Print("")
	net.Interfaces()
}
END
        go build -o a a.go; ./a"""),
    ("rust", ["rustc"], """set -e; cat >a.rs <<'END'
use std::{fs, io::Write, net, process::Command, thread, time::Duration};
fn main() { let t: Vec<_> = (0..4).map(|_| thread::spawn(|| thread::sleep(Duration::from_millis(1)))).collect();
 for x in t { x.join().unwrap(); } fs::write("o", "x").unwrap(); fs::copy("o", "p").unwrap();
 assert!(Command::new("true").status().unwrap().success()); fs::create_dir_all("d/e").unwrap();
 fs::remove_dir_all("d").unwrap(); let l = net::TcpListener::bind("127.0.0.1:0").unwrap();
 net::TcpStream::connect(l.local_addr().unwrap()).unwrap().write_all(b"x").unwrap(); l.accept().unwrap();
 let (a, _b) = std::os::unix::net::UnixStream::pair().unwrap(); a.set_nonblocking(true).unwrap(); }
END
        RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-} rustc -O a.rs -o a && ./a"""),
    ("man and file", ["file"], "file /bin/sh >/dev/null"),
    ("lsof", ["lsof"], "lsof -p $$ >/dev/null 2>&1; true"),
    ("busybox", ["busybox"], "busybox ls -la /usr >/dev/null; busybox sh -c 'echo hi | busybox wc' >/dev/null"),
]

# The filter is in force: with it this exits 0; without it, it does not.
CONTROL = python("""
import ctypes, errno, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(got): return ctypes.get_errno() if got == -1 else 0
def family(*of):
    try: socket.socket(*of).close()
    except OSError as e: return e.errno
got = [refused(libc.unshare(0x10000000)), refused(libc.ptrace(0, 0, 0, 0)), refused(libc.personality(8)),
       family(socket.AF_UNIX, socket.SOCK_STREAM), family(2, 1, 262), family(socket.AF_NETLINK, 3, 16)]
sys.exit(got != [errno.EPERM, errno.EPERM, errno.EPERM, None, errno.EPROTONOSUPPORT, errno.EPROTONOSUPPORT])
""")

# What a refusal looks like on stderr, whatever the exit status.
REFUSED = re.compile(r"Operation not permitted|Function not implemented|Bad system call|EPERM|ENOSYS")


def missing(needs):
    for need in needs:
        if need.startswith("+"):
            if subprocess.run([PYTHON, "-c", f"import {need[1:]}"], capture_output=True).returncode:
                return need[1:]
        elif not shutil.which(need):
            return need
    return None


def run(text, prefix=(), timeout=120):
    """Runs a workload in a new directory; its completed process, of timeout(1)'s status when late."""
    with tempfile.TemporaryDirectory() as where:
        command = [*prefix, "/bin/bash", "-c", text]
        try:
            return subprocess.run(command, cwd=where, timeout=timeout, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"not done in {timeout} s\n")


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(name for name, _, _ in WORKLOADS))
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    runner = [os.path.abspath(sys.argv[1])]
    print(f"1..{len(WORKLOADS) + 1}")
    good = run(CONTROL, runner).returncode == 0 and run(CONTROL).returncode != 0
    print(f"{'' if good else 'not '}ok 1 - the filter is in force")
    failures = not good
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda w: missing(w[1]) or run(w[2], runner), WORKLOADS)
        for number, ((name, _, _), done) in enumerate(zip(WORKLOADS, answers), 2):
            if isinstance(done, str):
                print(f"ok {number} - {name} # SKIP {done} is not installed")
                continue
            good = done.returncode == 0 and not REFUSED.search(done.stderr)
            failures += not good
            print(f"{'' if good else 'not '}ok {number} - {name} works under the filter")
            if not good:
                print(f"# exit {done.returncode}\n# " + done.stderr[-2000:].replace("\n", "\n# "))
            sys.stdout.flush()
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
