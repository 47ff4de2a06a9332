// The module `buffer` of Node: bytes with encodings.

import { native } from "osier:primitives.js";

const { encode } = native.text;
const { fromCharCode } = String;

/** Bytes as a text with one character per byte, which is how Rust gets them. */
export function toText(bytes) {
	let text = "";
	for (let at = 0; at < bytes.length; at += 8192) text += fromCharCode.apply(null, Uint8Array.prototype.subarray.call(bytes, at, at + 8192));
	return text;
}
const decode = (bytes, encoding) => (encoding === "latin1" || encoding === "binary" ? toText(bytes) : native.text.decode(toText(bytes), encoding));
const encodingOf = (encoding) => String(encoding ?? "utf8").toLowerCase();
const clamp = (value, low, high) => Math.min(Math.max(Math.trunc(Number(value)) || 0, low), high);

/** The bytes of a text, a buffer, a view or an array. */
export function toBytes(value, encoding) {
	if (typeof value === "string") return new Uint8Array(encode(value, encodingOf(encoding)));
	if (value instanceof Uint8Array) return value;
	if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
	if (value instanceof ArrayBuffer) return new Uint8Array(value);
	return Uint8Array.from(value ?? []);
}

export class Buffer extends Uint8Array {
	static from(value, encodingOrOffset, length) {
		if (typeof value === "string") return wrap(encode(value, encodingOf(encodingOrOffset)));
		if (value instanceof ArrayBuffer) return new Buffer(value, encodingOrOffset, length);
		if (ArrayBuffer.isView(value)) return Buffer.copy(value);
		if (value?.type === "Buffer" && Array.isArray(value.data)) return Buffer.from(value.data);
		if (value === null || value === undefined || typeof value === "number") {
			throw new TypeError("The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array");
		}
		const buffer = new Buffer(value.length ?? 0);
		for (let at = 0; at < buffer.length; at += 1) buffer[at] = value[at];
		return buffer;
	}
	static copy(view) {
		const bytes = toBytes(view);
		const buffer = new Buffer(bytes.length);
		buffer.set(bytes);
		return buffer;
	}
	static alloc(size, fill, encoding) {
		const buffer = new Buffer(size);
		return fill === undefined ? buffer : buffer.fill(fill, 0, size, encoding);
	}
	static allocUnsafe(size) {
		return new Buffer(size);
	}
	static allocUnsafeSlow(size) {
		return new Buffer(size);
	}
	static isBuffer(value) {
		return value instanceof Buffer;
	}
	static isEncoding(name) {
		return ["utf8", "utf-8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "utf16le", "ucs2", "utf-16le", "ucs-2"].includes(encodingOf(name));
	}
	static byteLength(value, encoding) {
		return typeof value === "string" ? encode(value, encodingOf(encoding)).byteLength : value.byteLength;
	}
	static concat(list, total) {
		const size = total ?? list.reduce((sum, part) => sum + part.length, 0);
		const buffer = new Buffer(size);
		let at = 0;
		for (const part of list) {
			buffer.set(part.subarray(0, Math.max(0, size - at)), at);
			at += part.length;
			if (at >= size) break;
		}
		return buffer;
	}
	static compare(a, b) {
		for (let at = 0; at < Math.min(a.length, b.length); at += 1) if (a[at] !== b[at]) return a[at] < b[at] ? -1 : 1;
		return Math.sign(a.length - b.length);
	}
	toString(encoding, start = 0, end = this.length) {
		return decode(this.subarray(clamp(start, 0, this.length), clamp(end, 0, this.length)), encodingOf(encoding));
	}
	toLocaleString(encoding) {
		return this.toString(encoding);
	}
	toJSON() {
		return { type: "Buffer", data: [...this] };
	}
	equals(other) {
		return Buffer.compare(this, other) === 0;
	}
	compare(other) {
		return Buffer.compare(this, other);
	}
	subarray(start, end) {
		const part = super.subarray(start, end);
		return new Buffer(part.buffer, part.byteOffset, part.length);
	}
	slice(start, end) {
		return this.subarray(start, end);
	}
	copy(target, targetStart = 0, start = 0, end = this.length) {
		const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
		target.set(part, targetStart);
		return part.length;
	}
	write(text, offset = 0, length, encoding) {
		const [at, kind] = typeof offset === "string" ? [0, offset] : [offset, typeof length === "string" ? length : encoding];
		const limit = typeof length === "number" ? length : this.length - at;
		const bytes = toBytes(text, kind).subarray(0, Math.min(limit, this.length - at));
		this.set(bytes, at);
		return bytes.length;
	}
	fill(value, start = 0, end = this.length, encoding) {
		if (typeof value === "number") return super.fill(value, start, end);
		const bytes = toBytes(value, encoding);
		for (let at = start; at < end && bytes.length; at += 1) this[at] = bytes[(at - start) % bytes.length];
		return this;
	}
	indexOf(value, from = 0, encoding) {
		if (typeof value === "number") return super.indexOf(value, from);
		const wanted = toBytes(value, encoding);
		outer: for (let at = Math.max(0, from); at <= this.length - wanted.length; at += 1) {
			for (let i = 0; i < wanted.length; i += 1) if (this[at + i] !== wanted[i]) continue outer;
			return at;
		}
		return -1;
	}
	includes(value, from, encoding) {
		return this.indexOf(value, from, encoding) >= 0;
	}
}

const wrap = (arrayBuffer) => new Buffer(arrayBuffer);

const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
const NUMBERS = {
	UInt8: ["Uint8", 1], Int8: ["Int8", 1], UInt16: ["Uint16", 2], Int16: ["Int16", 2], UInt32: ["Uint32", 4], Int32: ["Int32", 4],
	Float: ["Float32", 4], Double: ["Float64", 8], BigUInt64: ["BigUint64", 8], BigInt64: ["BigInt64", 8],
};
for (const [name, [kind, size]] of Object.entries(NUMBERS)) {
	for (const order of size === 1 ? [""] : ["LE", "BE"]) {
		const little = order === "LE";
		const define = (method, value) => {
			Object.defineProperty(Buffer.prototype, method, { value, writable: true, configurable: true });
			const lower = method.replace("UInt", "Uint");
			if (lower !== method) Object.defineProperty(Buffer.prototype, lower, { value, writable: true, configurable: true });
		};
		define(`read${name}${order}`, function (offset = 0) {
			return view(this)[`get${kind}`](offset, little);
		});
		define(`write${name}${order}`, function (value, offset = 0) {
			view(this)[`set${kind}`](offset, value, little);
			return offset + size;
		});
	}
}

export const atob = (text) => decode(new Uint8Array(encode(String(text), "base64")), "latin1");
export const btoa = (text) => decode(new Uint8Array(encode(String(text), "latin1")), "base64");
export const constants = { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 };

export class Blob {
	#bytes;
	constructor(parts = [], options = {}) {
		this.#bytes = Buffer.concat(parts.map((part) => (part instanceof Blob ? part.#bytes : toBytes(part))));
		this.type = options.type ?? "";
	}
	get size() {
		return this.#bytes.length;
	}
	async text() {
		return this.#bytes.toString();
	}
	async arrayBuffer() {
		return this.#bytes.buffer.slice(this.#bytes.byteOffset, this.#bytes.byteOffset + this.#bytes.length);
	}
	async bytes() {
		return new Uint8Array(await this.arrayBuffer());
	}
	slice(start, end, type) {
		return new Blob([this.#bytes.subarray(start, end)], { type });
	}
}

export default { Buffer, Blob, atob, btoa, constants };
