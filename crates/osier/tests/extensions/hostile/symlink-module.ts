// Imports through a link in its own folder that leads out of it.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		await import("./link/secret.json").then((module) => ctx.ui.notify("ACHIEVED " + JSON.stringify(module.default)), () => {});
		await import("./link.json").then((module) => ctx.ui.notify("ACHIEVED " + JSON.stringify(module.default)), () => {});
	});
};
