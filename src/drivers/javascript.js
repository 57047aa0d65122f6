// SPDX-License-Identifier: Apache-2.0
/*
 * Driver for Node 18 and later: runs cells with state, in the sandbox, as the interpreter itself.
 *
 * Started as `node javascript.js` in the workspace with a SOCK_SEQPACKET socket as descriptor 3;
 * frame.h says what goes over it. Nothing here is a wall: whoever reads the frames trusts none.
 *
 * The channel. Node's streams refuse such a socket, so packets are read by fs.read(), which is read(2)
 * in a thread of Node's pool (one of four is always in it), and written by fs.writeSync(). The event
 * loop runs on meanwhile: timers, promises and servers of a cell go on between cells too.
 *
 * The evaluator is V8's own for consoles, Runtime.evaluate in REPL mode, by an inspector session of
 * this process with itself: top-level await, the last expression's value, and const, let, class and
 * function live on and may be declared again. It knows no import(): see withImports(). A promise that
 * is a cell's value is awaited, so that `main()` as last line belongs to its cell.
 *
 * SIGINT ends synchronous code up to the cell's first await, and any await. It cannot end a
 * synchronous loop after an await: the vm module stops only what runs below its own call. While vm
 * changes the handlers, microseconds at both ends of that call, a signal ends Node; and one that comes
 * just before its end may be lost. So whoever interrupts a cell waits for it to have begun, and sends
 * the signal again until DONE comes.
 *
 * process.exit() ends its cell. An error that nobody catches, in a timer or a promise, ends the cell
 * that is running with it; between cells it is printed.
 */
'use strict';

const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const path = require('path');
const util = require('util');
const vm = require('vm');
const process = require('process');
const { Console } = require('console');
// Of a global that a cell deletes or changes, the driver has its own.
const { Buffer, JSON, Map, Number, Object, Promise, Reflect, RegExp, String, Symbol } = globalThis;
const { Array, SyntaxError, TypeError, Uint8Array } = globalThis;
const world = globalThis;

const CHANNEL = 3;
const MAGIC = 0x52444a42, MORE = 1;
const HEADER_SIZE = 16, PACKET_MAX = 65536, CHAIN_MAX = 16 << 20, DATA_MAX = CHAIN_MAX - 200;
const RUN = 1, READY = 2, DISPLAY = 3, ERROR = 4, DONE = 5;
const STORE_HISTORY = 1, SILENT = 2;
const OK = 0, FAILED = 1, INTERRUPTED = 2;
const RESULT = 0, SHOWN = 1;
const NAME_MAX = 100, VALUE_MAX = 1 << 20, TRACEBACK_MAX = 4 << 20, JSON_NODES_MAX = 1e6;
const ENTRY = 'belljar entry', BUNDLE = Symbol.for('Jupyter.display');
const IMPORT = '$mport'; // as long as "import": columns stay as they are
const DRIVER_FRAME = new RegExp('\\(?(node:inspector|node:vm|node:internal/vm|' +
	__filename.replace(/[^\w/]/g, '\\$&') + '):');

const { fstatSync, writeSync, read } = fs;
const { kill, pid, reallyExit, stderr } = process;
const output = new Console({ stdout: process.stdout, stderr }); // of Node's own the inspector keeps
const session = new inspector.Session();
const box = {}; // through which values leave the inspector
const identity = fstatSync(CHANNEL);
let boxId; // the inspector's name for it
let call = null; // the id of the call that is running, 8 bytes
let cell = null; // and how to stop it
let entered = false; // below the vm module's call: execution can be terminated
let index = 0, count = 0;
let sending = false; // a chain

// ---- Frames

/* SIGKILL: exit() would wait for the pool, and so for a thread that reads a socket which nobody can
 * close any more. */
function gone() {
	kill(pid, 'SIGKILL');
	for (;;);
}

/* What ends a cell's execution may end it here, in a chain: see finish(). */
function send(type, ...parts) {
	const payload = Buffer.concat(parts);
	sending = true;
	for (let at = 0; at < payload.length; at += PACKET_MAX - HEADER_SIZE) {
		const part = payload.subarray(at, at + PACKET_MAX - HEADER_SIZE);
		const header = Buffer.alloc(HEADER_SIZE);
		header.writeUInt32LE(MAGIC, 0);
		header[4] = type;
		header[5] = at + part.length < payload.length ? MORE : 0;
		call?.copy(header, 8);
		try {
			const now = fstatSync(CHANNEL);
			if (now.ino !== identity.ino || now.dev !== identity.dev)
				gone();
			writeSync(CHANNEL, Buffer.concat([header, part]));
		} catch {
			gone();
		}
	}
	sending = false;
}

