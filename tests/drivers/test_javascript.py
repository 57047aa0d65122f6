# SPDX-License-Identifier: Apache-2.0
"""The JavaScript driver: state, results, errors, interrupts, and a process that is not left."""

import base64
import json

import pytest

import harness
from harness import SILENT, STORE


def alive(driver):
    driver.ok("const kept = 'state'")
    assert driver.ok("kept + '!'").text == "'state!'"


def error(driver, code):
    cell = driver.run(code)
    assert cell.status == "error", cell
    return cell.error


# ---- Values and state

def test_it_says_what_it_is(js):
    assert js.language == "javascript"
    assert js.ok("process.versions.node").text == repr(js.version)


def test_declarations_live_on_and_may_be_made_again(js):
    js.ok("const a = 1; let b = 2; var c = 3; class D { v() { return 4 } }\nfunction e() { return 5 }")
    assert js.ok("[a, b, c, new D().v(), e()]").json() == [1, 2, 3, 4, 5]
    js.ok("const a = 10; let b = 20; class D { v() { return 40 } }; function e() { return 50 }")
    assert js.ok("[a, b, c, new D().v(), e()]").json() == [10, 20, 3, 40, 50]
    js.ok("b += 1")
    assert js.ok("b").text == "21"


def test_the_last_expressions_value_is_the_result(js):
    cell = js.ok("1\n2\nconsole.log('said')\n3")
    assert (cell.text, cell.stdout) == ("3", "said\n")
    assert js.ok("let x = 5").results == [] and js.ok("undefined").results == []
    assert js.ok("").results == [] and js.ok("// nothing").results == []
    assert js.ok("null").text == "null"
    assert js.ok("({a: 1})").json() == {"a": 1}
    assert js.ok("'a\\nb'").text == "'a\\nb'"


@pytest.mark.parametrize("code, text", [
    ("NaN", "NaN"), ("-0", "-0"), ("12n", "12n"), ("Symbol('s')", "Symbol(s)"), ("() => 1", "[Function (anonymous)]"),
    ("new Map([[1, {a: 2}]])", "Map(1) { 1 => { a: 2 } }"), ("[undefined]", "[ undefined ]"),
    ("new Date(0)", "1970-01-01T00:00:00.000Z"), ("Object.create({x: 1})", "{}"),
    ("({get a() { throw 1 }})", "{ a: [Getter] }"), ("const o = {}; o.o = o; o", "<ref *1> { o: [Circular *1] }"),
    ("new Proxy({a: 1}, {ownKeys() { throw 1 }})", "{ a: 1 }"), ("[1, , 3]", "[ 1, <1 empty item>, 3 ]"),
    ("class A { toJSON() { throw 1 } }; new A()", "A {}"), ("({toJSON() { throw 1 }})", "{ toJSON: [Function: toJSON] }")])
def test_what_is_no_plain_data_is_text_alone(js, code, text):
    assert js.ok(code).results == [{"text/plain": text.encode()}]
    alive(js)


def test_plain_data_is_json_too(js):
    data = {"a": [1, 2.5, None, True, "ü"], "b": {"c": []}, "d": {}}
    assert js.ok(f"({json.dumps(data)})").json() == data
    assert js.ok("Object.assign(Object.create(null), {a: 1})").json() == {"a": 1}


def test_cells_are_counted(js):
    assert [js.ok("1").count, js.ok("1").count, js.ok("1", flags=0).count] == [1, 2, 2]
    cell = js.ok("globalThis.v = 1; 5", flags=STORE | SILENT)
    assert (cell.count, cell.results) == (2, [])
    assert js.run("throw new Error('e')", flags=SILENT).error[0] == "Error"
    assert js.ok("v").count == 3


def test_a_long_cell_and_its_long_text_come_whole(js):
    text = "äb" * 150_000
    assert js.ok(f"'{text}'.length").text == "300000"
    assert js.ok(f"'{text}'").text == f"'{text}'"


def test_what_is_over_the_cap_is_cut_and_that_is_said(js):
    text = js.ok("'é'.repeat(9 << 20)").text
    assert len(text.encode()) <= 16 << 20 and text.endswith(f" [cut: {2 + (18 << 20)} bytes in all]")
    cell = js.ok("['x'.repeat(17 << 20)]")
    assert b"".join(cell.results[0].values()).endswith(b"[left out: application/json of 17825796 bytes; at most 16777016]")


