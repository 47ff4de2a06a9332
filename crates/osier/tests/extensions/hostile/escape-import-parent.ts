// Imports Osier's settings by a relative path.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		for (const name of ["../secret.json", "./../secret.json", "./x/../../secret.json", "file:///SECRET_FOLDER/secret.json"]) {
			await import(name).then((module) => ctx.ui.notify("ACHIEVED " + JSON.stringify(module.default)), () => {});
		}
	});
};
