// The globals that QuickJS lacks. Each comes from a file of its own.

import * as abort from "osier:abort.js";
import { requireModule } from "osier:commonjs.js";
import { console } from "osier:console.js";
import { native } from "osier:primitives.js";
import * as timers from "osier:timers.js";

function structuredClone(value, seen = new Map()) {
	if (typeof value === "function" || typeof value === "symbol") {
		throw new abort.DOMException("The value could not be cloned", "DataCloneError");
	}
	if (typeof value !== "object" || value === null) return value;
	if (seen.has(value)) return seen.get(value);
	if (value instanceof Date) return new Date(value);
	if (value instanceof RegExp) return new RegExp(value.source, value.flags);
	if (value instanceof ArrayBuffer) return value.slice(0);
	if (ArrayBuffer.isView(value)) return new value.constructor(value.buffer.slice(0), value.byteOffset, value.length);
	if (value instanceof Error) {
		const copy = new value.constructor(value.message);
		copy.stack = value.stack;
		return copy;
	}
	const copy = Array.isArray(value) ? [] : value instanceof Map ? new Map() : value instanceof Set ? new Set() : {};
	seen.set(value, copy);
	if (copy instanceof Map) for (const [k, v] of value) copy.set(structuredClone(k, seen), structuredClone(v, seen));
	else if (copy instanceof Set) for (const v of value) copy.add(structuredClone(v, seen));
	else for (const k of Object.keys(value)) copy[k] = structuredClone(value[k], seen);
	return copy;
}

const globals = {
	...timers,
	Event: abort.Event,
	CustomEvent: abort.CustomEvent,
	EventTarget: abort.EventTarget,
	DOMException: abort.DOMException,
	AbortSignal: abort.AbortSignal,
	AbortController: abort.AbortController,
	console,
	structuredClone: (value) => structuredClone(value),
	performance: { now: () => native.now(), timeOrigin: Date.now() - native.now() },
	global: globalThis,
};

for (const [name, value] of Object.entries(globals)) {
	Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/** Globals whose modules are evaluated when they are first used. */
const LAZY = {
	"osier:node/buffer.js": ["Buffer", "Blob", "atob", "btoa"],
	"osier:node/encoding.js": ["TextEncoder", "TextDecoder"],
	"osier:node/url.js": ["URL", "URLSearchParams"],
	"osier:node/fetch.js": ["fetch", "Headers", "Request", "Response", "FormData", "ReadableStream", "TransformStream", "TextDecoderStream"],
	"osier:node/process.js": ["process"],
	"osier:node/intl.js": ["Intl"],
};

function defineLazily(name, get) {
	const set = (value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
	const read = () => {
		const value = get();
		set(value);
		return value;
	};
	Object.defineProperty(globalThis, name, { get: read, set, configurable: true, enumerable: false });
}
for (const [module, names] of Object.entries(LAZY)) {
	for (const name of names) defineLazily(name, () => requireModule(module)[name]);
}
defineLazily("crypto", () => requireModule("osier:node/crypto.js").webcrypto);

const intl = () => requireModule("osier:node/intl.js").Intl;
const replace = (prototype, name, value) => Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
replace(Number.prototype, "toLocaleString", function (locales, options) {
	return new (intl().NumberFormat)(locales, options).format(this);
});
const DATE = { year: "numeric", month: "numeric", day: "numeric" };
const TIME = { hour: "numeric", minute: "2-digit", second: "2-digit" };
const hasFields = (options) => Object.keys(options ?? {}).some((name) => !["timeZone", "hour12", "hourCycle"].includes(name));
for (const [name, fields] of [["toLocaleString", { ...DATE, ...TIME }], ["toLocaleDateString", DATE], ["toLocaleTimeString", TIME]]) {
	replace(Date.prototype, name, function (locales, options) {
		return new (intl().DateTimeFormat)(locales, hasFields(options) ? options : { ...fields, ...options }).format(this);
	});
}
