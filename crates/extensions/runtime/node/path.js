// The module `path` of Node, for POSIX.

import { environment } from "osier:context.js";

export const sep = "/";
export const delimiter = ":";

export function normalize(path) {
	const parts = [];
	for (const part of path.split("/")) {
		if (part === "" || part === ".") continue;
		if (part === ".." && parts.length && parts.at(-1) !== "..") parts.pop();
		else if (part !== ".." || !path.startsWith("/")) parts.push(part);
	}
	const start = path.startsWith("/") ? "/" : "";
	const end = path.endsWith("/") && parts.length ? "/" : "";
	return start + parts.join("/") + end || ".";
}

export const isAbsolute = (path) => path.startsWith("/");
export const join = (...parts) => normalize(parts.filter((part) => part !== "").join("/") || ".");

export function resolve(...parts) {
	let path = "";
	for (const part of parts.reverse()) {
		if (!part) continue;
		path = path ? `${part}/${path}` : part;
		if (part.startsWith("/")) break;
	}
	const absolute = path.startsWith("/") ? path : `${environment().cwd}/${path}`;
	const normal = normalize(absolute);
	return normal.length > 1 ? normal.replace(/\/$/, "") : normal;
}

export function dirname(path) {
	const trimmed = path.replace(/\/+$/, "");
	const at = trimmed.lastIndexOf("/");
	if (at < 0) return path.startsWith("/") ? "/" : ".";
	return trimmed.slice(0, at).replace(/\/+$/, "") || "/";
}

export function basename(path, suffix) {
	const name = path.replace(/\/+$/, "").split("/").at(-1);
	return suffix && name.endsWith(suffix) && name !== suffix ? name.slice(0, -suffix.length) : name;
}

export function extname(path) {
	const name = basename(path);
	const at = name.lastIndexOf(".");
	return at > 0 ? name.slice(at) : "";
}

export function relative(from, to) {
	const [a, b] = [resolve(from), resolve(to)].map((path) => path.split("/").filter(Boolean));
	let same = 0;
	while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
	return [...Array(a.length - same).fill(".."), ...b.slice(same)].join("/");
}

export function parse(path) {
	const base = basename(path);
	const ext = extname(path);
	const dir = path.includes("/") ? dirname(path) : "";
	return { root: path.startsWith("/") ? "/" : "", dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
}

export function format({ dir, root = "", base, name = "", ext = "" }) {
	const file = base ?? name + (ext && !ext.startsWith(".") ? `.${ext}` : ext);
	if (!dir) return root + file;
	return dir === root ? dir + file : `${dir}/${file}`;
}

export const toNamespacedPath = (path) => path;

export const posix = { sep, delimiter, normalize, isAbsolute, join, resolve, dirname, basename, extname, relative, parse, format, toNamespacedPath };
posix.posix = posix;

/** Paths of Windows, for extensions that take them apart. They may have slashes of both kinds. */
const slashes = (path) => String(path).replaceAll("\\", "/");
const backslashes = (path) => path.replaceAll("/", "\\");
const drive = (path) => path.match(/^[a-z]:/i)?.[0] ?? "";
/** A function of `posix` without the drive, which comes before the result. */
const onWindows = (run) => (path, ...rest) => drive(path) + backslashes(run(slashes(path).slice(drive(path).length), ...rest.map(slashes)));
const part = (run) => (path, ...rest) => run(slashes(path), ...rest);
export const win32 = {
	sep: "\\",
	delimiter: ";",
	normalize: onWindows(normalize),
	join: onWindows(join),
	dirname: onWindows(dirname),
	resolve: onWindows(resolve),
	isAbsolute: (path) => /^([a-z]:)?\//i.test(slashes(path)),
	basename: part(basename),
	extname: part(extname),
	relative: (from, to) => backslashes(relative(slashes(from), slashes(to))),
	parse: (path) => parse(slashes(path)),
	format: (parts) => backslashes(format(parts)),
	toNamespacedPath,
	posix,
};
win32.win32 = win32;
posix.win32 = win32;
export default posix;
