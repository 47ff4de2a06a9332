// Compacts a session without a model: the summary lists what you asked for.
import { convertToLlm, serializeConversation, type ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("session_before_compact", async (event) => {
		const { messagesToSummarize, turnPrefixMessages, firstKeptEntryId, tokensBefore } = event.preparation;
		const text = serializeConversation(convertToLlm([...messagesToSummarize, ...turnPrefixMessages]));
		const asked = text.split("\n").filter((line) => line.startsWith("[User]: "));
		const summary = `You asked:\n${asked.map((line) => line.replace("[User]: ", "- ")).join("\n")}`;
		return { compaction: { summary, firstKeptEntryId, tokensBefore, details: { lines: asked.length } } };
	});
}
