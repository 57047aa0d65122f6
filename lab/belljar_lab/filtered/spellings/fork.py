# SPDX-License-Identifier: Apache-2.0
"""Many more processes or threads are started than there may be."""

from belljar_lab.filtered.spellings import Spelling

NAME = "fork-bomb"
DOES = "starts 40 processes or threads where 16 are allowed"
SUCCESS = "40 tasks beside its own are there at once"

ROWS = [
    Spelling("plain", "os.fork()", r"""
import os
import time

for number in range(40):
    if os.fork() == 0:
        time.sleep(100)
"""),
    Spelling("subprocess", "programs, started by subprocess", r"""
import subprocess

children = [subprocess.Popen(["sleep", "100"]) for number in range(40)]
"""),
    Spelling("multiprocessing", "processes of multiprocessing", r"""
import multiprocessing
import time

for number in range(40):
    multiprocessing.Process(target=time.sleep, args=(100,), daemon=True).start()
"""),
    Spelling("ctypes", "the fork() of the C library", r"""
import ctypes
import time

for number in range(40):
    child = ctypes.CDLL(None, use_errno=True).fork()
    if child == 0:
        time.sleep(100)
    if child < 0:
        raise OSError(ctypes.get_errno(), "fork")
"""),
    Spelling("full-width", "letters that Python reads as ASCII, and that are not", r"""
import time
import ｏｓ

for number in range(40):
    if ｏｓ.ｆｏｒｋ() == 0:
        time.sleep(100)
"""),
    Spelling("pickle", "a pickle that calls, by the pickle of another module", r"""
import time
import tracemalloc

for number in range(40):
    if tracemalloc.pickle.loads(b"cos\nfork\n)R.") == 0:
        time.sleep(100)
"""),
    Spelling("alias", "exec() under another name", r"""
import time

run = exec
for number in range(40):
    scope = {}
    run("import o" "s; child = o" "s.fo" "rk()", scope)
    if scope["child"] == 0:
        time.sleep(100)
"""),
    Spelling("threads", "threads, by the module beneath threading", r"""
import _thread
import time

for number in range(40):
    _thread.start_new_thread(time.sleep, (100,))
"""),
    Spelling("thread-pool", "a pool of threads", r"""
import concurrent.futures
import time

pool = concurrent.futures.ThreadPoolExecutor(40)
for number in range(40):
    pool.submit(time.sleep, 6)
"""),
    Spelling("asyncio", "programs, started by asyncio", r"""
import asyncio


async def start():
    return [await asyncio.create_subprocess_exec("sleep", "100") for number in range(40)]


loop = asyncio.new_event_loop()
children = loop.run_until_complete(start())
"""),
    Spelling("attrgetter", "fork(), found by operator", r"""
import operator
import random
import time

for number in range(40):
    if operator.attrgetter("_o" "s.fo" "rk")(random)() == 0:
        time.sleep(100)
"""),
    Spelling("shell", "a shell's own jobs, the shell found by string.Formatter", r"""
import random
import string

run, _ = string.Formatter().get_field("0._o" "s.sys" "tem", [random], {})
run("i=0; while [ $i -lt 40 ]; do sleep 100 & i=$((i + 1)); done")
"""),
]
