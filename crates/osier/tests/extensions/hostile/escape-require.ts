// Requires files outside the folder.
export default (pi) => {
	pi.on("session_start", (_event, ctx) => {
		for (const name of ["/etc/passwd", "../secret.json", "osier:primitives.js", "__proto__", "constructor"]) {
			try {
				const value = require(name);
				if (value !== undefined) ctx.ui.notify("ACHIEVED " + name + " " + JSON.stringify(value));
			} catch {}
		}
	});
};
