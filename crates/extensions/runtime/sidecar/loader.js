// How Node finds and reads modules of an extension. `start.js` uses this function in its own thread, or in Node's thread for loaders
// if this version of Node has no other way; `next` returns a value there, and a promise here.

function createLoader(helper, fs, { fileURLToPath, pathToFileURL }) {
	/** Modules of the library that Node has itself, or that are different there. */
	const REPLACED = {
		"osier:lockdown.js": "osier:sidecar/nothing.js",
		"osier:globals.js": "osier:sidecar/nothing.js",
		"osier:abort.js": "osier:sidecar/abort.js",
		"osier:commonjs.js": "osier:sidecar/commonjs.js",
	};
	const isPackageOfPi = (name) => /^(@earendil-works|@mariozechner)\/pi-|^(@sinclair\/)?typebox(\/|$)/.test(name);
	const library = (url) => ({ url, format: "module", shortCircuit: true });
	const importsPi = (source) => /["'](@(earendil-works|mariozechner)\/pi-|(@sinclair\/)?typebox)/.test(source);
	const isModule = (source) => /^\s*(import|export)\b/m.test(source);

	function orElse(run, recover) {
		try {
			const result = run();
			return typeof result?.then === "function" ? result.then((value) => value, recover) : result;
		} catch (error) {
			return recover(error);
		}
	}

	function resolve(name, context, next) {
		if (name.startsWith("osier:")) {
			const builtIn = name.match(/^osier:node\/(.*)\.js$/)?.[1];
			if (builtIn) return { url: `node:${builtIn}`, format: "builtin", shortCircuit: true };
			return library(REPLACED[name] ?? name);
		}
		// An installed pi-agent-core is a whole library; Osier's has only what most extensions use.
		const prefersInstalled = name.includes("/pi-agent-core");
		if (isPackageOfPi(name) && !prefersInstalled) {
			const module = helper("libraryModule", name);
			if (module) return library(module);
		}
		return orElse(
			() => next(name, context),
			(error) => {
				const module = prefersInstalled && helper("libraryModule", name);
				if (module) return library(module);
				const base = context.parentURL?.startsWith("file:") ? fileURLToPath(context.parentURL) : "/";
				const found = helper("findModule", { base, name });
				if (!found) throw error;
				return { url: pathToFileURL(found).href, shortCircuit: true };
			},
		);
	}

	function load(url, context, next) {
		if (url.startsWith("osier:")) return { format: "module", source: helper("librarySource", url), shortCircuit: true };
		if (!url.startsWith("file:")) return next(url, context);
		const file = fileURLToPath(url);
		const extension = file.slice(file.lastIndexOf(".") + 1);
		const read = () => fs.readFileSync(file, "utf8");
		switch (extension) {
			case "ts":
			case "tsx":
			case "mts":
				return { format: "module", source: helper("strip", { path: file, source: read() }), shortCircuit: true };
			case "json":
				// `require` reads JSON by itself.
				return context.conditions?.includes("require") ? next(url, context) : { format: "module", source: `export default JSON.parse(${JSON.stringify(read())});`, shortCircuit: true };
			case "mjs":
			case "js": {
				// As in pi, a file of an extension may be a module without saying so in a package.json.
				const text = read();
				const source = file.includes("/node_modules/") && !importsPi(text) ? "" : text;
				return isModule(source) ? { format: "module", source: helper("declareMissing", { path: file, source }), shortCircuit: true } : next(url, context);
			}
			default:
				return next(url, context);
		}
	}

	return { resolve, load };
}
