// The module `child_process` of Node. Osier runs the programs, and answers a write when it has room for the next one.

import { call, handle, request } from "osier:primitives.js";
import { environment } from "osier:context.js";
import { Buffer, toBytes } from "osier:node/buffer.js";
import { EventEmitter } from "osier:node/events.js";
import { Readable, Writable } from "osier:node/stream.js";

const base64 = (data, encoding) => Buffer.from(toBytes(data, encoding)).toString("base64");
const programs = new Map();
let lastId = 0;

/** The program and its arguments as Osier starts them. */
function commandOf(program, args, options) {
	const shell = typeof options.shell === "string" ? options.shell : "/bin/sh";
	const line = [program, ...args].join(" ");
	const [file, list] = options.shell ? [shell, ["-c", line]] : [String(program), args.map(String)];
	const env = options.env && Object.fromEntries(Object.entries(options.env).filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)]));
	const cwd = options.cwd === undefined || options.cwd === null ? environment().cwd : String(options.cwd?.pathname ?? options.cwd);
	return { program: file, args: list, cwd, env };
}

function spawnError(message, program, args) {
	const [, code] = message.match(/ (E[A-Z]+)/) ?? [];
	return Object.assign(new Error(message), { code: code ?? "EACCES", errno: code === "ENOENT" ? -2 : -13, syscall: `spawn ${program}`, path: program, spawnargs: args });
}

/** Resolves to the error, if there is one. Nothing of this is lost, however much an extension sends. */
const order = (method, params) => request(method, params).then(() => undefined, (error) => error);

class ChildProcess extends EventEmitter {
	exitCode = null;
	signalCode = null;
	killed = false;
	connected = false;
	constructor(program, args, options) {
		super();
		lastId += 1;
		const id = lastId;
		const stdio = Array.isArray(options.stdio) ? options.stdio : Array(3).fill(options.stdio ?? "pipe");
		const [input, output, errors] = stdio;
		Object.defineProperty(this, "id", { value: id });
		this.spawnfile = program;
		this.spawnargs = [program, ...args];
		const isPipe = (kind) => kind === undefined || kind === null || kind === "pipe" || kind === "overlapped";
		this.stdin = isPipe(input) ? this.#input(id) : null;
		this.stdout = isPipe(output) ? new Readable() : null;
		this.stderr = isPipe(errors) ? new Readable() : null;
		this.stdio = [this.stdin, this.stdout, this.stderr];
		this.inherited = { stdout: output === "inherit", stderr: errors === "inherit" };
		this.open = 2;
		programs.set(id, this);
		try {
			const { pid } = call("program.start", { id, ...commandOf(program, args, options), detached: !!options.detached, hasInput: isPipe(input) });
			this.pid = pid;
			Promise.resolve().then(() => this.emit("spawn"));
		} catch (error) {
			programs.delete(id);
			const failure = spawnError(error.message, program, args);
			setTimeout(() => {
				this.emit("error", failure);
				this.stdout?.push(null);
				this.stderr?.push(null);
				this.emit("close", -2, null);
			}, 0);
			return;
		}
		const { signal, timeout, killSignal } = options;
		if (timeout > 0) {
			const timer = setTimeout(() => this.kill(killSignal), timeout);
			this.once("exit", () => clearTimeout(timer));
		}
		if (signal) {
			const abort = () => {
				this.kill(killSignal);
				this.emit("error", Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" }));
			};
			if (signal.aborted) Promise.resolve().then(abort);
			else signal.addEventListener("abort", abort, { once: true });
			this.once("exit", () => signal.removeEventListener("abort", abort));
		}
	}
	#input(id) {
		return new Writable({
			write(chunk, _encoding, done) {
				order("program.write", { id, data: base64(chunk) }).then(done);
			},
			final(done) {
				order("program.closeInput", { id }).then(done);
			},
		});
	}
	kill(signal = "SIGTERM") {
		if (this.exitCode !== null || this.signalCode !== null || !this.pid) return false;
		if (signal === 0) return true;
		order("program.kill", { id: this.id, signal: String(signal) });
		this.killed = true;
		return true;
	}
	ref() {}
	unref() {}
	disconnect() {}
	send() {
		throw new Error("This program has no IPC channel");
	}
}

handle("program.output", ({ id, stream, data }) => {
	const program = programs.get(id);
	if (!program) return;
	const bytes = data === null ? null : Buffer.from(data, "base64");
	if (bytes && program.inherited[stream]) console.log(bytes.toString().replace(/\n$/, ""));
	program[stream]?.push(bytes);
});
handle("program.exit", ({ id, code, signal }) => {
	const program = programs.get(id);
	if (!program) return;
	programs.delete(id);
	program.exitCode = code;
	program.signalCode = signal;
	program.emit("exit", code, signal);
	// The last output is delivered first.
	setTimeout(() => program.emit("close", code, signal), 0);
});

