// A tool that counts words. The model calls it like a built-in one.
import { Type } from "typebox";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerTool({
		name: "count_words",
		label: "Count words",
		description: "Counts the words of a text",
		parameters: Type.Object({ text: Type.String({ description: "The text" }) }),
		async execute(_toolCallId, params, _signal, onUpdate) {
			onUpdate?.({ content: [{ type: "text", text: "counting…" }] });
			const words = params.text.split(/\s+/).filter(Boolean).length;
			return { content: [{ type: "text", text: `${words} words` }], details: { words } };
		},
	});
}
