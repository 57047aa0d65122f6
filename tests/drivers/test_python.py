# SPDX-License-Identifier: Apache-2.0
"""The Python driver: state, results, errors, interrupts, and cells that break what they can."""

import pytest

import harness
from harness import SILENT, STORE

LOOP = "print('here', flush=True)\nwhile True: pass"


def alive(driver):
    """It goes on, with its state."""
    assert driver.ok("kept = 'state'").status == "ok"
    assert driver.ok("kept + '!'").text == "'state!'"


def error(driver, code):
    cell = driver.run(code)
    assert cell.status == "error", cell
    return cell.error


# ---- Values and state

def test_it_says_what_it_is(py):
    assert py.language == "python"
    assert py.ok("import sys; sys.version.split()[0]").text == repr(py.version)


def test_names_live_on(py):
    py.ok("import math\ndef double(x): return 2 * x\nclass A: pass\nn = 4")
    assert py.ok("double(n), A.__name__, math.floor(2.5)").text == "(8, 'A', 2)"


def test_the_last_expression_is_the_result_and_no_other(py):
    cell = py.ok("1\n2\nprint('said')\n3")
    assert (cell.text, cell.stdout) == ("3", "said\n")
    assert py.ok("x = 3").results == []
    assert py.ok("None").results == []
    assert py.ok("").results == [] and py.ok("# nothing").results == []


def test_a_semicolon_hides_the_result(py):
    assert py.ok("1;").results == [] and py.ok("(1); # ;").results == []
    assert py.ok("'a;'").text == "'a;'"
    assert py.ok("7 # ;").text == "7"
    assert py.ok("'é'; 'ü'").text == "'ü'"


def test_cells_are_counted_and_results_kept(py):
    assert py.ok("40 + 2").count == 1
    assert py.ok("_ + _1").text == "84"
    cell = py.ok("_2, __name__")
    assert (cell.count, cell.text) == (3, "(84, '__main__')")


def test_without_history_nothing_is_counted_or_kept(py):
    py.ok("5")
    cell = py.ok("6", flags=0)
    assert (cell.count, cell.text) == (1, "6")
    assert py.ok("_", flags=0).text == "5"


def test_a_silent_cell_shows_no_result_and_its_error(py):
    cell = py.ok("v = 8\nv", flags=STORE | SILENT)
    assert (cell.count, cell.results) == (0, [])
    assert py.run("1/0", flags=SILENT).error[0] == "ZeroDivisionError"
    assert py.ok("v").text == "8"


def test_a_future_import_holds_for_later_cells(py):
    assert py.ok("def f(a: int): pass\nf.__annotations__").text == "{'a': <class 'int'>}"
    py.ok("from __future__ import annotations")
    assert py.ok("def f(a: int): pass\nf.__annotations__").text == "{'a': 'int'}"


def test_a_long_cell_and_its_long_text_come_whole(py):
    text = "äb" * 150_000
    assert py.ok(f"len('{text}')").text == "300000"
    assert py.ok(f"'{text}'").text == repr(text)


def test_modules_of_the_workspace_are_found(py, tmp_path):
    (tmp_path / "mine.py").write_text("there = 7")
    assert py.ok("import mine; mine.there").text == "7"


def test_the_cells_main_is_a_main(py):
    assert py.ok("if __name__ == '__main__':\n    import sys\n    print(sys.argv)\n"
                 "sys.modules['__main__'].__dict__ is globals()").text == "True"
    assert py.ok("import pickle\nclass P: n = 3\npickle.loads(pickle.dumps(P())).n").text == "3"


def test_lines_end_as_they_may(py):
    assert py.ok("a = 1\r\nb = 2\r\na + b").text == "3"
    assert py.ok("a = 5\ra").text == "5"


# ---- Errors

def test_an_error_has_name_value_and_traceback_from_the_cell_on(py):
    py.ok("def divide(a, b):\n    return a / b  # here")
    name, value, text = error(py, "x = 1\ndivide(x, 0)")
    assert (name, value) == ("ZeroDivisionError", "division by zero")
    lines = text.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == '  File "<cell 2>", line 2, in <module>'
    assert "    divide(x, 0)" in lines and "    return a / b  # here" in lines
    assert '  File "<cell 1>", line 2, in divide' in lines
    assert "python.py" not in text


