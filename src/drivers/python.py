# SPDX-License-Identifier: Apache-2.0
"""Driver for Python 3.9 to 3.13: runs cells with state, in the sandbox, as the interpreter itself.

Started as `python3 -I -u python.py` with a SOCK_SEQPACKET socket as descriptor 3; frame.h says what
goes over it. The cells' streams are descriptors 1 and 2. Between cells the driver waits in read(),
so threads go on and an asyncio loop does not: its tasks go on during the next cell that awaits.

Nothing here is a wall: a cell can do to the driver whatever it likes, and whoever reads the frames
trusts none of them. But an honest cell that breaks things must not take the state with it. So the
driver has builtins of its own, takes what it needs from other modules before the first cell, and
runs whatever may be a cell's code (a __repr__, a stream's flush) in guarded(). When descriptor 3 is
no longer the socket that it was, there is nobody to answer, and the driver ends.

multiprocessing: a function of a cell can be run by fork and not by spawn, which looks for it in a
file, and the cells' __main__ has none. So spawn does not run this file either.
"""
import builtins

__builtins__ = dict(vars(builtins))  # before the first def: functions take their builtins from here

import _ast as ast  # what compile() makes; ast itself would be half of the start
import linecache
import os
import sys
import traceback
from _signal import SIGINT, getsignal, signal  # C's own: signal's functions are Python
from _thread import RLock, get_ident
from importlib.machinery import ModuleSpec, PathFinder
from os import _exit, fstat, getpid, read, write
from struct import Struct, pack
from sys import modules, setprofile, settrace
from types import ModuleType

CHANNEL = 3
HEADER = Struct("<IBBHQ")
MAGIC, MORE, PACKET_MAX, CHAIN_MAX = 0x52444A42, 1, 65536, 16 << 20
ROOM = PACKET_MAX - HEADER.size
DATA_MAX = CHAIN_MAX - 200  # of one format
RUN, READY, DISPLAY, ERROR, DONE = 1, 2, 3, 4, 5
STORE_HISTORY, SILENT = 1, 2
OK, FAILED, INTERRUPTED = 0, 1, 2
RESULT, SHOWN = 0, 1
NAME_MAX, VALUE_MAX, TRACEBACK_MAX, ROWS_MAX = 100, 1 << 20, 4 << 20, 1000
COROUTINE = 0x80  # inspect.CO_COROUTINE; that module takes longer to import than all of these
FUTURES = 0x1FE0000  # bits of co_flags that `from __future__` sets
REPRS = {"_repr_mimebundle_": None, "_repr_html_": "text/html", "_repr_markdown_": "text/markdown",
         "_repr_latex_": "text/latex", "_repr_svg_": "image/svg+xml", "_repr_png_": "image/png",
         "_repr_jpeg_": "image/jpeg", "_repr_json_": "application/json"}
RICH = {"HTML": "text/html", "Markdown": "text/markdown", "Latex": "text/latex",
        "SVG": "image/svg+xml", "JSON": "application/json", "Javascript": "text/javascript",
        "Image": "image/png"}


