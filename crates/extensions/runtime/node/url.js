// The module `url` of Node, and the globals URL and URLSearchParams. Rust parses.

import { native, parse as parseJson } from "osier:primitives.js";
import { resolve } from "osier:node/path.js";

const escape = (text) =>
	encodeURIComponent(text)
		.replace(/%20/g, "+")
		.replace(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const unescape = (text) => {
	const plain = text.replace(/\+/g, " ");
	try {
		return decodeURIComponent(plain);
	} catch {
		return plain;
	}
};

export class URLSearchParams {
	#pairs = [];
	#changed = () => {};
	constructor(init = "") {
		if (typeof init === "string") this.#read(init);
		else if (init?.[Symbol.iterator]) for (const [key, value] of init) this.#pairs.push([String(key), String(value)]);
		else for (const [key, value] of Object.entries(init ?? {})) this.#pairs.push([key, String(value)]);
	}
	#read(text) {
		this.#pairs = text.replace(/^\?/, "").split("&").filter(Boolean).map((pair) => {
			const at = pair.indexOf("=");
			return at < 0 ? [unescape(pair), ""] : [unescape(pair.slice(0, at)), unescape(pair.slice(at + 1))];
		});
	}
	static attach(params, text, changed) {
		params.#read(text);
		params.#changed = changed;
	}
	get size() {
		return this.#pairs.length;
	}
	append(key, value) {
		this.#pairs.push([String(key), String(value)]);
		this.#changed();
	}
	delete(key, value) {
		this.#pairs = this.#pairs.filter(([k, v]) => k !== key || (value !== undefined && v !== value));
		this.#changed();
	}
	get(key) {
		return this.#pairs.find(([k]) => k === key)?.[1] ?? null;
	}
	getAll(key) {
		return this.#pairs.filter(([k]) => k === key).map(([, v]) => v);
	}
	has(key, value) {
		return this.#pairs.some(([k, v]) => k === key && (value === undefined || v === value));
	}
	set(key, value) {
		const at = this.#pairs.findIndex(([k]) => k === key);
		if (at < 0) this.#pairs.push([String(key), String(value)]);
		else {
			this.#pairs[at][1] = String(value);
			this.#pairs = this.#pairs.filter(([k], other) => k !== key || other === at);
		}
		this.#changed();
	}
	sort() {
		this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
		this.#changed();
	}
	forEach(callback, self) {
		for (const [key, value] of this.#pairs) callback.call(self, value, key, this);
	}
	keys() {
		return this.#pairs.map(([key]) => key)[Symbol.iterator]();
	}
	values() {
		return this.#pairs.map(([, value]) => value)[Symbol.iterator]();
	}
	entries() {
		return this.#pairs.map((pair) => [...pair])[Symbol.iterator]();
	}
	[Symbol.iterator]() {
		return this.entries();
	}
	toString() {
		return this.#pairs.map(([key, value]) => `${escape(key)}=${escape(value)}`).join("&");
	}
}

export class URL {
	#parts;
	#params;
	constructor(text, base) {
		try {
			this.#parts = parseJson(native.text.parseUrl(String(text), base === undefined ? null : String(base)));
		} catch {
			const error = new TypeError("Invalid URL");
			error.code = "ERR_INVALID_URL";
			error.input = String(text);
			throw error;
		}
	}
	static canParse(text, base) {
		return URL.parse(text, base) !== null;
	}
	static parse(text, base) {
		try {
			return new URL(text, base);
		} catch {
			return null;
		}
	}
	static #change(url, part, value) {
		url.#parts = parseJson(native.text.changeUrl(url.#parts.href, part, String(value)));
	}
	static part(url, name) {
		return url.#parts[name];
	}
	static change(url, name, value) {
		URL.#change(url, name, value);
		if (name === "search" && url.#params) url.#attach();
	}
	#attach() {
		URLSearchParams.attach(this.#params, this.#parts.search, () => URL.#change(this, "search", this.#params.toString()));
	}
	get href() {
		return this.#parts.href;
	}
	set href(text) {
		this.#parts = parseJson(native.text.parseUrl(String(text), null));
		if (this.#params) this.#attach();
	}
	get origin() {
		return this.#parts.origin;
	}
	get searchParams() {
		if (!this.#params) {
			this.#params = new URLSearchParams();
			this.#attach();
		}
		return this.#params;
	}
	toString() {
		return this.href;
	}
	toJSON() {
		return this.href;
	}
}
const { part, change } = URL;
delete URL.part;
delete URL.change;
for (const name of ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
	Object.defineProperty(URL.prototype, name, {
		get() {
			return part(this, name);
		},
		set(value) {
			change(this, name, value);
		},
		enumerable: true,
		configurable: true,
	});
}

export function fileURLToPath(url) {
	const { protocol, pathname } = typeof url === "string" ? new URL(url) : url;
	if (protocol !== "file:") throw new TypeError("The URL must be of scheme file");
	return decodeURIComponent(pathname);
}

export function pathToFileURL(path) {
	const encoded = resolve(path).split("/").map((part) => encodeURIComponent(part)).join("/");
	return new URL(`file://${encoded}`);
}

/** The old parser: all parts, also of relative URLs. */
export function parse(text, parseQuery = false) {
	const url = URL.parse(text);
	const query = (url?.search ?? "").slice(1);
	const parts = url ?? { protocol: null, host: null, hostname: null, port: null, pathname: text, search: "", hash: "", href: text };
	const { protocol, host, hostname, port, pathname, search, hash, href } = parts;
	return { protocol, host, hostname, port, pathname, search, hash, href, path: `${pathname}${search}`, query: parseQuery ? Object.fromEntries(new URLSearchParams(query)) : query };
}
export const format = (url) => (typeof url === "string" ? url : (url.href ?? `${url.protocol ?? ""}//${url.host ?? url.hostname ?? ""}${url.pathname ?? ""}${url.search ?? ""}${url.hash ?? ""}`));

export default { URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format };
