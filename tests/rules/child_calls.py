#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Code between clone and exec calls only other such code and async-signal-safe functions.

CHILD_CODE puts it into the section .text.child; this reads the relocations of that section in
object files, so it sees what the compiler made and not what the source says. Anything that is
neither in .text.child of the objects given, nor data of theirs, nor in the reviewed list below, is
an offence. A function whose name ends in _child or
_settle is a hook and must be in the section.

  child_calls.py OBJECT|TARGET...      a target's objects are in TARGET.p/
  child_calls.py --self-test COMPILER [ARGS...]

Run it on a build without sanitizers: those put calls of their own everywhere.
"""
import os
import struct
import subprocess
import sys
import tempfile

SECTION = ".text.child"

# signal-safety(7), and thin wrappers of one system call each.
SAFE = set("""
_exit _Fork accept4 access alarm bind chdir chmod chown chroot clock_gettime close close_range
connect creat dup dup2 dup3 execve execveat faccessat fchdir fchmod fchmodat fchown fchownat fcntl
fcntl64 fdatasync fexecve fork fstat fstat64 fstatat fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 getdents64
getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getrandom getresgid getresuid
getrlimit getrlimit64 getsid getsockopt getuid ioctl kill link linkat listen lseek lseek64 lstat
lstat64 mkdir mkdirat mknod mknodat mmap mmap64 mount munmap open open64 openat openat64 pause pidfd_open pidfd_send_signal pipe
pipe2 poll ppoll prctl pread pread64 prlimit prlimit64 pselect pwrite pwrite64 raise read readlink
readlinkat readv recvmsg rename renameat renameat2 rmdir select sendmsg setdomainname setfsgid
setfsuid setgid setgroups sethostname setns setpgid setpriority setresgid setresuid setrlimit
setrlimit64 setsid setsockopt setuid shutdown sigaction sigaddset sigdelset sigemptyset sigfillset
signal signalfd sigprocmask sigsuspend sigtimedwait socket socketpair stat stat64 statfs statfs64 statx
symlink symlinkat syscall truncate umask umount umount2 unlink unlinkat unshare utimensat wait
wait4 waitid waitpid write writev

memchr memcmp memcpy memmove memset memrchr stpcpy stpncpy strcat strchr strcmp strcpy strcspn
strlen strncat strncmp strncpy strnlen strrchr strspn strstr strchrnul

__errno_location __stack_chk_fail __chk_fail __read_chk __pread_chk __pread64_chk __readlink_chk
__readlinkat_chk __memcpy_chk __memmove_chk __memset_chk __stpcpy_chk __strcpy_chk __strncpy_chk
__strcat_chk __open_2 __open64_2 __openat_2 __openat64_2 __poll_chk __fdelt_chk __getgroups_chk
__libc_current_sigrtmax __cmsg_nxthdr
_GLOBAL_OFFSET_TABLE_ __stack_chk_guard
""".split())

SHT_SYMTAB, SHT_RELA, SHF_EXEC = 2, 4, 4
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_TLS = 0, 1, 2, 3, 6


class Object:
    """What is needed of one relocatable ELF-64 file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            data = f.read()
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != 1:
            raise ValueError(f"{path}: no little-endian ELF-64 object file")
        offset, = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        self.data = data
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size)
                         for i in range(count)]
        self.names = [self.string(names, s[0]) for s in self.sections]
        self.symbols = []
        for s in self.sections:
            if s[1] == SHT_SYMTAB:
                for at in range(s[4], s[4] + s[5], 24):
                    name, info, _, index, value, length = struct.unpack_from("<IBBHQQ", data, at)
                    self.symbols.append((self.string(s[6], name), info & 15, info >> 4, index, value,
                                         length))

    def string(self, section, offset):
        start = self.sections[section][4] + offset
        return self.data[start:self.data.index(b"\0", start)].decode()

    def section(self, index):
        return self.names[index] if 0 < index < len(self.names) else ""

    def executable(self, index):
        return 0 < index < len(self.sections) and bool(self.sections[index][2] & SHF_EXEC)

    def defined(self, kinds):
        for name, kind, bind, index, _, _ in self.symbols:
            if kind in kinds and 0 < index < len(self.sections):
                yield name, bind, index

    def child_relocations(self):
        for s in self.sections:
            if s[1] != SHT_RELA or self.names[s[7]] != SECTION:
                continue
            for at in range(s[4], s[4] + s[5], 24):
                offset, info, addend = struct.unpack_from("<QQq", self.data, at)
                yield offset, self.symbols[info >> 32], addend

    def function_at(self, name, offset):
        for symbol, kind, _, index, value, length in self.symbols:
            if kind == STT_FUNC and self.section(index) == name and value <= offset < value + length:
                return symbol
        return "?"


