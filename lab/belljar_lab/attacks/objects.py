# SPDX-License-Identifier: Apache-2.0
"""Attacks over objects that the kernel keeps, which outlive whoever made them: queues, semaphores,
keys, locks. Where one run leaves something for another, both have the same layers left out."""

import ctypes
import fcntl
import os

from belljar_lab import outer
from belljar_lab.attack import EVERY, Attack
from belljar_lab.calls import SYS_ADD_KEY, SYS_KEYCTL
from belljar_lab.run import Run

libc = outer.libc
EVERYBODY = 0o666
IPC_CREAT, IPC_NOWAIT, IPC_RMID = 0o1000, 0o4000, 0
GETVAL, SETVAL = 12, 16
PROCESS_KEYRING, USER_KEYRING = -2, -4
KEYCTL_LINK, KEYCTL_UNLINK, KEYCTL_SEARCH, KEYCTL_READ = 8, 9, 10, 11


def crosses(run: Run, leave, read, token):
    """One run leaves the token, the next reads it."""
    left = run.python(leave)
    return left if left != "done" else run.python(read, leaks=token)


def a_key(run: Run):
    return int(run.world.token(), 16) & 0x7fffffff | 1


def leaves_a_message(run: Run):
    token, key = run.world.token(), a_key(run)

    def clean():
        libc.msgctl(libc.msgget(key, 0), IPC_RMID, None)
    run.world.cell.callback(clean)
    return crosses(run, f"""
queue = must(libc.msgget({key}, {EVERYBODY | IPC_CREAT}))
message = (1).to_bytes(8, sys.byteorder) + {token!r}.encode()
must(libc.msgsnd(queue, message, {len(token)}, 0))
""", f"""
queue = must(libc.msgget({key}, 0))
message = ctypes.create_string_buffer({8 + len(token)})
must(libc.msgrcv(queue, message, {len(token)}, 0, {IPC_NOWAIT}))
print(message.raw)
""", token)


def leaves_a_posix_queue(run: Run):
    token = run.world.token()
    name = f"/lab-{run.world.token()}".encode()
    run.world.cell.callback(libc.mq_unlink, name)
    return crosses(run, f"""
os.umask(0)
one_message = (ctypes.c_long * 8)(0, 1, {len(token)})
queue = must(libc.mq_open({name!r}, os.O_CREAT | os.O_RDWR, {EVERYBODY}, one_message))
must(libc.mq_send(queue, {token!r}.encode(), {len(token)}, 0))
""", f"""
queue = must(libc.mq_open({name!r}, os.O_RDONLY))
message = ctypes.create_string_buffer({len(token)})
must(libc.mq_receive(queue, message, {len(token)}, None))
print(message.raw)
""", token)


def takes_a_message(run: Run):
    token, name = run.world.token(), f"/lab-{run.world.token()}".encode()
    one_message = (ctypes.c_long * 8)(0, 1, len(token))
    queue = libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0, one_message)
    outer.must(queue, "mq_open")
    run.world.cell.callback(os.close, queue)
    run.world.cell.callback(libc.mq_unlink, name)
    os.fchmod(queue, EVERYBODY)
    outer.must(libc.mq_send(queue, token.encode(), len(token), 0), "mq_send")
    return run.python(f"""
queue = must(libc.mq_open({name!r}, os.O_RDONLY))
message = ctypes.create_string_buffer({len(token)})
must(libc.mq_receive(queue, message, {len(token)}, None))
print(message.raw)
""", leaks=token)


def leaves_a_key(run: Run):
    """The second run takes it away. A key may be read by whoever has a keyring of his own, here
    the process's, from which it is found."""
    token, name = run.world.token(), f"lab-{run.world.token()}".encode()
    find = f"""
must(libc.syscall({SYS_KEYCTL}, {KEYCTL_LINK}, {USER_KEYRING}, {PROCESS_KEYRING}))
"""
    return crosses(run, find + f"""
must(libc.syscall({SYS_ADD_KEY}, b"user", {name!r}, {token!r}.encode(), {len(token)}, {USER_KEYRING}))
""", find + f"""
key = must(libc.syscall({SYS_KEYCTL}, {KEYCTL_SEARCH}, {USER_KEYRING}, b"user", {name!r}, 0))
read = ctypes.create_string_buffer({len(token)})
must(libc.syscall({SYS_KEYCTL}, {KEYCTL_READ}, key, read, {len(token)}))
must(libc.syscall({SYS_KEYCTL}, {KEYCTL_UNLINK}, key, {USER_KEYRING}))
print(read.raw)
""", token)


def takes_a_semaphore(run: Run):
    key = a_key(run)
    semaphore = libc.semget(key, 1, EVERYBODY | IPC_CREAT)
    outer.must(semaphore, "semget")
    run.world.cell.callback(libc.semctl, semaphore, 0, IPC_RMID)
    outer.must(libc.semctl(semaphore, 0, SETVAL, 1), "semctl")
    said = run.python(f"""
semaphore = must(libc.semget({key}, 0, 0))
take = (ctypes.c_short * 3)(0, -1, {IPC_NOWAIT})
must(libc.semop(semaphore, take, 1))
""")
    return run.judge(said, libc.semctl(semaphore, 0, GETVAL) == 0)


def holds_a_lock(run: Run):
    """Reading a file is enough to lock it."""
    path = run.world.file("lock")

    def look(_pid):
        with open(path, encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return run.python(f"""
import ctypes
import fcntl
lock = open({str(path)!r})
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
""", look=look)


ROWS = [
    Attack("leave-message", "A", leaves_a_message,
           does="leaves a message in a System V queue for the next run",
           success="the message's random token is in the next run's output",
           stops=(("ipc", "ENOENT"),)),
    Attack("leave-posix-message", "A", leaves_a_posix_queue, needs=("message_queue",),
           does="leaves a message in a POSIX queue for the next run",
           success="the message's random token is in the next run's output",
           stops=(("rlimit", "EMFILE"), ("landlock", "EACCES", EVERY, "landlock"),
                  ("ipc", "ENOENT"))),
    Attack("take-message", "A", takes_a_message, needs=("message_queue",),
           does="takes a message out of a POSIX queue of the host",
           success="the message's random token is in the program's output",
           stops=(("ipc", "ENOENT"), ("landlock", "EACCES", EVERY, "landlock"))),
    Attack("leave-key", "A", leaves_a_key, needs=("keyrings",),
           does="leaves a key in its user's keyring for the next run",
           success="the key's random token is in the next run's output",
           stops=(("seccomp", "EPERM"), ("user", "ENOKEY"))),
    Attack("take-semaphore", "K", takes_a_semaphore,
           does="takes a semaphore of a process outside, which then waits for it",
           success="the semaphore is 0",
           stops=(("ipc", "ENOENT"),)),
    Attack("hold-lock", "K", holds_a_lock,
           does="locks a file of the host that it may read, as a package manager does",
           success="nobody outside can lock it",
           stops=(("mount", "ENOENT"),)),
]
