// The module `fs` of Node. Rust checks every path, and does the work before a function returns, also before those that give
// their result later.

import { native, parse as parseJson } from "osier:primitives.js";
import { Buffer, toBytes, toText } from "osier:node/buffer.js";
import { EventEmitter } from "osier:node/events.js";
import { resolve } from "osier:node/path.js";
import { Readable, Writable } from "osier:node/stream.js";
import { fileURLToPath } from "osier:node/url.js";

const { files } = native;

export const constants = {
	F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64,
	O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_NOFOLLOW: 131072, S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFLNK: 40960,
};
export const { F_OK, X_OK, W_OK, R_OK } = constants;

const NUMBERS = { ENOENT: -2, EEXIST: -17, EACCES: -13, EPERM: -1, ENOTDIR: -20, EISDIR: -21, ENOTEMPTY: -39, EXDEV: -18, EINVAL: -22, EBADF: -9, EMFILE: -24, ENOSPC: -28 };

/** Gives an error of Rust the properties that Node's errors have. */
function withCode(error) {
	const [, code] = String(error?.message).match(/^(E[A-Z]+): /) ?? [];
	if (!code) return error;
	const [, syscall, path] = error.message.match(/, (\w+)(?: '(.*?)')?(?: -> '.*')?$/s) ?? [];
	return Object.assign(error, { code, errno: NUMBERS[code] ?? -1, syscall, path });
}

function attempt(run) {
	try {
		return run();
	} catch (error) {
		throw withCode(error);
	}
}

/** An absolute path, from a text, a buffer or a URL. */
function pathOf(path) {
	if (typeof path === "string") {
		if (path.includes("\0")) throw Object.assign(new TypeError("The path must be a string without null bytes"), { code: "ERR_INVALID_ARG_VALUE" });
		return resolve(path);
	}
	if (path instanceof Uint8Array) return resolve(Buffer.from(path).toString());
	if (path?.href) return fileURLToPath(path);
	throw Object.assign(new TypeError(`The "path" argument must be of type string. Received ${path === null ? "null" : typeof path}`), { code: "ERR_INVALID_ARG_TYPE" });
}

const encodingOf = (options) => (typeof options === "string" ? options : options?.encoding);
const modeOf = (mode, fallback) => (mode === undefined || mode === null ? fallback : typeof mode === "string" ? Number.parseInt(mode, 8) : mode);
function flagsOf(flags, fallback) {
	if (flags === undefined || flags === null) return fallback;
	if (typeof flags === "string") return flags;
	const exclusive = flags & constants.O_EXCL ? "x" : "";
	if (flags & constants.O_APPEND) return `a${exclusive}`;
	if (flags & constants.O_CREAT) return `w${exclusive}`;
	return flags & (constants.O_WRONLY | constants.O_RDWR) ? "r+" : "r";
}

export class Stats {
	constructor({ kind, ...numbers }) {
		Object.assign(this, numbers);
		Object.defineProperty(this, "kind", { value: kind });
		for (const name of ["atime", "mtime", "ctime", "birthtime"]) this[name] = new Date(this[`${name}Ms`]);
	}
	isFile() {
		return this.kind === "file";
	}
	isDirectory() {
		return this.kind === "folder";
	}
	isSymbolicLink() {
		return this.kind === "link";
	}
	isFIFO() {
		return this.kind === "pipe";
	}
	isSocket() {
		return this.kind === "socket";
	}
	isBlockDevice() {
		return false;
	}
	isCharacterDevice() {
		return this.kind === "device";
	}
}

export class Dirent {
	constructor(name, folder, kind) {
		this.name = name;
		this.parentPath = this.path = folder;
		Object.defineProperty(this, "kind", { value: kind });
	}
	isFile() {
		return this.kind === "file";
	}
	isDirectory() {
		return this.kind === "folder";
	}
	isSymbolicLink() {
		return this.kind === "link";
	}
	isFIFO() {
		return false;
	}
	isSocket() {
		return false;
	}
	isBlockDevice() {
		return false;
	}
	isCharacterDevice() {
		return false;
	}
}

const isMissing = (error) => error.code === "ENOENT" || error.code === "ENOTDIR";

export function readFileSync(path, options) {
	const bytes = attempt(() => (typeof path === "number" ? readAll(path) : files.read(pathOf(path))));
	const buffer = Buffer.from(bytes);
	const encoding = encodingOf(options);
	return encoding && encoding !== "buffer" ? buffer.toString(encoding) : buffer;
}
function readAll(number) {
	const parts = [];
	for (;;) {
		const part = new Uint8Array(files.readOpen(number, 65536));
		if (!part.length) return Buffer.concat(parts);
		parts.push(part);
	}
}
function write(path, data, options, flags) {
	const bytes = toBytes(typeof data === "number" ? String(data) : data, encodingOf(options));
	if (typeof path === "number") return attempt(() => files.writeOpen(path, toText(bytes)));
	attempt(() => files.write(pathOf(path), toText(bytes), flagsOf(options?.flag, flags), modeOf(options?.mode, 0o666)));
}
export const writeFileSync = (path, data, options) => write(path, data, options, "w");
export const appendFileSync = (path, data, options) => write(path, data, options, "a");