class Driver:
    def __init__(self):
        self.pid, self.main_thread, self.channel = getpid(), get_ident(), channel_identity()
        self.lock = RLock()  # one chain, and one result in all its formats, at a time
        self.call = self.index = self.count = 0
        self.guarding = self.sending = self.interrupted = False
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop = None
        self.streams = (sys.stdout, sys.stderr)
        self.module = ModuleType("__main__")
        self.module.__builtins__ = builtins

    # Frames

    def there(self):
        """Ends this process where it has no channel any more, or is a child that a cell forked."""
        if channel_identity() != self.channel or getpid() != self.pid:
            _exit(1)

    def send(self, kind, *parts):
        """A chain, if begun, is sent to its end: SIGINT waits for that."""
        outer, payload = self.sending, b"".join(parts)
        main = get_ident() == self.main_thread
        if main:  # signals come to no other thread
            self.sending = True
        with self.lock:
            self.there()
            for at in range(0, len(payload), ROOM):
                more = MORE if at + ROOM < len(payload) else 0
                header = HEADER.pack(MAGIC, kind, more, 0, self.call)
                try:
                    write(CHANNEL, header + payload[at:at + ROOM])
                except OSError:
                    _exit(1)
        if main:
            self.sending = outer
            if self.interrupted:
                self.on_sigint()

    def receive(self):
        """Flags and code of the next RUN. Anything else, or the end: there is nobody to answer."""
        data = bytearray()
        while True:
            self.there()
            packet = read(CHANNEL, PACKET_MAX)
            if len(packet) < HEADER.size:
                _exit(0 if not packet else 1)
            magic, kind, more, zero, call = HEADER.unpack_from(packet)
            data += packet[HEADER.size:]
            if (magic, kind, zero) != (MAGIC, RUN, 0) or self.call not in (0, call) or (
                    len(data) > CHAIN_MAX):
                _exit(1)
            self.call = call
            if not more:
                return int.from_bytes(data[:4], "little"), data[4:].decode("utf-8", "replace")

    # What may be interrupted, and what a cell may break

    def on_sigint(self, *_):
        """Between cells, and in what is the driver's own work, it does nothing."""
        self.interrupted = self.guarding and self.sending
        if self.guarding and not self.sending:
            raise KeyboardInterrupt

    def guarded(self, function, *args):
        """(value, None) or (None, exception). Two levels: a second SIGINT may come in the inner's
        last step. What a cell set to trace its code would trace the driver's next."""
        try:
            try:
                self.guarding = True
                return function(*args), None
            finally:
                settrace(None)
                setprofile(None)
                self.guarding = False
        except BaseException as error:
            self.guarding = self.sending = self.interrupted = False
            return None, error

    # Results

    def show(self, obj, kind=SHOWN, raw=False):
        formats = {m: encoded(m, d) for m, d in obj.items()} if raw else formats_of(obj)
        with self.lock:
            if not self.call or getpid() != self.pid:  # a thread between cells, a process of a pool
                return print(formats.get("text/plain", b"").decode("utf-8", "replace"))
            index, self.index = self.index, self.index + 1
            for mime, data in formats.items():
                if len(data) > DATA_MAX and mime == "text/plain":
                    data = clip(data.decode("utf-8", "replace"), DATA_MAX)
                elif len(data) > DATA_MAX:
                    data = f"[left out: {mime} of {len(data)} bytes; at most {DATA_MAX}]".encode()
                    mime = "text/plain"
                mime = mime.encode()
                self.send(DISPLAY, pack("<IBH", index, kind, len(mime)), mime, data)

    def display(self, *objects, raw=False, **_):
        """Shows each as the value of a cell is shown: rich where it has a rich form."""
        for obj in objects:
            self.show(obj, raw=raw)

    def show_figures(self):
        """plt.show(), and the end of every cell."""
        plt = modules.get("matplotlib.pyplot")
        for number in plt.get_fignums() if plt else ():
            try:
                self.show(plt.figure(number))
            finally:
                plt.close(number)

    # Cells

    def compile(self, code, name):
        """The statements; and the last one apart, where it is an expression not ended by `;`."""
        tree = compile(code, name, "exec", ast.PyCF_ONLY_AST)  # ast.parse() would be in tracebacks
        parts = [(tree, "exec")]
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            after = code.split("\n")[last.end_lineno - 1].encode()[last.end_col_offset:]
            if not after.lstrip(b") \t").startswith(b";"):
                parts.append((ast.Expression(tree.body.pop().value), "eval"))
        for part, mode in parts:
            compiled = compile(part, name, mode, self.flags, True)
            self.flags |= compiled.co_flags & FUTURES
            yield compiled

    def execute(self, code, name):
        modules["__main__"] = self.module
        linecache.cache[name] = (len(code), None, [line + "\n" for line in code.split("\n")], name)
        parts = list(self.compile(code, name))
        if any(part.co_flags & COROUTINE for part in parts):
            return self.wait_for(self.execute_async(parts))
        return [eval(part, vars(self.module)) for part in parts][-1]

    async def execute_async(self, parts):
        for part in parts:
            value = eval(part, vars(self.module))
            if part.co_flags & COROUTINE:
                value = await value
        return value

    def wait_for(self, coroutine):
        """One loop for all cells: what is begun in one can be awaited in another."""
        import asyncio  # takes longer than all the rest of the start
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            if not task.done():  # it may clean up; one more SIGINT ends that too
                task.cancel()
                self.loop.run_until_complete(asyncio.wait([task]))
            raise
        finally:
            if task.done() and not task.cancelled():
                task.exception()  # seen, so that asyncio does not complain

    def flush(self):
        for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None), *self.streams):
            try:
                stream.flush()
            except Exception:
                pass
        ctypes = modules.get("ctypes")
        try:  # C's stdout, where a cell may print to it; other streams may be locked for good
            libc = ctypes and ctypes.PyDLL(None)
            libc and libc.fflush(ctypes.c_void_p.in_dll(libc, "stdout"))
        except Exception:
            pass

    def leave_child(self, error):
        """A process that the cell forked ends with the cell, as it would at the end of a program."""
        code = error.code if issubclass(type(error), SystemExit) else int(error is not None)
        if error is not None and not issubclass(type(error), SystemExit):
            self.guarded(traceback.print_exception, type(error), error, error.__traceback__)
        self.guarded(self.flush)
        _exit(code & 255 if type(code) is int else int(code is not None))

    def run(self, flags, code):
        self.index = 0
        store = flags & STORE_HISTORY and not flags & SILENT
        self.count += bool(store)
        name = f"<cell {self.count}>" if store else "<cell>"
        code = code.replace("\r\n", "\n").replace("\r", "\n")
        value, error = self.guarded(self.execute, code, name)
        if getpid() != self.pid:
            self.leave_child(error)
        if value is not None and not flags & SILENT:
            if store:
                vars(self.module).update({"_": value, f"_{self.count}": value})
            error = self.guarded(self.show, value, RESULT)[1]
        for step in (self.show_figures, self.flush):
            later = self.guarded(step)[1]
            error = later if error is None else error
        self.finish(error)

    def finish(self, error):
        status = OK
        if error is not None:
            told, failed = self.guarded(describe, error)
            if failed is not None:  # a library's work, with builtins that a cell may have changed
                told = FAILED, b"Exception", b"", b"[it cannot be described]"
            status, *texts = told
            if status != OK:
                self.send(ERROR, *(pack("<I", len(text)) + text for text in texts))
        if getsignal(SIGINT) != self.on_sigint:
            signal(SIGINT, self.on_sigint)
        with self.lock:
            self.send(DONE, pack("<BI", status, self.count))
            self.call = 0

    def serve(self):
        os.set_inheritable(CHANNEL, False)
        os.register_at_fork(after_in_child=lambda: (
            os.close(CHANNEL) if channel_identity() == self.channel else None))
        signal(SIGINT, self.on_sigint)
        modules["__main__"] = self.module
        sys.argv[:] = [""]
        sys.path.insert(0, "")
        sys.meta_path.insert(0, Finder(self))
        builtins.display, builtins.input = self.display, no_input
        os.environ.setdefault("MPLBACKEND", "Agg")
        texts = (b"python", sys.version.split()[0].encode())
        self.send(READY, pack("<I", 1), *(pack("<I", len(t)) + t for t in texts))
        while True:
            self.run(*self.receive())


