// The first code of a Node process that runs an extension. Osier passes it with `--eval`. Frames of Osier arrive on 3. Everything
// for Osier leaves through 4, where the answers to synchronous calls arrive too. A confined process of Osier is at 5: it removes
// types and measures text.
"use strict";

const fs = require("node:fs");
const { Console } = require("node:console");
const Module = require("node:module");
const { Writable } = require("node:stream");

const [FRAMES, CALLS] = [3, 4];
/** The ids of synchronous calls, so that Osier knows where the answer goes. The same number is in `frame.rs`. */
const FIRST_CALL = 2 ** 52;

// Also part of the code of the loader's thread. `lock` keeps the two threads apart.
function createHelper(fs, lock) {
	const HELPER = 5;
	const chunk = Buffer.allocUnsafe(1 << 16);
	function readLine() {
		const parts = [];
		for (;;) {
			const count = fs.readSync(HELPER, chunk);
			if (!count) throw new Error("the process that helps Node has ended");
			parts.push(Buffer.from(chunk.subarray(0, count)));
			if (chunk[count - 1] === 10) return Buffer.concat(parts).toString();
		}
	}
	return (method, params) => {
		while (Atomics.compareExchange(lock, 0, 0, 1) !== 0) Atomics.wait(lock, 0, 1);
		try {
			// The first line is its greeting.
			if (Atomics.exchange(lock, 1, 1) === 0) readLine();
			const text = JSON.stringify({ request: { extension: 0, id: 1, method, params } });
			// Half of a surrogate pair is not valid in JSON for Osier.
			const valid = text.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length > 2 ? "\\ufffd" : found));
			const line = Buffer.from(`${valid}\n`);
			for (let at = 0; at < line.length; ) at += fs.writeSync(HELPER, line, at);
			const { done, failed } = JSON.parse(readLine()).response.outcome;
			if (failed) throw new Error(failed.message);
			return done;
		} finally {
			Atomics.store(lock, 0, 0);
			Atomics.notify(lock, 0);
		}
	};
}

const lock = new Int32Array(new SharedArrayBuffer(8));
const helper = createHelper(fs, lock);

function send(line) {
	const bytes = Buffer.from(`${line}\n`);
	for (let at = 0; at < bytes.length; ) at += fs.writeSync(CALLS, bytes, at);
}

const answer = Buffer.allocUnsafe(1 << 16);
function readAnswer() {
	const parts = [];
	for (;;) {
		const count = fs.readSync(CALLS, answer);
		if (!count) process.reallyExit(0);
		parts.push(Buffer.from(answer.subarray(0, count)));
		if (answer[count - 1] === 10) return Buffer.concat(parts).toString().trimEnd();
	}
}

/** The places of a stack as `file:line:column`, without those of Node and of Osier's library. */
function places(stack) {
	const found = [];
	for (const line of String(stack).split("\n")) {
		const place = line.trim().match(/^at .*?\(?(?:file:\/\/)?(\/[^()]*:\d+:\d+)\)?$/)?.[1];
		if (place && found.length < 10) found.push(decodeURI(place));
	}
	return found;
}

let lastId = 0;
const nextId = (first = 0) => {
	lastId += 1;
	return first + lastId;
};
const json = (value) => JSON.stringify(value).replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length > 2 ? "\\ufffd" : found));
const failure = (message, stack) => json({ message, stack: places(stack) });
const respond = (id, outcome) => send(`{"response":{"extension":0,"id":${id},"outcome":${outcome}}}`);
const sendRequest = (id, method, params) => send(`{"request":{"extension":0,"id":${id},"method":${json(method)},"params":${params}}}`);
const notice = (method, params) => send(`{"notice":{"extension":0,"method":${json(method)},"params":${params}}}`);

const STYLE = /\u001b\[[0-9;]*m/g;
const isPlain = (text) => /^[\x20-\x7e]*$/.test(text);
const text = {
	width(value) {
		const bare = value.replace(STYLE, "");
		return isPlain(bare) ? bare.length : helper("text", { name: "width", args: [value] });
	},
	segments: (value, granularity) => json([...new Intl.Segmenter("en", { granularity }).segment(value)].map(({ index, segment, isWordLike }) => [index, segment, !!isWordLike])),
};
for (const name of ["truncate", "slice", "wrap", "markdown", "highlight"]) text[name] = (...args) => helper("text", { name, args });

globalThis.__native = {
	text,
	libraryModules: helper("libraryModules", null),
	isContext: (handler) => helper("isContext", handler),
	call(method, params) {
		const id = nextId(FIRST_CALL);
		sendRequest(id, method, params);
		const line = readAnswer();
		const start = `{"response":{"extension":0,"id":${id},"outcome":{"done":`;
		if (line.startsWith(start)) return line.slice(start.length, -3);
		throw new Error(JSON.parse(line).response.outcome.failed?.message);
	},
	request(method, params) {
		const id = nextId();
		sendRequest(id, method, params);
		return id;
	},
	notice,
	respond: (id, value) => respond(id, `{"done":${value}}`),
	fail: (id, message, stack) => respond(id, `{"failed":${failure(message, stack)}}`),
	report: (message, stack) => notice("error", failure(message, stack)),
	cancel: (id) => send(`{"cancel":{"extension":0,"id":${id}}}`),
	now: () => performance.now(),
	place: (stack) => places(stack)[0],
};
const { report } = globalThis.__native;
const reportError = (error) => report(String(error?.message ?? error), error?.stack ?? "");
process.on("uncaughtException", reportError);
process.on("unhandledRejection", reportError);

/** Output of the extension. Osier writes it to the log, or to standard error. */
const output = (level) =>
	new Writable({
		decodeStrings: false,
		write(chunk, _encoding, done) {
			notice("log", json({ level, text: String(chunk).replace(/\n$/, "") }));
			done();
		},
	});
const replace = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });
const streams = { stdout: output("info"), stderr: output("error") };
for (const [name, stream] of Object.entries(streams)) replace(process, name, Object.assign(stream, { isTTY: false, columns: 80, rows: 24 }));
globalThis.console = new Console(streams.stdout, streams.stderr);

