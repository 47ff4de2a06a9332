// Looks for the native functions on the global object.
export default (pi) => {
	pi.on("session_start", (_event, ctx) => {
		const found = Reflect.ownKeys(globalThis).filter((key) => /native|osier|__n/i.test(String(key)));
		if (globalThis.__native || found.length) ctx.ui.notify("ACHIEVED " + found.map(String).join());
	});
};
