// `/prune` leaves the results of earlier tool calls out of requests. The session keeps them.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("prune", {
		description: "Leave earlier tool results out of requests",
		handler: async (ctx) => {
			const results = ctx.sessionManager.getBranch().filter((entry) => entry.message?.role === "toolResult");
			for (const entry of results) pi.appendEntry("tool-result-pruning", { toolCallId: entry.message.toolCallId, strategy: "remove" });
			ctx.ui.notify(`Pruned ${results.length} results`);
		},
	});

	pi.on("context", async (event, ctx) => {
		const rules = ctx.sessionManager
			.getBranch()
			.filter((entry) => entry.type === "custom" && entry.customType === "tool-result-pruning")
			.map((entry) => entry.data.toolCallId);
		const messages = event.messages.map((message) =>
			message.role === "toolResult" && rules.includes(message.toolCallId)
				? { ...message, content: [{ type: "text", text: "[pruned]" }] }
				: message,
		);
		return { messages };
	});
}
