// The entry of the runtime library. Rust evaluates it first and gives every message to `dispatch`.

import "osier:lockdown.js";
import "osier:globals.js";
import { createApi, finishLoading } from "osier:api.js";
import { createRequire } from "osier:commonjs.js";
import { dispatch, handle } from "osier:primitives.js";
import { setEnvironment } from "osier:context.js";

function factoryOf(module) {
	const exported = module.default?.default ?? module.default;
	return typeof exported === "function" ? exported : undefined;
}

/** Loads the extension and calls its factory. */
handle("load", async ({ path: file, environment }) => {
	setEnvironment(environment);
	Object.defineProperty(globalThis, "require", { value: createRequire(file), writable: true, configurable: true });
	const factory = factoryOf(await import(file));
	if (!factory) throw new Error(`Extension does not export a valid factory function: ${file}`);
	await factory(createApi());
	finishLoading();
	return null;
});

export { dispatch };