def test_display_and_bundles(js):
    cell = js.ok("display(1); display({[Symbol.for('Jupyter.display')]() { return {'text/html': '<b>', "
                 f"'image/png': '{base64.b64encode(b'PNG!').decode()}', 'application/json': {{a: 1}}}}; }}}}); 2")
    assert cell.displays[0] == {"text/plain": b"1"}
    assert cell.displays[1]["text/html"] == b"<b>" and cell.displays[1]["image/png"] == b"PNG!"
    assert cell.displays[1]["application/json"] == b'{"a":1}' and cell.text == "2"


# ---- Modules

def test_require_and_import_are_of_the_workspace(js, tmp_path):
    (tmp_path / "mine.js").write_text("module.exports = {there: 7}")
    (tmp_path / "mine.mjs").write_text("export const there = 8; export default 9")
    package = tmp_path / "node_modules" / "pkg"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps(
        {"name": "pkg", "exports": {"import": "./i.mjs", "require": "./r.js"}}))
    (package / "i.mjs").write_text("export default 'imported'")
    (package / "r.js").write_text("module.exports = 'required'")
    assert js.ok("require('./mine').there").text == "7"
    assert js.ok("(await import('./mine.mjs')).there").text == "8"
    assert js.ok("require('pkg') + (await import ('pkg')).default").text == "'requiredimported'"
    assert js.ok("const { readFileSync } = await import('node:fs'); readFileSync('mine.js', 'utf8')"
                 ).text == "'module.exports = {there: 7}'"
    assert error(js, "await import('./absent.mjs')")[0] == "Error"


def test_only_code_is_taken_for_an_import(js):
    cell = js.ok("const s = \"import('x')\", t = `import('x') ${(await import('fs')).default === require('fs')}`;"
                 " /* import('x') */ const r = /import('x')/.source;"
                 " const o = {import(x) { return 'method ' + x }, 'm': 1};"
                 " [s, t, r, o.import('x')]")
    assert cell.json() == ["import('x')", "import('x') true", "import('x')", "method x"]


def test_scripts_that_ask_whether_they_are_main_are(js):
    assert js.ok("require.main === module ? 'main' : 'library'").text == "'main'"
    js.ok("module.exports = {a: 1}; exports.b = 2")
    assert js.ok("[__dirname, process.argv.length]").json()[1] == 1


def test_child_processes_work_and_have_no_channel(js):
    code = ("require('child_process').execFileSync('bash', ['-c', "
            "'for n in 1 3; do [ -e /proc/$$/fd/$n ] && echo has $n; done; true']).toString()")
    assert js.ok("require('fs').fstatSync(3).isSocket()").text == "true"
    assert js.ok(code).text == "'has 1\\n'"


def test_workers_work(js):
    assert js.ok("const { Worker } = require('worker_threads');\n"
                 "await new Promise((done) => new Worker('require(\"worker_threads\").parentPort.postMessage(6)',"
                 " {eval: true}).on('message', done))").text == "6"


# ---- await and the event loop

def test_await_at_top_level(js):
    assert js.ok("const v = await new Promise((done) => setTimeout(done, 1, 5)); v + 1").text == "6"
    assert js.ok("v").text == "5"
    assert js.ok("for await (const x of (async function* () { yield 1; yield 2 })()) console.log(x)"
                 ).stdout == "1\n2\n"


def test_a_promise_that_is_the_value_is_awaited(js):
    cell = js.ok("async function main() { await new Promise((d) => setTimeout(d, 5)); console.log('end'); return 3 }\n"
                 "main()")
    assert (cell.text, cell.stdout) == ("3", "end\n")
    assert error(js, "(async () => { throw new RangeError('r') })()")[:2] == ("RangeError", "r")


def test_timers_go_on_between_cells(js):
    js.ok("let n = 0; const timer = setInterval(() => { if (++n === 3) console.log('three') }, 1)")
    js.wait_for("three")
    assert js.ok("clearInterval(timer); n >= 3").text == "true"


def test_a_server_of_one_cell_answers_another(js):
    js.ok("const http = require('http'); const server = http.createServer((q, a) => a.end('hello'));\n"
          "await new Promise((done) => server.listen(0, '127.0.0.1', done))")
    assert js.ok("await new Promise((done) => http.get(server.address(), (a) => a.on('data', (d) => done(String(d)))))"
                 ).text == "'hello'"
    js.ok("server.close()", flags=STORE | SILENT)


