// The module `crypto` of Node, as far as extensions use it: hashes, random values and ids.

import { native } from "osier:primitives.js";
import { Buffer, toBytes, toText } from "osier:node/buffer.js";

class Hash {
	#parts = [];
	#finish;
	constructor(finish) {
		this.#finish = finish;
	}
	update(data, encoding) {
		this.#parts.push(Buffer.from(toBytes(data, encoding)));
		return this;
	}
	digest(encoding) {
		const result = Buffer.from(this.#finish(Buffer.concat(this.#parts)));
		return encoding && encoding !== "buffer" ? result.toString(encoding) : result;
	}
	copy() {
		const copy = new Hash(this.#finish);
		copy.#parts = [...this.#parts];
		return copy;
	}
}

export function createHash(algorithm) {
	native.digest(algorithm, "");
	return new Hash((bytes) => native.digest(algorithm, toText(bytes)));
}
export const createHmac = (algorithm, key) => new Hash((bytes) => native.keyedDigest(algorithm, toText(toBytes(key)), toText(bytes)));
export const hash = (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding);
export const getHashes = () => ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];

export function randomBytes(count, callback) {
	const bytes = Buffer.from(native.randomBytes(count));
	if (!callback) return bytes;
	Promise.resolve().then(() => callback(null, bytes));
}
export function getRandomValues(array) {
	const bytes = new Uint8Array(native.randomBytes(array.byteLength));
	new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes);
	return array;
}
export const randomFillSync = getRandomValues;
export function randomInt(low, high, callback) {
	const [from, to] = typeof high === "number" ? [low, high] : [0, low];
	const bytes = randomBytes(6);
	const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
	const result = from + (value % (to - from));
	const done = typeof high === "function" ? high : callback;
	if (!done) return result;
	Promise.resolve().then(() => done(null, result));
}
export function randomUUID() {
	const bytes = randomBytes(16);
	bytes[6] = 0x40 | (bytes[6] & 0x0f);
	bytes[8] = 0x80 | (bytes[8] & 0x3f);
	const hex = bytes.toString("hex");
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
export function timingSafeEqual(a, b) {
	const [x, y] = [toBytes(a), toBytes(b)];
	if (x.length !== y.length) throw new RangeError("Input buffers must have the same byte length");
	return x.reduce((difference, byte, at) => difference | (byte ^ y[at]), 0) === 0;
}

export const subtle = {
	digest: async (algorithm, data) => {
		const bytes = native.digest(typeof algorithm === "string" ? algorithm : algorithm.name, toText(toBytes(data)));
		return bytes;
	},
};
/** The global `crypto`. */
export const webcrypto = { getRandomValues, randomUUID, subtle };

export default { createHash, createHmac, hash, getHashes, randomBytes, randomFillSync, getRandomValues, randomInt, randomUUID, timingSafeEqual, subtle, webcrypto };
