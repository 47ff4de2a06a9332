// fetch, Headers, Request, Response and the small part of streams that bodies need. Osier sends the request.

import { native, request } from "osier:primitives.js";
import { DOMException } from "osier:abort.js";
import { Blob, Buffer, toBytes } from "osier:node/buffer.js";
import { TextDecoder } from "osier:node/encoding.js";
import { URLSearchParams } from "osier:node/url.js";

export class Headers {
	#values = new Map();
	constructor(init) {
		const pairs = init instanceof Headers ? init.entries() : init?.[Symbol.iterator] ? init : Object.entries(init ?? {});
		for (const [name, value] of pairs) this.append(name, value);
	}
	append(name, value) {
		const key = String(name).toLowerCase();
		const known = this.#values.get(key);
		this.#values.set(key, known === undefined ? String(value) : `${known}, ${value}`);
	}
	set(name, value) {
		this.#values.set(String(name).toLowerCase(), String(value));
	}
	get(name) {
		return this.#values.get(String(name).toLowerCase()) ?? null;
	}
	has(name) {
		return this.#values.has(String(name).toLowerCase());
	}
	delete(name) {
		this.#values.delete(String(name).toLowerCase());
	}
	getSetCookie() {
		return this.has("set-cookie") ? [this.get("set-cookie")] : [];
	}
	forEach(callback, self) {
		for (const [name, value] of this.entries()) callback.call(self, value, name, this);
	}
	entries() {
		return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1))[Symbol.iterator]();
	}
	keys() {
		return [...this.entries()].map(([name]) => name)[Symbol.iterator]();
	}
	values() {
		return [...this.entries()].map(([, value]) => value)[Symbol.iterator]();
	}
	[Symbol.iterator]() {
		return this.entries();
	}
}