function u32(value) {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value);
	return bytes;
}

function strings(...texts) {
	return texts.flatMap((text) => [u32(text.length), text]);
}

/* UTF-8 of at most `limit` bytes, cut between characters. */
function clip(text, limit) {
	const data = Buffer.from(String(text));
	if (data.length <= limit)
		return data;
	const note = Buffer.from(` [cut: ${data.length} bytes in all]`);
	let end = limit - note.length;
	while ((data[end] & 0xc0) === 0x80)
		end--;
	return Buffer.concat([data.subarray(0, end), note]);
}

/* The next packet, always: its end also tells, during a cell, that nobody is there any more. */
function listen(parts = [], whole = 0) {
	const packet = Buffer.allocUnsafe(PACKET_MAX);
	read(CHANNEL, packet, 0, PACKET_MAX, null, (error, size) => {
		if (!error && size === 0)
			reallyExit(0);
		if (error || call || size < HEADER_SIZE || packet.readUInt32LE(0) !== MAGIC || packet[4] !== RUN)
			gone();
		parts.push(packet.subarray(HEADER_SIZE, size));
		whole += size - HEADER_SIZE;
		if (whole > CHAIN_MAX || whole < 4)
			gone();
		if (packet[5] & MORE)
			return listen(parts, whole);
		call = Buffer.from(packet.subarray(8, HEADER_SIZE));
		listen();
		const data = Buffer.concat(parts);
		run(data.readUInt32LE(0), data.toString('utf8', 4));
	});
}

// ---- Evaluation

const INTERRUPT = Symbol('interrupted'); // thrown by SIGINT, as an Exit is by process.exit()

class Exit {
	constructor(code) {
		this.code = code ?? 0;
	}
}

/* How a cell ended otherwise than by its last line. */
class Ended {
	constructor(thrown, where = '') {
		this.thrown = thrown;
		this.where = where;
	}
}

const trampoline = new vm.Script(`this['${ENTRY}']()`);

/* Calls it so that SIGINT ends it, by throwing INTERRUPT. */
function interruptible(work) {
	let value;
	world[ENTRY] = () => {
		delete world[ENTRY];
		value = work();
	};
	entered = true;
	try {
		trampoline.runInThisContext({ breakOnSigint: true, displayErrors: false });
	} catch (error) {
		throw error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' ? INTERRUPT : error;
	} finally {
		entered = false;
	}
	return value;
}

/* What the inspector calls by a number, itself. */
function unwrapped({ objectId, unserializableValue, value }) {
	const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
	session.post('Runtime.callFunctionOn', { objectId: boxId, arguments: [argument],
		functionDeclaration: 'function (value) { this.value = value; }' }, () => {});
	const found = box.value;
	delete box.value;
	return found;
}

function evaluate(code, name) {
	const expression = `${withImports(code)}\n//# sourceURL=${name}`;
	const options = { expression, replMode: true, awaitPromise: true, objectGroup: 'cell' };
	return new Promise((resolve, reject) => {
		interruptible(() => session.post('Runtime.evaluate', options, (error, answer) => {
			if (error) // terminated: by SIGINT; or by exit(), which has told the cell
				return reject(INTERRUPT);
			if (!answer.exceptionDetails)
				return resolve([unwrapped(answer.result)]); // in an array: it may be a promise
			const thrown = unwrapped(answer.exceptionDetails.exception);
			reject(new Ended(thrown, place(thrown, answer.exceptionDetails, code, name)));
		}));
	});
}

/* Of an error in the cell's syntax the stack does not say where. */
function place(thrown, { lineNumber, columnNumber, stackTrace }, code, name) {
	if (!(thrown instanceof SyntaxError) || stackTrace?.callFrames.some((f) => f.url === name))
		return '';
	const line = code.split('\n')[lineNumber] ?? '';
	return `${name}:${lineNumber + 1}\n${line}\n${' '.repeat(columnNumber)}^\n\n`;
}

