// TextEncoder and TextDecoder.

import { native } from "osier:primitives.js";
import { toBytes, toText } from "osier:node/buffer.js";

export class TextEncoder {
	get encoding() {
		return "utf-8";
	}
	encode(text = "") {
		return new Uint8Array(native.text.encode(String(text), "utf8"));
	}
	encodeInto(text, target) {
		const bytes = this.encode(text).subarray(0, target.length);
		target.set(bytes);
		return { read: text.length, written: bytes.length };
	}
}

const NAMES = { utf8: "utf-8", "utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le", latin1: "windows-1252", ascii: "windows-1252", "iso-8859-1": "windows-1252", "windows-1252": "windows-1252" };

/** The number of bytes at the end that start a character which is not complete. */
function incomplete(bytes) {
	for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
		const byte = bytes[bytes.length - back];
		if ((byte & 0xc0) === 0x80) continue;
		const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		return size > back ? back : 0;
	}
	return 0;
}

export class TextDecoder {
	#rest = new Uint8Array(0);
	constructor(label = "utf-8", options = {}) {
		this.encoding = NAMES[String(label).toLowerCase()];
		if (!this.encoding) throw new RangeError(`The encoding "${label}" is not supported`);
		this.fatal = !!options.fatal;
		this.ignoreBOM = !!options.ignoreBOM;
	}
	decode(input = new Uint8Array(0), { stream = false } = {}) {
		let bytes = toBytes(input);
		if (this.#rest.length) {
			const joined = new Uint8Array(this.#rest.length + bytes.length);
			joined.set(this.#rest);
			joined.set(bytes, this.#rest.length);
			bytes = joined;
			this.#rest = new Uint8Array(0);
		}
		if (this.encoding !== "utf-8") return native.text.decode(toText(bytes), this.encoding === "windows-1252" ? "latin1" : "utf16le");
		const held = stream ? incomplete(bytes) : 0;
		if (held) {
			this.#rest = bytes.slice(bytes.length - held);
			bytes = bytes.subarray(0, bytes.length - held);
		}
		if (this.fatal && !native.text.isUtf8(toText(bytes))) throw new TypeError("The encoded data was not valid for encoding utf-8");
		const text = native.text.decode(toText(bytes), "utf8");
		return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
	}
}
