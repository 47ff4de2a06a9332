// The module `stream` of Node, as far as the pipes of programs and files need it: data arrives as events or by iteration.

import { EventEmitter } from "osier:node/events.js";
import { Buffer } from "osier:node/buffer.js";
import { TextDecoder } from "osier:node/encoding.js";

export class Stream extends EventEmitter {}

export class Readable extends Stream {
	#decoder;
	#encoding;
	#waiting = [];
	#flowing = false;
	#ended = false;
	readable = true;
	destroyed = false;
	readableEnded = false;
	constructor(options = {}) {
		super();
		this.readOptions = options;
		if (options.encoding) this.setEncoding(options.encoding);
	}
	static from(source) {
		const stream = new Readable();
		(async () => {
			for await (const chunk of typeof source === "string" ? [source] : source) stream.push(chunk);
			stream.push(null);
		})().catch((error) => stream.destroy(error));
		return stream;
	}
	setEncoding(encoding) {
		this.#encoding = encoding;
		this.#decoder = /^utf-?8$/i.test(encoding) ? new TextDecoder() : undefined;
		return this;
	}
	push(chunk) {
		if (chunk === null) this.#ended = true;
		else {
			let value = typeof chunk === "string" && !this.#encoding ? Buffer.from(chunk) : chunk;
			if (this.#decoder && typeof value !== "string") value = this.#decoder.decode(value, { stream: true });
			else if (this.#encoding && typeof value !== "string") value = Buffer.from(value).toString(this.#encoding);
			if (value.length) this.#waiting.push(value);
		}
		this.#flush();
		return true;
	}
	#flush() {
		if (!this.#flowing || this.destroyed) return;
		while (this.#flowing && this.#waiting.length) this.emit("data", this.#waiting.shift());
		if (this.#ended && !this.readableEnded && !this.#waiting.length) {
			this.readableEnded = true;
			this.readable = false;
			this.emit("end");
			this.emit("close");
		}
	}
	on(name, listener) {
		super.on(name, listener);
		if (name === "data" || name === "readable") this.resume();
		return this;
	}
	once(name, listener) {
		super.once(name, listener);
		if (name === "data" || name === "readable") this.resume();
		return this;
	}
	resume() {
		this.#flowing = true;
		Promise.resolve().then(() => this.#flush());
		return this;
	}
	pause() {
		this.#flowing = false;
		return this;
	}
	read() {
		return this.#waiting.shift() ?? null;
	}
	pipe(target) {
		this.on("data", (chunk) => target.write(chunk));
		this.on("end", () => target.end?.());
		return target;
	}
	unpipe() {
		return this;
	}
	destroy(error) {
		if (this.destroyed) return this;
		this.destroyed = true;
		if (error) this.emit("error", error);
		this.emit("close");
		return this;
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
	async *[Symbol.asyncIterator]() {
		const chunks = [];
		let wake = () => {};
		let failed;
		let done = false;
		this.on("data", (chunk) => (chunks.push(chunk), wake()));
		this.on("end", () => ((done = true), wake()));
		this.on("close", () => ((done = true), wake()));
		this.on("error", (error) => ((failed = error), wake()));
		while (true) {
			if (chunks.length) yield chunks.shift();
			else if (failed) throw failed;
			else if (done) return;
			else await new Promise((resolve) => (wake = resolve));
		}
	}
}

/** So many bytes may wait before `write` asks to wait for `drain`. */
const HIGH_WATER = 64 * 1024;

/** One chunk at a time is written; the next one when `done` is called. */
export class Writable extends Stream {
	#waiting = [];
	#size = 0;
	#isWriting = false;
	#isRunning = false;
	#needsDrain = false;
	#finish;
	writable = true;
	destroyed = false;
	writableEnded = false;
	constructor(options = {}) {
		super();
		if (options.write) this._write = options.write;
		if (options.final) this._final = options.final;
	}
	_write(_chunk, _encoding, done) {
		done();
	}
	get writableLength() {
		return this.#size;
	}
	write(chunk, encoding, callback) {
		const done = typeof encoding === "function" ? encoding : callback;
		if (this.writableEnded) {
			const error = new Error("write after end");
			error.code = "ERR_STREAM_WRITE_AFTER_END";
			done?.(error);
			this.emit("error", error);
			return false;
		}
		const kind = typeof encoding === "string" ? encoding : "utf8";
		const bytes = typeof chunk === "string" ? Buffer.from(chunk, kind) : chunk;
		this.#waiting.push([bytes, kind, done]);
		this.#size += bytes.length;
		this.#run();
		const hasRoom = this.#size < HIGH_WATER;
		this.#needsDrain ||= !hasRoom;
		return hasRoom;
	}
	#run() {
		if (this.#isRunning) return;
		this.#isRunning = true;
		while (!this.#isWriting && this.#waiting.length) this.#writeNext();
		this.#isRunning = false;
		if (this.#isWriting) return;
		if (this.#needsDrain) {
			this.#needsDrain = false;
			Promise.resolve().then(() => this.emit("drain"));
		}
		const finish = this.#finish;
		this.#finish = undefined;
		finish?.();
	}
	#writeNext() {
		const [bytes, kind, done] = this.#waiting.shift();
		this.#isWriting = true;
		this._write(bytes, kind, (error) => {
			this.#isWriting = false;
			this.#size -= bytes.length;
			if (error) this.emit("error", error);
			done?.(error ?? null);
			this.#run();
		});
	}
	end(chunk, encoding, callback) {
		const done = [chunk, encoding, callback].find((value) => typeof value === "function");
		if (chunk !== undefined && chunk !== null && typeof chunk !== "function") this.write(chunk, encoding);
		if (this.writableEnded) return this;
		this.writableEnded = true;
		this.writable = false;
		const finish = () => {
			this.emit("finish");
			this.emit("close");
			done?.();
		};
		this.#finish = () => {
			if (this._final) this._final((error) => (error ? this.emit("error", error) : finish()));
			else Promise.resolve().then(finish);
		};
		this.#run();
		return this;
	}
	cork() {}
	uncork() {}
	setDefaultEncoding() {
		return this;
	}
	destroy(error) {
		if (this.destroyed) return this;
		this.destroyed = true;
		this.#waiting = [];
		if (error) this.emit("error", error);
		this.emit("close");
		return this;
	}
}

/** What is written can be read. */
export class PassThrough extends Readable {
	writable = true;
	write(chunk) {
		return this.push(chunk);
	}
	end(chunk) {
		if (chunk !== undefined) this.push(chunk);
		this.push(null);
		return this;
	}
}
export class Transform extends PassThrough {
	constructor(options = {}) {
		super(options);
		this.transform = options.transform;
		this.flush = options.flush;
	}
	write(chunk, encoding) {
		const transform = this.transform ?? this._transform;
		if (!transform) return this.push(chunk);
		transform.call(this, typeof chunk === "string" ? Buffer.from(chunk) : chunk, encoding ?? "utf8", (error, value) => {
			if (error) this.destroy(error);
			else if (value !== undefined && value !== null) this.push(value);
		});
		return true;
	}
	end(chunk) {
		if (chunk !== undefined) this.write(chunk);
		const flush = this.flush ?? this._flush;
		const done = (error, value) => {
			if (error) return this.destroy(error);
			if (value !== undefined && value !== null) this.push(value);
			this.push(null);
		};
		if (flush) flush.call(this, done);
		else done();
		return this;
	}
}
export class Duplex extends PassThrough {}

export function pipeline(...streams) {
	const callback = typeof streams.at(-1) === "function" ? streams.pop() : undefined;
	const last = streams.at(-1);
	for (let at = 0; at + 1 < streams.length; at += 1) streams[at].pipe(streams[at + 1]);
	const done = new Promise((resolve, reject) => {
		for (const stream of streams) stream.on("error", reject);
		last.on("finish", resolve);
		last.on("end", resolve);
	});
	if (callback) done.then(() => callback(), callback);
	return callback ? last : done;
}
export const promises = { pipeline };
export default { Stream, Readable, Writable, PassThrough, Transform, Duplex, pipeline, promises };
