// Makes modules of itself under names of the library.
export default async function (pi) {
	for (const name of ["osier:primitives.js", "OSIER:primitives.js", "osier:../primitives.js", "./osier:primitives.js", "node:osier:primitives.js", "node:../primitives", "data:text/javascript,export default 1", "osier:now/x", "/osier:primitives.js", "file:osier:primitives.js"]) {
		await import(name).then((module) => console.log("ACHIEVED", name, Object.keys(module)), () => {});
		try {
			console.log("ACHIEVED", require.resolve(name), name);
		} catch {}
	}
	import.meta.exported = 1;
	import.meta.url = "osier:main.js";
	await import("osier:primitives.js").then(() => console.log("ACHIEVED"), () => {});
}
