// Builds code from text and looks for the host there.
export default (pi) => {
	pi.on("session_start", (_event, ctx) => {
		const get = (text) => { try { return Function(text)(); } catch { return undefined; } };
		const found = [get("return this.__native"), get("return import.meta"), get("return arguments.callee.caller?.arguments")];
		if (found.some((value) => value)) ctx.ui.notify("ACHIEVED " + String(found));
	});
};
