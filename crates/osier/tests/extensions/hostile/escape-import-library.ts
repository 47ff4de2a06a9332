// Imports the private modules of the runtime library.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		for (const name of ["osier:primitives.js", "osier:main.js", "osier:context.js", "osier:../primitives.js"]) {
			await import(name).then(() => ctx.ui.notify("ACHIEVED " + name), () => {});
		}
	});
};
