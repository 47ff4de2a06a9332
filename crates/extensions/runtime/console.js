// console: every line goes to Osier, which writes it to the log, or to standard error in print and RPC mode.

import { notice } from "osier:primitives.js";

export function inspect(value, depth = 2, seen = []) {
	if (typeof value === "string") return seen.length ? JSON.stringify(value) : value;
	if (typeof value === "bigint") return `${value}n`;
	if (typeof value === "symbol" || value === null || value === undefined) return String(value);
	if (typeof value === "function") return `[Function: ${value.name || "anonymous"}]`;
	if (typeof value !== "object") return String(value);
	if (value instanceof Error) return value.stack ? `${value.name}: ${value.message}\n${value.stack}` : String(value);
	if (value instanceof Date) return value.toISOString();
	if (value instanceof RegExp) return String(value);
	if (seen.includes(value)) return "[Circular]";
	const inner = [...seen, value];
	if (inner.length > depth + 1) return Array.isArray(value) ? "[Array]" : "[Object]";
	const show = (item) => inspect(item, depth, inner);
	if (Array.isArray(value)) return value.length ? `[ ${value.map(show).join(", ")} ]` : "[]";
	if (value instanceof Map) return `Map(${value.size}) { ${[...value].map(([k, v]) => `${show(k)} => ${show(v)}`).join(", ")} }`;
	if (value instanceof Set) return `Set(${value.size}) { ${[...value].map(show).join(", ")} }`;
	const fields = Object.keys(value).map((name) => `${/^[\w$]+$/.test(name) ? name : JSON.stringify(name)}: ${show(value[name])}`);
	const name = value.constructor?.name;
	const prefix = name && name !== "Object" ? `${name} ` : "";
	return `${prefix}${fields.length ? `{ ${fields.join(", ")} }` : "{}"}`;
}

export function format(first, ...rest) {
	const values = [...rest];
	if (typeof first !== "string") return [first, ...values].map((value) => inspect(value)).join(" ");
	const text = first.replace(/%[sdifjoOc%]/g, (code) => {
		if (code === "%%") return "%";
		if (!values.length) return code;
		const value = values.shift();
		if (code === "%d" || code === "%f") return String(Number(value));
		if (code === "%i") return String(Number.parseInt(value, 10));
		if (code === "%j") return JSON.stringify(value);
		if (code === "%c") return "";
		return code === "%s" && typeof value !== "object" ? String(value) : inspect(value);
	});
	return [text, ...values.map((value) => inspect(value))].join(" ");
}

const write = (level) => (...values) => notice("log", { level, text: format(...values) });
const counts = new Map();
const started = new Map();

export const console = {
	log: write("info"),
	info: write("info"),
	debug: write("debug"),
	trace: write("debug"),
	warn: write("warning"),
	error: write("error"),
	dir: (value) => notice("log", { level: "info", text: inspect(value) }),
	table: (value) => notice("log", { level: "info", text: inspect(value) }),
	group: write("info"),
	groupEnd: () => {},
	groupCollapsed: write("info"),
	assert: (condition, ...values) => {
		if (!condition) notice("log", { level: "error", text: `Assertion failed: ${format(...values)}` });
	},
	count: (label = "default") => {
		counts.set(label, (counts.get(label) ?? 0) + 1);
		notice("log", { level: "info", text: `${label}: ${counts.get(label)}` });
	},
	time: (label = "default") => started.set(label, Date.now()),
	timeEnd: (label = "default") => notice("log", { level: "info", text: `${label}: ${Date.now() - (started.get(label) ?? Date.now())} ms` }),
	timeLog: (label = "default") => notice("log", { level: "info", text: `${label}: ${Date.now() - (started.get(label) ?? Date.now())} ms` }),
};
