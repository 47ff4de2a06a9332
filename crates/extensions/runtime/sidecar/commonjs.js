// `require` is that of Node.

import { createRequire as createNodeRequire } from "node:module";

const library = new Map();
/** Makes a module of the library available to `requireModule`. */
export const addModule = (name, module) => library.set(name, module);

export function requireModule(name) {
	const module = library.get(name);
	if (!module) throw new Error(`${name} is not loaded`);
	return module;
}

export const createRequire = (file) => createNodeRequire(file);