def test_a_syntax_error_shows_where(py):
    name, value, text = error(py, "x = 1\ny = (2 +\n")
    assert name == "SyntaxError" and "<cell 1>" in value
    assert 'File "<cell 1>", line 2' in text and "y = (2 +" in text and "^" in text
    assert "python.py" not in text and "ast.py" not in text
    assert error(py, "if True:\nprint(1)")[0] == "IndentationError"
    assert error(py, "return 1")[0] == "SyntaxError"
    assert error(py, "x = '\0'")[0] in ("ValueError", "SyntaxError")
    alive(py)


def test_a_cause_is_told(py):
    text = error(py, "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e")[2]
    assert "KeyError: 'k'" in text and "direct cause" in text and "python.py" not in text


def test_an_error_leaves_what_was_done_before_it(py):
    assert py.run("a = 1\nraise RuntimeError('x')\na = 2").stdout == ""
    assert py.ok("a").text == "1"


@pytest.mark.parametrize("code, status", [
    ("import sys; sys.exit()", "ok"), ("exit(0)", "ok"), ("raise SystemExit", "ok"),
    ("import sys; sys.exit(3)", "error"), ("quit('why')", "error")])
def test_exit_ends_the_cell_only(py, code, status):
    cell = py.run("import site\nbefore = 1\n" + code + "\nbefore = 2")
    assert cell.status == status, cell
    if status == "error":
        assert cell.error[0] == "SystemExit"
        assert cell.error[1].startswith(("3 ", "why ")) and "interpreter goes on" in cell.error[1]
    assert py.ok("before").text == "1"


def test_deep_recursion_is_an_error(py):
    name, _, text = error(py, "def f(): f()\nf()")
    assert name == "RecursionError" and len(text) < 100_000
    assert error(py, "-" * 200_000 + "1")[0] in ("RecursionError", "MemoryError", "SyntaxError")
    assert error(py, "(" * 3000 + ")" * 3000)[0] in ("RecursionError", "MemoryError", "SyntaxError")
    alive(py)


def test_want_of_memory_is_an_error(py):
    py.ok("import resource; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))")
    assert error(py, "b = bytearray(500 << 20)")[0] == "MemoryError"
    assert error(py, "l = []\nwhile True: l.append(bytearray(1 << 20))")[0] == "MemoryError"
    py.ok("del l")
    alive(py)


def test_input_says_that_there_is_none(py):
    name, value, _ = error(py, "input('name? ')")
    assert name == "EOFError" and "not supported" in value
    assert py.ok("import sys; sys.stdin.read()").text == "''"


@pytest.mark.parametrize("raises", [
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "class E(Exception):\n    def __str__(self): return 5\nraise E",
    "class E(Exception):\n    def __bool__(self): raise ValueError\n    def __len__(self): return 0\nraise E",
    "class E(Exception):\n    __class__ = property(lambda self: 1 / 0)\nraise E",
    "class M(type):\n    __name__ = property(lambda self: 1 / 0)\nclass E(Exception, metaclass=M): pass\nraise E",
    "class E(BaseException): pass\nraise E",
    "raise Exception('\\ud800')",
    "raise type('n' * 5000, (Exception,), {})('v' * 3_000_000)"])
def test_odd_exceptions_are_errors_too(py, raises):
    name, value, _ = error(py, raises)
    assert name and len(value) <= 1 << 20
    alive(py)


# ---- Objects that are odd to show

@pytest.mark.parametrize("body, text", [
    ("def __repr__(self): raise ValueError('no')", "<A: its repr() raised ValueError>"),
    ("def __repr__(self): return 5", "<A: its repr() raised TypeError>"),
    ("def __repr__(self): return self.__repr__()", "<A: its repr() raised RecursionError>"),
    ("def __repr__(self): print('printed'); return 'A()'", "A()"),
    ("__class__ = property(lambda self: 1 / 0)\n    def __repr__(self): return 'A()'", "A()"),
    ("__class__ = str\n    def __repr__(self): return 'A()'", "A()"),
    ("def __getattr__(self, name): return lambda *a: 'x'\n    def __repr__(self): return 'A()'", "A()"),
    ("def __eq__(self, other): raise ValueError\n    def __repr__(self): return 'A()'", "A()"),
    ("def __repr__(self): return '\\udcff'", "\\udcff"),
    ("def _repr_html_(self): raise ValueError\n    def __repr__(self): return 'A()'", "A()"),
    ("def _repr_mimebundle_(self, **_): return {'a\\nb': 'x', 5: 'y'}\n"
     "    def __repr__(self): return 'A()'", "A()")])