/** Programs that an extension starts as "pi again" are Osier; `fork` needs Node itself. */
function presentOsier(program) {
	const node = process.execPath;
	const childProcess = require("node:child_process");
	const { fork } = childProcess;
	childProcess.fork = (file, args, options) => (Array.isArray(args) ? fork(file, args, { execPath: node, ...options }) : fork(file, { execPath: node, ...(args ?? options) }));
	Module.syncBuiltinESMExports();
	process.execPath = program;
	process.argv = [program, program];
	process.execArgv = [];
	process.title = "osier";
	process.exit = () => {
		throw new Error("process.exit() is not available in Osier's extensions; use ctx.shutdown()");
	};
}

const isPackageOfPi = (name) => /^(@earendil-works|@mariozechner)\/pi-|^(@sinclair\/)?typebox(\/|$)/.test(name);

/** `require` of pi's packages, and of TypeScript files. The modules of pi's packages are loaded before the extension. */
function extendRequire(modules) {
	const { _load: load } = Module;
	Module._load = function (name, ...rest) {
		const module = isPackageOfPi(name) ? modules.get(helper("libraryModule", name)) : undefined;
		return module ?? load.call(this, name, ...rest);
	};
	for (const extension of [".ts", ".cts"]) {
		Module._extensions[extension] = (module, file) => module._compile(helper("strip", { path: file, source: fs.readFileSync(file, "utf8") }), file);
	}
}

/** Finds and reads modules with `loader.js`: in this thread, or in Node's thread for loaders if it has no other way. */
function registerLoader() {
	const source = helper("librarySource", "osier:sidecar/loader.js");
	if (typeof Module.registerHooks === "function") {
		const createLoader = new Function(`${source}\nreturn createLoader;`)();
		Module.registerHooks(createLoader(helper, fs, require("node:url")));
		return;
	}
	if (typeof Module.register !== "function") throw new Error(`Node 20.6 or later is needed; this is ${process.version}`);
	const code = `import fs from "node:fs";
import * as url from "node:url";
const createHelper = ${createHelper};
${source}
let loader;
export function initialize({ lock }) {
	loader = createLoader(createHelper(fs, lock), fs, url);
}
export const resolve = async (...args) => loader.resolve(...args);
export const load = async (...args) => loader.load(...args);`;
	Module.register(`data:text/javascript,${encodeURIComponent(code)}`, { parentURL: "file:///", data: { lock } });
}

async function start() {
	registerLoader();
	// The library starts here, and these are what it and extensions require.
	const { dispatch, preloaded } = await import("osier:sidecar/main.js");
	extendRequire(preloaded);
	return dispatch;
}

/** What concerns the process and not its extension. */
function prepare(method, text) {
	// The helper needs nothing that the extension was granted.
	if (method === "confine") return json(helper("confine", { rules: JSON.parse(text).rules.map((rules) => ({ ...rules, grants: [] })) }));
	if (method === "load") presentOsier(JSON.parse(text).environment.system.program);
	return undefined;
}

// The fields of a frame have a fixed order, so that the text of its parameters is a part of the line.
function receive(line, dispatch) {
	const frame = JSON.parse(line);
	const { request, notice: told, response, cancel } = frame;
	const rest = (name) => line.slice(line.indexOf(`"${name}":`) + name.length + 3, -2);
	if (request) {
		const { id, method } = request;
		const done = prepare(method, rest("params"));
		if (done === undefined) dispatch(0, id, method, rest("params"));
		else respond(id, `{"done":${done}}`);
	} else if (told) dispatch(1, 0, told.method, rest("params"));
	else if (response?.outcome.failed) dispatch(3, response.id, "", response.outcome.failed.message);
	else if (response) dispatch(2, response.id, "", rest("done").slice(0, -1));
	else if (cancel) dispatch(4, cancel.id, "", "");
}

/** A frame that cannot be handled must not block those after it. */
function refuse(line, error) {
	const id = line.match(/^\{"request":\{[^{]*?"id":(\d+)/)?.[1];
	if (id !== undefined) respond(Number(id), `{"failed":${failure(String(error?.message ?? error), "")}}`);
}

send('{"hello":{"version":1}}');
let queue = start().catch((error) => (kind, id) => {
	if (kind === 0) respond(id, `{"failed":${failure(error.message, "")}}`);
});
const socket = new (require("node:net").Socket)({ fd: FRAMES });
let rest = "";
socket.setEncoding("utf8");
socket.on("data", (chunk) => {
	const lines = (rest + chunk).split("\n");
	rest = lines.pop();
	queue = queue.then((dispatch) => {
		for (const line of lines) {
			try {
				receive(line, dispatch);
			} catch (error) {
				refuse(line, error);
			}
		}
		return dispatch;
	});
});
socket.on("close", () => process.reallyExit(0));
socket.on("error", () => process.reallyExit(0));
