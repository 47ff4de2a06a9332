// `require`, for CommonJS packages and for extensions that use it.

import { native, parse } from "osier:primitives.js";

const cache = new Map();
const library = new Map();

/** A module of the library, evaluated when it is first required. */
export function requireModule(name) {
	if (!library.has(name)) library.set(name, native.importNow(name));
	return library.get(name);
}

function requireLibrary(name) {
	const module = requireModule(name);
	// What Node exports is one function or object; the names of a module are also its properties.
	return typeof module.default === "function" || (module.default && name === "osier:node/process.js") ? module.default : module;
}

export function requireFile(path) {
	if (path.startsWith("osier:")) return requireLibrary(path);
	if (cache.has(path)) return cache.get(path).exports;
	const module = { exports: {}, id: path, filename: path, loaded: false, children: [], paths: [] };
	cache.set(path, module);
	try {
		const source = native.readSource(path);
		if (path.endsWith(".json")) module.exports = parse(source);
		else {
			const folder = path.slice(0, path.lastIndexOf("/")) || "/";
			const run = native.compileFunction(path, source);
			run.call(module.exports, module.exports, createRequire(path), module, path, folder);
		}
		module.loaded = true;
	} catch (error) {
		cache.delete(path);
		throw error;
	}
	return module.exports;
}

/** `require` for the file at a path or `file:` URL. */
export function createRequire(base) {
	const path = String(base).replace(/^file:\/\//, "");
	if (!path.startsWith("/")) throw new TypeError("The argument 'filename' must be an absolute path or a file URL");
	const require = (name) => requireFile(native.resolve(path, String(name)));
	require.resolve = (name) => native.resolve(path, String(name));
	require.cache = {};
	return require;
}

/** The names of what a file exports. */
export function exportedNames(path) {
	const exported = requireFile(path);
	return exported !== null && (typeof exported === "object" || typeof exported === "function") ? Object.keys(exported) : [];
}