const split = (args, options) => (Array.isArray(args) ? [args, options ?? {}] : [[], args ?? {}]);

export function spawn(program, args, options) {
	const [list, settings] = split(args, options);
	return new ChildProcess(String(program), list.map(String), settings);
}

const DEFAULT_BUFFER = 1024 * 1024;

/** Collects the output and calls back at the end. */
function collect(program, list, options, callback, shown) {
	const child = spawn(program, list, options);
	const encoding = options.encoding === undefined ? "utf8" : options.encoding;
	const limit = options.maxBuffer ?? DEFAULT_BUFFER;
	const parts = { stdout: [], stderr: [] };
	const sizes = { stdout: 0, stderr: 0 };
	let failure;
	for (const name of ["stdout", "stderr"]) {
		child[name]?.on("data", (chunk) => {
			parts[name].push(chunk);
			sizes[name] += chunk.length;
			if (sizes[name] > limit && !failure) {
				failure = Object.assign(new RangeError(`${name} maxBuffer length exceeded`), { code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER" });
				child.kill();
			}
		});
	}
	child.on("error", (error) => (failure ??= error));
	child.on("close", (code, signal) => {
		const text = (name) => {
			const all = Buffer.concat(parts[name].map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
			return encoding && encoding !== "buffer" ? all.toString(encoding) : all;
		};
		const [stdout, stderr] = [text("stdout"), text("stderr")];
		if (!failure && (code !== 0 || signal)) {
			failure = Object.assign(new Error(`Command failed: ${shown}\n${stderr}`), { code, signal, killed: child.killed, cmd: shown });
		}
		if (failure) Object.assign(failure, { stdout, stderr });
		callback?.(failure ?? null, stdout, stderr);
	});
	return child;
}

export function exec(command, options, callback) {
	const [settings, done] = typeof options === "function" ? [{}, options] : [options ?? {}, callback];
	return collect(String(command), [], { shell: true, ...settings }, done, command);
}
export function execFile(program, args, options, callback) {
	const done = [args, options, callback].find((value) => typeof value === "function");
	const [list, settings] = split(args, typeof options === "function" ? {} : options);
	const chosen = typeof settings === "function" ? {} : settings;
	return collect(program, list, chosen, done, [program, ...list].join(" "));
}

const custom = Symbol.for("nodejs.util.promisify.custom");
const promised = (run) => (...args) => {
	let child;
	const promise = new Promise((resolve, reject) => {
		child = run(...args, (error, stdout, stderr) => (error ? reject(error) : resolve({ stdout, stderr })));
	});
	promise.child = child;
	return promise;
};
exec[custom] = promised(exec);
execFile[custom] = promised(execFile);

export function spawnSync(program, args, options) {
	const [list, settings] = split(args, options);
	const { input, timeout, maxBuffer, encoding } = settings;
	const params = { ...commandOf(program, list, settings), timeout, maxBuffer, input: input === undefined ? undefined : base64(input) };
	const result = call("program.run", params);
	const stdio = Array.isArray(settings.stdio) ? settings.stdio : Array(3).fill(settings.stdio ?? "pipe");
	const text = (data, kind) => {
		const bytes = Buffer.from(data ?? "", "base64");
		if (kind === "inherit" && bytes.length) console.log(bytes.toString().replace(/\n$/, ""));
		if (kind === "inherit" || kind === "ignore") return null;
		return encoding && encoding !== "buffer" ? bytes.toString(encoding) : bytes;
	};
	const [stdout, stderr] = [text(result.stdout, stdio[1]), text(result.stderr, stdio[2])];
	const done = { pid: result.pid ?? 0, output: [null, stdout, stderr], stdout, stderr, status: result.status ?? null, signal: result.signal ?? null };
	if (result.error) done.error = spawnError(result.error, program, list);
	return done;
}
function checked(result, shown) {
	if (result.error) throw Object.assign(result.error, result);
	if (result.status !== 0) {
		const text = result.stderr?.length ? `\n${result.stderr}` : "";
		throw Object.assign(new Error(`Command failed: ${shown}${text}`), result);
	}
	return result.stdout;
}
export const execFileSync = (program, args, options) => {
	const [list, settings] = split(args, options);
	return checked(spawnSync(program, list, settings), [program, ...list].join(" "));
};
export const execSync = (command, options = {}) => checked(spawnSync(String(command), [], { shell: true, ...options }), command);
export function fork() {
	throw new Error("child_process.fork is not available in Osier's extensions");
}

export { ChildProcess };
export default { spawn, exec, execFile, spawnSync, execSync, execFileSync, fork, ChildProcess };
