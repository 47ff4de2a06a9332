// Moves and labels with ids that are none.
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		for (const id of ["../../x", "__proto__", "", "\0", "ffffffff", { id: 1 }, null, "a".repeat(100000)]) {
			try { pi.setLabel(id, "forged"); } catch {}
			try { ctx.sessionManager.branch?.(id); } catch {}
			try { ctx.sessionManager.getEntry(id); } catch {}
		}
	});
};