def test_an_odd_object_is_shown_as_text(py, body, text):
    cell = py.ok(f"class A:\n    {body}\nA()")
    assert cell.results == [{"text/plain": text.encode()}]
    assert cell.stdout == ("printed\n" if "print(" in body else "")
    alive(py)


def test_a_text_over_the_cap_is_cut_and_says_so(py):
    text = py.ok("'é' * (9 << 20)").text
    assert len(text.encode()) <= 16 << 20
    assert text.endswith(f" [cut: {2 + (18 << 20)} bytes in all]")


def test_another_format_over_the_cap_is_left_out_and_that_is_said(py):
    cell = py.ok("class A:\n    def _repr_png_(self): return bytes(17 << 20)\nA()")
    assert cell.results == [{"text/plain": b"[left out: image/png of 17825792 bytes; at most 16777016]"}]


def test_a_repr_that_does_not_end_is_interrupted(py):
    py.begin("class A:\n    def __repr__(self):\n        print('here')\n        while True: pass\nA()")
    py.wait_for("here\n")
    py.interrupt()
    assert py.end().status == "interrupted"
    alive(py)


# ---- Interrupts

@pytest.mark.parametrize("code", [
    LOOP, "print('here'); import time; time.sleep(1000)",
    "import asyncio; print('here'); await asyncio.sleep(1000)",
    "import asyncio\nawait asyncio.sleep(0)\n" + LOOP,
    "import asyncio\nasync def f():\n    print('here')\n    await asyncio.sleep(1000)\nasyncio.run(f())",
    "import subprocess; print('here'); subprocess.run(['sleep', '1000'])",
    "import threading; print('here'); threading.Event().wait()"])
def test_sigint_interrupts_a_cell(py, code):
    py.ok("kept = 1")
    py.begin(code)
    py.wait_for("here\n")
    py.interrupt()
    cell = py.end()
    assert cell.status == "interrupted" and cell.error[0] == "KeyboardInterrupt", cell
    assert "python.py" not in cell.error[2]
    assert py.ok("kept").text == "1"


def test_a_cell_may_catch_it_and_the_next_one_comes(py):
    py.begin("try:\n    print('first')\n    while True: pass\nexcept KeyboardInterrupt:\n"
             "    print('second')\n    while True: pass")
    py.wait_for("first")
    py.interrupt()
    py.wait_for("second")
    py.interrupt()
    assert py.end().status == "interrupted"
    alive(py)


def test_an_interrupted_task_may_clean_up(py):
    py.begin("import asyncio\ntry:\n    print('here')\n    await asyncio.sleep(1000)\n"
             "finally:\n    await asyncio.sleep(0)\n    print('cleaned')")
    py.wait_for("here\n")
    py.interrupt()
    cell = py.end()
    assert (cell.status, cell.stdout) == ("interrupted", "here\ncleaned\n")
    alive(py)


def test_sigint_between_cells_does_nothing(py):
    py.ok("a = 1")
    for _ in range(20):
        py.interrupt()
    assert py.ok("a").text == "1"
    for _ in range(20):  # it may come at any moment of a cell: that is interrupted, or is not
        py.begin("a")
        py.interrupt()
        assert py.end().status in ("ok", "interrupted")
    assert py.ok("a").text == "1"


def test_sigint_in_a_result_of_many_packets_breaks_no_chain(py):
    py.ok("text = 'x' * (8 << 20)")
    for _ in range(10):
        py.begin("while True: display(text)")
        while len(py.receive()) < 65536:
            pass
        py.interrupt()
        # What was received belongs to the first chain: the rest of it, and all others, are whole.
        while py.next_frame()[0] != harness.DONE:
            pass
    alive(py)


