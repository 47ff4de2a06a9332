// `/prune` leaves the results of earlier tool calls out of requests. The session keeps them.
import type { CustomEntry, HookAPI, SessionEntry } from "@earendil-works/pi-coding-agent";

export default function (pi: HookAPI) {
	pi.registerCommand("prune", {
		description: "Leave earlier tool results out of requests",
		handler: async (ctx) => {
			const branch = ctx.sessionManager.getBranch();
			const results = branch.flatMap((entry) => (entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : []));
			for (const { toolCallId } of results) pi.appendEntry("tool-result-pruning", { toolCallId, strategy: "remove" });
			ctx.ui.notify(`Pruned ${results.length} results`);
		},
	});

	pi.on("context", async (event, ctx) => {
		const branch = ctx.sessionManager.getBranch();
		const isRule = (entry: SessionEntry) => entry.type === "custom" && entry.customType === "tool-result-pruning";
		const rules = branch.filter(isRule).map((entry) => (entry as CustomEntry<{ toolCallId: string }>).data?.toolCallId);
		const messages = event.messages.map((message) =>
			message.role === "toolResult" && rules.includes(message.toolCallId)
				? { ...message, content: [{ type: "text" as const, text: "[pruned]" }] }
				: message,
		);
		return { messages };
	});
}
