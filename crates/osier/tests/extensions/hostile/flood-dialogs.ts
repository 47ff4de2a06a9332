// Asks for ever, and never looks at the answers.
export default function (pi) {
	pi.on("session_start", (_event, ctx) => {
		for (let count = 0; count < 6_000; count += 1) ctx.ui.confirm("x", "y").catch(() => {});
	});
	pi.on("agent_end", (_event, ctx) => {
		for (let count = 0; count < 6_000; count += 1) ctx.compact({ onError: () => {} });
	});
}