def test_a_cells_own_handler_is_its_own(py):
    py.begin("import signal, time\nhit = []\nsignal.signal(signal.SIGINT, lambda *a: hit.append(1))\n"
             "print('here')\nwhile not hit: pass\n'handled'")
    py.wait_for("here\n")
    py.interrupt()
    assert py.end().text == "'handled'"
    py.interrupt()
    assert py.ok("hit").text == "[1]"


# ---- await

def test_await_at_top_level_and_one_loop_for_all_cells(py):
    py.ok("import asyncio\nqueue = asyncio.Queue()\nasync def put():\n    await asyncio.sleep(0.001)\n"
          "    await queue.put('item')\nawait asyncio.sleep(0)")
    assert py.ok("task = asyncio.create_task(put())\nawait queue.get()").text == "'item'"
    py.ok("later = asyncio.create_task(put())\nawait asyncio.sleep(0)")
    assert py.ok("await later\nawait queue.get()").text == "'item'"
    assert py.ok("async def gen():\n    yield 1\n    yield 2\n[x async for x in gen()]").text == "[1, 2]"
    assert py.ok("async with asyncio.Lock() as l: pass\nl").results == []


def test_asyncio_run_works_too(py):
    assert py.ok("import asyncio\nasync def f(): return 5\nasyncio.run(f())").text == "5"
    assert py.ok("await f()").text == "5"
    assert error(py, "await asyncio.wait_for(asyncio.sleep(10), 0.001)")[0] == "TimeoutError"
    text = error(py, "async def bad():\n    1/0\nawait bad()")[2]
    assert "python.py" not in text and text.splitlines()[1].startswith('  File "<cell')


# ---- Streams, threads, processes

def test_what_was_printed_is_there_before_done(py):
    cell = py.ok("import sys, os\nprint('out', end='')\nprint('err', end='', file=sys.stderr)\n"
                 "sys.stdout = open(1, 'w', closefd=False)\nprint('buffered')")
    assert (cell.stdout, cell.stderr) == ("outbuffered\n", "err")
    assert len(py.ok("print('x' * 3_000_000)").stdout) == 3_000_001


def test_c_output_is_there_before_done(py):
    cell = py.ok("import ctypes\nctypes.CDLL(None).puts(b'from C');")
    assert cell.stdout == "from C\n"


