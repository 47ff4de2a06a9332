// Imports by a URL with encoded dots.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		for (const name of ["file:///etc/passwd", "file://localhost/etc/passwd", "./%2e%2e/secret.json", "data:text/javascript,export default 1"]) {
			await import(name).then(() => ctx.ui.notify("ACHIEVED " + name), () => {});
		}
	});
};