def channel_identity():
    try:
        now = fstat(CHANNEL)
    except OSError:
        return None
    return now.st_dev, now.st_ino


def no_input(prompt=""):
    raise EOFError("input() is not supported: a cell has no standard input; put the value in the code")


def clip(text, limit):
    """UTF-8 of at most `limit` bytes, cut between characters; a lone surrogate is spelled out."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data
    note = f" [cut: {len(data)} bytes in all]".encode()
    return data[:limit - len(note)].decode("utf-8", "ignore").encode() + note


def safely(function, obj):
    """repr() or str() of anything; a text in its place where that fails."""
    try:
        return function(obj)
    except Exception as error:
        return f"<{type(obj).__name__}: its {function.__name__}() raised {type(error).__name__}>"


def describe(error):
    """(status, name, value, traceback) of how a cell ended. The traceback is Python's own, from the
    cell's first frame on."""
    kind, value = type(error), safely(str, error)
    status = INTERRUPTED if issubclass(kind, KeyboardInterrupt) else FAILED
    if issubclass(kind, SystemExit):
        status = OK if error.code is None or error.code == 0 else FAILED
        value += " (the cell ended itself; the interpreter goes on)"
    frames, tb = [], error.__traceback__
    while tb:
        frames.append((tb.tb_frame.f_code.co_filename, tb))
        tb = tb.tb_next
    while frames and frames[-1][0] == __file__:  # on_sigint()
        frames.pop()
    if frames:
        frames[-1][1].tb_next = None
    first = [tb for file, tb in frames if file.startswith("<cell")] or [
        tb for file, tb in frames if file != __file__] or [None]
    text = "".join(traceback.TracebackException(kind, error, first[0]).format())
    return status, clip(kind.__name__, NAME_MAX), clip(value, VALUE_MAX), clip(text, TRACEBACK_MAX)


