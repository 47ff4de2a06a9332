// Looks for functions of the host among everything that a global leads to.
export default function (pi) {
	const known = new Set();
	const visit = (value, path) => {
		if ((typeof value !== "object" && typeof value !== "function") || value === null || known.has(value) || known.size > 20_000) return;
		known.add(value);
		for (const key of Reflect.ownKeys(value)) {
			const name = `${path}.${String(key)}`;
			if (/^(__|native$|osier|importNow|readSource|compileFunction|requireFile)/.test(String(key)) && !/^__(proto|defineGetter|defineSetter|lookupGetter|lookupSetter)__$/.test(String(key))) console.log("ACHIEVED", name);
			const property = Reflect.getOwnPropertyDescriptor(value, key);
			visit(property?.value, name);
			visit(property?.get, name);
		}
		visit(Object.getPrototypeOf(value), `${path}.__proto__`);
	};
	visit(globalThis, "globalThis");
	visit(import.meta, "import.meta");
	visit(require, "require");
	visit(pi, "pi");
	try {
		if (globalThis.__requireFile("osier:primitives.js")) console.log("ACHIEVED");
	} catch {}
}