# ---- Errors

def test_an_error_has_name_value_and_stack_from_the_cell_on(js):
    js.ok("function fails(a) {\n  return a.b.c  // here\n}")
    name, value, text = error(js, "const x = 1\nfails(x)")
    assert (name, value) == ("TypeError", "Cannot read properties of undefined (reading 'c')")
    assert text.splitlines() == [f"{name}: {value}", "    at fails (cell-1:2:14)", "    at cell-2:2:1"]


def test_a_syntax_error_shows_where(js):
    name, value, text = error(js, "const a = 1\nconst b = (2 + ;\n")
    assert (name, value) == ("SyntaxError", "Unexpected token ';'")
    assert text.splitlines()[:3] == ["cell-1:2", "const b = (2 + ;", " " * 15 + "^"]
    assert "inspector" not in text and "driver" not in text
    assert error(js, "let z = 1; let z = 2")[1] == "Identifier 'z' has already been declared"
    alive(js)


def test_a_cause_and_an_await_are_told_without_the_driver(js):
    text = error(js, "try { null.x } catch (e) { throw new Error('outer', {cause: e}) }")[2]
    assert "[cause]: TypeError" in text and "inspector" not in text and "javascript.js" not in text
    text = error(js, "async function f() { await 1; throw new Error('late') }\nawait f()")[2]
    assert text.splitlines()[0] == "Error: late" and "cell-2:1" in text
    assert "inspector" not in text and "javascript.js" not in text


@pytest.mark.parametrize("thrown, name, value", [
    ("5", "Uncaught", "5"), ("null", "Uncaught", "null"), ("undefined", "Uncaught", "undefined"),
    ("{a: 1}", "Uncaught", "{ a: 1 }"), ("new Proxy({}, {get() { throw 1 }})", "Uncaught", "{}"),
    ("Object.assign(new Error('m'), {name: 'Own'})", "Own", "m"),
    ("Object.defineProperty(new Error('m'), 'message', {get() { throw 1 }})", None, None),
    ("Object.assign(new Error('m'), {stack: 5})", "Error", "m"),
    ("Object.assign(new Error('m'), {code: 'ERR_SCRIPT_EXECUTION_INTERRUPTED'})", "Error", "m"),
    ("new Error('v'.repeat(3_000_000))", "Error", None)])
def test_whatever_is_thrown_is_told(js, thrown, name, value):
    said = error(js, f"throw ({thrown})")
    assert name in (None, said[0]) and value in (None, said[1]) and len(said[1]) <= 1 << 20
    alive(js)


def test_deep_recursion_is_an_error(js):
    assert error(js, "function f() { f() }; f()")[0] == "RangeError"
    alive(js)


def test_an_error_that_nobody_catches_ends_the_cell_that_waits(js):
    name, value, _ = error(js, "await new Promise(() => setTimeout(() => { throw new TypeError('t') }, 1))")
    assert (name, value) == ("TypeError", "t")
    assert error(js, "Promise.reject(new RangeError('r')); await new Promise(() => {})")[0] == "RangeError"
    alive(js)


def test_an_error_between_cells_is_printed(js):
    js.ok("setTimeout(() => { throw new TypeError('between') }, 20);", flags=STORE | SILENT)
    js.wait_for("between", "stderr")
    assert js.text["stderr"].startswith(b"Uncaught, between cells: TypeError: between\n    at ")
    alive(js)


def test_a_cells_own_handler_is_asked(js):
    assert js.ok("await new Promise((done) => { process.once('uncaughtException', (e) => done(e.message));"
                 " setTimeout(() => { throw new Error('mine') }, 1) })").text == "'mine'"


# ---- process.exit

@pytest.mark.parametrize("code", [
    "process.exit(0)", "process.exit()", "await 1; process.exit()",
    "setTimeout(() => process.exit(), 1); await new Promise(() => {})",
    "try { process.exit(0) } catch { console.log('caught') }",
    "async function main() { await 1; throw new Error('x') }; main().catch(() => process.exit(0))"])
def test_exit_ends_the_cell_only(js, code):
    js.ok("const kept = 1")
    cell = js.ok(code + "\nconsole.log('after')" if "catch" not in code and "setTimeout" not in code else code)
    assert cell.stdout == "" and cell.results == [], cell
    assert js.ok("kept").text == "1"