def formats_of(obj):
    """{MIME: bytes}, text/plain first. What an object can is asked of its type: an instance may
    claim another class, or to have whatever it is asked for."""
    done = {"text/plain": encoded("text/plain", safely(repr, obj))}
    kind = type(obj)
    for name, mime, function in () if issubclass(kind, type) else makers(kind):
        try:
            data = function(obj)
            data = data[0] if isinstance(data, tuple) else data
            for key, value in (data or {}).items() if mime is None else ((mime, data),):
                if value is not None:
                    done[key] = encoded(key, value)
        except Exception as error:
            print(f"display: {name} of {kind.__name__}: {safely(repr, error)}", file=sys.__stderr__)
    return done


def makers(kind):
    figure = getattr(modules.get("matplotlib.figure"), "Figure", None)
    if figure and issubclass(kind, figure):
        yield "savefig", "image/png", png_of
    if hasattr(kind, "_repr_html_") and hasattr(kind, "head"):
        yield "rows", "application/json", rows_of
    for name, mime in REPRS.items():
        if callable(getattr(kind, name, None)):
            yield name, mime, getattr(kind, name)


def rows_of(table):
    """A data frame of pandas, or of polars; of both the form that pandas calls "split"."""
    head = table.head(ROWS_MAX)
    if hasattr(head, "to_json"):
        return head.to_json(orient="split")
    if hasattr(head, "fill_nan"):  # JSON has no NaN
        return {"columns": head.columns, "data": head.fill_nan(None).rows()}
    return None


def png_of(figure):
    import io
    data = io.BytesIO()
    figure.savefig(data, format="png", bbox_inches="tight")
    plt = modules.get("matplotlib.pyplot")
    if plt:
        plt.close(figure)  # it has been shown: not again at the end of the cell
    return data.getvalue()


def encoded(mime, data):
    """Text as UTF-8, JSON written, images out of base64. A MIME name is short, printable ASCII."""
    if not (isinstance(mime, str) and mime.isascii() and mime.isprintable() and 0 < len(mime) <= 100):
        raise ValueError(f"not a MIME type: {mime!r}")
    if mime.endswith("json") and not isinstance(data, (str, bytes)):
        import json
        data = json.dumps(data, default=str, allow_nan=False)
    if mime.startswith("image/") and mime != "image/svg+xml" and isinstance(data, str):
        import binascii
        data = binascii.a2b_base64(data)
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    return str(data).encode("utf-8", "backslashreplace")


class Rich:
    """IPython.display's HTML and its like: data of one MIME type."""

    def __init__(self, data=None, filename=None, **_):
        self.data = data
        if filename is not None:
            with open(filename, "rb") as file:
                self.data = file.read()

    def _repr_mimebundle_(self, include=None, exclude=None):
        jpeg = isinstance(self.data, bytes) and self.data.startswith(b"\xff\xd8")
        return {"image/jpeg" if jpeg else RICH[type(self).__name__]: self.data}


class Finder:
    """Two modules are met at their import: pyplot, whose show() is ours, and IPython.display."""

    def __init__(self, driver):
        self.driver = driver

    def find_spec(self, name, path=None, target=None):
        if name == "IPython.display" or name == "IPython" and not PathFinder.find_spec(name):
            return ModuleSpec(name, self, is_package=name == "IPython")
        spec = PathFinder.find_spec(name, path) if name == "matplotlib.pyplot" else None
        if spec:
            load = spec.loader.exec_module
            show = lambda *_, **__: self.driver.show_figures()  # a function: it gets attributes
            spec.loader.exec_module = lambda module: (load(module), setattr(module, "show", show))
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "IPython":
            module.get_ipython = lambda: None
            return
        module.display, module.clear_output = self.driver.display, lambda wait=False: None
        for name in RICH:
            setattr(module, name, type(name, (Rich,), {"__module__": module.__name__}))


if __name__ == "__main__":
    # From globals of no module: before 3.10 a function called within its own module has the builtins
    # of its caller.
    exec("serve()", {"serve": Driver().serve})
