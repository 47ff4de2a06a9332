// The module `string_decoder` of Node.

import { Buffer } from "osier:node/buffer.js";
import { TextDecoder } from "osier:node/encoding.js";

export class StringDecoder {
	#decoder;
	constructor(encoding = "utf8") {
		this.encoding = encoding;
		this.#decoder = /^utf-?8$/i.test(encoding) ? new TextDecoder() : undefined;
	}
	write(bytes) {
		return this.#decoder ? this.#decoder.decode(bytes, { stream: true }) : Buffer.from(bytes).toString(this.encoding);
	}
	end(bytes) {
		return (bytes ? this.write(bytes) : "") + (this.#decoder?.decode() ?? "");
	}
}
export default { StringDecoder };