/** A stream that is read in pieces. */
export class ReadableStream {
	#pull;
	#cancel;
	#queue = [];
	#state = "open";
	#error;
	#locked = false;
	constructor(source = {}) {
		this.#pull = source.pull;
		this.#cancel = source.cancel;
		source.start?.(this.#controller);
	}
	#controller = {
		enqueue: (chunk) => this.#queue.push(chunk),
		close: () => {
			if (this.#state === "open") this.#state = "closed";
		},
		error: (error) => {
			this.#state = "failed";
			this.#error = error;
		},
		desiredSize: 1,
	};
	get locked() {
		return this.#locked;
	}
	async #read() {
		for (;;) {
			if (this.#queue.length) return { value: this.#queue.shift(), done: false };
			if (this.#state === "failed") throw this.#error;
			if (this.#state === "closed") return { value: undefined, done: true };
			if (this.#pull) await this.#pull(this.#controller);
			else await new Promise((resolve) => setTimeout(resolve, 5));
		}
	}
	getReader() {
		if (this.#locked) throw new TypeError("The stream is locked");
		this.#locked = true;
		return {
			read: () => this.#read(),
			cancel: (reason) => this.cancel(reason),
			releaseLock: () => {
				this.#locked = false;
			},
			closed: new Promise(() => {}),
		};
	}
	async cancel(reason) {
		this.#state = "closed";
		this.#queue = [];
		await this.#cancel?.(reason);
	}
	pipeThrough({ readable, writable }) {
		const writer = writable.getWriter();
		(async () => {
			for await (const chunk of this) await writer.write(chunk);
			await writer.close();
		})().catch((error) => writer.abort(error));
		return readable;
	}
	async *[Symbol.asyncIterator]() {
		for (;;) {
			const { value, done } = await this.#read();
			if (done) return;
			yield value;
		}
	}
}

export class TransformStream {
	constructor(transformer = {}) {
		let controller;
		this.readable = new ReadableStream({ start: (given) => (controller = given) });
		const inner = { enqueue: (chunk) => controller.enqueue(chunk), terminate: () => controller.close(), error: (error) => controller.error(error) };
		this.writable = {
			getWriter: () => ({
				write: async (chunk) => (transformer.transform ? transformer.transform(chunk, inner) : inner.enqueue(chunk)),
				close: async () => {
					await transformer.flush?.(inner);
					controller.close();
				},
				abort: async (error) => controller.error(error),
			}),
		};
	}
}
export class TextDecoderStream extends TransformStream {
	constructor(label) {
		const decoder = new TextDecoder(label);
		super({ transform: (chunk, inner) => inner.enqueue(decoder.decode(chunk, { stream: true })), flush: () => {} });
	}
}

export class FormData {
	#fields = [];
	append(name, value, filename) {
		this.#fields.push([String(name), value instanceof Blob ? value : String(value), filename]);
	}
	set(name, value, filename) {
		this.delete(name);
		this.append(name, value, filename);
	}
	delete(name) {
		this.#fields = this.#fields.filter(([known]) => known !== name);
	}
	get(name) {
		return this.#fields.find(([known]) => known === name)?.[1] ?? null;
	}
	has(name) {
		return this.#fields.some(([known]) => known === name);
	}
	entries() {
		return this.#fields.map(([name, value]) => [name, value])[Symbol.iterator]();
	}
	[Symbol.iterator]() {
		return this.entries();
	}
	static async encode(form) {
		const boundary = `----osier${Buffer.from(native.randomBytes(12)).toString("hex")}`;
		const parts = [];
		for (const [name, value, filename] of form.#fields) {
			const isFile = value instanceof Blob;
			const file = isFile ? `; filename="${filename ?? "blob"}"\r\nContent-Type: ${value.type || "application/octet-stream"}` : "";
			parts.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`));
			parts.push(isFile ? Buffer.from(await value.bytes()) : Buffer.from(value), Buffer.from("\r\n"));
		}
		parts.push(Buffer.from(`--${boundary}--\r\n`));
		return { bytes: Buffer.concat(parts), type: `multipart/form-data; boundary=${boundary}` };
	}
}

/** The bytes of a body and their type. */
async function encodeBody(body) {
	if (body === undefined || body === null) return {};
	if (typeof body === "string") return { bytes: Buffer.from(body), type: "text/plain;charset=UTF-8" };
	if (body instanceof URLSearchParams) return { bytes: Buffer.from(body.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
	if (body instanceof FormData) return FormData.encode(body);
	if (body instanceof Blob) return { bytes: Buffer.from(await body.bytes()), type: body.type || undefined };
	if (body[Symbol.asyncIterator]) {
		const parts = [];
		for await (const chunk of body) parts.push(Buffer.from(toBytes(chunk)));
		return { bytes: Buffer.concat(parts) };
	}
	return { bytes: Buffer.from(toBytes(body)) };
}

class Body {
	#source;
	#used = false;
	constructor(source) {
		this.#source = source;
	}
	get body() {
		if (this.#source === null || this.#source === undefined) return null;
		if (!(this.#source instanceof ReadableStream)) {
			const source = this.#source;
			this.#source = new ReadableStream({
				async pull(controller) {
					const { bytes } = await encodeBody(source);
					controller.enqueue(new Uint8Array(bytes));
					controller.close();
				},
			});
		}
		return this.#source;
	}
	get bodyUsed() {
		return this.#used;
	}
	async #bytes() {
		if (this.#used) throw new TypeError("Body is unusable: Body has already been read");
		this.#used = true;
		const source = this.#source;
		if (!(source instanceof ReadableStream)) return (await encodeBody(source)).bytes ?? Buffer.alloc(0);
		const parts = [];
		for await (const chunk of source) parts.push(Buffer.from(toBytes(chunk)));
		return Buffer.concat(parts);
	}
	async text() {
		return new TextDecoder().decode(await this.#bytes());
	}
	async json() {
		return JSON.parse(await this.text());
	}
	async bytes() {
		return new Uint8Array(await this.arrayBuffer());
	}
	async arrayBuffer() {
		const bytes = await this.#bytes();
		return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	}
	async blob() {
		return new Blob([await this.#bytes()], { type: this.headers?.get("content-type") ?? "" });
	}
}

export class Request extends Body {
	constructor(input, init = {}) {
		const base = input instanceof Request ? input : undefined;
		const body = init.body ?? base?.source;
		super(body);
		this.url = base ? base.url : String(input?.href ?? input);
		this.method = String(init.method ?? base?.method ?? "GET").toUpperCase();
		this.headers = new Headers(init.headers ?? base?.headers);
		this.signal = init.signal ?? base?.signal;
		this.redirect = init.redirect ?? base?.redirect ?? "follow";
		Object.defineProperty(this, "source", { value: body });
	}
}

export class Response extends Body {
	constructor(body = null, init = {}) {
		super(body);
		this.status = init.status ?? 200;
		this.statusText = init.statusText ?? "";
		this.headers = new Headers(init.headers);
		this.url = init.url ?? "";
		this.redirected = !!init.redirected;
		this.type = "basic";
	}
	get ok() {
		return this.status >= 200 && this.status < 300;
	}
	static json(value, init = {}) {
		const headers = new Headers(init.headers);
		if (!headers.has("content-type")) headers.set("content-type", "application/json");
		return new Response(JSON.stringify(value), { ...init, headers });
	}
	static error() {
		return new Response(null, { status: 0 });
	}
}

function bodyOf(number, signal) {
	return new ReadableStream({
		async pull(controller) {
			const chunk = await request("fetch.read", { body: number }, signal);
			if (chunk === null) controller.close();
			else controller.enqueue(new Uint8Array(Buffer.from(chunk, "base64")));
		},
		cancel: () => request("fetch.close", { body: number }),
	});
}

const aborted = (signal) => signal?.reason ?? new DOMException("This operation was aborted", "AbortError");

export async function fetch(input, init) {
	const wanted = new Request(input, init);
	const { signal } = wanted;
	if (signal?.aborted) throw aborted(signal);
	const { bytes, type } = await encodeBody(wanted.source);
	if (type && !wanted.headers.has("content-type")) wanted.headers.set("content-type", type);
	if (!wanted.headers.has("accept")) wanted.headers.set("accept", "*/*");
	const params = { url: wanted.url, method: wanted.method, headers: [...wanted.headers], body: bytes && Buffer.from(bytes).toString("base64"), redirect: wanted.redirect };
	let answer;
	try {
		answer = await request("fetch", params, signal);
	} catch (error) {
		if (signal?.aborted) throw aborted(signal);
		const failure = new TypeError(error.message.startsWith("fetch failed: ") ? "fetch failed" : error.message);
		failure.cause = new Error(error.message.replace(/^fetch failed: /, ""));
		throw failure;
	}
	return new Response(bodyOf(answer.body, signal), { ...answer, redirected: answer.url !== wanted.url });
}
