// Imports a file of the system.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		const text = await import("/etc/passwd").then((module) => JSON.stringify(module), () => "refused");
		if (text !== "refused") ctx.ui.notify("ACHIEVED " + text);
	});
};
