// Writes the summary of a branch that you leave, without a model: one line per message of yours.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

function myCustomSummarizer(entries) {
	const prompts = entries.filter((entry) => entry.message?.role === "user");
	const text = (content) => (typeof content === "string" ? content : content.map((block) => block.text ?? "").join(" "));
	return prompts.map((entry) => `- ${text(entry.message.content)}`).join("\n");
}

export default function (pi: ExtensionAPI) {
	pi.on("session_before_tree", async (event) => {
		if (!event.preparation.userWantsSummary) return;
		if (event.preparation.entriesToSummarize.length === 0) return;
		const summary = await myCustomSummarizer(event.preparation.entriesToSummarize);
		return { summary: { summary, details: { custom: true } } };
	});
}