/*
 * Each import() becomes a call of a function that imports from the workspace. What is one, V8's parser
 * says: `import#` is an error wherever it is code, and none in a string, a comment or a template; and
 * `(0)` may stand in place of a call's name but not of a method's.
 */
function withImports(code) {
	const parses = (text) => {
		try {
			return new vm.Script(`(async () => {${text}\n})`) !== null;
		} catch {
			return false;
		}
	};
	const candidates = [...code.matchAll(/(?<![.\w$#])import(?=\s*\()/g)].reverse();
	if (candidates.length === 0 || !parses(code))
		return code;
	for (const { index: at } of candidates) {
		const replaced = (by) => code.slice(0, at) + by + code.slice(at + 'import'.length);
		if (!parses(replaced('import#')) && parses(replaced('(0)')))
			code = replaced(IMPORT);
	}
	return code;
}

// ---- Results

/* What JSON gives back as it was: arrays and plain objects of nulls, booleans, numbers and strings. */
function isPlain(value, budget = { left: JSON_NODES_MAX }, depth = 0) {
	if (value === null || typeof value === 'string' || typeof value === 'boolean')
		return true;
	if (typeof value === 'number')
		return Number.isFinite(value);
	if (typeof value !== 'object' || depth > 100 || util.types.isProxy(value))
		return false;
	const prototype = Object.getPrototypeOf(value);
	if (![null, Object.prototype, Array.prototype].includes(prototype))
		return false;
	const keys = Reflect.ownKeys(value);
	if (Array.isArray(value) && keys.length !== value.length + 1)
		return false;
	return keys.every((key) => {
		const field = Object.getOwnPropertyDescriptor(value, key);
		return typeof key === 'string' && --budget.left > 0 &&
			(!field.enumerable ? key === 'length' : 'value' in field && isPlain(field.value, budget, depth + 1));
	});
}

function encoded(mime, data) {
	if (!/^[!-~]{1,100}$/.test(mime))
		throw new TypeError(`not a MIME type: ${util.inspect(mime)}`);
	if (data instanceof Uint8Array)
		return Buffer.from(data);
	if (typeof data !== 'string')
		return Buffer.from(JSON.stringify(data));
	const binary = mime.startsWith('image/') && mime !== 'image/svg+xml';
	return Buffer.from(data, binary ? 'base64' : 'utf8');
}

function inspected(value) {
	try {
		return util.inspect(value, { maxStringLength: Infinity });
	} catch (error) {
		return `[${typeof value}: it cannot be shown: ${util.inspect(error?.message)}]`;
	}
}

function formatsOf(value) {
	const formats = new Map([['text/plain', clip(inspected(value), DATA_MAX)]]);
	if (typeof value === 'object' && value !== null && isPlain(value))
		formats.set('application/json', Buffer.from(JSON.stringify(value)));
	if (typeof value?.[BUNDLE] === 'function') {
		for (const [mime, data] of Object.entries(value[BUNDLE]()))
			formats.set(mime, encoded(mime, data));
	}
	return formats;
}

/* A result, or what display() was given. */
function show(formats, kind) {
	if (!call)
		return output.log(formats.get('text/plain').toString());
	const own = index++;
	for (let [mime, data] of formats) {
		if (data.length > DATA_MAX) {
			data = Buffer.from(`[left out: ${mime} of ${data.length} bytes; at most ${DATA_MAX}]`);
			mime = 'text/plain';
		}
		send(DISPLAY, u32(own), Buffer.from([kind, mime.length, 0]), Buffer.from(mime), data);
	}
}

/* The stack as Node prints it, without what is below the cell. */
function traceOf(thrown) {
	let below = false;
	return inspected(thrown).split('\n').filter((line) => {
		const frame = /^\s+at /.test(line);
		below = frame && (below || DRIVER_FRAME.test(line));
		return !below;
	}).join('\n');
}

// ---- Cells

async function run(flags, code) {
	const store = flags & STORE_HISTORY && !(flags & SILENT);
	count += store ? 1 : 0;
	index = 0;
	let ended = null, stop;
	const stopped = new Promise((_, reject) => { stop = reject; });
	cell = {
		stop(reason) {
			ended ??= new Ended(reason);
			stop(ended);
		},
	};
	const settled = async (promise) => {
		try {
			return [await promise];
		} catch (thrown) {
			throw new Ended(thrown);
		}
	};
	try {
		const running = evaluate(code, store ? `cell-${count}` : 'cell');
		let [value] = await Promise.race([stopped, running]);
		if (util.types.isPromise(value))
			[value] = await Promise.race([stopped, settled(value)]);
		if (value !== undefined && !(flags & SILENT))
			show(interruptible(() => formatsOf(value)), RESULT);
	} catch (caught) {
		ended ??= caught instanceof Ended ? caught : new Ended(caught);
	}
	finish(ended);
}

function finish(ended) {
	cell = null;
	/* Where a chain is open, this ends it, with a strange last part; else it stands by itself. */
	if (sending)
		show(new Map([['text/plain', Buffer.from('[what was shown here was cut off]')]]), SHOWN);
	let status = OK;
	const thrown = ended?.thrown;
	if (thrown instanceof Exit) {
		status = Number(thrown.code) === 0 ? OK : FAILED;
		if (status === FAILED)
			send(ERROR, ...strings(Buffer.from('Exit'), clip(`process.exit(${thrown.code}) (the cell ` +
				'ended itself; the interpreter goes on)', VALUE_MAX), Buffer.alloc(0)));
	} else if (ended) {
		status = thrown === INTERRUPT ? INTERRUPTED : FAILED;
		send(ERROR, ...strings(...described(thrown, ended.where)));
	}
	send(DONE, Buffer.from([status]), u32(count));
	call = null;
	if (process.listenerCount('SIGINT') === 0)
		process.on('SIGINT', interrupt);
	session.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' }, () => {});
}

function described(thrown, where) {
	if (thrown === INTERRUPT)
		return [Buffer.from('Interrupted'), Buffer.from('the cell was interrupted by SIGINT'), Buffer.alloc(0)];
	const native = util.types.isNativeError(thrown);
	try {
		return interruptible(() => [clip(native ? thrown.name : 'Uncaught', NAME_MAX),
			clip(native ? thrown.message : inspected(thrown), VALUE_MAX),
			clip(where + traceOf(thrown), TRACEBACK_MAX)]);
	} catch {
		return [Buffer.from('Error'), Buffer.alloc(0), Buffer.from('[it cannot be described]')];
	}
}

function interrupt() {
	cell?.stop(INTERRUPT);
}

/* What catches errors does not catch this before the cell's first await; after it, it does. */
function exit(code = process.exitCode) {
	const reason = new Exit(code);
	cell?.stop(reason);
	if (entered)
		session.post('Runtime.terminateExecution', () => {});
	while (entered);
	throw reason;
}

function uncaught(error) {
	if (error instanceof Exit)
		return;
	if (process.listenerCount('uncaughtException') > 0) {
		try {
			process.emit('uncaughtException', error, 'uncaughtException');
		} catch (worse) {
			cell?.stop(worse);
		}
	} else if (cell)
		cell.stop(error);
	else
		stderr.write(`Uncaught, between cells: ${traceOf(error)}\n`);
}

function prepareGlobals() {
	const home = new Module(path.join(process.cwd(), 'cell.js'));
	home.filename = home.id;
	home.paths = Module._nodeModulePaths(process.cwd());
	home._compile('module.exports = (name, options) => import(name, options)', home.filename);
	const importer = home.exports;
	home.exports = {};
	const require = Module.createRequire(home.filename);
	require.main = home; // `require.main === module` says that a script is no library
	const added = { require, module: home, exports: home.exports, __dirname: process.cwd(), [IMPORT]: importer,
		display: (value) => show(formatsOf(value), SHOWN),
		console: output };
	for (const [name, value] of Object.entries(added))
		Object.defineProperty(world, name, { value, writable: true, configurable: true });
	process.exit = exit;
	process.argv.length = 1;
}

for (const stream of [process.stdout, stderr])
	stream._handle?.setBlocking?.(true); // else what a full pipe does not take waits, and DONE does not
session.connect();
world[ENTRY] = box;
session.post('Runtime.evaluate', { expression: `this['${ENTRY}']` },
	(_, answer) => { boxId = answer.result.objectId; });
prepareGlobals();
process.on('SIGINT', interrupt);
process.setUncaughtExceptionCaptureCallback(uncaught);
send(READY, u32(1), ...strings(Buffer.from('javascript'), Buffer.from(process.versions.node)));
listen();
