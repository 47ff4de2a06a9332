// Blocks commands that delete folders, and hides keys in results.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("tool_call", async (event) => {
		if (event.toolName === "bash" && /\brm\s+-\w*r/.test(event.input.command)) {
			return { block: true, reason: "Deleting folders is not allowed" };
		}
	});
	pi.on("tool_result", async (event) => {
		const content = event.content.map((block) => (block.type === "text" ? { ...block, text: block.text.replace(/key-\w+/g, "key-***") } : block));
		return { content };
	});
}
