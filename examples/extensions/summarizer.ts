// Writes the summary of a branch that you leave, without a model: one line per message of yours.
import type { ExtensionAPI, SessionEntry } from "@earendil-works/pi-coding-agent";

function myCustomSummarizer(entries: SessionEntry[]) {
	const lines = entries.flatMap((entry) => {
		if (entry.type !== "message" || entry.message.role !== "user") return [];
		const { content } = entry.message;
		const text = typeof content === "string" ? content : content.map((block) => (block.type === "text" ? block.text : "")).join(" ");
		return [`- ${text}`];
	});
	return lines.join("\n");
}

export default function (pi: ExtensionAPI) {
	pi.on("session_before_tree", async (event) => {
		if (!event.preparation.userWantsSummary) return;
		if (event.preparation.entriesToSummarize.length === 0) return;
		const summary = await myCustomSummarizer(event.preparation.entriesToSummarize);
		return { summary: { summary, details: { custom: true } } };
	});
}