function statWith(path, options, follow) {
	try {
		return new Stats(parseJson(attempt(() => files.stat(pathOf(path), follow))));
	} catch (error) {
		if (options?.throwIfNoEntry === false && isMissing(error)) return undefined;
		throw error;
	}
}
export const statSync = (path, options) => statWith(path, options, true);
export const lstatSync = (path, options) => statWith(path, options, false);
export const fstatSync = (number) => new Stats(parseJson(attempt(() => files.statOpen(number))));
export function existsSync(path) {
	try {
		files.stat(pathOf(path), true);
		return true;
	} catch {
		return false;
	}
}
export const accessSync = (path, mode = F_OK) => attempt(() => files.access(pathOf(path), mode));

export function readdirSync(path, options) {
	const root = pathOf(path);
	const list = [];
	const visit = (folder, prefix) => {
		for (const [name, kind] of parseJson(attempt(() => files.list(folder)))) {
			list.push(options?.withFileTypes ? new Dirent(name, folder, kind) : prefix + name);
			if (options?.recursive && kind === "folder") visit(`${folder}/${name}`, `${prefix}${name}/`);
		}
	};
	visit(root, "");
	return list;
}
export function opendirSync(path) {
	const entries = readdirSync(path, { withFileTypes: true });
	return {
		path,
		readSync: () => entries.shift() ?? null,
		read: async () => entries.shift() ?? null,
		closeSync() {},
		async close() {},
		async *[Symbol.asyncIterator]() {
			yield* entries;
		},
	};
}