def test_exit_after_an_await_ends_the_cell_though_it_can_be_caught(js):
    cell = js.ok("try { await 1; process.exit(0) } catch { console.log('caught') }\nawait new Promise(() => {})")
    assert (cell.stdout, cell.results) == ("caught\n", [])
    alive(js)


def test_exit_with_a_status_is_an_error(js):
    name, value, _ = error(js, "process.exit(3)")
    assert name == "Exit" and value.startswith("process.exit(3) ")
    assert error(js, "process.exitCode = 4; process.exit()")[1].startswith("process.exit(4) ")
    js.ok("process.exitCode = 0;")
    alive(js)


# ---- Interrupts

@pytest.mark.parametrize("code", [
    "console.log('here'); while (true);",
    "console.log('here'); await new Promise(() => {})",
    "console.log('here'); await new Promise((d) => setTimeout(d, 1e6))",
    "try { console.log('here'); while (true); } catch { console.log('caught') }",
    "console.log('here'); new Promise(() => {})",
    "({[require('util').inspect.custom]() { console.log('here'); while (true); }})"])
def test_sigint_interrupts_a_cell(js, code):
    js.ok("const kept = 1")
    js.begin(code)
    js.wait_for("here")
    js.interrupt_until_done()
    cell = js.end()
    assert cell.status == "interrupted" and cell.stdout == "here\n", cell
    assert js.ok("kept").text == "1"


@pytest.mark.parametrize("before", ["", "process.removeAllListeners('SIGINT')", "process.on('SIGINT', () => {})"])
def test_sigint_between_cells_does_nothing(js, before):
    js.ok(f"const a = 1; {before};")
    for _ in range(20):
        js.interrupt()
    assert js.ok("a").text == "1"


def test_sigint_in_a_display_of_many_packets_breaks_no_chain(js):
    js.ok("const text = 'x'.repeat(8 << 20)")
    for _ in range(10):
        js.begin("while (true) display(text)")
        while len(js.receive()) < 65536:
            pass
        js.interrupt()
        # What was received belongs to the first chain: the rest of it, and all others, are whole.
        while js.next_frame()[0] != harness.DONE:
            pass
    alive(js)


# ---- Streams and the channel

def test_output_is_in_order_and_there_before_done(js):
    cell = js.ok("for (let i = 0; i < 1000; i++) { console.log(i); console.error(-i) }\n"
                 "process.stdout.write('x'.repeat(3_000_000)); process.stdout.write('end')")
    lines = cell.stdout.split("\n")
    assert lines[:1000] == [str(i) for i in range(1000)] and lines[1000] == "x" * 3_000_000 + "end"
    assert cell.stderr.split("\n")[999] == "-999"
    assert js.ok("console.table([{a: 1}]);").stdout.count("\n") == 5


def test_without_its_channel_the_driver_ends(js):
    js.begin("require('fs').closeSync(3)")
    with pytest.raises(harness.Gone):
        js.end()
    assert js.exit_status() != 0


def test_another_descriptor_in_the_channels_place_gets_nothing(js, tmp_path):
    js.begin("const fs = require('fs'); fs.closeSync(3); fs.openSync('taken', 'w+')")
    with pytest.raises(harness.Gone):
        js.end()
    assert js.exit_status() != 0
    assert (tmp_path / "taken").read_bytes() == b""


def test_the_channels_end_is_the_drivers(js):
    js.outside.close()
    assert js.exit_status() == 0


def test_the_channels_end_is_seen_in_a_cell_that_waits(js):
    js.begin("console.log('here'); await new Promise(() => {})")
    js.wait_for("here")
    js.outside.close()
    assert js.exit_status() == 0


def test_what_is_no_run_ends_the_driver(js):
    js.outside.send(harness.HEADER.pack(harness.MAGIC, harness.DONE, 0, 0, 5) + b"\0" * 8)
    assert js.exit_status() != 0


@pytest.mark.parametrize("breaks", [
    "console.log = null; process.stdout.write = null",
    "globalThis.console = globalThis.Promise = globalThis.Buffer = globalThis.JSON = undefined",
    "require('fs').readSync = require('fs').read = require('fs').writeSync = require('fs').fstatSync = null",
    "process.removeAllListeners(); process.exit = null; process.kill = null",
    "for (const name of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[name] } catch {} }"])
def test_a_cell_that_breaks_things_does_not_end_the_interpreter(js, breaks):
    js.ok("const kept = 'state'")
    js.run(breaks)
    assert js.ok("kept").text == "'state'"
