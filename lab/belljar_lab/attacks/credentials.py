# SPDX-License-Identifier: Apache-2.0
"""Attacks that look for secrets, or leave theirs where others find them."""

import resource

from belljar_lab import outer
from belljar_lab.attack import BY_ROOT, Attack
from belljar_lab.calls import SYS_ADD_KEY, SYS_KEYCTL
from belljar_lab.run import Run

JOIN_SESSION_KEYRING, REVOKE, SEARCH, READ, SESSION_KEYRING = 1, 3, 10, 11, -3


def reads_a_private_key(run: Run):
    token, home = run.world.token(), run.world.dir("home")
    key = run.world.file("id_ed25519", token, 0o600, folder=home)
    return run.python(f"print(open({str(key)!r}).read())", leaks=token)


def reads_a_key_of_the_caller(run: Run):
    token, name, call = run.world.token(), run.world.token(), outer.libc.syscall
    outer.must(call(SYS_KEYCTL, JOIN_SESSION_KEYRING, None), "join a session keyring")
    key = call(SYS_ADD_KEY, b"user", name.encode(), token.encode(), len(token), SESSION_KEYRING)
    outer.must(key, "add a key")
    run.world.cell.callback(call, SYS_KEYCTL, REVOKE, key)
    return run.python(f"""
key = must(libc.syscall({SYS_KEYCTL}, {SEARCH}, {SESSION_KEYRING}, b"user", b"{name}", 0))
held = ctypes.create_string_buffer(100)
must(libc.syscall({SYS_KEYCTL}, {READ}, key, held, len(held)))
print(held.value.decode())
""", leaks=token)


def leaves_its_memory(run: Run):
    """In a core file, which the kernel writes where the process is."""
    token = run.world.token()
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)

    def look(pid):
        return any(token.encode() in file.read_bytes() for file in run.room_of(pid).iterdir())
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        return run.python(f"""
secret = "{token}"
child = os.fork()
if child == 0:
    os.chdir(ROOM)
    ctypes.string_at(0)
if not os.WCOREDUMP(os.waitpid(child, 0)[1]):
    sys.exit(print("no core"))
""", look=look)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


ROWS = [
    Attack("read-private-key", "D", reads_a_private_key,
           does="opens a key in the caller's home that the caller alone may read",
           success="the file's random token is in the program's output",
           stops=(("mount", "ENOENT"), ("user", "EACCES", BY_ROOT))),
    Attack("read-keyring", "D", reads_a_key_of_the_caller, needs=("keyrings",),
           does="looks for a key in the session keyring that it would share with the caller",
           success="the random token that the caller keeps there is in the program's output",
           stops=(("seccomp", "EPERM"), ("ipc", "ENOKEY"))),
    Attack("dump-core", "D", leaves_its_memory, needs=("core-files",),
           does="crashes with a secret in its memory",
           success="the secret is in a core file",
           stops=(("rlimit", "no core"),)),
]