@pytest.mark.parametrize("breaks", [
    "import sys; sys.stdout = None; sys.stderr = 5",
    "import sys; sys.stdout.close(); sys.stderr.close()",
    "import os; os.close(1); os.close(2)",
    "import sys\nclass S:\n    def flush(self): 1/0\n    def write(self, t): 1/0\n"
    "sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = S()",
    "import builtins\nfor n in ('len', 'print', 'isinstance', 'type', 'eval', 'compile', 'BaseException'):\n"
    "    setattr(builtins, n, None)",
    "import builtins; display = builtins.display; builtins.__dict__.clear()",
    "import sys; sys.modules.clear()",
    "import sys; del sys.modules['__main__'], sys.stdout",
    "import os, ast, traceback, linecache, signal\nfor m in (os, ast, traceback, linecache, signal):\n"
    "    m.__dict__.clear()",
    "import os, struct\nos.write = os.read = os.getpid = os.fstat = struct.pack = None",
    "import sys; sys.settrace(lambda *a: 1/0)",
    "import gc; gc.disable(); import sys; sys.setrecursionlimit(60)",
    "globals().clear()",
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"])
def test_a_cell_that_breaks_things_does_not_end_the_interpreter(py, breaks):
    py.ok("kept = 'state'")
    py.run(breaks)
    cell = py.run("kept = 'new'\nkept")
    if not breaks.startswith(("import os, ast", "import sys; sys.modules.clear")):
        assert cell.status == "ok" and cell.text == "'new'", cell
    assert py.run("1/0").status == "error"
    assert py.run("kept").status in ("ok", "error")


def test_without_its_channel_the_driver_ends(py):
    py.begin("import os; os.close(3)")
    with pytest.raises(harness.Gone):
        py.end()
    assert py.exit_status() == 1


def test_another_descriptor_in_the_channels_place_gets_nothing(py, tmp_path):
    py.begin("import os\nf = os.open('taken', os.O_RDWR | os.O_CREAT)\nos.dup2(f, 3)")
    with pytest.raises(harness.Gone):
        py.end()
    assert py.exit_status() == 1
    assert (tmp_path / "taken").read_bytes() == b""


def test_the_channels_end_is_the_drivers(py):
    py.outside.close()
    assert py.exit_status() == 0


def test_what_is_no_run_ends_the_driver(py):
    py.outside.send(harness.HEADER.pack(harness.MAGIC, harness.DONE, 0, 0, 5) + b"\0" * 8)
    assert py.exit_status() == 1


def test_threads_go_on_between_cells(py):
    py.ok("import threading\ngo, printed = threading.Event(), threading.Event()\n"
          "def work():\n    go.wait()\n    print('between')\n    display('shown')\n    printed.set()\n"
          "thread = threading.Thread(target=work, daemon=True)\nthread.start()\n"
          "threading.Timer(0.01, go.set).start()")
    py.wait_for("'shown'")
    cell = py.ok("printed.wait()")
    assert cell.text == "True" and cell.displays == []


def test_threads_that_print_and_show_all_the_time_do_no_harm(py):
    py.ok("import threading\nstop = threading.Event()\ndef work():\n    while not stop.wait(0.0005):\n"
          "        print('noise')\n        display('noise')\n"
          "threads = [threading.Thread(target=work) for _ in range(4)]\nfor t in threads: t.start()")
    for number in range(50):
        cell = py.ok(f"{number}")
        assert cell.text == str(number)
        assert all(d == {"text/plain": b"'noise'"} for d in cell.displays)
    py.ok("stop.set()\nfor t in threads: t.join()")


@pytest.mark.parametrize("code, status", [
    ("pass", 0), ("1/0", 1), ("import sys; sys.exit(7)", 7), ("raise SystemExit('x')", 1)])
def test_a_forked_child_ends_with_its_cell(py, code, status):
    cell = py.ok("import os\nchild = os.fork()\nif child == 0:\n    print('child')\n"
                 f"    {code}\nelse:\n    result = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
                 "    print(result)\n'only once'")
    assert cell.text == "'only once'" and cell.displays == []
    assert cell.stdout == f"child\n{status}\n"
    assert ("ZeroDivisionError" in cell.stderr) == (code == "1/0")
    alive(py)


def test_a_forked_child_has_no_channel(py):
    cell = py.ok("import os\nif os.fork() == 0:\n    try:\n        os.fstat(3)\n        print('there')\n"
                 "    except OSError as e:\n        print(e.errno)\n    display('child')\n    os._exit(0)\n"
                 "os.wait(); 'parent'")
    assert (cell.text, cell.stdout, cell.displays) == ("'parent'", "9\n'child'\n", [])


def test_programs_do_not_inherit_the_channel(py):
    py.ok("import os, subprocess\nextra = os.open('/dev/null', 0)\nos.set_inheritable(extra, True)\n"
          "os.fstat(3);")
    looks = "for n in 3 $0; do [ -e /proc/$$/fd/$n ] && echo has $n; done; true"
    cell = py.ok(f"subprocess.run(['bash', '-c', '{looks}', str(extra)], close_fds=False);\nprint(extra)")
    assert cell.stdout == "has 4\n4\n"


def test_multiprocessing_by_fork_and_by_spawn(py):
    assert py.ok("import multiprocessing as mp, math\ndef square(x): return x * x\n"
                 "with mp.get_context('fork').Pool(2) as pool: r = pool.map(square, range(4))\nr"
                 ).text == "[0, 1, 4, 9]"
    assert py.ok("with mp.get_context('spawn').Pool(1) as pool: r = pool.map(math.factorial, [5])\nr"
                 ).text == "[120]"
    assert py.ok("from concurrent.futures import ProcessPoolExecutor\n"
                 "with ProcessPoolExecutor(2, mp_context=mp.get_context('fork')) as ex: r = list(ex.map(square, [3]))\nr"
                 ).text == "[9]"


def test_subprocess_works(py):
    assert py.ok("import subprocess\nsubprocess.run(['echo', 'hi'], capture_output=True, text=True).stdout"
                 ).text == "'hi\\n'"


def test_source_of_a_cells_function_is_known(py):
    py.ok("def f():\n    return 1")
    assert py.ok("import inspect; inspect.getsource(f)").text == repr("def f():\n    return 1\n")