export function mkdirSync(path, options) {
	const recursive = typeof options === "object" && !!options?.recursive;
	return attempt(() => files.makeFolder(pathOf(path), recursive)) ?? undefined;
}
export const mkdtempSync = (prefix) => attempt(() => files.makeTemporary(pathOf(`${prefix}x`).slice(0, -1)));
export const unlinkSync = (path) => attempt(() => files.remove(pathOf(path), "file"));
export const rmdirSync = (path, options) => attempt(() => files.remove(pathOf(path), options?.recursive ? "all" : "folder"));
export function rmSync(path, options = {}) {
	const full = pathOf(path);
	try {
		const about = lstatSync(full);
		if (about.isDirectory() && !options.recursive) {
			throw Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${full}`), { code: "ERR_FS_EISDIR", path: full });
		}
		attempt(() => files.remove(full, "all"));
	} catch (error) {
		if (!(options.force && isMissing(error))) throw error;
	}
}
export const renameSync = (from, to) => attempt(() => files.rename(pathOf(from), pathOf(to)));
export const copyFileSync = (from, to, mode = 0) => attempt(() => files.copy(pathOf(from), pathOf(to), !!(mode & constants.COPYFILE_EXCL)));
export function cpSync(from, to, options = {}) {
	const [source, target] = [pathOf(from), pathOf(to)];
	if (options.filter && !options.filter(source, target)) return;
	if (!statSync(source).isDirectory()) {
		if (options.force === false && existsSync(target)) return;
		mkdirSync(target.slice(0, target.lastIndexOf("/")) || "/", { recursive: true });
		return copyFileSync(source, target);
	}
	if (!options.recursive) throw Object.assign(new Error(`Recursive option not enabled, cannot copy a directory: ${source}`), { code: "ERR_FS_EISDIR" });
	mkdirSync(target, { recursive: true });
	for (const name of readdirSync(source)) cpSync(`${source}/${name}`, `${target}/${name}`, options);
}
export const symlinkSync = (target, path) => attempt(() => files.link(String(target), pathOf(path)));
export const readlinkSync = (path) => attempt(() => files.readLink(pathOf(path)));
export const realpathSync = (path) => attempt(() => files.realPath(pathOf(path)));
realpathSync.native = realpathSync;
export const chmodSync = (path, mode) => attempt(() => files.setMode(pathOf(path), modeOf(mode, 0o644)));
const milliseconds = (time) => (time instanceof Date ? time.getTime() : Number(time) * 1000);
export const utimesSync = (path, accessed, modified) => attempt(() => files.setTimes(pathOf(path), milliseconds(accessed), milliseconds(modified)));
export const truncateSync = (path, length = 0) => attempt(() => files.truncate(pathOf(path), length));

export const openSync = (path, flags, mode) => attempt(() => files.open(pathOf(path), flagsOf(flags, "r"), modeOf(mode, 0o666)));
export const closeSync = (number) => attempt(() => files.close(number));
export const fsyncSync = (number) => attempt(() => files.syncOpen(number));
export const fdatasyncSync = fsyncSync;
export const ftruncateSync = (number, length = 0) => attempt(() => files.truncateOpen(number, length));
export function readSync(number, buffer, offset, length, position) {
	const options = offset !== null && typeof offset === "object" ? offset : { offset, length, position };
	const at = options.offset ?? 0;
	const count = options.length ?? buffer.byteLength - at;
	const bytes = new Uint8Array(attempt(() => files.readOpen(number, count, Number(options.position ?? -1))));
	toBytes(buffer).set(bytes, at);
	return bytes.length;
}
export function writeSync(number, data, offset, length, position) {
	const text = typeof data === "string";
	const bytes = text ? toBytes(data, length) : toBytes(data).subarray(offset ?? 0, length === undefined ? undefined : (offset ?? 0) + length);
	const place = text ? offset : position;
	attempt(() => files.writeOpen(number, toText(bytes), typeof place === "number" ? place : -1));
	return bytes.length;
}

export function createReadStream(path, options) {
	const encoding = encodingOf(options);
	const stream = new Readable({ encoding });
	stream.path = path;
	Promise.resolve().then(() => {
		try {
			const number = openSync(path, "r");
			stream.emit("open", number);
			const [start, end] = [options?.start ?? 0, options?.end ?? Infinity];
			for (let at = start; at <= end; ) {
				const part = Buffer.from(files.readOpen(number, Math.min(65536, end - at + 1), at));
				if (!part.length) break;
				at += part.length;
				stream.push(part);
			}
			closeSync(number);
			stream.push(null);
		} catch (error) {
			stream.destroy(withCode(error));
		}
	});
	return stream;
}
export function createWriteStream(path, options) {
	let number;
	const open = () => (number ??= openSync(path, flagsOf(options?.flags, "w"), options?.mode));
	const stream = new Writable({
		write(chunk, _encoding, done) {
			try {
				writeSync(open(), chunk);
				done();
			} catch (error) {
				done(error);
			}
		},
		final(done) {
			try {
				closeSync(open());
				done();
			} catch (error) {
				done(error);
			}
		},
	});
	stream.path = path;
	Promise.resolve().then(() => {
		try {
			if (!stream.writableEnded) stream.emit("open", open());
		} catch (error) {
			stream.destroy(error);
		}
	});
	return stream;
}

/** How often a watched file is looked at, in milliseconds. */
const WATCH_INTERVAL = 500;
const watchers = new Map();

function state(path) {
	const about = lstatSync(path, { throwIfNoEntry: false });
	if (!about?.isDirectory()) return new Map([["", about ? `${about.mtimeMs} ${about.size} ${about.ino}` : ""]]);
	return new Map(
		readdirSync(path).map((name) => {
			const file = lstatSync(`${path}/${name}`, { throwIfNoEntry: false });
			return [name, `${file?.mtimeMs} ${file?.size} ${file?.ino}`];
		}),
	);
}

class FSWatcher extends EventEmitter {
	#timer;
	constructor(path, interval) {
		super();
		const full = pathOf(path);
		let known = state(full);
		this.#timer = setInterval(() => {
			const now = state(full);
			for (const name of new Set([...known.keys(), ...now.keys()])) {
				if (known.get(name) === now.get(name)) continue;
				const kind = known.has(name) && now.has(name) && known.get(name) && now.get(name) ? "change" : "rename";
				this.emit("change", kind, name || full.slice(full.lastIndexOf("/") + 1));
			}
			known = now;
		}, interval);
	}
	close() {
		clearInterval(this.#timer);
		this.emit("close");
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
}
export function watch(path, options, listener) {
	statSync(path);
	const watcher = new FSWatcher(path, WATCH_INTERVAL);
	const callback = typeof options === "function" ? options : listener;
	if (callback) watcher.on("change", callback);
	options?.signal?.addEventListener("abort", () => watcher.close(), { once: true });
	return watcher;
}
export function watchFile(path, options, listener) {
	const callback = typeof options === "function" ? options : listener;
	const stats = () => statSync(path, { throwIfNoEntry: false }) ?? new Stats({ kind: "none", size: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0, birthtimeMs: 0 });
	let before = stats();
	const watcher = new FSWatcher(path, options?.interval ?? 5007);
	watcher.on("change", () => {
		const now = stats();
		callback(now, before);
		before = now;
	});
	watchers.set(pathOf(path), watcher);
	return watcher;
}
export function unwatchFile(path) {
	watchers.get(pathOf(path))?.close();
	watchers.delete(pathOf(path));
}

/** An open file of `fs/promises`. */
class FileHandle {
	constructor(fd) {
		this.fd = fd;
	}
	async readFile(options) {
		return readFileSync(this.fd, options);
	}
	async writeFile(data, options) {
		writeFileSync(this.fd, data, options);
	}
	async appendFile(data, options) {
		writeFileSync(this.fd, data, options);
	}
	async read(buffer, offset, length, position) {
		const target = ArrayBuffer.isView(buffer) ? buffer : (buffer?.buffer ?? Buffer.alloc(16384));
		const options = ArrayBuffer.isView(buffer) ? offset : buffer;
		const bytesRead = typeof options === "object" && options !== null ? readSync(this.fd, target, options) : readSync(this.fd, target, offset, length, position);
		return { bytesRead, buffer: target };
	}
	async write(data, ...rest) {
		return { bytesWritten: writeSync(this.fd, data, ...rest), buffer: data };
	}
	async stat() {
		return fstatSync(this.fd);
	}
	async sync() {
		fsyncSync(this.fd);
	}
	async datasync() {
		fsyncSync(this.fd);
	}
	async truncate(length) {
		ftruncateSync(this.fd, length);
	}
	async *readLines() {
		const lines = readFileSync(this.fd, "utf8").split(/\r?\n/);
		if (lines.at(-1) === "") lines.pop();
		yield* lines;
	}
	async close() {
		if (this.fd >= 0) closeSync(this.fd);
		this.fd = -1;
	}
	async [Symbol.asyncDispose ?? "asyncDispose"]() {
		await this.close();
	}
}

const SYNCHRONOUS = {
	readFile: readFileSync, writeFile: writeFileSync, appendFile: appendFileSync, stat: statSync, lstat: lstatSync, access: accessSync,
	readdir: readdirSync, opendir: opendirSync, mkdir: mkdirSync, mkdtemp: mkdtempSync, unlink: unlinkSync, rmdir: rmdirSync, rm: rmSync,
	rename: renameSync, copyFile: copyFileSync, cp: cpSync, symlink: symlinkSync, readlink: readlinkSync, realpath: realpathSync,
	chmod: chmodSync, utimes: utimesSync, truncate: truncateSync,
};
export const promises = { constants };
for (const [name, run] of Object.entries(SYNCHRONOUS)) {
	promises[name] = async (...args) => {
		const options = args.at(-1);
		options?.signal?.throwIfAborted?.();
		return run(...args);
	};
}
promises.open = async (path, flags, mode) => new FileHandle(openSync(path, flags, mode));
promises.watch = async function* (path, options) {
	const events = [];
	let wake = () => {};
	const watcher = watch(path, options, (eventType, filename) => (events.push({ eventType, filename }), wake()));
	try {
		for (;;) {
			if (events.length) yield events.shift();
			else await new Promise((done) => (wake = done));
		}
	} finally {
		watcher.close();
	}
};

/** The form with a callback as the last argument. */
function withCallback(run) {
	return (...args) => {
		const callback = args.pop();
		if (typeof callback !== "function") throw new TypeError("The callback must be a function");
		Promise.resolve()
			.then(() => run(...args))
			.then((value) => callback(null, value), (error) => callback(error));
	};
}
const callbacks = Object.fromEntries(Object.entries(SYNCHRONOUS).map(([name, run]) => [name, withCallback(run)]));
export const { readFile, writeFile, appendFile, stat, lstat, access, readdir, mkdir, mkdtemp, unlink, rmdir, rm, rename, copyFile, cp, symlink, readlink, realpath, chmod, utimes, truncate } = callbacks;
export const open = withCallback(openSync);
export const close = withCallback(closeSync);
export const fsync = withCallback(fsyncSync);
export const read = (number, buffer, offset, length, position, callback) =>
	withCallback(readSync)(number, buffer, offset, length, position, (error, count) => callback(error, count, buffer));
export const exists = (path, callback) => Promise.resolve().then(() => callback(existsSync(path)));

export default {
	...callbacks, constants, promises, Stats, Dirent, readFileSync, writeFileSync, appendFileSync, statSync, lstatSync, fstatSync, existsSync,
	accessSync, readdirSync, opendirSync, mkdirSync, mkdtempSync, unlinkSync, rmdirSync, rmSync, renameSync, copyFileSync, cpSync, symlinkSync,
	readlinkSync, realpathSync, chmodSync, utimesSync, truncateSync, openSync, closeSync, fsyncSync, fdatasyncSync, ftruncateSync, readSync,
	writeSync, createReadStream, createWriteStream, watch, watchFile, unwatchFile, open, close, fsync, read, exists, F_OK, R_OK, W_OK, X_OK,
};
