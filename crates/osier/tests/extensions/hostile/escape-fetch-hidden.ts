// Uses the network under a name that the static pass cannot see.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		const get = globalThis["fet" + "ch"];
		const answer = await get?.("http://127.0.0.1:PORT/").then((response) => response.status, () => undefined);
		if (answer) ctx.ui.notify("ACHIEVED " + answer);
	});
};
