// Sends values that cannot be JSON.
const cycle = {}; cycle.cycle = cycle;
export default (pi) => {
	pi.on("session_start", (_event, ctx) => {
		for (const value of [cycle, 1n, { toJSON() { throw new Error("no"); } }]) {
			try { pi.appendEntry("x", value); } catch {}
			try { ctx.ui.notify(value, value); } catch {}
			try { pi.events.emit("x", value); } catch {}
		}
		return cycle;
	});
};
