// The entry of the runtime library. Rust evaluates it first and gives every message to `dispatch`.

import "osier:lockdown.js";
import "osier:globals.js";
import { createApi, finishLoading } from "osier:api.js";
import "osier:tools.js";
import { createRequire, provide } from "osier:commonjs.js";
import * as path from "osier:node/path.js";
import * as url from "osier:node/url.js";
import * as piAi from "osier:modules/pi-ai.js";
import * as piCodingAgent from "osier:modules/pi-coding-agent.js";
import * as piTui from "osier:modules/pi-tui.js";
import * as typebox from "osier:modules/typebox.js";
import { dispatch, handle } from "osier:primitives.js";
import { setEnvironment } from "osier:context.js";

provide("osier:node/path.js", path);
provide("osier:node/url.js", url);
provide("osier:modules/pi-ai.js", piAi);
provide("osier:modules/pi-coding-agent.js", piCodingAgent);
provide("osier:modules/pi-tui.js", piTui);
provide("osier:modules/typebox.js", typebox);

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
