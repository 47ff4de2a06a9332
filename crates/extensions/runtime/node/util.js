// The module `util` of Node.

import { format, inspect as show } from "osier:console.js";
import { TextDecoder, TextEncoder } from "osier:node/encoding.js";

export { format, TextDecoder, TextEncoder };

export function inspect(value, options = {}) {
	const depth = typeof options === "object" ? options?.depth : undefined;
	const text = show(value, depth === null ? Infinity : (depth ?? 2));
	return typeof value === "string" ? `'${text.replaceAll("'", "\\'")}'` : text;
}
inspect.custom = Symbol.for("nodejs.util.inspect.custom");
inspect.defaultOptions = {};

const custom = Symbol.for("nodejs.util.promisify.custom");
export function promisify(run) {
	if (typeof run !== "function") throw new TypeError('The "original" argument must be of type function');
	if (run[custom]) return run[custom];
	return function (...args) {
		return new Promise((resolve, reject) => run.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value))));
	};
}
promisify.custom = custom;
export const callbackify = (run) => (...args) => {
	const callback = args.pop();
	run(...args).then((value) => callback(null, value), callback);
};

export function isDeepStrictEqual(a, b) {
	if (Object.is(a, b)) return true;
	if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
	if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
	if (a instanceof Date) return a.getTime() === b.getTime();
	if (a instanceof RegExp) return String(a) === String(b);
	if (a instanceof Set) return a.size === b.size && [...a].every((item) => b.has(item) || [...b].some((other) => isDeepStrictEqual(item, other)));
	if (a instanceof Map) return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isDeepStrictEqual(value, b.get(key)));
	const keys = Object.keys(a);
	return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isDeepStrictEqual(a[key], b[key]));
}

// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
export const stripVTControlCharacters = (text) => String(text).replace(ESCAPES, "");

const STYLES = { bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], strikethrough: [9, 29], black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39] };
inspect.colors = STYLES;
export const styleText = (names, text) =>
	[names].flat().reduceRight((styled, name) => {
		const [on, off] = STYLES[name] ?? [0, 0];
		return `\u001b[${on}m${styled}\u001b[${off}m`;
	}, text);

export const inherits = (child, parent) => Object.setPrototypeOf(child.prototype, parent.prototype);
export const deprecate = (run) => run;
export const debuglog = () => Object.assign(() => {}, { enabled: false });
export const debug = debuglog;
export const toUSVString = (text) => String(text).toWellFormed();
export const isArray = Array.isArray;
const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
export const types = {
	isPromise: (value) => value instanceof Promise,
	isDate: (value) => value instanceof Date,
	isRegExp: (value) => value instanceof RegExp,
	isMap: (value) => value instanceof Map,
	isSet: (value) => value instanceof Set,
	isNativeError: (value) => value instanceof Error,
	isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
	isUint8Array: (value) => value instanceof Uint8Array,
	isArrayBuffer: (value) => value instanceof ArrayBuffer,
	isAnyArrayBuffer: (value) => value instanceof ArrayBuffer,
	isArrayBufferView: (value) => ArrayBuffer.isView(value),
	isAsyncFunction: (value) => tag(value) === "AsyncFunction",
	isGeneratorFunction: (value) => tag(value) === "GeneratorFunction",
	isProxy: () => false,
};

/** Options and positional arguments of a command line. */
export function parseArgs({ args = [], options = {}, allowPositionals = false, strict = true } = {}) {
	const [values, positionals] = [{}, []];
	for (const [name, option] of Object.entries(options)) if (option.default !== undefined) values[name] = option.default;
	const list = [...args];
	const add = (name, value) => {
		const option = options[name];
		if (!option && strict) throw new TypeError(`Unknown option '--${name}'`);
		if (option?.multiple) (Array.isArray(values[name]) && values[name] !== option.default ? values[name] : (values[name] = [])).push(value);
		else values[name] = value;
	};
	while (list.length) {
		const arg = list.shift();
		if (arg === "--") positionals.push(...list.splice(0));
		else if (arg.startsWith("--")) {
			const [name, inline] = arg.slice(2).split(/=(.*)/s);
			if (options[name]?.type === "string") add(name, inline ?? list.shift());
			else add(name, inline ?? true);
		} else if (arg.startsWith("-") && arg.length > 1) {
			for (const letter of arg.slice(1)) {
				const name = Object.keys(options).find((key) => options[key].short === letter) ?? letter;
				add(name, options[name]?.type === "string" ? list.shift() : true);
			}
		} else if (allowPositionals || !strict) positionals.push(arg);
		else throw new TypeError(`Unexpected argument '${arg}'`);
	}
	return { values, positionals };
}

export default {
	format, inspect, promisify, callbackify, isDeepStrictEqual, stripVTControlCharacters, styleText, inherits, deprecate, debuglog, debug, toUSVString,
	isArray, types, parseArgs, TextDecoder, TextEncoder,
};