def check(objects):
    """Yields a sentence per offence."""
    child, data, seen = set(), set(), 0
    for o in objects:
        for name, bind, index in o.defined({STT_FUNC}):
            if bind and o.section(index) == SECTION:
                child.add(name)
            if name.endswith(("_child", "_settle")) and o.section(index) != SECTION:
                yield f"{o.path}: {name} is a hook but not CHILD_CODE"
        for name, bind, index in o.defined({STT_OBJECT, STT_TLS}):
            if bind and not o.executable(index):
                data.add(name)
    for o in objects:
        seen += SECTION in o.names
        for offset, (name, kind, _, index, value, _), addend in o.child_relocations():
            if index == 0:
                good = name in child or name in data or name in SAFE
                target = name
            elif o.executable(index):
                good = o.section(index) == SECTION
                # A call's addend is relative to the end of its instruction.
                target = name or o.function_at(o.section(index), value + addend + 4)
                target += f" in {o.section(index)}"
            else:
                continue
            if not good:
                yield f"{o.path}: {o.function_at(SECTION, offset)} uses {target}"
    if not seen:
        yield "no object has a section " + SECTION


def collect(arguments):
    for argument in arguments:
        if argument.endswith(".o"):
            yield argument
            continue
        folder = argument + ".p"
        found = [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".o")]
        if not found:
            raise ValueError(f"no object files in {folder}")
        yield from found


PLANTED = {
    # source: what must be said, or None where all is well
    "CHILD int f(void) { return close(other(3)); }": None,
    "CHILD static int g(int a) { return write(a, \"x\", 1); } CHILD int f(void) { return g(1); }": None,
    "CHILD void *f(size_t n) { return malloc(n); }": "f uses malloc",
    "CHILD int f(char *b) { return snprintf(b, 9, \"%d\", getpid()); }": "snprintf",
    "CHILD void *f(void) { return (void *)getpwuid; }": "f uses getpwuid",
    "__attribute__((noinline)) static int plain(int a) { return a ^ getpid(); } "
    "CHILD int f(int a) { return plain(a); }": "f uses plain in .text",
    "int f_child(int a); int f_child(int a) { return a; } CHILD int f(void) { return 0; }":
        "f_child is a hook but not CHILD_CODE",
    "int f(int a) { return a; }": "no object has a section .text.child",
}


def self_test(compiler):
    failed = 0
    other = "CHILD int other(int a); CHILD int other(int a) { return dup(a); }"
    with tempfile.TemporaryDirectory() as folder:
        for source, expected in PLANTED.items():
            paths = []
            for name, text in ("planted", source), ("other", other):
                path = os.path.join(folder, name)
                with open(path + ".c", "w", encoding="ascii") as f:
                    f.write("#include <pwd.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                            "#include <unistd.h>\n"
                            "#define CHILD __attribute__((section(\".text.child\")))\n"
                            "int other(int a);\n" + text + "\n")
                subprocess.run([*compiler, "-O2", "-c", path + ".c", "-o", path + ".o"], check=True)
                paths.append(path + ".o")
            if expected and expected.startswith("no object"):
                paths.pop()
            said = list(check([Object(p) for p in paths]))
            if (expected is None and said) or (expected and not any(expected in s for s in said)):
                print(f"self-test: {source}\n  expected {expected}, got {said}", file=sys.stderr)
                failed = 1
    return failed


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--self-test":
        return self_test(sys.argv[2:])
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    said = sorted(set(check([Object(p) for p in collect(sys.argv[1:])])))
    for line in said:
        print(line, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
