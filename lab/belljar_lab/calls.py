# SPDX-License-Identifier: Apache-2.0
"""System calls that an ordinary user can make of some kernels and not of others.

Each of CALLS is a piece of Python that leaves in `got` what the kernel returned, with errno. An attack runs
it inside (attacks/kernel.py), and host.py runs the same outside to learn whether this kernel would
let it pass at all.
"""

import os

from belljar_lab.outer import CLONE_NEWUSER

SYS_IO_SETUP, SYS_PERF_EVENT_OPEN, SYS_USERFAULTFD, SYS_ADD_KEY, SYS_KEYCTL = \
    (206, 298, 323, 248, 250) if os.uname().machine == "x86_64" else (0, 241, 282, 217, 219)
QUEUE = "belljar-lab-queue"

# The call by which 32-bit programs enter the kernel. It has numbers of its own.
INT_80 = f"""
if os.uname().machine != "x86_64":
    raise OSError(errno.ENOSYS, "")
unshare = bytes.fromhex("53 b8 36010000 bb {CLONE_NEWUSER.to_bytes(4, 'little').hex()} cd80 5b c3")
libc.mmap.restype = ctypes.c_void_p
read_write_execute, private_anonymous = 7, 0x22
page = libc.mmap(None, 4096, read_write_execute, private_anonymous, -1, 0)
ctypes.memmove(page, unshare, len(unshare))
got = ctypes.CFUNCTYPE(ctypes.c_int)(page)()
ctypes.set_errno(max(0, -got))
"""

CALLS = {
    "io_uring": "got = libc.syscall(425, 1, ctypes.create_string_buffer(120))",
    # Faults of the program's own code only: what the kernel allows everybody.
    "userfaultfd": f"got = libc.syscall({SYS_USERFAULTFD}, 1)",
    # Page faults of this process, the kernel's own work not counted.
    "perf_event": f"""
import struct
software, faults, exclude_kernel_hypervisor = 1, 2, 3 << 5
what = struct.pack("2I7Q", software, 64, faults, 0, 0, 0, exclude_kernel_hypervisor, 0, 0)
got = libc.syscall({SYS_PERF_EVENT_OPEN}, what, 0, -1, -1, 0)
""",
    # With file identifiers: what the kernel allows everybody.
    "fanotify": "got = libc.fanotify_init(0x200, 0)",
    "memfd_secret": "got = libc.syscall(447, 0)",
    "aio": f"got = libc.syscall({SYS_IO_SETUP}, 64, ctypes.byref(ctypes.c_ulong(0)))",
    # Without its name at once: it ends with its descriptor.
    "message_queue": f"""
got = libc.mq_open(b"/{QUEUE}", os.O_RDWR | os.O_CREAT, 0o600, None)
error = ctypes.get_errno()
libc.mq_unlink(b"/{QUEUE}")
ctypes.set_errno(error)
""",
    "int_80": INT_80,
}
