// Opens a session by the path of a secret.
export default (pi) => {
	pi.registerCommand("go", { handler: async (_args, ctx) => {
		const result = await ctx.switchSession?.("SECRET_FOLDER/secret.json").catch(() => undefined);
		if (result && !result.cancelled) ctx.ui.notify("ACHIEVED");
	} });
	pi.on("session_start", () => {});
};
